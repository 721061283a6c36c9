// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "import/chrome/metadata_events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/import/chrome/places_fixture.h"
#include "import/chrome/chrome_lives.h"
#include "import/chrome/imported_places.h"
#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Threads 10/11 and 20/21, a stream of device 1 and one of "cuda:0".
class MetadataEventsTest : public PlacesTest {
 protected:
  MetadataEventsTest() {
    for (const ChromeLocation& place :
         {ChromeLocation{"10", "11", true, false}, ChromeLocation{"20", "21", true, false},
          ChromeLocation{"1", "7", false, true}, ChromeLocation{"\"cuda:0\"", "7", false, true}}) {
      places_.locationFor(place);
    }
    places_.make();
    builder_.columns<prof::Environment>().clear();
  }
  void read(const std::vector<std::string>& events) { readMetadata(events, places_, builder_); }
  void live(const std::vector<std::string>& events) {
    readLives(events,
              {[&](const std::string& pid) { return places_.findProcess(pid); },
               [&](const std::string& pid, const std::string& tid) {
                 return places_.findThread(pid, tid);
               }},
              builder_);
  }
};

TEST_F(MetadataEventsTest, NamePlacesAndStayInTheEnvironment) {
  const std::vector<std::string> events = {
      R"({"ph":"M","name":"process_name","pid":10,"args":{"name":"python"}})",
      R"({"ph":"M","name":"thread_name","pid":20,"tid":21,"args":{"name":"a \"b\""}})",
      R"({"ph":"M","name":"thread_name","pid":1,"tid":7,"args":{"name":"stream 7"}})",
      R"({"ph":"M","name":"process_name","pid":1,"args":{"name":"GPU 1"}})",
      R"({"ph":"M","name":"process_name","pid":"cuda:0","args":{"name":"A100"}})",
      R"({"ph":"M","name":"process_sort_index","pid":10,"args":{"sort_index":1}})"};
  read(events);
  EXPECT_EQ(text(processes().name[0]), "python");
  EXPECT_EQ(text(threads().name[1]), "a \"b\"");
  EXPECT_EQ(text(queues().name[0]), "stream 7");
  EXPECT_EQ(text(devices().name[0]), "") << "Kineto names its pids, which are also the processes'";
  EXPECT_EQ(text(devices().name[1]), "A100");
  const auto& kept = builder_.columns<prof::Environment>();
  ASSERT_EQ(kept.key.size(), events.size());
  for (std::size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(text(kept.key[i]), "chrome.metadata");
    EXPECT_EQ(text(kept.value[i]), events[i]);
  }
  using prof::ProcessId;
  EXPECT_THAT(kept.process, ElementsAre(ProcessId(1), ProcessId(2), ProcessId(), ProcessId(),
                                        ProcessId(), ProcessId(1)));
}

TEST_F(MetadataEventsTest, WithoutAPlaceOrANameChangeNothing) {
  read({R"({"name":"process_name","pid":99,"args":{"name":"other"}})",
        R"({"name":"process_name","pid":10,"args":{}})",
        R"({"name":"process_name","pid":10,"args":{"name":""}})",
        R"({"name":"process_name","args":{"name":"x"}})",
        R"({"name":"thread_name","pid":10,"args":{"name":"x"}})",
        R"({"name":5,"pid":10,"args":{"name":"x"}})", "{no"});
  EXPECT_EQ(text(processes().name[0]), "");
  EXPECT_EQ(text(threads().name[0]), "");
  EXPECT_EQ(builder_.columns<prof::Environment>().key.size(), 7U);
  read({});
  EXPECT_EQ(builder_.columns<prof::Environment>().key.size(), 7U);
}

TEST_F(MetadataEventsTest, ARankIsAColumnAndNothingElse) {
  read({R"({"name":"lacuna_rank","pid":20,"args":{"rank":3}})"});
  EXPECT_THAT(processes().rank, ElementsAre(-1, 3));
  EXPECT_THAT(builder_.columns<prof::Environment>().key, IsEmpty());
  read({R"({"name":"lacuna_rank","pid":20,"args":{"rank":-2}})",
        R"({"name":"lacuna_rank","pid":20,"args":{"rank":2147483648}})",
        R"({"name":"lacuna_rank","pid":20,"args":{"rank":"5"}})",
        R"({"name":"of lacuna_rank","pid":20,"args":{"rank":5}})"});
  EXPECT_THAT(processes().rank, ElementsAre(-1, 3)) << "no rank is so";
  EXPECT_EQ(builder_.columns<prof::Environment>().key.size(), 4U)
      << "so they are kept as they stand";
}

TEST_F(MetadataEventsTest, LivesFillTheColumnsOfTheirPlaces) {
  threads().startNs.assign(2, 5);
  live(
      {R"({"name":"lacuna_process","pid":20,"tid":0,"args":{"parent":10,"start_ns":100,"end_ns":900,"exit_code":137,)"
       R"("command_line":"python a.py"}})",
       R"({"name":"lacuna_thread","pid":20,"tid":21,"args":{"start_ns":-7,"end_ns":8}})",
       R"({"name":"lacuna_thread","pid":10,"tid":11,"args":{"start_ns":"soon"}})"});
  EXPECT_EQ(processes().parent[1], prof::ProcessId(1));
  EXPECT_EQ(processes().startNs[1], 100);
  EXPECT_EQ(processes().endNs[1], 900);
  EXPECT_EQ(processes().exitCode[1], 137);
  EXPECT_EQ(text(processes().commandLine[1]), "python a.py");
  EXPECT_THAT(threads().startNs, ElementsAre(5, -7));
  EXPECT_EQ(threads().endNs[1], 8);
  EXPECT_EQ(processes().exitCode[0], -1);
}

TEST_F(MetadataEventsTest, LivesOfNobodyOrOfNoUseLeaveThePlaces) {
  live({R"({"name":"lacuna_process","pid":99,"tid":0,"args":{"end_ns":9}})",
        R"({"name":"lacuna_process","pid":10,"args":{"end_ns":9}})",
        R"({"name":"lacuna_process","pid":10,"tid":0})",
        R"({"name":"lacuna_process","pid":10,"tid":0,"args":{"parent":10}})", "{\"lacuna_process",
        "{}", R"({"name":"lacuna_thread","pid":10,"tid":12,"args":{"end_ns":9}})"});
  EXPECT_THAT(processes().endNs, ElementsAre(0, 0));
  EXPECT_THAT(processes().parent, ElementsAre(prof::ProcessId(), prof::ProcessId()))
      << "none is its own parent";
  EXPECT_THAT(threads().endNs, ElementsAre(0, 0));
}

TEST_F(MetadataEventsTest, CallsShowTheKindOfTheDevicesAndTheOwnerOfTheQueues) {
  const auto call = [&](std::uint32_t thread, std::string_view name) {
    builder_.append(prof::ApiCall{.thread = prof::ThreadId(thread), .name = builder_.intern(name)});
  };
  describeByCalls(places_, builder_);
  EXPECT_THAT(queues().process, testing::Each(prof::ProcessId()));
  call(2, "cudaLaunchKernel");
  describeByCalls(places_, builder_);
  EXPECT_THAT(queues().process, testing::Each(prof::ProcessId(2)));
  EXPECT_THAT(devices().kind, testing::Each(prof::DeviceKind::Cuda));
  queues().process.assign(2, {});
  devices().kind[0] = prof::DeviceKind::Other;
  call(1, "hipLaunchKernel");
  describeByCalls(places_, builder_);
  EXPECT_THAT(queues().process, testing::Each(prof::ProcessId()))
      << "two processes call the driver";
  EXPECT_THAT(devices().kind, ElementsAre(prof::DeviceKind::Other, prof::DeviceKind::Rocm));
}

}  // namespace
}  // namespace lacuna::analyzer
