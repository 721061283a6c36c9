// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "support/programs.h"

/// Each fault of the sample `faulty` does what its name promises, counted by an NVTX tool; nothing
/// here depends on time.
namespace {

constexpr int kSteps = 25;
constexpr int kBatch = 32;

struct Counts {
  std::map<std::string, std::int64_t> of;
  std::vector<std::int64_t> live;  ///< bytes, at the beginning of each step
  [[nodiscard]] std::int64_t operator[](const std::string& name) const {
    const auto at = of.find(name);
    return at == of.end() ? 0 : at->second;
  }
};

Counts countsOf(const std::string& fault, const std::string& flags = "") {
  const auto file =
      std::filesystem::temp_directory_path() / ("lacuna-counts-" + std::to_string(::getpid()));
  const std::string command = "NVTX_INJECTION64_PATH='" COUNTING_TOOL "' LACUNA_TEST_COUNTS='" +
                              file.string() + "' " + lacuna::test::program("faulty") + " --steps " +
                              std::to_string(kSteps) + " --batch " + std::to_string(kBatch) +
                              " --hidden 32 --slowness 5 --fault " + fault + " " + flags +
                              " >/dev/null";
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  Counts counts;
  std::ifstream in(file);
  std::string name;
  std::int64_t number = 0;
  while (std::getline(in, name, '\t') && in >> number && in.ignore()) {
    if (name == "live") {
      counts.live.push_back(number);
    } else {
      counts.of[name] = number;
    }
  }
  std::filesystem::remove(file);
  return counts;
}

class Fault : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(lacuna::test::program("faulty")))
      GTEST_SKIP() << "samples are not built";
    EXPECT_EQ(clean()["step"], kSteps);
    EXPECT_GT(clean()["operator"], 10 * kSteps);
  }
  static const Counts& clean() {
    static const Counts counts = countsOf("none");
    return counts;
  }
};

TEST_F(Fault, NoneHoldsTheSameInEveryStep) {
  EXPECT_EQ(clean().live[5], clean().live[kSteps - 1]);
  EXPECT_EQ(clean()["loader.workers=2"], 1);
  EXPECT_EQ(clean()["debug=off"], 1);
}

TEST_F(Fault, SlowLoaderFetchesOnTheTrainingThread) {
  const Counts slow = countsOf("slow-loader");
  EXPECT_EQ(slow["fetch by -1"], kSteps);
  EXPECT_EQ(clean()["fetch by -1"], 0);
  EXPECT_EQ(slow["loader.workers=0"], 1);
}

TEST_F(Fault, StarvedWorkersAreOne) {
  const Counts starved = countsOf("starved-workers");
  EXPECT_GE(starved["fetch by 0"], kSteps);
  EXPECT_EQ(starved["fetch by 1"] + starved["fetch by -1"], 0);
  EXPECT_EQ(starved["loader.workers=1"], 1);
}

TEST_F(Fault, HeavyDecodeComputesOnTheTrainingThread) {
  const Counts heavy = countsOf("heavy-decode", "--slowness 50");
  EXPECT_EQ(heavy["decode by -1"], kSteps);
  // Six million rounds of dependent steps each. No processor does more than six steps in a
  // nanosecond.
  EXPECT_GT(heavy["loader cpu ns"], kSteps * 1'000'000);
}

TEST_F(Fault, SyncEachStepWaitsForEveryLayer) {
  EXPECT_EQ(countsOf("sync-each-step")["sync"], clean()["sync"] + 3 * kSteps);
}

TEST_F(Fault, TinyOpsAreSomeForEachPicture) {
  const Counts tiny = countsOf("tiny-ops");
  EXPECT_EQ(tiny["operator softmax"], kSteps * kBatch);
  EXPECT_GE(tiny["operator"], clean()["operator"] + 3 * kSteps * kBatch);
}

TEST_F(Fault, AllocChurnGivesMemoryBackInEveryStep) {
  const Counts churn = countsOf("alloc-churn");
  EXPECT_GE(churn["release"], kSteps);
  EXPECT_LT(clean()["release"], kSteps);
}

TEST_F(Fault, LeakHoldsMoreInEveryStep) {
  const Counts leak = countsOf("leak");
  const std::int64_t each = leak.live[6] - leak.live[5];
  EXPECT_GT(each, 3 * kBatch * 32 * 4) << "what three layers saved, at least";
  for (int step = 6; step < kSteps; ++step)
    EXPECT_GE(leak.live[static_cast<std::size_t>(step)], leak.live[5] + (step - 5) * each) << step;
}

TEST_F(Fault, MemorySpikeHoldsTheWholeDataSetAtOnce) {
  const Counts spike = countsOf("memory-spike");
  EXPECT_GT(spike["peak"], 4 * clean()["peak"]);
  EXPECT_EQ(spike.live[kSteps - 1], clean().live[kSteps - 1]) << "it is gone afterwards";
}

TEST_F(Fault, BiasBeforeNormHasABiasInEachLayer) {
  const Counts biased = countsOf("bias-before-norm");
  for (const char* layer : {"one", "two", "three"}) {
    EXPECT_GT(biased[std::string("tensor net.") + layer + ".bias"], 0);
    EXPECT_EQ(clean()[std::string("tensor net.") + layer + ".bias"], 0);
  }
}

TEST_F(Fault, ZeroGradMemsetFillsEveryGradient) {
  const Counts zeros = countsOf("zero-grad-memset");
  const std::int64_t parameters =
      3 + 6 + 2;  // weights, scales and shifts of three layers, and a head with a bias
  EXPECT_EQ(zeros["operator fill_"], clean()["operator fill_"] + kSteps * parameters);
}

TEST_F(Fault, DebugModeChecksEveryGradient) {
  const Counts debug = countsOf("debug-mode");
  EXPECT_EQ(debug["debug=on"], 1);
  EXPECT_GE(debug["operator is_finite"], 10 * kSteps);
  EXPECT_GE(debug["sync"], clean()["sync"] + 10 * kSteps);
  EXPECT_EQ(clean()["operator is_finite"], 0);
}

TEST_F(Fault, UnfusedOptimizerUpdatesEachParameterByItself) {
  EXPECT_EQ(clean()["operator sgd"], kSteps);
  EXPECT_EQ(countsOf("unfused-optimizer", "--pieces 1")["operator sgd"], kSteps * 11);
  EXPECT_EQ(countsOf("unfused-optimizer", "--pieces 5")["operator sgd"], kSteps * (5 + 6 * 5));
  // No piece is empty.
  EXPECT_EQ(countsOf("unfused-optimizer")["operator sgd"], kSteps * (5 + 6 * 32));
}

TEST_F(Fault, GivesWayToItsKnob) {
  EXPECT_EQ(countsOf("unfused-optimizer", "--optimizer.fused on")["operator sgd"], kSteps);
  EXPECT_EQ(countsOf("zero-grad-memset", "--zero_grad none")["operator fill_"],
            clean()["operator fill_"]);
  EXPECT_EQ(countsOf("debug-mode", "--debug off")["operator is_finite"], 0);
}

}  // namespace
