// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "formats/arg_rules.h"
#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {

/// The lines for what an event of Chrome JSON has beside the fields of its row (see arg_rules.h):
/// those of its set of arguments, and ours. The views that it is given must live until the next
/// read().
class ChromeShape {
 public:
  /// `isWhole`: shapes name all that the events of the trace's file had, as those of a Chrome trace
  /// do.
  ChromeShape(const Store& store, const Args& args, bool isComplete)
      : store_(store), args_(args), isComplete_(isComplete) {}

  void read(prof::ArgSetId set, ArgTable table);
  void add(std::string_view line) { lines_.push_back(line); }
  [[nodiscard]] std::span<const std::string_view> lines() const { return lines_; }
  [[nodiscard]] bool has(std::string_view line) const;
  /// True when a line gives the event's field a value.
  [[nodiscard]] bool given(std::string_view key) const;

 private:
  /// A shape without the lines that would not be JSON in the event: names and constants stand in it
  /// as a file wrote them.
  std::string_view soundShape(prof::StringId shape);
  void addLines(std::string_view shape);

  const Store& store_;
  const Args& args_;
  bool isComplete_;
  std::vector<std::string_view> lines_;
  std::unordered_map<prof::StringId, std::string> soundShapes_;
};

}  // namespace lacuna::analyzer
