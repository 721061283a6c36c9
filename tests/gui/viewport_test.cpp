// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "timeline/viewport.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace lacuna::gui {
namespace {

constexpr prof::TimeNs kBegin = 5'000'000'000'000;
constexpr prof::TimeWindow kTrace{kBegin, kBegin + 1'000'000'000};

TEST(Viewport, StartsWithTheWholeTrace) {
  const Viewport view(kTrace);
  EXPECT_LE(view.startNs(), kTrace.startNs);
  EXPECT_GE(view.endNs(), kTrace.endNs);
  EXPECT_LT(view.spanNs(), 1'100'000'000);
}

TEST(Viewport, ZoomingKeepsTheMomentUnderTheCursor) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> unit(0, 1);
  Viewport view(kTrace);
  for (int i = 0; i < 500; ++i) {
    const double x = 200 + unit(random) * 1520;
    const prof::TimeNs before = view.timeAt(x, 1920);
    const Viewport next = view.zoomed(0.5 + unit(random), x / 1920);
    const bool atLimit = next.spanNs() <= Viewport::kClosestNs ||
                         next.startNs() <= Viewport(kTrace).startNs() ||
                         next.endNs() >= Viewport(kTrace).endNs();
    const double threeNs = 3 / next.nsPerPixel(1920);  // moments are whole nanoseconds
    if (!atLimit) {
      EXPECT_NEAR(next.pixelAt(before, 1920), x, 1 + threeNs);
    }
    view = next;
  }
}

TEST(Viewport, NeverLeavesTheTraceOrComesTooClose) {
  std::mt19937 random(2);
  std::uniform_real_distribution<double> unit(-1, 1);
  const Viewport full(kTrace);
  Viewport view = full;
  for (int i = 0; i < 2000; ++i) {
    view = i % 2 ? view.panned(unit(random) * 3)
                 : view.zoomed(std::pow(10, unit(random)), unit(random));
    ASSERT_GE(view.startNs(), full.startNs() - 1);
    ASSERT_LE(view.endNs(), full.endNs() + 1);
    ASSERT_GE(view.spanNs(), Viewport::kClosestNs);
  }
}

TEST(Viewport, ShowsAWindowWithItsMargin) {
  const Viewport view = Viewport(kTrace).showing({kBegin + 100'000'000, kBegin + 200'000'000}, 0.5);
  EXPECT_EQ(view.startNs(), kBegin + 50'000'000);
  EXPECT_EQ(view.endNs(), kBegin + 250'000'000);
}

TEST(Viewport, AnEmptyTraceStillHasAView) {
  EXPECT_GT(Viewport({0, 0}).spanNs(), 0);
}

TEST(ViewHistory, GoesBackAndForthAndForgetsTheFutureAfterANewJump) {
  const Viewport a(kTrace);
  const Viewport b = a.zoomed(0.5, 0);
  const Viewport c = a.zoomed(0.1, 1);
  ViewHistory history;
  history.leave(a);
  history.leave(b);
  EXPECT_EQ(history.back(c), b);
  EXPECT_EQ(history.back(b), a);
  EXPECT_FALSE(history.canBack());
  EXPECT_EQ(history.forward(a), b);
  history.leave(b);
  EXPECT_FALSE(history.canForward());
}

TEST(Viewport, AViewOfATraceThatGrowsStaysWhereItIsOrAtTheEnd) {
  const prof::TimeWindow more{kBegin, kBegin + 2'000'000'000};
  const Viewport full(kTrace);
  EXPECT_EQ(full.grown(more), Viewport(more));
  const Viewport inside = full.showing({kBegin + 100, kBegin + 100'000});
  EXPECT_EQ(inside.grown(more), inside);
  EXPECT_EQ(inside.grown(more).trace().endNs, more.endNs);
  const Viewport last = inside.movedTo(kTrace.endNs - inside.spanNs());
  EXPECT_EQ(last.grown(more).endNs(), more.endNs);
  EXPECT_EQ(last.grown(more).spanNs(), last.spanNs());
  EXPECT_EQ(last.within(more), last);
  ViewHistory history;
  history.leave(full);
  history.leave(inside);
  history = history.within(more);
  EXPECT_EQ(history.back(last), inside);
  EXPECT_EQ(history.back(inside), Viewport(more));
}

}  // namespace
}  // namespace lacuna::gui
