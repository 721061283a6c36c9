// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lacuna/analyzer/query.h"
#include "query/arrow_column.h"

namespace lacuna::analyzer {

/// Rows that become batches of columns.
class ArrowSource {
 public:
  virtual ~ArrowSource() = default;
  /// The names of the columns, each once.
  [[nodiscard]] virtual std::vector<std::string> names() const = 0;
  /// The columns, empty, each with the narrowest type that it may have.
  [[nodiscard]] virtual std::vector<ArrowColumn> columns() const = 0;
  /// Adds rows until there are so many, or kArrowBatchText bytes of text. False when the last row
  /// was added.
  virtual prof::Result<bool> fill(std::vector<ArrowColumn>& columns, std::uint64_t rows) = 0;
};

prof::Result<std::unique_ptr<ArrowSource>> statementSource(std::unique_ptr<Query> query,
                                                           std::string_view sql);
std::unique_ptr<ArrowSource> tableSource(std::shared_ptr<const Store> store, std::size_t table);

}  // namespace lacuna::analyzer
