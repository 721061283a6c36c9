// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <initializer_list>
#include <utility>

#include "analyzer/rules/cpu_training.h"
#include "analyzer/whatif/play.h"

namespace lacuna::analyzer {
namespace {

TEST(Debug, DebugChecksGoWithTheSynchronisationThatReadsThem) {
  RunPlan checked{.steps = 30, .operatorNs = 60'000, .syncEveryOperators = 1};
  checked.kernelName = "is_finite";
  const RunPlan plain{.steps = 30, .operatorNs = 60'000};
  EXPECT_LT(play(checked, "debug=off").predictedNsPerStep, play(plain, "host*1").measuredNsPerStep);
  checked.kernelName = "block";
  EXPECT_NEAR(static_cast<double>(play(checked, "debug=off").predictedNsPerStep), measured(plain),
              0.08 * measured(plain));
}

/// A CPU's steps of 10 ms. An operator of 4 ms in the forward adds a node. An operator of 5 ms in
/// the backward checks for NaN in its last 2 ms.
void addCheckedSteps(CpuTraining& training) {
  constexpr prof::TimeNs kMs = CpuTraining::kMs;
  training.work(0, 4 * kMs, "aten::linear", 1).work(4 * kMs, 5 * kMs, "AddmmBackward0");
  training.each(4 * kMs + 10, 2 * kMs, "operator", "aten::mm");
  training.each(7 * kMs, kMs, "operator", "aten::isnan")
      .each(8 * kMs, kMs, "operator", "aten::item");
}

std::int64_t gainWith(std::initializer_list<std::pair<const char*, const char*>> knobs) {
  CpuTraining training;
  addCheckedSteps(training);
  for (const auto& [name, value] : knobs)
    training.out.append(
        prof::Environment{.key = training.out.intern(name), .value = training.out.intern(value)});
  const Analysis analysis = training.analysed();
  return Simulator::create(analysis)->play("debug=off").gainNs();
}

TEST(Debug, ChecksInsideOfOperatorsThatTheCallerExecutesGo) {
  EXPECT_EQ(gainWith({{"knob.debug", "anomaly detection"}}), 2 * CpuTraining::kMs);
  EXPECT_EQ(gainWith({{"knob.debug", "off"}}), 0);
}

TEST(Debug, KeepingTheStackOfEachNodeGoes) {
  // A step's operator has the number of the step before and 1,000 more, so the nodes of one take
  // all of its 4 ms.
  EXPECT_EQ(gainWith({{"knob.debug", "anomaly detection"}, {"knob.debug.stack_ns", "1000"}}),
            3 * CpuTraining::kMs);
  EXPECT_EQ(gainWith({{"knob.debug", "anomaly detection"}, {"knob.debug.stack_ns", "none"}}),
            2 * CpuTraining::kMs);
}

}  // namespace
}  // namespace lacuna::analyzer
