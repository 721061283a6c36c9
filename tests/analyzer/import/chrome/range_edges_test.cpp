// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "import/chrome/range_edges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace lacuna::analyzer {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Edge = RangeEdges::Edge;

/// Ranges that wait for their ends, which have length -1 until then.
class EdgeTrace {
 public:
  Edge begin(prof::TimeNs timeNs, std::uint64_t key = 1, std::uint32_t args = 0,
             std::uint32_t location = 1) {
    prof::Range row;
    row.startNs = timeNs;
    row.durNs = -1;
    row.flags = prof::kUnfinished;
    row.thread.value = location;
    row.args.value = args;
    ranges.push(row);
    return {.timeNs = timeNs,
            .key = key,
            .row = ranges.startNs.size() - 1,
            .location = location,
            .args = {}};
  }
  static Edge end(prof::TimeNs timeNs, std::uint64_t key = 1, std::uint32_t args = 0,
                  std::uint32_t location = 1) {
    return {.timeNs = timeNs, .key = key, .location = location, .args = prof::ArgSetId(args)};
  }
  static Edge async(Edge edge) {
    edge.isAsync = true;
    return edge;
  }
  std::uint64_t pair(const std::vector<Edge>& edges) {
    for (const Edge& edge : edges) pairing.add(edge);
    return pairing.pair(ranges, joins);
  }
  /// "from>to" of each join.
  [[nodiscard]] std::vector<std::pair<std::uint32_t, std::uint32_t>> joined() const {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> out;
    for (const ArgJoin& join : joins) out.emplace_back(join.from.value, join.to.value);
    return out;
  }

  prof::Range::Columns ranges;
  std::vector<ArgJoin> joins;
  RangeEdges pairing;
};

TEST(RangeEdges, AnEndEndsTheInnermostOpenRangeOfItsPlace) {
  EdgeTrace trace;
  const auto outer = trace.begin(0), inner = trace.begin(10), other = trace.begin(15, 2),
             open = trace.begin(40);
  EXPECT_EQ(trace.pair({outer, inner, other, EdgeTrace::end(20), EdgeTrace::end(30),
                        EdgeTrace::end(35, 2), open}),
            0U);
  EXPECT_THAT(trace.ranges.durNs, ElementsAre(30, 10, 20, -1));
  EXPECT_THAT(trace.ranges.flags, ElementsAre(0, 0, 0, prof::kUnfinished));
  EXPECT_THAT(trace.joins, IsEmpty());
}

TEST(RangeEdges, AsynchronousRangesAndThoseOfAPlaceDoNotEndEachOther) {
  EdgeTrace trace;
  const auto plain = trace.begin(0), async = EdgeTrace::async(trace.begin(1));
  EXPECT_EQ(trace.pair({plain, async, EdgeTrace::end(5), EdgeTrace::async(EdgeTrace::end(9))}), 0U);
  EXPECT_THAT(trace.ranges.durNs, ElementsAre(5, 8));
}

TEST(RangeEdges, PairsThatTheFileWritesTogetherStayTogether) {
  EdgeTrace trace;
  const auto first = trace.begin(0), second = trace.begin(3);
  EXPECT_EQ(trace.pair({first, EdgeTrace::end(5), second, EdgeTrace::end(8)}), 0U);
  EXPECT_THAT(trace.ranges.durNs, ElementsAre(5, 5)) << "in the order of time it were 8 and 2";
}

TEST(RangeEdges, AnEndInFrontOfItsBeginPutsAllIntoTheOrderOfTime) {
  EdgeTrace trace;
  const auto late = trace.begin(0), first = trace.begin(100), second = trace.begin(103);
  EXPECT_EQ(trace.pair(
                {EdgeTrace::end(5), late, first, EdgeTrace::end(105), second, EdgeTrace::end(108)}),
            0U);
  EXPECT_THAT(trace.ranges.durNs, ElementsAre(5, 8, 2));
}

TEST(RangeEdges, AnEndBeforeTheTimeOfItsBeginDoesSo) {
  EdgeTrace trace;
  const auto late = trace.begin(50), early = trace.begin(0);
  EXPECT_EQ(trace.pair({early, late, EdgeTrace::end(10), EdgeTrace::end(60)}), 0U);
  EXPECT_THAT(trace.ranges.durNs, ElementsAre(10, 10))
      << "the end at 10 is not that of the range from 50";
}

TEST(RangeEdges, ARangeMayHaveNoLengthAndTiesKeepTheOrderOfTheFile) {
  EdgeTrace sound;
  const auto range = sound.begin(7);
  EXPECT_EQ(sound.pair({range, EdgeTrace::end(7)}), 0U);
  EXPECT_THAT(sound.ranges.durNs, ElementsAre(0));
  EdgeTrace unsound;
  const auto open = unsound.begin(7);
  EXPECT_EQ(unsound.pair({EdgeTrace::end(7), open}), 1U);
  EXPECT_THAT(unsound.ranges.durNs, ElementsAre(-1));
}

TEST(RangeEdges, EndsWithoutABeginAreCountedAndTheirArgumentsGoToNothing) {
  EdgeTrace trace;
  const auto range = trace.begin(10);
  EXPECT_EQ(trace.pair({EdgeTrace::end(5, 1, 3), range, EdgeTrace::end(20), EdgeTrace::end(30),
                        EdgeTrace::end(40, 2, 4)}),
            3U);
  EXPECT_THAT(trace.ranges.durNs, ElementsAre(10));
  EXPECT_THAT(trace.joined(), ElementsAre(std::pair(3U, 0U), std::pair(4U, 0U)));
}

TEST(RangeEdges, ArgumentsOfAnEndGoToItsRange) {
  EdgeTrace trace;
  const auto both = trace.begin(0, 1, 5), none = trace.begin(0, 2), own = trace.begin(0, 3, 6);
  trace.pair(
      {both, none, own, EdgeTrace::end(1, 1, 7), EdgeTrace::end(1, 2, 8), EdgeTrace::end(1, 3)});
  EXPECT_THAT(trace.ranges.args,
              ElementsAre(prof::ArgSetId(5), prof::ArgSetId(8), prof::ArgSetId(6)));
  EXPECT_THAT(trace.joined(), ElementsAre(std::pair(7U, 5U)));
}

TEST(RangeEdges, AnotherThreadThatEndsARangeIsNamed) {
  EdgeTrace trace;
  const auto same = EdgeTrace::async(trace.begin(0, 1, 0, 4)),
             other = EdgeTrace::async(trace.begin(0, 2, 0, 4));
  trace.pair({same, other, EdgeTrace::async(EdgeTrace::end(1, 1, 0, 4)),
              EdgeTrace::async(EdgeTrace::end(1, 2, 0, 9))});
  EXPECT_THAT(trace.ranges.endThread, ElementsAre(prof::ThreadId(), prof::ThreadId(9)));
}

TEST(RangeEdges, EdgesArePairedOnce) {
  EdgeTrace trace;
  const auto range = trace.begin(0);
  EXPECT_EQ(trace.pair({range, EdgeTrace::end(4, 1, 2)}), 0U);
  trace.ranges.durNs[0] = 77;
  EXPECT_EQ(trace.pair({}), 0U);
  EXPECT_THAT(trace.ranges.durNs, ElementsAre(77));
  EXPECT_EQ(trace.pair({EdgeTrace::end(5)}), 1U) << "the range is not open any more";
}

TEST(RangeEdges, RandomNestsFindTheirEndsInTheOrderOfTheFileAndInAnyOther) {
  std::mt19937 random(17);
  for (int round = 0; round < 50; ++round) {
    EdgeTrace trace;
    std::vector<Edge> edges;
    std::vector<prof::TimeNs> lengths;
    std::vector<std::vector<std::size_t>> open(3);
    for (prof::TimeNs now = 0; now < 120; ++now) {
      auto& stack = open[random() % open.size()];
      const auto key = static_cast<std::uint64_t>(&stack - open.data());
      if (stack.empty() || random() % 2 == 0) {
        stack.push_back(lengths.size());
        lengths.push_back(-1);
        edges.push_back(trace.begin(now, key));
      } else {
        lengths[stack.back()] = now - trace.ranges.startNs[stack.back()];
        stack.pop_back();
        edges.push_back(EdgeTrace::end(now, key));
      }
    }
    if (round % 2 == 1) std::ranges::shuffle(edges, random);
    // A file may hold one place after the other, each in its order.
    if (round % 4 == 0) std::ranges::stable_sort(edges, {}, &Edge::key);
    EXPECT_EQ(trace.pair(edges), 0U);
    EXPECT_EQ(trace.ranges.durNs, lengths) << round;
  }
}

}  // namespace
}  // namespace lacuna::analyzer
