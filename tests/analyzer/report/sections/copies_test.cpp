// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "analyzer/report/report_text.h"
#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/table.h"
#include "lacuna/prof/events.h"
#include "support/small_trace.h"

namespace lacuna::analyzer {
namespace {

using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(CopiesSection, AddsUpCopiesByKind) {
  using prof::CopyKind;
  constexpr std::uint64_t kMiB = 1 << 20;
  const Analysis analysis =
      test::SmallTrace()
          .copy(0, 200, 4 * kMiB, CopyKind::DeviceToHost)
          .copy(300, 400, kMiB, CopyKind::HostToDevice, prof::MemoryKind::Pageable)
          .copy(500, 600, kMiB, CopyKind::HostToDevice)
          .analysed();
  const Table copies = reportTable(analysis, "copies");
  ASSERT_EQ(copies.rows.size(), 2U);
  // 2 MiB in 200 µs, and 4 MiB in as long: 2,097,152 B / 200 µs = 10.49 GB/s, and twice that.
  EXPECT_THAT(cellsOf(copies, 0, {"kind", "count", "bytes", "total_ns", "bytes_per_second"}),
              ElementsAre("host to device", "2", "2.00 MiB", "200 µs", "10.5 GB/s"));
  EXPECT_THAT(cellsOf(copies, 1, {"kind", "count", "bytes", "total_ns", "bytes_per_second"}),
              ElementsAre("device to host", "1", "4.00 MiB", "200 µs", "21.0 GB/s"));
  const std::string text = sectionText(analysis, "copies");
  EXPECT_THAT(text, HasSubstr("\nCopies\n 1 copy from or to pageable memory, 100 µs\n"));
  EXPECT_THAT(text, ContainsRegex("\n host to device +2 +2\\.00 MiB +200 µs +10\\.5 GB/s\n"));
  EXPECT_EQ(jsonAt(analysis, "/copies/0/bytes"), "2097152");
  EXPECT_EQ(jsonAt(analysis, "/copies/1/total_ns"), "200000");
}

TEST(CopiesSection, WithoutCopiesStatesIt) {
  EXPECT_EQ(sectionText(withoutResults(), "copies"), "\nCopies\n the trace holds nothing of it\n");
  EXPECT_EQ(jsonAt(withoutResults(), "/copies"), "[]");
}

}  // namespace
}  // namespace lacuna::analyzer
