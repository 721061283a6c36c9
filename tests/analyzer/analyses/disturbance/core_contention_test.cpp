// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "analyses/disturbance/core_contention.h"
#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {
namespace {

using namespace prof;

/// Threads of one program with counters of how long each ran and waited for a core, in percent.
CoreContention contended(const std::vector<std::pair<double, double>>& threads, std::uint32_t cores,
                         const std::vector<double>& idle = {}) {
  StoreBuilder builder;
  std::uint32_t track = 0;
  for (const double percent : idle) {
    builder.append(CounterTrack{.id = TrackId(++track), .name = builder.intern("idle cores")});
    builder.append(CounterSample{.timeNs = 0, .track = TrackId(track), .value = percent});
  }
  for (std::uint32_t i = 0; i < threads.size(); ++i) {
    builder.append(Thread{.id = ThreadId(i + 1)});
    for (const auto& [name, percent] : {std::pair("thread CPU", threads[i].first),
                                        std::pair("waiting for a core", threads[i].second)}) {
      builder.append(CounterTrack{
          .id = TrackId(++track), .thread = ThreadId(i + 1), .name = builder.intern(name)});
      builder.append(CounterSample{.timeNs = 0, .track = TrackId(track), .value = percent});
    }
  }
  return *coreContention(*builder.build(), {0, 1000}, {}, cores);
}

TEST(CoreContention, IsWhatTheProgramsOwnThreadsCannotExplain) {
  const CoreContention others = contended({{50, 50}, {60, 20}}, 2);
  EXPECT_EQ(others.lostNs, 700);
  EXPECT_EQ(others.ranNs, 1100);
  ASSERT_EQ(others.threads.size(), 2U);
  EXPECT_EQ(others.threads[0].lostNs, 500);
  // Four threads on two cores may have waited for each other.
  EXPECT_EQ(contended({{50, 50}, {50, 50}, {50, 50}, {50, 50}}, 2).lostNs, 0);
  EXPECT_FALSE(contended({{50, 50}}, 0).known);
}

TEST(CoreContention, NobodyTakesACoreThatIsIdle) {
  // The threads run on 1.1 of two cores and wait for 0.7. Others have what is not idle of the rest.
  EXPECT_EQ(contended({{50, 50}, {60, 20}}, 2, {90}).lostNs, 0);
  EXPECT_NEAR(static_cast<double>(contended({{50, 50}, {60, 20}}, 2, {70}).lostNs), 200, 1);
  EXPECT_EQ(contended({{50, 50}, {60, 20}}, 2, {10}).lostNs, 700);
  EXPECT_NEAR(static_cast<double>(contended({{50, 50}, {60, 20}}, 2, {10, 70}).lostNs), 200, 1)
      << "two recorders of one machine";
}

TEST(CoreContention, ComesFromTheStatesOfThreadsWhereTheyAreRecorded) {
  StoreBuilder builder;
  const auto state = [&](std::uint32_t thread, TimeNs start, TimeNs dur, ThreadState what) {
    builder.append(
        ThreadSpan{.startNs = start, .durNs = dur, .thread = ThreadId(thread), .state = what});
  };
  state(1, 0, 1000, ThreadState::Running);
  state(2, 0, 400, ThreadState::Runnable);   // a core is free of this program, but another has it
  state(3, 200, 300, ThreadState::Running);  // from here on both cores are the program's
  state(2, 400, 600, ThreadState::Running);
  const auto found = coreContention(*builder.build(), {0, 1000}, {}, 2);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->lostNs, 200);
  EXPECT_EQ(found->ranNs, 1900);
  ASSERT_EQ(found->threads.size(), 1U);
  ASSERT_EQ(found->threads[0].longest.size(), 1U);
  EXPECT_EQ(found->threads[0].longest[0].startNs, 0);
  EXPECT_EQ(found->threads[0].longest[0].endNs, 200);
}

}  // namespace
}  // namespace lacuna::analyzer
