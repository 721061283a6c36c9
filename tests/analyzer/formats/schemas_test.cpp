// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "formats/nsys_schema.h"
#include "formats/own_columns.h"
#include "formats/perfetto_schema.h"
#include "formats/proto_wire.h"

namespace lacuna::analyzer {
namespace {

/// A row whose columns hold the nth of several values each, the limits of their types among them.
template <class Row>
Row rowOfLimits(int nth) {
  Row row;
  int column = 0;
  Row::forEachMember([&]<auto Member>() {
    auto& value = row.*Member;
    using T = std::remove_cvref_t<decltype(value)>;
    const int which = (nth + column++) % 4;
    if constexpr (std::is_same_v<T, double>) {
      constexpr double kValues[] = {-0.0, 1e300, 0.1, -7};
      value = kValues[which];
    } else if constexpr (std::is_class_v<T>) {
      constexpr std::uint32_t kValues[] = {UINT32_MAX, 0, 128, 5};
      value.value = kValues[which];
    } else if constexpr (std::is_enum_v<T>) {
      value = static_cast<T>(which == 0 ? 255 : which);
    } else {
      const T values[] = {std::numeric_limits<T>::max(), std::numeric_limits<T>::min(), T(100),
                          T(-1)};
      value = values[which];
    }
  });
  return row;
}

TEST(PerfettoSchema, RowsOfEveryTableComeBackWithTheLimitsOfTheirTypes) {
  prof::forEachTable([]<class Row>() {
    for (int nth = 0; nth < 4; ++nth) {
      const Row row = rowOfLimits<Row>(nth);
      std::string message;
      perfetto::putRow(message, row);
      proto::Reader reader(message);
      proto::Field field;
      ASSERT_TRUE(reader.next(field)) << Row::kName;
      EXPECT_EQ(field.number, perfetto::own::kRow);
      std::string_view bytes = field.bytes;
      std::uint64_t table = 0;
      ASSERT_TRUE(proto::takeVarint(bytes, table));
      EXPECT_EQ(table, Row::kTable);
      Row again;
      perfetto::takeRow(bytes, again);
      EXPECT_EQ(again, row) << Row::kName << " " << nth;
      EXPECT_FALSE(reader.next(field)) << "one row is one field";
    }
  });
}

TEST(PerfettoSchema, ColumnsThatAnOlderWriterDidNotHaveStayAsTheyAre) {
  const std::string columns("\x0e\x02\x03\x04",
                            4);  // zigzag of 7, then numbers of texts and a thread
  for (std::size_t count = 0; count <= columns.size(); ++count) {
    prof::Mark row{
        .timeNs = -1, .thread = prof::ThreadId(91), .domain = prof::StringId(92), .payload = 93};
    perfetto::takeRow(std::string_view(columns).substr(0, count), row);
    EXPECT_EQ(row.timeNs, count > 0 ? 7 : -1);
    EXPECT_EQ(row.thread, prof::ThreadId(count > 1 ? 2 : 91));
    EXPECT_EQ(row.domain, prof::StringId(count > 2 ? 3 : 92));
    EXPECT_EQ(row.category, prof::StringId(count > 3 ? 4 : 0));
    EXPECT_EQ(row.payload, 93U);
  }
}

TEST(OwnColumns, AreColumnsOfTheirTableAndAreVisitedOnceEach) {
  prof::forEachTable([]<class Row>() {
    std::vector<std::string> expected;
    std::istringstream words{std::string(ownColumns<Row>())};
    for (std::string word; words >> word;) expected.push_back(word);
    std::vector<std::string> visited;
    const Row row{};
    forEachOwnColumn(row, [&](const auto&, std::string_view name) { visited.emplace_back(name); });
    std::ranges::sort(expected);
    std::ranges::sort(visited);
    EXPECT_EQ(visited, expected) << Row::kName;
  });
}

TEST(OwnColumns, AreKnownByTheirWholeNames) {
  for (const char* column : {"domain", "payload", "payloadType", "kind", "colour"})
    EXPECT_TRUE(isOwnColumn<prof::Range>(column)) << column;
  for (const char* column : {"startNs", "name", "payloadT", "load", "Type", "kin", "inds"})
    EXPECT_FALSE(isOwnColumn<prof::Range>(column)) << column;
  EXPECT_TRUE(isOwnColumn<prof::Memcpy>("copyKind"));
  EXPECT_FALSE(isOwnColumn<prof::Memcpy>("kind"));
  EXPECT_FALSE(isOwnColumn<prof::Device>("kind"));
}

TEST(OwnColumns, CanBeFilled) {
  prof::Memset row{.startNs = 3, .bytes = 4};
  std::uint64_t next = 10;
  forEachOwnColumn(row,
                   [&]<class T>(T& value, std::string_view) { value = static_cast<T>(next++); });
  EXPECT_EQ(row.value, 10U);
  EXPECT_EQ(static_cast<int>(row.memoryKind), 11);
  EXPECT_EQ(row.flags, 12);
  EXPECT_EQ(row.graphId, 13U);
  EXPECT_EQ(row.graphNodeId, 14U);
  EXPECT_EQ(row.startNs, 3);
  EXPECT_EQ(row.bytes, 4U) << "Kineto has words for it";
}

TEST(NsysSchema, AThreadsNumberHoldsItsProcess) {
  const std::uint64_t global = 0x01'02'abcdef'123456;
  EXPECT_EQ(nsys::pidOf(global), 0xabcdefU);
  EXPECT_EQ(nsys::tidOf(global), 0x123456U);
  EXPECT_EQ(nsys::processOf(global), 0x01'02'abcdef'000000U);
  EXPECT_EQ(nsys::processOf(nsys::processOf(global)), nsys::processOf(global));
  EXPECT_EQ(nsys::tidOf(nsys::processOf(global)), 0U);
}

TEST(NsysSchema, LabelsStandAtTheirNumbers) {
  for (std::size_t i = 0; i < nsys::kMemoryKinds.size(); ++i)
    EXPECT_EQ(nsys::kMemoryKinds[i].id, static_cast<std::int64_t>(i));
  for (std::size_t i = 0; i < nsys::kCopyKinds.size(); ++i)
    EXPECT_EQ(nsys::kCopyKinds[i].id, static_cast<std::int64_t>(i));
  ASSERT_EQ(nsys::kMemoryKindOf.size(), nsys::kMemoryKinds.size());
  EXPECT_EQ(nsys::kMemoryKindOf[1], prof::MemoryKind::Pinned);
  EXPECT_EQ(nsys::kMemoryKinds[1].label, "Pinned");
  EXPECT_EQ(nsys::kMemoryKindOf[6], prof::MemoryKind::ManagedStatic);
  EXPECT_EQ(nsys::kMemoryKinds[6].label, "Managed Static");
  EXPECT_EQ(nsys::kCopyKinds[static_cast<std::size_t>(prof::CopyKind::DeviceToHost)].label,
            "Device-to-Host");
  EXPECT_EQ(nsys::kCopyKinds[static_cast<std::size_t>(prof::CopyKind::PeerToPeer)].label,
            "Peer-to-Peer");
}

}  // namespace
}  // namespace lacuna::analyzer
