// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/whatif/play.h"

/// Truths of every prediction, whatever is changed in whatever run.
namespace lacuna::analyzer {
namespace {

/// A run of each sort: held up by its device, host, loader, copies, collectives, waits, a full
/// queue, a host that does the device's work, and sleep. Batches are numbered, so that it is known
/// how long handing one over takes.
const std::vector<RunPlan>& plainRuns() {
  static std::vector<RunPlan> runs{
      {.steps = 12, .operators = 12, .syncEachStep = true},
      {.steps = 12, .operators = 40, .kernelNs = 3'000, .syncEachStep = true},
      {.steps = 12, .operators = 12, .batchNs = 6'000'000, .workers = 1},
      {.steps = 12, .operators = 12, .batchNs = 3'000'000, .workers = 0, .syncEachStep = true},
      {.steps = 12, .operators = 12, .pageableCopyNs = 900'000},
      {.steps = 12, .ranks = 2, .operators = 12, .syncEachStep = true, .collectiveNs = 1'500'000},
      {.steps = 12, .operators = 16, .operatorNs = 60'000, .syncEveryOperators = 4},
      {.steps = 12, .operators = 30, .queueRoom = 100},
      {.steps = 12, .operators = 12, .cpuDevice = true, .callerWorks = true},
      {.steps = 12, .operators = 12, .hostPauseNs = 700'000, .asleepNs = 900'000},
  };
  for (RunPlan& plan : runs) plan.batchesNumbered = true;
  return runs;
}
/// The last of them, whose pause and sleep lie at the end of each step, after its last launch and
/// wait.
constexpr std::size_t kPausesAtTheEnd = 9;

/// Parts of a run whose times a factor stretches.
constexpr std::string_view kParts[]{"kernel", "host",    "copy",       "communication",
                                    "loader", "off-cpu", "start-delay"};

std::string factorOf(std::string_view part, double factor) {
  return fmt::format("{}*{}", part, factor);
}

template <class Visit>
void withEachRun(Visit visit, std::size_t from = 0, std::size_t to = plainRuns().size()) {
  for (std::size_t i = from; i < to; ++i) {
    const testing::ScopedTrace trace(__FILE__, __LINE__, fmt::format("run {}", i));
    const Analysis analysis = analysed(plainRuns()[i]);
    const auto simulator = Simulator::create(analysis);
    ASSERT_TRUE(simulator);
    visit(analysis, *simulator);
  }
}

TEST(PredictionProperties, MoreSpeedNeverGainsLess) {
  withEachRun([](const Analysis&, const Simulator& simulator) {
    for (const std::string_view part : kParts) {
      std::int64_t before = 0;
      for (const double factor : {1.0, 0.9, 0.6, 0.3, 0.1, 0.0}) {
        const std::int64_t gain = simulator.play(factorOf(part, factor)).gainNs();
        EXPECT_GE(gain, before) << factorOf(part, factor);
        before = gain;
      }
    }
  });
}

TEST(PredictionProperties, SlowerPartsNeverGain) {
  withEachRun([](const Analysis&, const Simulator& simulator) {
    for (const std::string_view part : kParts) {
      std::int64_t before = 0;
      for (const double factor : {1.0, 1.5, 4.0}) {
        const std::int64_t gain = simulator.play(factorOf(part, factor)).gainNs();
        EXPECT_LE(gain, before) << factorOf(part, factor);
        before = gain;
      }
    }
  });
}

TEST(PredictionProperties, AChangeOfNothingGainsNothing) {
  withEachRun([](const Analysis&, const Simulator& simulator) {
    for (const std::string_view part : kParts) {
      const Prediction same = simulator.play(factorOf(part, 1));
      EXPECT_EQ(same.gainNs(), 0) << part;
      EXPECT_FALSE(same.touched) << part;
      EXPECT_EQ(same.takenNsPerStep.value_or(0), 0) << part;
      EXPECT_EQ(same.workTakenNsPerStep, 0) << part;
      EXPECT_EQ(same.confidence, 0) << part;
    }
    const Prediction none = simulator.play(std::vector<Change>{});
    EXPECT_EQ(none.gainNs(), 0);
    EXPECT_EQ(none.lowNsPerStep, none.predictedNsPerStep);
    EXPECT_EQ(none.highNsPerStep, none.predictedNsPerStep);
    EXPECT_TRUE(none.notes.empty());
  });
}

/// Number of predictions that had such a bound.
int expectGainsWithinTheTimeTaken(std::size_t from, std::size_t to) {
  int bounded = 0;
  const auto expectBound = [&](const Analysis&, const Simulator& simulator) {
    for (const std::string_view part : kParts) {
      for (const double factor : {0.7, 0.2, 0.0}) {
        const Prediction prediction = simulator.play(factorOf(part, factor));
        if (!prediction.takenNsPerStep) continue;
        ++bounded;
        EXPECT_LE(prediction.gainNs(), *prediction.takenNsPerStep + 1) << factorOf(part, factor);
        EXPECT_LE(prediction.workTakenNsPerStep, *prediction.takenNsPerStep + 1)
            << factorOf(part, factor);
      }
    }
  };
  withEachRun(expectBound, from, to);
  return bounded;
}

TEST(PredictionProperties, NoneGainsMoreThanTheTimeItTouches) {
  EXPECT_GE(expectGainsWithinTheTimeTaken(0, kPausesAtTheEnd), 100);
}

TEST(PredictionProperties, AQuickerHostGainsNoMoreThanTheDevicesIdleTime) {
  withEachRun([](const Analysis& analysis, const Simulator& simulator) {
    const std::int64_t idleNs = analysis.meanStepLedger().idleNs();
    for (const char* change : {"host*0", "off-cpu*0", "host*0.5"}) {
      const Prediction prediction = simulator.play(change);
      EXPECT_LE(prediction.gainNs(), idleNs + prediction.baseNsPerStep / 50) << change;
      EXPECT_GE(prediction.gainNs(), 0) << change;
    }
  });
}

TEST(PredictionProperties, TheIntervalHoldsThePredictionAndIsNoTimeBelowZero) {
  withEachRun([](const Analysis&, const Simulator& simulator) {
    for (const std::string_view part : kParts) {
      for (const double factor : {2.0, 0.5, 0.0}) {
        const Prediction prediction = simulator.play(factorOf(part, factor));
        EXPECT_GE(prediction.lowNsPerStep, 0) << factorOf(part, factor);
        EXPECT_LE(prediction.lowNsPerStep, prediction.predictedNsPerStep) << factorOf(part, factor);
        EXPECT_GE(prediction.highNsPerStep, prediction.predictedNsPerStep)
            << factorOf(part, factor);
        EXPECT_GE(prediction.confidence, 0) << factorOf(part, factor);
        EXPECT_LE(prediction.confidence, 0.99) << factorOf(part, factor);
      }
    }
  });
}

TEST(PredictionProperties, TogetherChangesGainAsMuchAsEachAlone) {
  withEachRun([](const Analysis&, const Simulator& simulator) {
    const std::vector<std::string> texts{"kernel*0.5", "copy*0.3", "communication*0.5",
                                         "loader*0.5"};
    std::vector<Change> changes;
    for (const std::string& text : texts) changes.push_back(*parseChange(text));
    const std::int64_t all = simulator.play(changes).gainNs();
    for (const Change& change : changes)
      EXPECT_GE(all, simulator.play({&change, 1}).gainNs()) << change.text();
    std::reverse(changes.begin(), changes.end());
    EXPECT_EQ(simulator.play(changes).gainNs(), all) << "their order does not matter";
  });
}

TEST(PredictionProperties, AreTheSameAgain) {
  withEachRun([](const Analysis& analysis, const Simulator& simulator) {
    const auto again = Simulator::create(analysis);
    ASSERT_TRUE(again);
    for (const char* change : {"kernel*0.5", "host*0.2", "sync=off", "loader.workers=4"}) {
      const Prediction first = simulator.play(change), second = again->play(change);
      EXPECT_EQ(first.predictedNsPerStep, second.predictedNsPerStep) << change;
      EXPECT_EQ(first.lowNsPerStep, second.lowNsPerStep) << change;
      EXPECT_EQ(first.highNsPerStep, second.highNsPerStep) << change;
    }
  });
}

TEST(PredictionProperties, HalfOfTheKernelsTimeIsHalfOfTheirWork) {
  // One kernel for each operator, and one for the optimizer.
  const Analysis analysis = analysed(plainRuns().front());
  const auto simulator = Simulator::create(analysis);
  ASSERT_TRUE(simulator);
  EXPECT_EQ(simulator->play("kernel*0.5").workTakenNsPerStep, 13 * 50'000);
  EXPECT_EQ(simulator->play("kernel:block*0.5").workTakenNsPerStep, 12 * 50'000);
  EXPECT_EQ(simulator->play("kernel:multi_tensor*0").workTakenNsPerStep, 100'000);
  EXPECT_EQ(simulator->play("kernel*2").workTakenNsPerStep, 0);
}

}  // namespace
}  // namespace lacuna::analyzer
