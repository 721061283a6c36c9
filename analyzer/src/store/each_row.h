// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstring>
#include <type_traits>

#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {

/// Calls visit(row) for every row of a table in its order, in the memory of a block whatever the
/// table's size. A visit that returns bool ends the pass with false. Store::row() is for single
/// rows: of a file's large table it reads whole blocks for each.
template <class Row, class Visit>
prof::Status eachRow(const Store& store, Visit&& visit) {
  static constexpr auto kColumns = [] {
    std::array<std::size_t, Row::columns().size()> columns{};
    for (std::size_t i = 0; i < columns.size(); ++i) columns[i] = i;
    return columns;
  }();
  return store.scanTable(tableIndex<Row>(), kColumns, {}, [&](const RowBlock& block) {
    for (std::uint64_t i = 0; i < block.rows; ++i) {
      Row row;
      std::size_t at = 0;
      Row::forEachMember([&]<auto Member>() {
        auto& value = row.*Member;
        std::memcpy(&value, block.columns[at++] + i * sizeof value, sizeof value);
      });
      if constexpr (std::is_same_v<decltype(visit(row)), bool>) {
        if (!visit(row)) return false;
      } else {
        visit(row);
      }
    }
    return true;
  });
}

}  // namespace lacuna::analyzer
