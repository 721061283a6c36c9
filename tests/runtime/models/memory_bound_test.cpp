// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "bench/runtime/trainers.h"
#include "lacuna/runtime/memory_plan.h"

/// Define-by-run training holds no more than a static plan of the same operators would: the claim of the benchmark
/// `memory`, on meta, where it does not depend on the machine.
namespace lacuna {
namespace {

class MemoryBound : public testing::TestWithParam<const char*> {};

TEST_P(MemoryBound, ThePeakIsThatOfAStaticPlan) {
  const bench::Trainer trainer = bench::makeTrainer(GetParam(), rt::kMeta);
  trainer.step();
  const rt::OperatorList list = rt::recordOperators([&] { trainer.step(); }, rt::kMeta);
  const auto bound = static_cast<double>(rt::lastUseBound(list));
  EXPECT_GE(static_cast<double>(list.peak), bound) << "the bound is a bound";
  EXPECT_LE(static_cast<double>(list.peak), 1.006 * bound);
  EXPECT_GT(static_cast<double>(rt::keepAllBound(list)), 1.05 * bound) << "keeping everything costs more";
}

TEST(MemoryReserved, OfResNet50IsLittleMoreThanItsTensors) {
  rt::releaseCachedMemory(rt::kMeta);
  rt::resetPeakMemory(rt::kMeta);
  const bench::Trainer trainer = bench::makeTrainer("resnet50", rt::kMeta);
  for (int step = 0; step < 3; ++step) trainer.step();
  const rt::MemoryStats stats = rt::memoryStats(rt::kMeta);
  EXPECT_LE(static_cast<double>(stats.peakReserved), 1.03 * static_cast<double>(stats.peakActive));
}

TEST_P(MemoryBound, APlannedArenaReservesLittleMoreThanAStaticPlan) {
  const auto [bound, memory, plan] = bench::measurePlanned(GetParam());
  EXPECT_EQ(plan.fallbacks, 0U) << plan.lastFallback;
  EXPECT_GE(plan.replays, 3U);
  EXPECT_LE(static_cast<double>(plan.bytes), 1.03 * static_cast<double>(plan.bound));
  EXPECT_LE(static_cast<double>(memory.peakReserved), 1.03 * static_cast<double>(bound));
  rt::releaseCachedMemory(rt::kMeta);
}

INSTANTIATE_TEST_SUITE_P(Networks, MemoryBound, testing::Values("stylegan2", "resnet18", "resnet50", "transformer"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace lacuna
