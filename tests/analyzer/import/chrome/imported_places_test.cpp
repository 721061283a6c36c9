// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "import/chrome/imported_places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/import/chrome/places_fixture.h"
#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {
namespace {

using prof::DeviceKind;
using testing::ElementsAre;
using testing::IsEmpty;

class ImportedPlacesTest : public PlacesTest {
 protected:
  std::uint32_t host(const std::string& pid, const std::string& tid) {
    const std::uint32_t number = places_.locationFor({pid, tid});
    places_.location(number).usedByHost = true;
    return number;
  }
  std::uint32_t device(const std::string& pid, const std::string& tid) {
    const std::uint32_t number = places_.locationFor({pid, tid});
    places_.location(number).usedByDevice = true;
    return number;
  }
  /// "key=value" of the environment, which keeps tokens that no column holds.
  std::vector<std::string> kept() {
    std::vector<std::string> out;
    const auto& rows = builder_.columns<prof::Environment>();
    for (std::size_t i = 0; i < rows.key.size(); ++i) {
      out.push_back(std::string(builder_.text(rows.key[i])) + "=" +
                    std::string(builder_.text(rows.value[i])));
    }
    return out;
  }
};

TEST_F(ImportedPlacesTest, APidAndATidAreAThreadOfAProcess) {
  places_.setRank(3);
  EXPECT_EQ(host("10", "11"), 1U);
  EXPECT_EQ(host("10", "12"), 2U);
  EXPECT_EQ(host("20", "11"), 3U);
  EXPECT_EQ(host("10", "12"), 2U);
  EXPECT_EQ(places_.locations(), 4U) << "the first stands for none";
  places_.make();
  EXPECT_THAT(processes().osPid, ElementsAre(10, 20));
  EXPECT_THAT(processes().rank, ElementsAre(3, 3));
  EXPECT_THAT(processes().exitCode, ElementsAre(-1, -1));
  EXPECT_THAT(threads().osTid, ElementsAre(11, 12, 11));
  EXPECT_EQ(places_.findThread("20", "11"), prof::ThreadId(3));
  EXPECT_EQ(places_.findProcess("20"), prof::ProcessId(2));
  EXPECT_FALSE(places_.findThread("20", "12"));
  EXPECT_FALSE(places_.findQueue("20", "11"));
  EXPECT_FALSE(places_.findProcess("30"));
  EXPECT_FALSE(places_.findDevice("20"));
  EXPECT_THAT(kept(), IsEmpty());
}

TEST_F(ImportedPlacesTest, WhatIsNoSmallNumberKeepsItsToken) {
  places_.setRank(3);
  host("\"Spans\"", "\"PyTorch Profiler\"");
  host("\"7#2\"", "\"11#2\"");
  host("-5", "-1");
  host("4294967296", "4294967295");
  host("4294967295", "99999999999");
  places_.make();
  EXPECT_THAT(processes().osPid, ElementsAre(0, 7, 0, 0, 4294967295U));
  EXPECT_THAT(processes().rank, ElementsAre(-1, -1, -1, -1, 3))
      << "the file's rank is of real processes";
  EXPECT_EQ(text(processes().name[0]), "Spans");
  EXPECT_EQ(text(processes().name[1]), "");
  EXPECT_EQ(text(processes().name[2]), "-5");
  EXPECT_THAT(threads().osTid, ElementsAre(0, 11, 4294967295U, 4294967295U, 0));
  EXPECT_EQ(text(threads().name[0]), "PyTorch Profiler");
  EXPECT_EQ(text(threads().name[2]), "") << "the lower half of a pthread_t";
  EXPECT_EQ(text(threads().name[4]), "99999999999");
  EXPECT_THAT(kept(), ElementsAre("chrome.pid.1=\"Spans\"", "chrome.tid.1=\"PyTorch Profiler\"",
                                  "chrome.pid.2=\"7#2\"", "chrome.tid.2=\"11#2\"",
                                  "chrome.pid.3=-5", "chrome.tid.3=-1", "chrome.pid.4=4294967296",
                                  "chrome.tid.5=99999999999"));
}

TEST_F(ImportedPlacesTest, WhereDeviceWorkLiesIsAQueueOfADevice) {
  places_.device(1) = {"A100", 4'000, 108, 8, 0};
  device("1", "7");
  device("1", "20");
  device("2", "7");
  const auto both = device("0", "0");
  places_.location(both).usedByHost = true;
  places_.locationFor({"5", "5"});  // only points of flows
  places_.make();
  EXPECT_THAT(devices().index, ElementsAre(1, 2, 0));
  EXPECT_THAT(devices().kind, ElementsAre(DeviceKind::Cuda, DeviceKind::Cuda, DeviceKind::Cuda));
  EXPECT_EQ(text(devices().name[0]), "A100");
  EXPECT_EQ(devices().multiprocessors[0], 108U);
  EXPECT_EQ(devices().computeMajor[0], 8U);
  EXPECT_EQ(text(devices().name[1]), "");
  EXPECT_THAT(queues().nativeId, ElementsAre(7, 20, 7, 0));
  EXPECT_THAT(queues().device, ElementsAre(prof::DeviceId(1), prof::DeviceId(1), prof::DeviceId(2),
                                           prof::DeviceId(3)));
  EXPECT_EQ(places_.findQueue("0", "0"), prof::QueueId(4));
  EXPECT_THAT(processes().osPid, ElementsAre(0, 5));
  EXPECT_EQ(places_.findThread("0", "0"), prof::ThreadId(1)) << "threads lie there, too";
  EXPECT_FALSE(places_.findThread("1", "7"));
}

TEST_F(ImportedPlacesTest, DevicesOfOurExportsAreNamedByKindIndexAndOwner) {
  places_.device(0) = {"A100", 4'000, 108, 8, 0};
  host("\"1234#2\"", "1");
  for (const char* pid :
       {"\"cpu:0@1234\"", "\"cuda:0\"", "\"cuda:0#2\"", "\"rocm:3\"", "\"device:1\"",
        "\"cpu:0@1234#2\"", "\"cpu:0@77#2\"", "\"cuda:x\"", "\"tpu:1\""}) {
    device(pid, "\"5#2\"");
  }
  places_.make();
  using enum DeviceKind;
  EXPECT_THAT(devices().kind, ElementsAre(Cpu, Cuda, Cuda, Rocm, Other, Cpu, Cpu, Cuda, Cuda));
  EXPECT_THAT(devices().index, ElementsAre(0, 0, 0, 3, 1, 0, 0, 0, 0));
  EXPECT_EQ(text(devices().name[2]), "A100");
  EXPECT_EQ(text(devices().name[0]), "") << "the properties are of a GPU";
  EXPECT_THAT(queues().nativeId, testing::Each(5));
  std::vector<std::uint32_t> owners;
  for (const auto owner : devices().process)
    owners.push_back(owner ? processes().osPid[owner.value - 1] : 0);
  EXPECT_THAT(owners, ElementsAre(1234, 0, 0, 0, 0, 1234, 77, 0, 0));
  EXPECT_NE(devices().process[0], devices().process[5]) << "there is a process \"1234#2\"";
  EXPECT_EQ(devices().process[5], places_.findProcess("\"1234#2\""));
  EXPECT_EQ(devices().process[6], places_.findProcess("77"))
      << "there is none \"77#2\": it is the second device";
  EXPECT_EQ(queues().process[5], devices().process[5]);
}

TEST_F(ImportedPlacesTest, RowsGetThePlacesOfTheirLocations) {
  const auto thread = host("10", "11");
  const auto queue = device("1", "7");
  builder_.append(
      prof::Range{.thread = prof::ThreadId(thread), .endThread = prof::ThreadId(thread)});
  builder_.append(prof::Range{.queue = prof::QueueId(queue)});
  builder_.append(prof::Kernel{.queue = prof::QueueId(queue)});
  builder_.append(prof::Flow{.thread = prof::ThreadId(thread)});
  builder_.append(prof::Flow{.thread = prof::ThreadId(queue)});
  builder_.append(prof::CounterTrack{.id = prof::TrackId(1), .thread = prof::ThreadId(thread)});
  places_.make();
  places_.placeRows();
  EXPECT_THAT(builder_.columns<prof::Range>().thread,
              ElementsAre(prof::ThreadId(1), prof::ThreadId()));
  EXPECT_THAT(builder_.columns<prof::Range>().endThread,
              ElementsAre(prof::ThreadId(1), prof::ThreadId()));
  EXPECT_THAT(builder_.columns<prof::Range>().queue,
              ElementsAre(prof::QueueId(), prof::QueueId(1)));
  EXPECT_EQ(builder_.columns<prof::Kernel>().queue[0], prof::QueueId(1));
  EXPECT_EQ(builder_.columns<prof::Kernel>().device[0], prof::DeviceId(1));
  EXPECT_THAT(builder_.columns<prof::Flow>().thread,
              ElementsAre(prof::ThreadId(1), prof::ThreadId()));
  EXPECT_THAT(builder_.columns<prof::Flow>().queue, ElementsAre(prof::QueueId(), prof::QueueId(1)));
  EXPECT_EQ(builder_.columns<prof::CounterTrack>().process[0], prof::ProcessId(1));
}

TEST_F(ImportedPlacesTest, AllocationsAreOfTheirQueuesDeviceOfTheirProcessesOwnOrOfTheNumber) {
  const auto owner = host("10", "11"), other = host("20", "21");
  const auto queue = device("\"cuda:0@10\"", "7");
  const auto allocation = [&](std::uint32_t thread, std::uint32_t onQueue, std::uint32_t number) {
    builder_.append(prof::Allocation{.thread = prof::ThreadId(thread),
                                     .device = prof::DeviceId(number),
                                     .queue = prof::QueueId(onQueue)});
  };
  allocation(owner, queue, 0);
  allocation(owner, 0, 1);  // its process has a device of its own with number 0
  allocation(other, 0, 1);
  allocation(owner, 0, 4);  // number 3
  allocation(owner, 0, 0);  // memory of the host
  places_.make();
  places_.placeRows();
  const auto own = places_.findDevice("\"cuda:0@10\""), shared = places_.findDevice("0"),
             third = places_.findDevice("3");
  EXPECT_TRUE(own && shared && third && own != shared);
  EXPECT_THAT(builder_.columns<prof::Allocation>().device,
              ElementsAre(own, own, shared, third, prof::DeviceId()));
}

}  // namespace
}  // namespace lacuna::analyzer
