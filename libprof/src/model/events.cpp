// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/prof/events.h"

#include <vector>

namespace lacuna::prof {

std::span<const TableSpec> allTables() {
  static const std::vector<TableSpec> kTables = [] {
    std::vector<TableSpec> tables;
    forEachTable([&]<class Row>() { tables.push_back(tableSpec<Row>()); });
    return tables;
  }();
  return kTables;
}

bool holdsEvents(std::uint16_t table) {
  return table != Process::kTable && table != Thread::kTable && table != Clock::kTable;
}

}  // namespace lacuna::prof
