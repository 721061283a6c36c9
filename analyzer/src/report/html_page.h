// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/table.h"

namespace lacuna::analyzer {

/// The HTML report while it is written. It escapes text, but not markup.
class HtmlPage {
 public:
  /// A heading that the list at the top of the page leads to.
  void heading(std::string_view text);
  void markup(std::string_view markup) { body_ += markup; }
  /// Sentences, each a line of its own.
  void notes(const std::vector<std::string>& lines);
  /// The columns that have a heading, of so many rows; the rest of the rows are counted.
  void table(const Table& table, std::size_t rows = kRows);
  /// A ledger, in which what recording may have added is hatched at the end of each part.
  void bar(const Ledger& ledger, const Ledger& bands);

  std::string take(std::string_view title, std::string_view about);

  static constexpr std::size_t kRows = 15;

 private:
  std::string body_;
  std::vector<std::string> headings_;
};

/// A name as markup; of one that is too long, without its scopes.
std::string shortName(std::string_view name);

}  // namespace lacuna::analyzer
