// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analysis/devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/analysis/device_trace.h"

namespace lacuna::analyzer {
namespace {

using prof::DeviceId;
using prof::DeviceKind;
using prof::QueueId;
using prof::TimeNs;
using prof::TimeWindow;
using testing::ElementsAre;

TEST(Devices, ThoseWithoutWorkAreLeftOut) {
  const auto devices =
      DeviceTrace().device(1, 0).device(2, 1).queue(1, 1).queue(2, 2).kernel(2, 5, 10).list();
  ASSERT_EQ(devices.size(), 1U);
  EXPECT_EQ(devices[0].label, "cuda:1");
  EXPECT_EQ(devices[0].id, DeviceId(2));
  EXPECT_TRUE(DeviceTrace().device(1, 0).queue(1, 1).list().empty());
}

TEST(Devices, WorkCountsAsFarAsItLiesInTheWindow) {
  constexpr TimeWindow kWindow{100, 200};
  struct Case {
    TimeNs start;
    std::int64_t dur, counted;  ///< -1: not at all
  };
  for (const Case& work : {Case{50, 50, -1}, Case{50, 51, 1}, Case{99, 0, -1}, Case{100, 0, 0},
                           Case{100, 1, 1}, Case{0, 1000, 100}, Case{150, 20, 20}, Case{199, 0, 0},
                           Case{199, 10, 1}, Case{200, 0, -1}, Case{200, 5, -1}}) {
    const auto devices = DeviceTrace()
                             .device(1, 0)
                             .queue(1, 1)
                             .kernel(1, work.start, work.dur)
                             .copy(1, work.start, work.dur)
                             .list(kWindow);
    ASSERT_EQ(devices.size(), work.counted < 0 ? 0U : 1U) << work.start << " + " << work.dur;
    if (devices.empty()) continue;
    EXPECT_EQ(devices[0].kernels, 1U) << work.start << " + " << work.dur;
    EXPECT_EQ(devices[0].kernelNs, work.counted) << work.start << " + " << work.dur;
    EXPECT_EQ(devices[0].memcpyNs, work.counted) << work.start << " + " << work.dur;
    EXPECT_EQ(devices[0].window.startNs, std::max<TimeNs>(100, work.start));
    EXPECT_EQ(devices[0].window.endNs, std::min<TimeNs>(200, work.start + work.dur));
  }
}

TEST(Devices, NeighboursOfTheWindowAreNoPartOfIt) {
  // A scan may hand out rows that lie beside others that touch the window.
  DeviceTrace trace;
  trace.device(1, 0).queue(1, 1).kernel(1, 150, 20);
  for (const auto& [start, dur] :
       {std::pair(50, 50), std::pair(99, 0), std::pair(200, 0), std::pair(200, 5)})
    trace.kernel(1, start, dur);
  const auto devices = trace.list({100, 200});
  ASSERT_EQ(devices.size(), 1U);
  EXPECT_EQ(devices[0].kernels, 1U);
  EXPECT_EQ(devices[0].kernelNs, 20);
  EXPECT_EQ(devices[0].window.startNs, 150);
  EXPECT_EQ(devices[0].window.endNs, 170);
}

TEST(Devices, EachKindOfWorkHasItsSum) {
  const auto devices = DeviceTrace()
                           .device(1, 0)
                           .queue(1, 1)
                           .queue(2, 1)
                           .kernel(1, 0, 10)
                           .kernel(1, 20, 30)
                           .kernel(2, 5, 100, "ncclDevKernel_AllReduce")
                           .copy(1, 60, 7)
                           .set(2, 200, 3)
                           .list();
  ASSERT_EQ(devices.size(), 1U);
  EXPECT_EQ(devices[0].kernelNs, 140) << "collectives are kernels";
  EXPECT_EQ(devices[0].commNs, 100);
  EXPECT_EQ(devices[0].memcpyNs, 7);
  EXPECT_EQ(devices[0].memsetNs, 3);
  EXPECT_EQ(devices[0].kernels, 3U) << "copies are none";
  EXPECT_EQ(devices[0].window.startNs, 0);
  EXPECT_EQ(devices[0].window.endNs, 203);
}

TEST(Devices, QueuesHaveTheirNameOrTheirNumber) {
  const auto devices = DeviceTrace()
                           .device(1, 0)
                           .queue(1, 1, 0, "stream 7  ")
                           .queue(2, 1, 0, "   ")
                           .queue(3, 1)
                           .queue(4, 1, 0, " main")
                           .queue(5, 1, 0, "idle")
                           .kernel(4, 0, 1)
                           .kernel(3, 0, 1)
                           .kernel(2, 0, 1)
                           .kernel(1, 0, 1)
                           .list();
  ASSERT_EQ(devices.size(), 1U);
  std::vector<std::string> names;
  for (const QueueAccount& queue : devices[0].queues) names.push_back(queue.name);
  EXPECT_THAT(names, ElementsAre("stream 7", "queue 12", "queue 13", " main"));
}

TEST(Devices, BelongToTheFirstProcessThatFillsThem) {
  const auto devices = DeviceTrace()
                           .process(1, 100, 4)
                           .process(2, 200, 5)
                           .device(1, 0)
                           .queue(1, 1)
                           .queue(2, 1, 2)
                           .queue(3, 1, 1)
                           .kernel(1, 0, 1)
                           .kernel(2, 0, 1)
                           .kernel(3, 0, 1)
                           .list();
  ASSERT_EQ(devices.size(), 1U);
  EXPECT_EQ(devices[0].osPid, 200U) << "queue 1 names no process";
  EXPECT_EQ(devices[0].rank, 5);
}

TEST(Devices, AQueueOfAnUndeclaredDeviceStillCounts) {
  const auto devices = DeviceTrace().queue(1, 9).queue(2, 9).kernel(1, 0, 4).kernel(2, 4, 4).list();
  ASSERT_EQ(devices.size(), 1U);
  EXPECT_EQ(devices[0].id, DeviceId(9));
  EXPECT_EQ(devices[0].label, "device:0");
  EXPECT_EQ(devices[0].queues.size(), 2U);
  EXPECT_EQ(devices[0].kernelNs, 8);
}

TEST(Devices, SumsStopAtTheirLimit) {
  DeviceTrace trace;
  trace.device(1, 0).queue(1, 1);
  for (int i = 0; i < 5; ++i) trace.kernel(1, 0, std::int64_t{1} << 61);
  EXPECT_EQ(trace.list()[0].kernelNs, INT64_MAX / 2);
}

TEST(Devices, AreCalledByKindAndIndex) {
  EXPECT_EQ(deviceLabel(DeviceKind::Cuda, 3), "cuda:3");
  EXPECT_EQ(deviceLabel(DeviceKind::Cpu, 0), "cpu:0");
  EXPECT_EQ(deviceLabel(DeviceKind::Rocm, 12), "rocm:12");
  EXPECT_EQ(deviceLabel(DeviceKind::Other, 1), "device:1");
  EXPECT_EQ(deviceLabel(static_cast<DeviceKind>(200), 1), "device:1")
      << "a kind that a later version may write";
}

TEST(Devices, LabelsAreFoundById) {
  DeviceTrace trace;
  const auto store = trace.device(5, 3).device(5, 4).device(0, 9).build();
  const DeviceLabels labels(store.get());
  EXPECT_EQ(labels.of(DeviceId(5)), "cuda:3") << "the first of that id";
  EXPECT_EQ(labels.of(DeviceId(6)), "");
  EXPECT_EQ(labels.of(DeviceId()), "") << "id 0 is none";
  EXPECT_EQ(DeviceLabels(nullptr).of(DeviceId(5)), "");
}

TEST(Devices, MemoryIsTheHostsOrADevicesOfARank) {
  DeviceTrace trace;
  twoRanks(trace);
  const auto store = trace.build();
  const DeviceLabels labels(store.get());
  Analysis analysis;
  analysis.devices = *listDevices(*store, {}, {});
  EXPECT_EQ(whoseMemory(analysis, labels, DeviceId()), "the host");
  EXPECT_EQ(whoseMemory(analysis, labels, DeviceId(9)), "the host");
  EXPECT_EQ(whoseMemory(analysis, labels, DeviceId(2)), "cuda:1 of rank 1");
  EXPECT_EQ(whoseMemory(analysis, labels, DeviceId(3)), "cpu:0") << "it did no work";
  analysis.devices.resize(1);
  EXPECT_EQ(whoseMemory(analysis, labels, DeviceId(1)), "cuda:0") << "one alone needs no rank";
}

TEST(Devices, AQueueIsFoundWithItsDevice) {
  DeviceTrace trace;
  twoRanks(trace);
  Analysis analysis;
  analysis.devices = trace.list();
  const QueuePlace place = placeOf(analysis, QueueId(2));
  EXPECT_EQ(place.device, "cuda:1");
  EXPECT_EQ(place.queue, "queue 12");
  EXPECT_EQ(placeOf(analysis, QueueId(3)).device, "") << "it did no work";
}

}  // namespace
}  // namespace lacuna::analyzer
