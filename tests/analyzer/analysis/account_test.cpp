// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analysis/account.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lacuna/analyzer/memory.h"
#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {
namespace {

using namespace prof;
using testing::ElementsAre;
using testing::Pair;
using testing::UnorderedElementsAre;

using StepRange = std::optional<std::pair<std::uint64_t, std::uint64_t>>;

/// Two ranks with a device, a queue and a thread each; rank 1 has a CPU device besides. Four steps
/// of 80 ns, one every 100 ns, with a kernel of 40 ns each; those of rank 1 begin 5 ns later.
class TwoRankTrace {
 public:
  explicit TwoRankTrace(bool steps = true) {
    out.setPath("t.lcn");
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      const std::uint32_t id = rank + 1;
      out.append(
          Process{.id = ProcessId(id), .osPid = 100 * id, .rank = static_cast<std::int32_t>(rank)});
      out.append(Thread{.id = ThreadId(id), .process = ProcessId(id)});
      out.append(Device{.id = DeviceId(id), .kind = DeviceKind::Cuda, .index = rank});
      out.append(Queue{.id = QueueId(id), .device = DeviceId(id), .process = ProcessId(id)});
      for (TimeNs step = 0; step < 4; ++step) addStep(id, 100 * step + 5 * rank, steps);
    }
    out.append(Device{.id = DeviceId(9), .kind = DeviceKind::Cpu, .process = ProcessId(2)});
  }

  TwoRankTrace& knows(std::string_view key, std::string_view value) {
    out.append(Environment{.key = out.intern(key), .value = out.intern(value)});
    return *this;
  }
  TwoRankTrace& lost(std::uint64_t count) {
    out.append(Drop{.timeNs = 50, .count = count});
    return *this;
  }

  StoreBuilder out;

 private:
  void addStep(std::uint32_t id, TimeNs start, bool marked) {
    if (marked) {
      out.append(Range{.startNs = start,
                       .durNs = 80,
                       .thread = ThreadId(id),
                       .category = out.intern("step"),
                       .name = out.intern("step")});
    }
    // Without two kernels of one name nothing repeats.
    const std::string kernel = marked ? "gemm" : "gemm" + std::to_string(start);
    const auto correlation = static_cast<std::uint64_t>(start + 1);
    out.append(ApiCall{.startNs = start + 10,
                       .durNs = 2,
                       .thread = ThreadId(id),
                       .name = out.intern("cudaLaunchKernel"),
                       .correlation = correlation});
    out.append(Kernel{.startNs = start + 20,
                      .durNs = 40,
                      .queue = QueueId(id),
                      .device = DeviceId(id),
                      .correlation = correlation,
                      .name = out.intern(kernel)});
  }
};

struct Accounted {
  Analysis analysis;
  prof::Status status;
};

Accounted accountOf(StoreBuilder& builder, const AnalysisOptions& options = {},
                    Progress progress = {}) {
  Accounted out;
  out.analysis.store = builder.build();
  out.analysis.options = options;
  WorkProgress work(std::move(progress));
  out.status = account(out.analysis, work);
  return out;
}

AnalysisOptions choosing(StepRange steps, std::string device = "",
                         std::optional<std::int32_t> rank = {}) {
  AnalysisOptions options;
  options.steps = steps;
  options.device = std::move(device);
  options.rank = rank;
  return options;
}

TEST(Account, TheWindowIsThatOfTheChosenSteps) {
  struct Case {
    StepRange steps;
    TimeWindow window;
  };
  // The trace ends with rank 1's last step.
  for (const Case& one : {Case{{}, {0, 385}}, Case{{{0, 1}}, {0, 100}}, Case{{{1, 3}}, {100, 300}},
                          Case{{{3, 4}}, {300, 380}}, Case{{{0, 4}}, {0, 380}}}) {
    TwoRankTrace trace;
    const Accounted made = accountOf(trace.out, choosing(one.steps));
    ASSERT_TRUE(made.status) << made.status.error().message;
    EXPECT_EQ(made.analysis.window.startNs, one.window.startNs);
    EXPECT_EQ(made.analysis.window.endNs, one.window.endNs);
  }
}

TEST(Account, StepsThatAreNotThereListThoseThatAre) {
  struct Case {
    std::uint64_t first, last;
    const char* message;
  };
  for (const Case& one :
       {Case{2, 2, "steps 2:2 are none: the second number is that of the step behind the last"},
        Case{3, 1, "steps 3:1 are none: the first is behind the last"},
        Case{9, 7, "steps 9:7 are none: the first is behind the last"},
        Case{0, 5, "steps 0:5 are not there; it has steps 0:4"},
        Case{4, 5, "steps 4:5 are not there; it has steps 0:4"},
        Case{0, UINT64_MAX, "steps 0:18446744073709551615 are not there; it has steps 0:4"}}) {
    TwoRankTrace trace;
    const Accounted made = accountOf(trace.out, choosing({{one.first, one.last}}));
    ASSERT_FALSE(made.status) << one.message;
    EXPECT_EQ(made.status.error().message, std::string("t.lcn: ") + one.message);
  }
}

TEST(Account, WithoutStepsNoneCanBeChosen) {
  TwoRankTrace trace(false);
  EXPECT_EQ(accountOf(trace.out, choosing({{0, 1}})).status.error().message,
            "t.lcn: no steps were found (no step markers, no repetition), so --steps cannot select "
            "any; mark steps with an NVTX range named \"step\"");
  TwoRankTrace again(false);
  const Accounted whole = accountOf(again.out);
  ASSERT_TRUE(whole.status);
  EXPECT_TRUE(whole.analysis.steps.all.empty());
  EXPECT_EQ(whole.analysis.stepCount(), 1);
}

TEST(Account, ARanksStepsAreItsOwn) {
  for (const std::int32_t rank : {0, 1}) {
    TwoRankTrace trace;
    const Accounted made = accountOf(trace.out, choosing({{1, 2}}, "", rank));
    ASSERT_TRUE(made.status);
    EXPECT_EQ(made.analysis.window.startNs, 100 + 5 * rank);
    EXPECT_EQ(made.analysis.window.endNs, 200 + 5 * rank);
    EXPECT_EQ(made.analysis.steps.thread, ThreadId(static_cast<std::uint32_t>(rank + 1)));
  }
}

TEST(Account, WithoutAChoiceEverythingIsHeld) {
  TwoRankTrace trace;
  const Accounted made = accountOf(trace.out, choosing({{1, 2}}));
  EXPECT_TRUE(made.analysis.scope.only.everything) << "steps choose time, and nobody's rows";
  EXPECT_EQ(made.analysis.devices.size(), 2U);
}

TEST(Account, ARankHoldsItsProcessQueuesAndDevices) {
  TwoRankTrace trace;
  const Selection only = accountOf(trace.out, choosing({}, "", 1)).analysis.scope.only;
  EXPECT_FALSE(only.everything);
  EXPECT_THAT(only.queues, UnorderedElementsAre(QueueId(2)));
  EXPECT_THAT(only.processes, UnorderedElementsAre(ProcessId(2)));
  EXPECT_THAT(only.devices, UnorderedElementsAre(DeviceId(2), DeviceId(9)))
      << "the CPU device is the process's";
  EXPECT_TRUE(only.holds(ThreadId(2)));
  EXPECT_FALSE(only.holds(ThreadId(1)));
}

TEST(Account, ADeviceHoldsItsQueuesAndWhoFillsThem) {
  TwoRankTrace trace;
  const Selection only = accountOf(trace.out, choosing({}, "cuda:1")).analysis.scope.only;
  EXPECT_FALSE(only.everything);
  EXPECT_THAT(only.queues, UnorderedElementsAre(QueueId(2)));
  EXPECT_THAT(only.processes, UnorderedElementsAre(ProcessId(2)));
  EXPECT_THAT(only.devices, UnorderedElementsAre(DeviceId(2)))
      << "the CPU device was not asked for";
}

TEST(Account, SettingsAreThoseAnnouncedLast) {
  TwoRankTrace trace;
  trace.knows("knob.loader.workers", "1")
      .knows("knob.amp", "off")
      .knows("loader.workers", "9")
      .knows("knob.loader.workers", "4")
      .knows("knob.amp", "")
      .knows("knob.new", "")
      .knows("knob.", "x");
  EXPECT_THAT(
      accountOf(trace.out).analysis.of<ProgramFacts>().knobs,
      ElementsAre(Pair("loader.workers", "4"), Pair("amp", "off"), Pair("new", ""), Pair("", "x")));
}

TEST(Account, CoresOfTheHostAreRead) {
  struct Case {
    const char *key, *value;
    std::uint32_t cores;
  };
  for (const Case& one : {Case{"host.cores", "8", 8}, Case{"cpu.count", "128", 128},
                          Case{"host.cores", "12 cores", 12}, Case{"host.cores", "many", 0},
                          Case{"host.cores", "", 0}, Case{"host.cores", "-4", 0},
                          Case{"host.cores", "99999999999", 0}, Case{"cores", "8", 0}}) {
    TwoRankTrace trace;
    EXPECT_EQ(accountOf(trace.knows(one.key, one.value).out).analysis.of<ProgramFacts>().hostCores,
              one.cores)
        << one.value;
  }
}

TEST(Account, LostEventsAreSummedUpToALimit) {
  TwoRankTrace none, some, many;
  EXPECT_EQ(accountOf(none.out).analysis.of<ProgramFacts>().droppedEvents, 0U);
  EXPECT_EQ(accountOf(some.lost(3).lost(0).lost(4).out).analysis.of<ProgramFacts>().droppedEvents,
            7U);
  EXPECT_EQ(accountOf(many.lost(UINT64_MAX).lost(UINT64_MAX).out)
                .analysis.of<ProgramFacts>()
                .droppedEvents,
            UINT64_MAX / 2);
}

TEST(Account, ATraceNeedsSomethingToAccountFor) {
  StoreBuilder empty, marks, memory;
  empty.setPath("empty.lcn");
  EXPECT_THAT(accountOf(empty).status.error().message,
              testing::StartsWith("empty.lcn: the trace holds no ranges"));
  marks.append(Mark{.timeNs = 5});
  EXPECT_FALSE(accountOf(marks).status);
  memory.append(Allocation{.timeNs = 5, .address = 64, .bytes = 100});
  const Accounted made = accountOf(memory);
  ASSERT_TRUE(made.status) << made.status.error().message;
  EXPECT_TRUE(made.analysis.devices.empty());
  EXPECT_TRUE(made.analysis.of<MemoryTables>().all.present);
}

TEST(Account, EndsOnceItIsNoLongerWanted) {
  std::size_t questions = 0;
  TwoRankTrace trace;
  ASSERT_TRUE(accountOf(trace.out, {}, [&](double) { return ++questions > 0; }).status);
  ASSERT_GE(questions, 12U);
  for (std::size_t wanted = 0; wanted < questions; ++wanted) {
    std::size_t asked = 0;
    TwoRankTrace again;
    const Accounted made = accountOf(again.out, {}, [&](double) { return asked++ < wanted; });
    ASSERT_FALSE(made.status) << wanted;
    EXPECT_EQ(made.status.error().message, "cancelled");
    EXPECT_EQ(asked, wanted + 1) << "nothing is reported after the no";
  }
}

}  // namespace
}  // namespace lacuna::analyzer
