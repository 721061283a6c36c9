// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analysis/device_ledgers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyses/parts.h"
#include "analyses/work/calls.h"
#include "analyses/work/launches.h"
#include "analyses/work/step_work.h"
#include "analysis/devices.h"
#include "lacuna/analyzer/operators.h"
#include "lacuna/analyzer/store.h"
#include "support/random_store.h"

namespace lacuna::analyzer {
namespace {

using namespace prof;

/// Device N has the queues 2N - 1 and 2N, which process N and its thread N fill.
class DeviceRun {
 public:
  explicit DeviceRun(std::uint32_t devices = 1, DeviceKind kind = DeviceKind::Cuda) {
    for (std::uint32_t id = 1; id <= devices; ++id) {
      builder.append(Process{.id = ProcessId(id), .osPid = id});
      builder.append(Thread{.id = ThreadId(id), .process = ProcessId(id)});
      builder.append(Device{.id = DeviceId(id), .kind = kind, .index = id - 1});
      for (const std::uint32_t queue : {2 * id - 1, 2 * id})
        builder.append(
            Queue{.id = QueueId(queue), .device = DeviceId(id), .process = ProcessId(id)});
    }
  }

  /// Work from `from` to `to`, and a call of 2 ns that launched it.
  DeviceRun& work(std::uint32_t queue, TimeNs callNs, TimeNs from, TimeNs to) {
    const std::uint32_t owner = (queue + 1) / 2;
    ++correlation_;
    builder.append(ApiCall{.startNs = callNs,
                           .durNs = 2,
                           .thread = ThreadId(owner),
                           .name = builder.intern("cudaLaunchKernel"),
                           .correlation = correlation_});
    builder.append(Kernel{.startNs = from,
                          .durNs = to - from,
                          .queue = QueueId(queue),
                          .device = DeviceId(owner),
                          .correlation = correlation_,
                          .name = builder.intern("gemm")});
    return *this;
  }
  DeviceRun& range(TimeNs from, TimeNs to, std::string_view name, std::uint32_t thread = 1) {
    builder.append(Range{.startNs = from,
                         .durNs = to - from,
                         .thread = ThreadId(thread),
                         .category = builder.intern("cpu_op"),
                         .name = builder.intern(name)});
    return *this;
  }
  DeviceRun& step(TimeNs from, TimeNs to, bool isPlain = false) {
    steps_.push_back(
        {.index = steps_.size(), .name = "step", .startNs = from, .endNs = to, .isPlain = isPlain});
    return *this;
  }
  Analysis account(prof::Status& status, Progress progress = {}) {
    return accounted(builder.build(), std::move(steps_), status, std::move(progress));
  }
  Analysis account() {
    prof::Status status;
    Analysis made = account(status);
    EXPECT_TRUE(status) << status.error().message;
    return made;
  }

  static Analysis accounted(std::shared_ptr<const Store> store, std::vector<Step> steps,
                            prof::Status& status, Progress progress = {}) {
    Analysis made;
    made.store = std::move(store);
    made.steps.all = std::move(steps);
    made.window = made.store->span();
    made.devices = *listDevices(*made.store, made.window, {});
    made.scope.steps = StepSpans(made.steps, made.window);
    WorkProgress work(std::move(progress));
    work.next(1);
    status = accountDevices(made, allParts(), loadTopology(*made.store), work);
    return made;
  }

  StoreBuilder builder;

 private:
  std::vector<Step> steps_;
  std::uint64_t correlation_ = 0;
};

TEST(DeviceLedgers, ADeviceIsBusyWhileAnyOfItsQueuesIs) {
  const Analysis made = DeviceRun().work(1, 80, 100, 200).work(2, 90, 150, 260).account();
  const DeviceAccount& device = made.devices.at(0);
  EXPECT_EQ(device.ledger[Cause::Compute], 160);
  EXPECT_EQ(device.ledger.totalNs(), 160);
  ASSERT_EQ(device.queues.size(), 2U);
  EXPECT_EQ(device.queues[0].ledger[Cause::Compute], 100);
  EXPECT_EQ(device.queues[1].ledger[Cause::Compute], 110);
  for (const QueueAccount& queue : device.queues)
    EXPECT_EQ(queue.ledger.totalNs(), 160) << "of the device's window";
}

TEST(DeviceLedgers, IdleTimeIsWhatTheLaunchingThreadDid) {
  // Idle from 200 to 300: an operator to 250, then nothing that is known, the call at 290, and the
  // way to the device.
  const Analysis made =
      DeviceRun().range(190, 250, "prepare").work(1, 80, 100, 200).work(1, 290, 300, 400).account();
  const Ledger& ledger = made.devices.at(0).ledger;
  EXPECT_EQ(ledger[Cause::Compute], 200);
  EXPECT_EQ(ledger[Cause::HostWork], 50);
  EXPECT_EQ(ledger[Cause::Unknown], 40);
  EXPECT_EQ(ledger[Cause::Launch], 10) << "2 of the call and 8 behind it";
  EXPECT_EQ(made.ledgers.run, ledger);
  ASSERT_FALSE(made.of<IdleCauses>().details.empty());
  EXPECT_EQ(made.of<IdleCauses>().details[0].name, "prepare");
}

TEST(DeviceLedgers, StepsAreCoveredBeyondTheDevicesWork) {
  const Analysis made = DeviceRun()
                            .range(0, 90, "first")
                            .range(400, 500, "last")
                            .work(1, 95, 100, 200)
                            .step(0, 300)
                            .step(300, 500)
                            .account();
  EXPECT_EQ(made.ledgers.run.totalNs(), 100);
  ASSERT_EQ(made.ledgers.steps.size(), 2U);
  EXPECT_EQ(made.ledgers.steps[0].totalNs(), 300);
  EXPECT_EQ(made.ledgers.steps[0][Cause::HostWork], 90);
  EXPECT_EQ(made.ledgers.steps[0][Cause::Compute], 100);
  EXPECT_EQ(made.ledgers.steps[1].totalNs(), 200);
  EXPECT_EQ(made.ledgers.steps[1][Cause::HostWork], 100);
}

TEST(DeviceLedgers, LeaveOutPlainSteps) {
  const Analysis made = DeviceRun()
                            .work(1, 95, 100, 190)
                            .step(100, 200)
                            .step(200, 300, true)
                            .work(1, 290, 310, 320)  // launched in a plain step
                            .step(300, 400)
                            .step(400, 500, true)
                            .step(500, 600)
                            .work(1, 505, 510, 600)
                            .account();
  EXPECT_EQ(made.ledgers.run.totalNs(), 500 - 2 * 100);
  EXPECT_EQ(made.ledgers.run[Cause::Compute], 90 + 10 + 90);
  EXPECT_EQ(made.devices.at(0).queues.at(0).ledger, made.ledgers.run);
  ASSERT_EQ(made.ledgers.steps.size(), 5U);
  EXPECT_EQ(made.ledgers.steps[1].totalNs(), 0);
  EXPECT_EQ(made.ledgers.steps[2].totalNs(), 100);
  EXPECT_EQ(made.ledgers.steps[2][Cause::Compute], 10);
}

TEST(DeviceLedgers, EachDeviceHasItsOwnWindow) {
  const Analysis made =
      DeviceRun(2).work(1, 0, 10, 110).work(3, 190, 200, 250).work(3, 300, 400, 450).account();
  ASSERT_EQ(made.devices.size(), 2U);
  EXPECT_EQ(made.devices[0].ledger.totalNs(), 100);
  EXPECT_EQ(made.devices[1].ledger.totalNs(), 250);
  EXPECT_EQ(made.devices[1].ledger[Cause::Compute], 100);
  EXPECT_EQ(made.ledgers.run.totalNs(), 350);
}

TEST(DeviceLedgers, TablesAreOfTheSelection) {
  DeviceRun run(2);
  run.work(1, 0, 10, 20).work(3, 2, 10, 20).work(3, 30, 40, 50);
  Analysis made;
  made.store = run.builder.build();
  made.window = made.store->span();
  AnalysisOptions options;
  options.device = "cuda:1";
  made.devices = *listDevices(*made.store, {}, options);
  const Topology topology = loadTopology(*made.store);
  made.scope.only = {.everything = false,
                     .queues = {QueueId(3)},
                     .devices = {DeviceId(2)},
                     .processes = {ProcessId(2)},
                     .processOfThread = topology.processOfThread};
  WorkProgress progress({});
  ASSERT_TRUE(accountDevices(made, allParts(), topology, progress));
  EXPECT_EQ(made.of<LaunchStats>().launches, 2U);
  ASSERT_EQ(made.of<CallTable>().size(), 1U);
  EXPECT_EQ(made.of<CallTable>()[0].count, 2U);
  EXPECT_EQ(made.ledgers.run.totalNs(), 40);
}

TEST(DeviceLedgers, BandsNeedAKnownCost) {
  const auto run = [](const char* costNs) {
    DeviceRun made;
    made.work(1, 80, 100, 200).work(1, 290, 300, 400);
    for (TimeNs at = 210; at < 280; at += 10) made.range(at, at + 5, "op");
    made.builder.append(Environment{.key = made.builder.intern("self.cost.range"),
                                    .value = made.builder.intern(costNs)});
    return made.account();
  };
  EXPECT_EQ(run("0").ledgers.bands.run, Ledger());
  const Analysis known = run("3");
  EXPECT_GT(known.ledgers.bands.run.totalNs(), 0);
  for (std::size_t i = 0; i < kCauseCount; ++i)
    EXPECT_LE(known.ledgers.bands.run.ns[i], known.ledgers.run.ns[i]) << i;
  const Analysis dear = run("1000");
  for (std::size_t i = 0; i < kCauseCount; ++i)
    EXPECT_LE(dear.ledgers.bands.run.ns[i], dear.ledgers.run.ns[i]) << i;
}

TEST(DeviceLedgers, EndOnceTheyAreNoLongerWanted) {
  DeviceRun run;
  prof::Status status;
  int asked = 0;
  run.work(1, 80, 100, 200).account(status, [&](double) { return ++asked < 2; });
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "cancelled");
}

TEST(DeviceLedgers, WithoutDevicesTheTablesAreStillMade) {
  DeviceRun run;
  const Analysis made = run.range(10, 60, "op").range(20, 30, "inner").account();
  EXPECT_TRUE(made.devices.empty());
  EXPECT_EQ(made.ledgers.run, Ledger());
  ASSERT_EQ(made.of<OperatorTables>().byName.size(), 2U);
  EXPECT_EQ(made.of<OperatorTables>().byName[0].name, "op");
  EXPECT_EQ(made.of<OperatorTables>().byName[0].selfNs, 40);
}

TEST(DeviceLedgers, OfRangesWithTheSameTimesTheSecondIsTheInnerOne) {
  DeviceRun run;
  for (TimeNs at = 0; at < 180'000; at += 3'000)
    run.range(at, at + 1'000, "outer").range(at, at + 1'000, "inner");
  const Analysis made = run.account();
  ASSERT_EQ(made.of<OperatorTables>().byName.size(), 2U);
  EXPECT_EQ(made.of<OperatorTables>().byName[0].name, "inner");
  EXPECT_EQ(made.of<OperatorTables>().byName[0].selfNs, 60'000);
  EXPECT_EQ(made.of<OperatorTables>().byName[1].selfNs, 0);
}

TEST(DeviceLedgers, EveryNanosecondOfAnyTraceIsInOneEntry) {
  for (unsigned seed = 1; seed <= 25; ++seed) {
    const auto store = test::randomStore(seed, 40);
    const TimeWindow span = store->span();
    std::vector<Step> steps;
    for (TimeNs at = span.startNs; at + 2000 <= span.endNs; at += 2500)
      steps.push_back({.index = steps.size(), .name = "step", .startNs = at, .endNs = at + 2000});
    prof::Status status;
    const Analysis made = DeviceRun::accounted(store, steps, status);
    ASSERT_TRUE(status) << status.error().message;
    ASSERT_FALSE(made.devices.empty());
    const Timeline timeline = *loadTimeline(*store);
    const LedgerAccountant accountant(timeline);
    std::int64_t sum = 0;
    for (const DeviceAccount& device : made.devices) {
      const std::int64_t length = device.window.endNs - device.window.startNs;
      sum += length;
      EXPECT_EQ(device.ledger.totalNs(), length) << seed;
      EXPECT_EQ(device.ledger, accountant.sum({device.id, {}}, device.window)) << seed;
      for (const QueueAccount& queue : device.queues) {
        EXPECT_EQ(queue.ledger.totalNs(), length) << seed;
        EXPECT_EQ(queue.ledger, accountant.sum({device.id, queue.id}, device.window)) << seed;
      }
    }
    EXPECT_EQ(made.ledgers.run.totalNs(), sum) << seed;
    for (const Ledger& step : made.ledgers.steps)
      EXPECT_EQ(step.totalNs(), 2000 * static_cast<std::int64_t>(made.devices.size())) << seed;
  }
}

}  // namespace
}  // namespace lacuna::analyzer
