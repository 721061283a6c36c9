// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "import/chrome/flow_folding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {
namespace {

using prof::FlowPhase;
using testing::ElementsAre;

/// A trace of calls and device work with sets of arguments, and of flow points.
class FoldedTrace {
 public:
  prof::ArgSetId set(std::string_view shape) {
    const prof::ArgSetId id(static_cast<std::uint32_t>(sets().id.size()) + 1);
    builder.append(prof::ArgSet{id, builder.intern(shape)});
    return id;
  }
  prof::ArgSetId call(prof::TimeNs startNs, std::uint32_t thread, std::uint64_t correlation,
                      bool hasArgs = true) {
    prof::ApiCall row;
    row.startNs = startNs;
    row.thread.value = thread;
    row.correlation = correlation;
    if (hasArgs) row.args = set("=correlation");
    builder.append(row);
    return row.args;
  }
  template <class Row>
  prof::ArgSetId work(prof::TimeNs startNs, std::uint32_t queue, std::uint64_t correlation) {
    Row row;
    row.startNs = startNs;
    row.queue.value = queue;
    row.correlation = correlation;
    row.args = set("=correlation");
    builder.append(row);
    return row.args;
  }
  /// At thread 0 it lies on a queue.
  void flow(FlowPhase phase, prof::TimeNs timeNs, std::uint32_t thread, std::uint32_t queue,
            std::uint64_t id, std::string_view name = "ac2g", std::string_view category = "cat",
            prof::ArgSetId args = {}) {
    prof::Flow row;
    row.phase = phase;
    row.timeNs = timeNs;
    row.thread.value = thread;
    row.queue.value = queue;
    row.id = id;
    row.name = builder.intern(name);
    row.category = builder.intern(category);
    row.args = args;
    builder.append(row);
  }
  prof::ArgSet::Columns& sets() { return builder.columns<prof::ArgSet>(); }
  prof::Flow::Columns& flows() { return builder.columns<prof::Flow>(); }
  /// The shape of a set, "(gone)" where it is no more.
  std::string shapeOf(prof::ArgSetId id) {
    for (std::size_t i = 0; i < sets().id.size(); ++i) {
      if (sets().id[i] == id) return std::string(builder.text(sets().shape[i]));
    }
    return "(gone)";
  }

  StoreBuilder builder;
};

TEST(FlowFolding, APointAtTheStartOfItsCallBecomesALineOfTheCall) {
  FoldedTrace trace;
  const auto with = trace.call(10, 1, 5);
  const auto without = trace.call(20, 1, 6);
  trace.flow(FlowPhase::Begin, 10, 1, 0, 5);
  foldFlows(trace.builder);
  EXPECT_EQ(trace.shapeOf(with), "=correlation\n~s|cat|ac2g|");
  EXPECT_EQ(trace.shapeOf(without), "=correlation")
      << "a shape that two sets had changes for one of them";
  EXPECT_TRUE(trace.flows().id.empty());
}

TEST(FlowFolding, APointThatIsNotExactlyThereStaysAPoint) {
  struct Point {
    prof::TimeNs timeNs;
    std::uint32_t thread, queue;
    std::uint64_t id;
  };
  for (const Point& point :
       {Point{10, 1, 0, 6}, Point{11, 1, 0, 5}, Point{9, 1, 0, 5}, Point{10, 2, 0, 5},
        Point{10, 0, 1, 5}, Point{10, 0, 0, 5}, Point{30, 1, 0, 7}}) {
    FoldedTrace trace;
    const auto set = trace.call(10, 1, 5);
    trace.call(30, 1, 7, false);
    const auto constants = trace.set("!bp=\"e\"");
    trace.flow(FlowPhase::End, point.timeNs, point.thread, point.queue, point.id, "n", "c",
               constants);
    foldFlows(trace.builder);
    EXPECT_EQ(trace.shapeOf(set), "=correlation") << point.timeNs << " " << point.id;
    ASSERT_EQ(trace.flows().id.size(), 1U) << point.timeNs << " " << point.id;
    EXPECT_EQ(trace.flows().row(0).args, constants);
    EXPECT_EQ(trace.shapeOf(constants), "!bp=\"e\"");
  }
}

TEST(FlowFolding, PointsOnQueuesBecomeLinesOfEveryKindOfDeviceWork) {
  FoldedTrace trace;
  const prof::ArgSetId events[] = {
      trace.work<prof::Kernel>(10, 1, 5), trace.work<prof::Memcpy>(20, 1, 6),
      trace.work<prof::Memset>(30, 2, 7), trace.work<prof::Sync>(40, 2, 8)};
  std::vector<prof::ArgSetId> constants;
  for (std::uint32_t i = 0; i < 4; ++i) {
    constants.push_back(trace.set("!bp=\"e\""));
    trace.flow(FlowPhase::End, 10 * (i + 1), 0, 1 + i / 2, 5 + i, "n", "", constants.back());
  }
  foldFlows(trace.builder);
  EXPECT_TRUE(trace.flows().id.empty());
  for (const auto set : events) EXPECT_EQ(trace.shapeOf(set), "=correlation\n~f||n|!bp=\"e\"");
  for (const auto set : constants) EXPECT_EQ(trace.shapeOf(set), "(gone)");
  EXPECT_EQ(trace.sets().shape.size(), 4U);
}

TEST(FlowFolding, SeveralPointsOfOneEventStandInTheirOrder) {
  FoldedTrace trace;
  const auto set = trace.call(10, 1, 5);
  trace.flow(FlowPhase::End, 10, 1, 0, 5, "a");
  trace.flow(FlowPhase::Step, 10, 1, 0, 5, "b");
  trace.flow(FlowPhase::Begin, 10, 1, 0, 5, "a");
  foldFlows(trace.builder);
  EXPECT_EQ(trace.shapeOf(set), "=correlation\n~f|cat|a|\n~t|cat|b|\n~s|cat|a|");
}

TEST(FlowFolding, WhatALineCannotHoldStaysAPoint) {
  FoldedTrace trace;
  const auto set = trace.call(10, 1, 5);
  trace.flow(FlowPhase::Begin, 10, 1, 0, 5, "a|b");
  trace.flow(FlowPhase::Begin, 10, 1, 0, 5, "a\nb");
  trace.flow(FlowPhase::Begin, 10, 1, 0, 5, "a", "c|d");
  trace.flow(FlowPhase::Begin, 10, 1, 0, 5, "a", "c", trace.set("+own"));
  trace.flow(FlowPhase::Begin, 10, 1, 0, 5, "a", "c", trace.set(".id"));
  trace.flow(FlowPhase::Begin, 10, 1, 0, 5, "a", "c", trace.set("!bp=\"e\"\n+own"));
  trace.flow(FlowPhase::Begin, 10, 1, 0, 5, "last");
  foldFlows(trace.builder);
  EXPECT_EQ(trace.shapeOf(set), "=correlation\n~s|cat|last|");
  EXPECT_EQ(trace.flows().id.size(), 6U);
  EXPECT_EQ(trace.sets().id.size(), 4U);
  EXPECT_THAT(trace.flows().name,
              ElementsAre(trace.builder.intern("a|b"), trace.builder.intern("a\nb"),
                          trace.builder.intern("a"), trace.builder.intern("a"),
                          trace.builder.intern("a"), trace.builder.intern("a")));
}

TEST(FlowFolding, ATraceWithoutPointsStaysAsItIs) {
  FoldedTrace trace;
  const auto set = trace.call(10, 1, 5);
  trace.set("+unused");
  foldFlows(trace.builder);
  EXPECT_EQ(trace.shapeOf(set), "=correlation");
  EXPECT_EQ(trace.sets().id.size(), 2U);
}

/// The first event of a table with this correlation and with arguments, if it is where the point
/// lies.
template <class Row>
prof::ArgSetId eventAt(StoreBuilder& builder, const prof::Flow& flow) {
  const auto& rows = builder.columns<Row>();
  for (std::size_t i = 0; i < rows.correlation.size(); ++i) {
    if (rows.correlation[i] != flow.id || !rows.args[i]) continue;
    bool isThere = rows.startNs[i] == flow.timeNs;
    if constexpr (std::is_same_v<Row, prof::ApiCall>) {
      isThere = isThere && flow.thread && rows.thread[i] == flow.thread;
    } else {
      isThere = isThere && flow.queue && rows.queue[i] == flow.queue;
    }
    return isThere ? rows.args[i] : prof::ArgSetId();
  }
  return {};
}

TEST(FlowFolding, RandomTracesFoldAsASlowSearchWouldFoldThem) {
  std::mt19937 random(5);
  const auto few = [&](std::uint32_t most) { return static_cast<std::uint32_t>(random() % most); };
  for (int round = 0; round < 40; ++round) {
    FoldedTrace trace;
    for (int i = 0; i < 12; ++i) {
      trace.call(few(3), 1 + few(2), few(5), few(4) > 0);
      trace.work<prof::Kernel>(few(3), 1 + few(2), few(5));
      trace.work<prof::Memcpy>(few(3), 1 + few(2), few(5));
    }
    for (int i = 0; i < 60; ++i) {
      const bool onHost = few(2) == 0;
      trace.flow(FlowPhase::Step, few(3), onHost ? 1 + few(2) : 0, onHost ? 0 : 1 + few(2), few(5));
    }
    std::map<std::uint32_t, int> lines;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < trace.flows().id.size(); ++i) {
      const prof::Flow flow = trace.flows().row(i);
      auto at = eventAt<prof::ApiCall>(trace.builder, flow);
      if (!at) at = eventAt<prof::Kernel>(trace.builder, flow);
      if (!at) at = eventAt<prof::Memcpy>(trace.builder, flow);
      kept += at ? 0 : 1;
      if (at) ++lines[at.value];
    }
    foldFlows(trace.builder);
    EXPECT_EQ(trace.flows().id.size(), kept);
    for (std::size_t i = 0; i < trace.sets().id.size(); ++i) {
      std::string shape = "=correlation";
      for (int n = lines[trace.sets().id[i].value]; n > 0; --n) shape += "\n~t|cat|ac2g|";
      ASSERT_EQ(trace.builder.text(trace.sets().shape[i]), shape);
    }
  }
}

}  // namespace
}  // namespace lacuna::analyzer
