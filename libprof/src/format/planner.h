// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "format/encoding.h"

namespace lacuna::prof::format {

/// Chooses how each column of a table is encoded: tries what may fit on a sample of the rows and
/// keeps the smallest. The choice holds for the following blocks and is reviewed now and then.
class Planner {
 public:
  explicit Planner(std::span<const ColumnSpec> columns);
  /// The plans for the next block of the table. Leaves the encoder at another block: begin() it
  /// again.
  const std::vector<Plan>& plans(std::span<const ColumnView> views, std::size_t rows,
                                 Encoder& encoder);

 private:
  void choose(std::size_t column, std::span<const std::uint8_t> keys, Encoder& encoder);
  void tryPlan(std::size_t column, const Plan& plan, Encoder& encoder);
  [[nodiscard]] bool mayUse(std::size_t column, std::uint8_t other) const;

  std::span<const ColumnSpec> columns_;
  std::vector<Plan> plans_;
  std::size_t untilNext_ = 0;
  std::size_t plannedRows_ = 0;
  std::size_t bestBytes_ = 0;
  Bytes scratch_;
};

}  // namespace lacuna::prof::format
