// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0

/// Real runs whose programs know why their device was idle: the ledger must agree. All is held
/// against what the programs measured themselves, so nothing here depends on how fast a machine is.
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <vector>

#include "e2e/run_fixture.h"
#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/findings.h"

namespace lacuna {
namespace {

using analyzer::Analysis;
using analyzer::Cause;
using analyzer::Ledger;
using prof::TimeNs;
using prof::TimeWindow;

struct Planted {
  std::string cause;
  TimeWindow window;
  std::int64_t cpuNs = 0;
};

class CausesTest : public RunTest {
 protected:
  Analysis analysed() {
    const auto store = analyzer::Store::open(folder_ / "out.lcn");
    EXPECT_TRUE(store) << store.error().message;
    auto analysis = analyzer::analyse(*store);
    EXPECT_TRUE(analysis) << analysis.error().message;
    return std::move(*analysis);
  }

  /// The ledger of the only device in these stretches.
  static Ledger within(const Analysis& analysis, const std::vector<TimeWindow>& stretches) {
    const auto timeline = analyzer::loadTimeline(*analysis.store);
    const analyzer::LedgerAccountant accountant(*timeline);
    Ledger sum;
    for (const TimeWindow& stretch : stretches)
      sum += accountant.sum({analysis.devices.at(0).id, {}}, stretch);
    return sum;
  }

  /// Time in these stretches for which the device had nothing to do: nothing ran, and no launched
  /// work had yet to start. Launched work waits, for example, where other programs keep the queue's
  /// thread off the cores. From the rows, not from the ledger, and between the first and the last
  /// work of the device.
  static std::int64_t idleWithin(const Analysis& analysis,
                                 const std::vector<TimeWindow>& stretches) {
    const auto timeline = *analyzer::loadTimeline(*analysis.store);
    std::map<std::uint64_t, TimeNs> launched;
    for (const analyzer::HostSpan& span : timeline.host) {
      if (span.launches && span.activity == analyzer::Activity::Launch)
        launched[span.correlation] = span.endNs;
    }
    std::vector<TimeWindow> busy;
    for (const analyzer::DeviceSpan& span : timeline.device) {
      const auto launch = launched.find(span.correlation);
      const TimeNs from =
          launch == launched.end() ? span.startNs : std::min(span.startNs, launch->second);
      busy.push_back({from, span.endNs});
    }
    std::sort(busy.begin(), busy.end(),
              [](const auto& a, const auto& b) { return a.startNs < b.startNs; });
    std::int64_t idle = 0;
    for (const TimeWindow& stretch : stretches) {
      TimeNs at = std::max(stretch.startNs, analysis.devices.at(0).window.startNs);
      const TimeNs end = std::min(stretch.endNs, analysis.devices.at(0).window.endNs);
      for (const TimeWindow& work : busy) {
        if (work.endNs <= at) continue;
        if (work.startNs >= end) break;
        idle += std::max<TimeNs>(0, work.startNs - at);
        at = work.endNs;
      }
      idle += std::max<TimeNs>(0, end - at);
    }
    return idle;
  }

  std::vector<Planted> planted() const {
    std::istringstream text(textOf("planted.txt"));
    std::vector<Planted> out;
    for (Planted one; text >> one.cause >> one.window.startNs >> one.window.endNs >> one.cpuNs;)
      out.push_back(one);
    return out;
  }
  std::vector<TimeWindow> waits() const {
    std::istringstream text(textOf("waits.txt"));
    std::vector<TimeWindow> out;
    for (TimeWindow one; text >> one.startNs >> one.endNs;) out.push_back(one);
    return out;
  }

  /// The time that the host of a virtual machine took of its processors since it was started. A
  /// thread that lost them to it was never switched out, so nothing but the clock of its own CPU
  /// time shows it.
  static std::int64_t stolenNs() {
    std::ifstream stat("/proc/stat");
    std::string cpu;
    std::int64_t ticks = 0;
    stat >> cpu;
    for (int field = 1; field <= 8; ++field) stat >> ticks;
    return ticks * (1'000'000'000 / sysconf(_SC_CLK_TCK));
  }

  static void expectNear(std::int64_t got, std::int64_t planted, std::string_view what) {
    EXPECT_NEAR(static_cast<double>(got), static_cast<double>(planted),
                0.05 * static_cast<double>(planted))
        << what;
  }
  /// A program need not report what it sets up in front of its first step.
  static Ledger fromTheFirstStep(const Analysis& analysis) {
    return within(analysis,
                  {{analysis.steps.all.at(0).startNs, analysis.devices.at(0).window.endNs}});
  }
  static Ledger whole(const Analysis& analysis) { return analysis.ledgers.run; }
  /// Records, and expects that little is unknown in this part of the ledger. Where the machine is
  /// held up just between two things that a program reports, that is unknown; then it is recorded
  /// anew, but not for ever.
  Analysis analysedWithLittleUnknown(const std::string& words, Ledger (*part)(const Analysis&)) {
    for (int attempt = 1;; ++attempt) {
      EXPECT_EQ(WEXITSTATUS(record(words)), 0) << errorText();
      Analysis analysis = analysed();
      const Ledger ledger = part(analysis);
      const bool little = ledger[Cause::Unknown] * 50 <= ledger.totalNs();
      if (!little && attempt < 3) continue;
      EXPECT_TRUE(little) << ledger[Cause::Unknown] << " of " << ledger.totalNs()
                          << " ns are unknown";
      return analysis;
    }
  }
};

TEST_F(CausesTest, IdleTimeIsOfTheCauseThatTheProgramPlanted) {
  const Analysis analysis =
      analysedWithLittleUnknown(program("planted_program") + " 10 >planted.txt", whole);
  std::map<std::string, std::vector<TimeWindow>> byCause;
  // Without thread states a thread that sleeps in a step does the step's work.
  for (const Planted& one : planted())
    byCause[one.cause == "off_cpu" ? "host_work" : one.cause].push_back(one.window);
  ASSERT_EQ(byCause.size(), 5u);
  for (const auto& [key, stretches] : byCause) {
    const auto cause = analyzer::findCause(key);
    ASSERT_TRUE(cause) << key;
    std::int64_t sum = 0;
    for (const TimeWindow& stretch : stretches) sum += stretch.endNs - stretch.startNs;
    expectNear(within(analysis, stretches)[*cause], sum, key);
  }
}

TEST_F(CausesTest, AThreadThatSleepsIsDistinguishedFromOneThatWorks) {
  const std::string words = "--trace nvtx,samples --sampler perf -o out.lcn -- ";
  if (WEXITSTATUS(lacuna(words + "true")) != 0)
    GTEST_SKIP() << "the kernel does not report context switches here: " << errorText();
  const std::int64_t before = stolenNs();
  ASSERT_EQ(WEXITSTATUS(lacuna(words + program("planted_program") + " 10 >planted.txt")), 0)
      << errorText();
  const std::int64_t stolen = stolenNs() - before;
  const Analysis analysis = analysed();
  std::vector<TimeWindow> asleep, working;
  std::int64_t cpuNs = 0, asleepNs = 0;
  for (const Planted& one : planted()) {
    if (one.cause == "off_cpu") {
      asleep.push_back(one.window);
      asleepNs += one.window.endNs - one.window.startNs - one.cpuNs;
    } else if (one.cause == "host_work") {
      working.push_back(one.window);
      cpuNs += one.cpuNs;
    }
  }
  expectNear(within(analysis, asleep)[Cause::OffCpu], asleepNs, "asleep");
  // The time that other programs took of the cores meanwhile is in neither.
  const std::int64_t worked = within(analysis, working)[Cause::HostWork];
  expectNear(std::clamp(cpuNs, worked - stolen, worked), cpuNs, "working");
}

// The tests below compare more shares of time, which a sanitizer changes. It checks the same code
// in the tests above.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

class SlowLoader : public CausesTest, public testing::WithParamInterface<const char*> {};

TEST_P(SlowLoader, CostsWhatTheProgramItselfWaited) {
  const std::string flags = " --steps 25 --batch 32 --hidden 64 --waits waits.txt --fault ";
  const Analysis analysis = analysedWithLittleUnknown(
      program("faulty") + flags + GetParam() + " >output.txt", fromTheFirstStep);
  const std::vector<TimeWindow> stretches = waits();
  ASSERT_EQ(stretches.size(), 25u);
  const std::int64_t idle = idleWithin(analysis, stretches);
  expectNear(analysis.ledgers.run[Cause::LoaderWait], idle, "in all");
  expectNear(within(analysis, stretches)[Cause::LoaderWait], idle, "where it waited");
  // A machine so slow that computing hides the loader has no fault to find.
  if (idle * 5 < analysis.ledgers.run.totalNs()) return;
  const auto named =
      std::find_if(analysis.of<analyzer::Findings>().begin(),
                   analysis.of<analyzer::Findings>().end(), [](const analyzer::Finding& finding) {
                     return finding.id == analyzer::FindingId::LoaderWait;
                   });
  EXPECT_NE(named, analysis.of<analyzer::Findings>().end());
}

INSTANTIATE_TEST_SUITE_P(Faults, SlowLoader,
                         testing::Values("slow-loader", "starved-workers", "heavy-decode"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST_F(CausesTest, ASampleAsItIsLeavesHardlyAnythingUnknown) {
  analysedWithLittleUnknown(program("mlp_digits") + " >output.txt", whole);
}

class SampleRun : public CausesTest, public testing::WithParamInterface<const char*> {};

TEST_P(SampleRun, LeavesHardlyAnythingUnknown) {
  const Analysis analysis =
      analysedWithLittleUnknown(program(GetParam()) + " >output.txt", fromTheFirstStep);
  EXPECT_EQ(analysis.ledgers.run.totalNs(),
            analysis.devices.at(0).window.endNs - analysis.devices.at(0).window.startNs);
}

INSTANTIATE_TEST_SUITE_P(
    Samples, SampleRun,
    testing::Values("mlp_digits --steps 300",
                    "transformer_lm --steps 20 --features 64 --layers 2 --context 32 --batch 4",
                    "resnet --steps 40 --batch 8 --width 16",
                    "stylegan2_discriminator --steps 20 --size 32 --channels 1024",
                    "faulty --steps 60 --hidden 128 --batch 64"));

// The same programs with other settings.
INSTANTIATE_TEST_SUITE_P(
    Settings, SampleRun,
    testing::Values(
        "mlp_digits --steps 300 --loader.workers 2",
        "resnet --steps 40 --batch 8 --width 16 --loader.workers 0 --optimizer.fused off",
        "faulty --steps 60 --hidden 128 --batch 64 --fault sync-each-step",
        "faulty --steps 60 --hidden 128 --batch 64 --fault tiny-ops",
        "faulty --steps 60 --hidden 128 --batch 64 --fault alloc-churn",
        "faulty --steps 60 --hidden 128 --batch 64 --fault memory-spike",
        "faulty --steps 60 --hidden 128 --batch 64 --fault debug-mode"));

#endif

}  // namespace
}  // namespace lacuna
