// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>

#include "analyzer/report/report_text.h"
#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/ledger.h"
#include "lacuna/analyzer/table.h"
#include "support/small_trace.h"

namespace lacuna::analyzer {
namespace {

using testing::ContainsRegex;
using testing::ElementsAre;

TEST(CausesSection, NamesTheCallThatTheDeviceWaitsFor) {
  // The device has nothing to do from 1.02 to 5.02 ms. The host allocates until 5.00 ms, and
  // launches after that.
  const Analysis analysis = test::SmallTrace()
                                .launched(0, 10, 20, 1'020, "first")
                                .call(30, 5'000, "cudaMalloc")
                                .launched(5'000, 5'010, 5'020, 6'020, "second")
                                .analysed();
  const Table causes = reportTable(analysis, "causes");
  EXPECT_THAT(cellsOf(causes, 0, {"cause", "what", "count", "ns"}),
              ElementsAre("driver_call", "cudaMalloc", "1", "3.98 ms"));
  double launchNs = 0;
  for (std::size_t i = 1; i < causes.rows.size(); ++i) {
    EXPECT_THAT(cellsOf(causes, i, {"cause"}), ElementsAre("launch"));
    launchNs += causes.number(i, causes.columnOf("ns"));
  }
  EXPECT_EQ(launchNs, 20'000);
  EXPECT_EQ(jsonAt(analysis, "/causes/0/ns"), "3980000");
  EXPECT_EQ(jsonAt(analysis, "/causes/0/name"), "\"cudaMalloc\"");
  EXPECT_THAT(sectionText(analysis, "causes"),
              ContainsRegex("\n +3\\.98 ms +1×  allocator or driver calls +cudaMalloc\n"));
}

TEST(CausesSection, ACauseWithoutANameIsInWords) {
  Analysis analysis = withSteps(1);
  analysis.of<IdleCauses>().details = {{Cause::LoaderWait, "fetch", 8'000'000, 12},
                                       {Cause::Unknown, "", 1'500'000, 3}};
  const Table causes = reportTable(analysis, "causes");
  EXPECT_THAT(cellsOf(causes, 0, {"what", "name", "label", "count", "ns"}),
              ElementsAre("fetch", "fetch", "waiting for the loader", "12", "8.00 ms"));
  EXPECT_THAT(cellsOf(causes, 1, {"what", "name", "label", "count", "ns"}),
              ElementsAre("unknown", "", "unknown", "3", "1.50 ms"));
  EXPECT_EQ(jsonAt(analysis, "/causes/1/name"), "\"\"");
  EXPECT_EQ(sectionText(analysis, "causes"),
            "\nWhat the idle time was spent on\n"
            "  in all  times  cause                   where\n"
            " 8.00 ms    12×  waiting for the loader  fetch\n"
            " 1.50 ms     3×  unknown\n");
}

TEST(CausesSection, WithoutIdleTimeStatesIt) {
  EXPECT_EQ(sectionText(withoutResults(), "causes"),
            "\nWhat the idle time was spent on\n no idle time\n");
  EXPECT_EQ(jsonAt(withoutResults(), "/causes"), "[]");
}

}  // namespace
}  // namespace lacuna::analyzer
