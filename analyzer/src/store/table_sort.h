// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "store/backend.h"

namespace lacuna::analyzer {

using RowOrder = std::vector<std::uint32_t>;

/// The order of rows by time, of equal starts the longer first, else as they are; empty when they
/// are in order already. `lengths` may be null.
RowOrder timeOrder(const std::vector<prof::TimeNs>& times,
                   const std::vector<prof::TimeNs>* lengths);

template <class T>
void reorder(std::vector<T>& values, const RowOrder& order) {
  if (order.empty()) return;
  std::vector<T> sorted(values.size());
  for (std::size_t i = 0; i < order.size(); ++i) sorted[i] = values[order[i]];
  values = std::move(sorted);
}

/// Brings the rows of a table into time order; a table without a time column stays as it is.
template <class Row>
void sortByTime(typename Row::Columns& columns) {
  const std::optional<std::size_t> time = columnWithHint(prof::tableSpec<Row>(), prof::Hint::Time);
  const std::optional<std::size_t> length =
      columnWithHint(prof::tableSpec<Row>(), prof::Hint::Length);
  const std::vector<prof::TimeNs>* times = nullptr;
  const std::vector<prof::TimeNs>* lengths = nullptr;
  std::size_t at = 0;
  columns.forEach([&]<class T>(const std::vector<T>& values) {
    if constexpr (std::is_same_v<T, prof::TimeNs>) {
      if (time == at) times = &values;
      if (length == at) lengths = &values;
    }
    ++at;
  });
  if (times == nullptr) return;
  const RowOrder order = timeOrder(*times, lengths);
  columns.forEach([&](auto& values) { reorder(values, order); });
}

}  // namespace lacuna::analyzer
