// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <stdexcept>
#include <thread>

#include "lacuna/runtime/instrument.h"
#include "lacuna/runtime/memory.h"
#include "lacuna/runtime/ops.h"

namespace lacuna::rt {
namespace {

using testing::HasSubstr;

constexpr std::size_t kMebibyte = std::size_t{1} << 20;

/// Iterations on meta, where only sizes matter, and on the CPU, where values must survive.
class PlannedMemory : public testing::TestWithParam<Device> {
 protected:
  PlannedMemory() {
    releaseCachedMemory(device());
    planMemory(true, device());
    recordMemoryPlan(device());
    before_ = memoryPlanStats(device());
  }
  ~PlannedMemory() override { planMemory(false, device()); }

  [[nodiscard]] Device device() const { return GetParam(); }
  [[nodiscard]] Tensor megabytes(std::int64_t count, double value = 0) const {
    return full({count << 18}, value, {DType::F32, device()});
  }
  /// a + b and its double, which needs two buffers of `size` at a time and three in all.
  [[nodiscard]] double iteration(std::int64_t size, double value = 1) const {
    const StepScope scope(0);
    Tensor a = megabytes(size, value);
    Tensor b = a + 2.0;
    a = Tensor();
    const Tensor c = mean(b * b);
    return device() == kCpu ? c.item() : 0;
  }
  [[nodiscard]] MemoryPlanStats stats() const {
    MemoryPlanStats out = memoryPlanStats(device());
    out.recordings -= before_.recordings;
    out.replays -= before_.replays;
    out.fallbacks -= before_.fallbacks;
    return out;
  }
  void expectCounts(std::uint64_t recordings, std::uint64_t replays,
                    std::uint64_t fallbacks) const {
    const MemoryPlanStats now = stats();
    EXPECT_EQ(now.recordings, recordings);
    EXPECT_EQ(now.replays, replays) << now.lastFallback;
    EXPECT_EQ(now.fallbacks, fallbacks) << now.lastFallback;
  }
  void expectValue(double value, double result) const {
    if (device() == kCpu) {
      EXPECT_DOUBLE_EQ(result, (value + 2) * (value + 2));
    }
  }

 private:
  MemoryPlanStats before_;
};

TEST_P(PlannedMemory, ReplaysTheRecordedIterationInOneArenaOfItsPeak) {
  const std::size_t held = memoryStats(device()).active;
  expectValue(1, iteration(4));
  expectValue(2, iteration(4, 2));  // installs the arena
  EXPECT_EQ(stats().bytes, stats().bound);
  EXPECT_EQ(stats().buffers, 3U);
  resetPeakMemory(device());
  const std::size_t reserved = memoryStats(device()).reserved;
  for (int i = 3; i < 6; ++i) expectValue(i, iteration(4, i));
  expectCounts(1, 4, 0);
  EXPECT_EQ(memoryStats(device()).peakReserved, reserved) << "nothing but the arena was used";
  EXPECT_NEAR(static_cast<double>(memoryStats(device()).peakActive - held),
              static_cast<double>(stats().bytes), 1024);
}

TEST_P(PlannedMemory, ABatchOfAnotherSizeIsServedByTheCacheAndThePlanStays) {
  for (int i = 0; i < 3; ++i) expectValue(i, iteration(4, i));
  expectValue(7, iteration(3, 7));
  expectCounts(1, 2, 1);
  EXPECT_THAT(stats().lastFallback, HasSubstr("allocation 1 of the iteration"));
  EXPECT_THAT(stats().lastFallback, HasSubstr("3145728 bytes where 4194304 were recorded"));
  expectValue(8, iteration(4, 8));
  expectCounts(1, 3, 1);
}

TEST_P(PlannedMemory, TwoOtherIterationsInARowAreRecordedAnew) {
  for (int i = 0; i < 3; ++i) expectValue(i, iteration(4, i));
  for (int i = 0; i < 5; ++i) expectValue(i, iteration(3, i));
  expectCounts(2, 4, 2);  // left, left, recorded, followed, followed
  EXPECT_EQ(stats().bytes, 6 * kMebibyte);
}

TEST_P(PlannedMemory, LeavingInTheMiddleKeepsWhatThePlanGaveOut) {
  const auto odd = [&](std::int64_t second) {
    const StepScope scope(0);
    const Tensor a = megabytes(2, 3);
    const Tensor b = megabytes(second, 5);
    const Tensor c = a + 1.0;
    return device() == kCpu ? sum(a.slice(0, 0, 8)).item() + sum(b.slice(0, 0, 8)).item() +
                                  sum(c.slice(0, 0, 8)).item()
                            : 0;
  };
  const double expected = odd(4);
  EXPECT_EQ(odd(4), expected);
  EXPECT_EQ(odd(6), expected);
  expectCounts(1, 1, 1);
  EXPECT_THAT(stats().lastFallback, HasSubstr("allocation 2 of the iteration"));
}

TEST_P(PlannedMemory, AnIterationThatEndsEarlyNeitherFollowsNorLeaves) {
  for (int i = 0; i < 2; ++i) expectValue(i, iteration(4, i));
  {
    const StepScope scope(0);
    const Tensor a = megabytes(4);
  }
  expectCounts(1, 1, 0);
  expectValue(3, iteration(4, 3));
  expectCounts(1, 2, 0);
}

TEST_P(PlannedMemory, AnExceptionInTheLoopEndsTheIterationAndItsRecording) {
  const auto broken = [&] {
    const StepScope scope(0);
    const Tensor a = megabytes(4);
    throw std::runtime_error("in the loop");
  };
  EXPECT_THROW(broken(), std::runtime_error);
  expectCounts(0, 0, 0);
  for (int i = 0; i < 2; ++i) expectValue(i, iteration(4, i));
  EXPECT_THROW(broken(), std::runtime_error);
  expectValue(5, iteration(4, 5));
  expectCounts(1, 2, 0);
}

TEST_P(PlannedMemory, APlaceThatIsStillHeldIsNotGivenOutAgain) {
  Tensor kept;
  const auto step = [&](bool keep) {
    const StepScope scope(0);
    Tensor a = megabytes(4, 11);
    if (keep) kept = a;
    a = Tensor();
    const Tensor b = megabytes(4, 22);
  };
  step(false);
  step(true);  // a lives on where b would go
  expectCounts(1, 0, 1);
  EXPECT_THAT(stats().lastFallback, HasSubstr("still held"));
  if (device() == kCpu) {
    EXPECT_EQ(mean(kept).item(), 11);
  }
  kept = Tensor();
}

TEST_P(PlannedMemory, WhatOutlivesTheIterationHasNoPlace) {
  Tensor last;
  const auto step = [&](double value) {
    const StepScope scope(0);
    const Tensor a = megabytes(2, value);
    last = a + 1.0;
  };
  step(1);
  step(2);
  step(3);
  expectCounts(1, 2, 0);
  EXPECT_EQ(stats().outliving, 1U);
  EXPECT_EQ(stats().bytes, 2 * kMebibyte);
  if (device() == kCpu) {
    EXPECT_EQ(mean(last).item(), 4);
  }
}

TEST_P(PlannedMemory, OtherThreadsAllocateBesideThePlanAndMayFreeFromIt) {
  for (int i = 0; i < 12; ++i) {
    const StepScope scope(0);
    Tensor a = megabytes(4, i);
    std::thread other([&, mine = a]() mutable {
      for (int k = 0; k < 8; ++k) {
        const Tensor beside = megabytes(1 + k % 3, k);
        if (device() == kCpu) {
          EXPECT_EQ(mean(beside).item(), k);
        }
      }
      mine = Tensor();
    });
    a = Tensor();
    other.join();  // the last handle went in the other thread
    const Tensor b = megabytes(4, i + 1);
    if (device() == kCpu) {
      EXPECT_EQ(mean(b).item(), i + 1);
    }
  }
  expectCounts(1, 11, 0);
  EXPECT_EQ(stats().bytes, 4 * kMebibyte);
}

TEST_P(PlannedMemory, IterationsThatNeverRepeatGiveUpUntilAskedAgain) {
  for (int i = 0; i < 12; ++i) expectValue(i, iteration(1 + i, i));
  EXPECT_TRUE(stats().gaveUp);
  EXPECT_EQ(stats().bytes, 0U);
  recordMemoryPlan(device());
  for (int i = 0; i < 2; ++i) expectValue(i, iteration(4, i));
  EXPECT_FALSE(stats().gaveUp);
  EXPECT_EQ(stats().replays, 1U);
}

TEST_P(PlannedMemory, TurnedOffItGivesItsArenaBackOnceNothingIsHeldInIt) {
  Tensor kept;
  for (int i = 0; i < 2; ++i) {
    kept = Tensor();
    const StepScope scope(0);
    Tensor a = megabytes(8, 1);
    if (i == 1) kept = a;
  }
  planMemory(false, device());
  releaseCachedMemory(device());
  const std::size_t held = memoryStats(device()).reserved;
  kept = Tensor();
  releaseCachedMemory(device());
  EXPECT_LE(memoryStats(device()).reserved + 8 * kMebibyte, held);
}

TEST_P(PlannedMemory, AnAllocatorShortOfMemoryTakesTheArena) {
  for (int i = 0; i < 2; ++i) expectValue(i, iteration(8, i));
  setMemoryLimit(memoryStats(device()).reserved + 4 * kMebibyte, device());
  { const Tensor large = megabytes(18, 1); }
  expectValue(3, iteration(8, 3));
  setMemoryLimit(0, device());
  expectCounts(2, 1, 0);
}

INSTANTIATE_TEST_SUITE_P(Devices, PlannedMemory, testing::Values(kMeta, kCpu),
                         [](const auto& info) { return info.param == kMeta ? "meta" : "cpu"; });

}  // namespace
}  // namespace lacuna::rt
