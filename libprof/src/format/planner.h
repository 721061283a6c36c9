// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "format/encoding.h"

namespace lacuna::prof::format {

/// Chooses how each column of a table is encoded.
class Planner {
 public:
  explicit Planner(std::span<const ColumnSpec> columns);
  /// The plans for the next block of the table.
  const std::vector<Plan>& plans(std::span<const ColumnView> views, std::size_t rows, Encoder& encoder);

 private:
  std::span<const ColumnSpec> columns_;
  std::vector<Plan> plans_;
};

}  // namespace lacuna::prof::format
