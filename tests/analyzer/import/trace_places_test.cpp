// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "import/trace_places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "lacuna/analyzer/store.h"
#include "lacuna/prof/bounds.h"

namespace lacuna::analyzer {
namespace {

using namespace prof;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(TracePlaces, OneKeyIsOnePlaceAndIdsCountTheRows) {
  StoreBuilder builder;
  TracePlaces places(builder);
  EXPECT_FALSE(places.findProcess(70));
  const ProcessId first = places.process(70, 7), second = places.process(0, 8);
  EXPECT_EQ(places.process(70, 99), first);
  EXPECT_EQ(places.findProcess(0), second);
  EXPECT_EQ(places.thread(5, first, 11), ThreadId(1));
  EXPECT_EQ(places.thread(5, second, 12), ThreadId(1)) << "the key alone counts";
  EXPECT_EQ(places.thread(6, second, 12), ThreadId(2));
  EXPECT_THAT(builder.columns<Process>().osPid, ElementsAre(7, 8));
  EXPECT_THAT(builder.columns<Process>().exitCode, ElementsAre(-1, -1));
  EXPECT_THAT(builder.columns<Process>().rank, ElementsAre(-1, -1));
  EXPECT_THAT(builder.columns<Thread>().process, ElementsAre(first, second));
  EXPECT_THAT(builder.columns<Thread>().osTid, ElementsAre(11, 12));
}

TEST(TracePlaces, DevicesAreOfAKindAndQueuesOfADeviceAndAProcess) {
  StoreBuilder builder;
  TracePlaces places(builder);
  const DeviceId gpu = places.device(DeviceKind::Cuda, 1, 3),
                 cpu = places.device(DeviceKind::Cpu, 1, 0);
  EXPECT_NE(gpu, cpu);
  EXPECT_EQ(places.device(DeviceKind::Cuda, 1, 9), gpu);
  EXPECT_THAT(builder.columns<Device>().index, ElementsAre(3, 0));
  std::vector<QueueId> queues;
  for (const DeviceId device : {gpu, cpu}) {
    for (const std::uint32_t process : {1, 2}) {
      for (const std::uint64_t key : {7, 8})
        queues.push_back(places.queue(device, ProcessId(process), key, key + 100));
    }
  }
  for (std::uint32_t i = 0; i < queues.size(); ++i) EXPECT_EQ(queues[i].value, i + 1);
  EXPECT_EQ(places.queue(cpu, ProcessId(2), 8, 0), queues.back());
  EXPECT_THAT(builder.columns<Queue>().nativeId,
              ElementsAre(107, 108, 107, 108, 107, 108, 107, 108));
}

TEST(TracePlaces, CountersDifferByAllThatNamesThem) {
  StoreBuilder builder;
  TracePlaces places(builder);
  CounterTrack track;
  track.name = builder.intern("power");
  const TrackId plain = places.track(track);
  EXPECT_EQ(places.track(track), plain);
  std::uint32_t next = 2;
  for (const auto change : {+[](CounterTrack& one) { one.process.value = 1; },
                            +[](CounterTrack& one) { one.thread.value = 1; },
                            +[](CounterTrack& one) { one.device.value = 1; },
                            +[](CounterTrack& one) { one.name.value = 0; },
                            +[](CounterTrack& one) { one.unit.value = 1; }}) {
    CounterTrack other = track;
    change(other);
    EXPECT_EQ(places.track(other).value, next++);
  }
  EXPECT_EQ(builder.columns<CounterTrack>().name[0], track.name);
}

TEST(RenumberIds, IdsBecomeTheNumbersOfTheirRowsAndReferencesFollow) {
  StoreBuilder builder;
  for (const std::uint32_t id : {70, 30})
    builder.append(Thread{.id = ThreadId(id), .process = ProcessId(9)});
  builder.append(Process{.id = ProcessId(9), .parent = ProcessId(9)});
  for (const std::uint32_t thread : {30, 70, 0, 1, 71})
    builder.append(Range{.thread = ThreadId(thread)});
  builder.append(StackFrame{.id = FrameId(200)});
  builder.append(StackFrame{.id = FrameId(100), .parent = FrameId(200)});
  builder.append(ArgSet{ArgSetId(40), builder.intern("+a")});
  builder.append(Arg{.set = ArgSetId(40)});
  const StringId name = builder.intern("kept");
  builder.append(Mark{.thread = ThreadId(30), .name = name, .args = ArgSetId(40)});
  renumberIds(builder);
  EXPECT_THAT(builder.columns<Thread>().id, ElementsAre(ThreadId(1), ThreadId(2)));
  EXPECT_THAT(builder.columns<Thread>().process, ElementsAre(ProcessId(1), ProcessId(1)));
  EXPECT_THAT(builder.columns<Process>().parent, ElementsAre(ProcessId(1)));
  EXPECT_THAT(builder.columns<Range>().thread,
              ElementsAre(ThreadId(2), ThreadId(1), ThreadId(), ThreadId(), ThreadId()))
      << "1 was no thread, and is not the one that is numbered so now";
  EXPECT_THAT(builder.columns<StackFrame>().parent, ElementsAre(FrameId(), FrameId(1)));
  EXPECT_THAT(builder.columns<Arg>().set, ElementsAre(ArgSetId(1)));
  EXPECT_EQ(builder.columns<Mark>().args[0], ArgSetId(1));
  EXPECT_EQ(builder.columns<Mark>().name[0], name) << "texts are no rows";
}

TEST(RenumberIds, NumbersFromOneInAnyOrderStay) {
  StoreBuilder builder;
  for (const std::uint32_t id : {3, 1, 2}) builder.append(Device{.id = DeviceId(id)});
  for (const std::uint32_t device : {1, 3, 4})
    builder.append(Queue{.id = QueueId(5), .device = DeviceId(device)});
  renumberIds(builder);
  EXPECT_THAT(builder.columns<Device>().id, ElementsAre(DeviceId(3), DeviceId(1), DeviceId(2)));
  EXPECT_THAT(builder.columns<Queue>().device, ElementsAre(DeviceId(1), DeviceId(3), DeviceId()));
  EXPECT_THAT(builder.columns<Queue>().id, ElementsAre(QueueId(1), QueueId(2), QueueId(3)))
      << "a number that rows share becomes several";
}

TEST(NestRanges, DepthsCountWithinAThreadOrQueueAndADomain) {
  StoreBuilder builder;
  const StringId domain = builder.intern("library");
  const auto add = [&](TimeNs start, TimeNs length, std::uint32_t thread, StringId in = {},
                       RangeKind kind = RangeKind::PushPop, std::uint32_t queue = 0) {
    builder.append(Range{.startNs = start,
                         .durNs = length,
                         .thread = ThreadId(thread),
                         .domain = in,
                         .kind = kind,
                         .queue = QueueId(queue)});
  };
  add(50, 10, 1);                             // inside that from 0
  add(0, 100, 1);                             // comes later in the table
  add(55, 5, 1);                              // ends with its parent
  add(60, 40, 1);                             // begins where another ends
  add(0, 100, 2);                             // another thread
  add(10, 80, 1, domain);                     // another domain
  add(12, 20, 1, {}, RangeKind::StartEnd);    // of no nest
  add(14, 1, 1);                              // not inside the one before
  add(20, 10, 0, {}, RangeKind::PushPop, 1);  // on a queue
  add(100, 5, 1);                             // after all
  nestRanges(builder);
  const auto& ranges = builder.columns<Range>();
  EXPECT_TRUE(std::ranges::is_sorted(ranges.startNs));
  EXPECT_THAT(ranges.startNs, ElementsAre(0, 0, 10, 12, 14, 20, 50, 55, 60, 100));
  EXPECT_THAT(ranges.depth, ElementsAre(0, 0, 0, 0, 1, 0, 1, 2, 1, 0));
}

TEST(NestRanges, OfEqualStartsTheLongerIsOutside) {
  StoreBuilder builder;
  for (const TimeNs length : {10, 30, 20})
    builder.append(Range{.startNs = 5, .durNs = length, .thread = ThreadId(1)});
  nestRanges(builder);
  EXPECT_THAT(builder.columns<Range>().durNs, ElementsAre(30, 20, 10));
  EXPECT_THAT(builder.columns<Range>().depth, ElementsAre(0, 1, 2));
}

/// Ranges that lie within one another, in random order.
void addNest(StoreBuilder& builder, std::mt19937& random, TimeNs from, TimeNs to) {
  while (to - from > 3 && random() % 5 != 0) {
    const TimeNs end =
        from + 1 + static_cast<TimeNs>(random() % static_cast<std::uint64_t>(to - from));
    builder.append(Range{.startNs = from, .durNs = end - from, .thread = ThreadId(1)});
    addNest(builder, random, from + 1, end);
    from = end;
  }
}

TEST(NestRanges, RandomNestsAreAsDeepAsTheRangesAroundThem) {
  std::mt19937 random(31);
  for (int round = 0; round < 30; ++round) {
    StoreBuilder builder;
    addNest(builder, random, 0, 200);
    nestRanges(builder);
    const auto& ranges = builder.columns<Range>();
    for (std::size_t i = 0; i < ranges.startNs.size(); ++i) {
      std::uint16_t around = 0;
      for (std::size_t j = 0; j < i; ++j)
        around += ranges.startNs[j] + ranges.durNs[j] > ranges.startNs[i] ? 1 : 0;
      ASSERT_EQ(ranges.depth[i], around) << round << " " << i;
    }
  }
}

TEST(SpanPlaces, ThreadsAndProcessesLastFromTheirFirstToTheirLastEvent) {
  StoreBuilder builder;
  for (const std::uint32_t process : {1, 1, 2, 9}) {
    builder.append(
        Thread{.id = ThreadId(static_cast<std::uint32_t>(builder.columns<Thread>().id.size()) + 1),
               .process = ProcessId(process),
               .startNs = 1,
               .endNs = 2});
  }
  for (std::uint32_t id = 1; id <= 3; ++id) builder.append(Process{.id = ProcessId(id)});
  builder.append(Range{.startNs = 100, .durNs = 50, .thread = ThreadId(1)});
  builder.append(Mark{.timeNs = 90, .thread = ThreadId(1)});
  builder.append(ApiCall{.startNs = 300, .durNs = 40, .thread = ThreadId(2)});
  builder.append(Mark{.timeNs = 700, .thread = ThreadId(4)});
  builder.append(Mark{.timeNs = 5, .thread = ThreadId(5)});  // no such thread
  builder.append(Mark{.timeNs = 6});                         // of no thread
  builder.append(Kernel{.startNs = 7, .durNs = 9'000});      // on a device
  spanPlaces(builder);
  EXPECT_THAT(builder.columns<Thread>().startNs, ElementsAre(90, 300, 90, 700));
  EXPECT_THAT(builder.columns<Thread>().endNs, ElementsAre(150, 340, 90, 700))
      << "a quiet one is at the first moment";
  EXPECT_THAT(builder.columns<Process>().startNs, ElementsAre(90, 90, 90));
  EXPECT_THAT(builder.columns<Process>().endNs, ElementsAre(340, 90, 90));
}

TEST(SpanPlaces, WithoutEventsPlacesAreAtZero) {
  StoreBuilder builder;
  builder.append(Process{.id = ProcessId(1)});
  spanPlaces(builder);
  EXPECT_THAT(builder.columns<Process>().startNs, ElementsAre(0));
  builder.append(Thread{.id = ThreadId(1), .process = ProcessId(1)});
  spanPlaces(builder);
  EXPECT_THAT(builder.columns<Thread>().endNs, ElementsAre(0));
}

TEST(CloseUnfinished, RunsToTheLastMomentOfAnyRow) {
  StoreBuilder builder;
  builder.append(Range{.startNs = 10, .durNs = -1});
  builder.append(Range{.startNs = 20, .durNs = 5});
  builder.append(ApiCall{.startNs = 30, .durNs = -7});
  builder.append(Kernel{.startNs = 40, .durNs = 25});
  builder.append(Mark{.timeNs = 64});
  builder.append(Clock{.timeNs = 900});  // may be read long after
  closeUnfinished(builder);
  EXPECT_THAT(builder.columns<Range>().durNs, ElementsAre(55, 5));
  EXPECT_THAT(builder.columns<ApiCall>().durNs, ElementsAre(35));
  EXPECT_THAT(builder.build()->warnings(), IsEmpty());
}

TEST(CloseUnfinished, TheStartOfAnotherRowWithoutAnEndMayBeTheLastMoment) {
  StoreBuilder builder;
  builder.append(Range{.startNs = 10, .durNs = -1});
  builder.append(ThreadSpan{.startNs = 35, .durNs = -1});
  closeUnfinished(builder);
  EXPECT_THAT(builder.columns<Range>().durNs, ElementsAre(25));
  EXPECT_THAT(builder.columns<ThreadSpan>().durNs, ElementsAre(0));
}

TEST(CloseUnfinished, MomentsThatNoClockShowsAreBroughtBackAndCounted) {
  StoreBuilder builder;
  builder.append(Mark{.timeNs = INT64_MAX});
  builder.append(Mark{.timeNs = INT64_MIN});
  builder.append(Mark{.timeNs = kFarthestNs});
  builder.append(Range{.startNs = -kFarthestNs, .durNs = INT64_MIN});
  builder.append(Range{.startNs = kFarthestNs + 1, .durNs = 0});
  closeUnfinished(builder);
  EXPECT_THAT(builder.columns<Mark>().timeNs, ElementsAre(kFarthestNs, -kFarthestNs, kFarthestNs));
  EXPECT_THAT(builder.columns<Range>().startNs, ElementsAre(-kFarthestNs, kFarthestNs));
  EXPECT_THAT(builder.columns<Range>().durNs, ElementsAre(2 * kFarthestNs, 0));
  const auto store = builder.build();
  EXPECT_THAT(
      store->warnings(),
      testing::Contains("4 times and lengths are beyond 73 years, and were brought back to that"));
}

}  // namespace
}  // namespace lacuna::analyzer
