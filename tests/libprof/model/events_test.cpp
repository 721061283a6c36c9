// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/prof/events.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace lacuna::prof {
namespace {

TEST(EventModel, TableNumbersAndNamesAreUnique) {
  std::set<std::uint16_t> numbers;
  std::set<std::string_view> names;
  for (const TableSpec& table : allTables()) {
    EXPECT_TRUE(numbers.insert(table.id).second) << table.name;
    EXPECT_TRUE(names.insert(table.name).second) << table.name;
  }
}

TEST(EventModel, EveryColumnIsDocumentedAndNamedOnce) {
  for (const TableSpec& table : allTables()) {
    std::set<std::string_view> names;
    for (std::size_t i = 0; i < table.columnCount; ++i) {
      EXPECT_FALSE(table.columns[i].doc.empty()) << table.name << "." << table.columns[i].name;
      EXPECT_TRUE(names.insert(table.columns[i].name).second)
          << table.name << "." << table.columns[i].name;
    }
  }
}

TEST(EventModel, ColumnIsFoundByItsMember) {
  EXPECT_EQ(columnIndex<&Range::durNs>(), 1u);
  EXPECT_EQ(tableSpec<Range>().columns[columnIndex<&Range::thread>()].refers, Refers::Thread);
  EXPECT_EQ(tableSpec<Kernel>().columns[columnIndex<&Kernel::registersPerThread>()].type,
            ColumnType::U16);
}

TEST(EventModel, StructOfArraysGivesBackTheRow) {
  Memcpy row{.startNs = 5, .durNs = 7, .bytes = 4096, .copyKind = CopyKind::HostToDevice};
  Memcpy::Columns columns;
  columns.push(row);
  EXPECT_EQ(columns.row(0), row);
}

}  // namespace
}  // namespace lacuna::prof
