// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <initializer_list>
#include <memory>
#include <vector>

#include "analyses/time/projection.h"
#include "analyses/work/launch_index.h"
#include "analyzer/analyses/named_store.h"
#include "lacuna/analyzer/store.h"
#include "support/timeline_maker.h"

namespace lacuna::analyzer {
namespace {

using test::kHundred;
using test::named;
using test::TimelineMaker;

TEST(Projection, IsFromTheFirstStartToTheLastEndOfWhatARangeLaunched) {
  TimelineMaker m;
  m.host(1, 0, 20, Activity::Annotation, 1);   // forward
  m.host(1, 2, 12, Activity::Annotation, 2);   // block, inside
  m.host(1, 30, 40, Activity::Annotation, 2);  // block, by itself
  m.host(2, 0, 50, Activity::Annotation, 3);   // another thread launches nothing
  m.launch(1, 3, 4, 1)
      .launch(1, 10, 11, 2)
      .launch(1, 15, 16, 3)
      .launch(1, 31, 32, 4)
      .launch(1, 60, 61, 5);
  m.runs(1, 10, 20, 1).runs(2, 15, 25, 2).runs(1, 40, 50, 3).runs(1, 60, 70, 4).runs(1, 80, 90, 5);
  const auto store = named({"forward", "block", "idle"});
  for (const std::vector<prof::TimeWindow>& windows :
       {std::vector<prof::TimeWindow>{{0, 100}}, {{0, 35}, {35, 65}, {65, 100}}}) {
    Projection projection;
    for (const prof::TimeWindow window : windows)
      projection.add(m.made, LaunchIndex(m.made), window, {}, *store);
    const auto rows = projection.take();
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_EQ(rows[0].name, "forward");
    EXPECT_EQ(rows[0].count, 1U);
    EXPECT_EQ(rows[0].work, 3U);
    EXPECT_EQ(rows[0].hostNs, 20);
    EXPECT_EQ(rows[0].projectedNs, 50 - 10);
    EXPECT_EQ(rows[0].busyNs, 15 + 10) << "two queues side by side count once";
    EXPECT_EQ(rows[1].name, "block");
    EXPECT_EQ(rows[1].count, 2U);
    EXPECT_EQ(rows[1].projectedNs, 15 + 10);
    EXPECT_EQ(rows[1].minNs, 10);
    EXPECT_EQ(rows[1].maxNs, 15);
  }
}

}  // namespace
}  // namespace lacuna::analyzer
