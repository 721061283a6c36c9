// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/runtime/schedule.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lacuna/runtime/ops.h"

namespace lacuna::rt::optim {
namespace {

Tensor scheduled(double value) {
  return full({2}, value, {DType::F64}).setRequiresGrad();
}

TEST(Schedule, FollowsItsCurveOnTopOfTheOptimizersRate) {
  Sgd sgd({scheduled(1)}, {.rate = 0.5});
  Schedule schedule(sgd, stepDecay(2, 0.1));
  for (const double expected : {0.5, 0.5, 0.05, 0.05, 0.005}) {
    EXPECT_NEAR(sgd.rate(), expected, 1e-12);
    schedule.step();
  }
  schedule.setSteps(1);
  EXPECT_NEAR(sgd.rate(), 0.5, 1e-12);
}

TEST(Schedule, CosineFallsToItsFloorAndStays) {
  const Curve curve = cosineDecay(10, 0.2);
  EXPECT_DOUBLE_EQ(curve(0), 1);
  EXPECT_NEAR(curve(5), 0.6, 1e-12);
  EXPECT_DOUBLE_EQ(curve(10), 0.2);
  EXPECT_DOUBLE_EQ(curve(100), 0.2);
}

TEST(Schedule, WarmUpRisesAndThenStartsTheOtherCurve) {
  const Curve curve = warmUp(4, stepDecay(1, 0.5));
  EXPECT_DOUBLE_EQ(curve(0), 0.25);
  EXPECT_DOUBLE_EQ(curve(3), 1);
  EXPECT_DOUBLE_EQ(curve(4), 1);
  EXPECT_DOUBLE_EQ(curve(5), 0.5);
}

TEST(Schedule, OneCycleRisesToOneAndFallsFarBelowItsStart) {
  const Curve curve = oneCycle(100, 0.3, 25, 1e4);
  EXPECT_NEAR(curve(0), 1.0 / 25, 1e-12);
  EXPECT_NEAR(curve(30), 1, 1e-12);
  EXPECT_GT(curve(20), curve(10));
  EXPECT_NEAR(curve(100), 1 / 25e4, 1e-12);
}

TEST(ReduceOnPlateau, ReducesAfterItsPatienceAndCoolsDown) {
  Sgd sgd({scheduled(1)}, {.rate = 1});
  ReduceOnPlateau plateau(sgd, {.factor = 0.5, .patience = 1, .cooldown = 2, .smallestRate = 0.3});
  plateau.step(1.0);
  plateau.step(1.0);
  EXPECT_DOUBLE_EQ(sgd.rate(), 1);
  plateau.step(1.0);
  EXPECT_DOUBLE_EQ(sgd.rate(), 0.5);
  plateau.step(1.0);
  plateau.step(1.0);
  plateau.step(1.0);
  EXPECT_DOUBLE_EQ(sgd.rate(), 0.5);
  plateau.step(1.0);
  EXPECT_DOUBLE_EQ(sgd.rate(), 0.3);
}

TEST(ReduceOnPlateau, LeavesARateThatIsBelowTheSmallest) {
  Sgd sgd({scheduled(1)}, {.rate = 1e-6});
  ReduceOnPlateau plateau(sgd, {.patience = 0, .smallestRate = 1e-5});
  plateau.step(1);
  plateau.step(1);
  EXPECT_EQ(sgd.rate(), 1e-6);
}

TEST(ClipGradValue, BoundsEveryElement) {
  const Tensor p = scheduled(0);
  p.setGrad(fromVector<double>({-3, 0.5}, {2}));
  clipGradValue({p}, 1);
  EXPECT_EQ(p.grad().toVector<double>(), (std::vector<double>{-1, 0.5}));
}

TEST(Schedule, RefusesWhatMakesNoSense) {
  Sgd sgd({scheduled(1)}, {});
  EXPECT_THROW((void)stepDecay(0), Error);
  EXPECT_THROW((void)oneCycle(10, 1.5), Error);
  EXPECT_THROW(Schedule(sgd, nullptr), Error);
  EXPECT_THROW(clipGradValue({}, -1), Error);
  EXPECT_THROW((void)clipGradNorm({}, -1), Error);
  EXPECT_THROW((void)clipGradNorm({}, NAN), Error);
}

}  // namespace
}  // namespace lacuna::rt::optim
