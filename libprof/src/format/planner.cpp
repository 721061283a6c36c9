// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "format/planner.h"

namespace lacuna::prof::format {
namespace {

Plan planFromHint(const ColumnSpec& column) {
  Plan plan;
  if (column.hint == Hint::Time || column.hint == Hint::Rising) plan.base = Base::Previous;
  if (column.hint == Hint::Address || column.refers == Refers::String) plan.scheme = Scheme::Dictionary;
  return plan;
}

}  // namespace

Planner::Planner(std::span<const ColumnSpec> columns) : columns_(columns) {
  for (const ColumnSpec& column : columns) plans_.push_back(planFromHint(column));
}

const std::vector<Plan>& Planner::plans(std::span<const ColumnView>, std::size_t, Encoder&) {
  return plans_;
}

}  // namespace lacuna::prof::format
