// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "bench/runtime/trainers.h"
#include "lacuna/runtime/memory_plan.h"
#include "samples/models/resnet.h"
#include "samples/models/stylegan2.h"
#include "samples/models/transformer.h"

/// Define-by-run training holds no more than a static plan of the same operators would: the claim
/// of the benchmark `memory`, on meta, where it does not depend on the machine.
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
  EXPECT_GT(static_cast<double>(rt::keepAllBound(list)), 1.05 * bound)
      << "keeping everything costs more";
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

INSTANTIATE_TEST_SUITE_P(Networks, MemoryBound,
                         testing::Values("stylegan2", "resnet18", "resnet50", "transformer"),
                         [](const auto& info) { return std::string(info.param); });

/// With products in 16 bits: the limit of the benchmark `memory`.
TEST(MemoryInShortTypes, IsLessThanTwoThirdsOfThatInF32) {
  const auto peak = [](const char* model, bench::Precision precision) {
    const bench::Trainer trainer = bench::makeTrainer(model, rt::kMeta, precision);
    trainer.step();
    rt::resetPeakMemory(rt::kMeta);
    trainer.step();
    return static_cast<double>(rt::memoryStats(rt::kMeta).peakActive);
  };
  for (const char* model : {"resnet18", "transformer"}) {
    const double wide = peak(model, bench::Precision::F32);
    EXPECT_LE(peak(model, bench::Precision::Amp), 0.65 * wide) << model;
    EXPECT_LE(peak(model, bench::Precision::F16), 0.65 * wide) << model;
  }
}

/// The most that a training step of the network holds beside its parameters and their gradients.
std::size_t activationsOf(const std::shared_ptr<rt::nn::Module>& net, const rt::Tensor& x) {
  for (int step = 0; step < 2; ++step) {
    net->zeroGrad();
    rt::resetPeakMemory(rt::kMeta);
    rt::sum((*net)(x)).backward();
  }
  std::size_t parameters = 0;
  for (const rt::Tensor& parameter : net->parameters()) parameters += parameter.sizeBytes();
  return rt::memoryStats(rt::kMeta).peakActive - 2 * parameters;
}

TEST(MemoryOfCheckpoints, IsLessThanHalfWhereThereAreManyBlocksAlike) {
  const rt::Options onMeta{rt::DType::F32, rt::kMeta};
  const rt::Tensor pictures = rt::empty({16, 3, 64, 64}, onMeta);
  const rt::Tensor tokens = rt::empty({16, 128}, {rt::DType::I64, rt::kMeta});
  const auto share = [](const auto& make, const rt::Tensor& x) {
    const auto kept = static_cast<double>(activationsOf(make(false), x));
    return static_cast<double>(activationsOf(make(true), x)) / kept;
  };
  const auto resnet = [&](bool on) {
    return samples::makeResNet({.depth = 50, .checkpoint = on, .options = onMeta});
  };
  EXPECT_LT(share(resnet, pictures), 0.5);
  const auto transformer = [&](bool on) {
    return samples::makeTransformer({.layers = 8, .checkpoint = on, .options = onMeta});
  };
  EXPECT_LT(share(transformer, tokens), 0.5);
  const auto discriminator = [&](bool on) {
    return samples::makeStyleGan2Discriminator({.size = 64, .checkpoint = on, .options = onMeta});
  };
  EXPECT_LT(share(discriminator, pictures), 0.9)
      << "most of it lies inside the first of its few blocks";
}

}  // namespace
}  // namespace lacuna
