// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "whatif/replayed_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string_view>

#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {
namespace {

using testing::ElementsAre;

/// Steps of 10 ns, one behind the other: 's' is a steady one, 'w' one of the warm-up, 'p' a plain
/// one.
ReplayedSteps replayed(std::string_view kinds) {
  Analysis analysis;
  for (const char kind : kinds) {
    const auto index = analysis.steps.all.size();
    const auto start = static_cast<prof::TimeNs>(10 * index);
    analysis.steps.all.push_back({.index = index,
                                  .name = "step",
                                  .startNs = start,
                                  .endNs = start + 10,
                                  .warmUp = kind == 'w',
                                  .isPlain = kind == 'p'});
  }
  analysis.store = StoreBuilder().build();
  analysis.window = {0, static_cast<prof::TimeNs>(10 * kinds.size())};
  return chooseReplayed(analysis);
}

TEST(ReplayedSteps, AreTheSteadyOnes) {
  EXPECT_THAT(replayed("wsss").stepStarts, ElementsAre(10, 20, 30));
  EXPECT_EQ(replayed("wsss").window.endNs, 40);
}

TEST(ReplayedSteps, HaveNoPlainOnesBetweenThem) {
  EXPECT_THAT(replayed("wsspppsss").stepStarts, ElementsAre(60, 70, 80));
  EXPECT_THAT(replayed("wssspppss").stepStarts, ElementsAre(10, 20, 30));
  EXPECT_EQ(replayed("wssspppss").window.endNs, 40);
  EXPECT_THAT(replayed("spsps").stepStarts, ElementsAre(0));
}

}  // namespace
}  // namespace lacuna::analyzer
