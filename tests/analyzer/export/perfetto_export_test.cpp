// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "lacuna/analyzer/files.h"
#include "lacuna/analyzer/store.h"
#include "support/random_store.h"
#include "support/temp_file.h"

/// Perfetto's packets, taken apart by the published numbers of their fields.
namespace lacuna::analyzer {
namespace {

using namespace prof;
using testing::ElementsAre;

/// The fields of a protobuf message: numbers, and bytes.
struct Message {
  std::multimap<std::uint32_t, std::uint64_t> numbers;
  std::multimap<std::uint32_t, std::string_view> bytes;

  explicit Message(std::string_view text) {
    while (!text.empty()) {
      const std::uint64_t key = varint(text);
      const auto field = static_cast<std::uint32_t>(key >> 3);
      if ((key & 7) == 0) {
        numbers.emplace(field, varint(text));
      } else if ((key & 7) == 1) {
        std::uint64_t fixed = 0;
        std::memcpy(&fixed, text.data(), sizeof fixed);
        text.remove_prefix(sizeof fixed);
        numbers.emplace(field, fixed);
      } else {
        EXPECT_EQ(key & 7, 2U);
        const std::uint64_t length = varint(text);
        if (length > text.size()) {
          ADD_FAILURE() << "field " << field << " is longer than its message";
          return;
        }
        bytes.emplace(field, text.substr(0, length));
        text.remove_prefix(length);
      }
    }
  }
  [[nodiscard]] std::uint64_t number(std::uint32_t field) const {
    const auto found = numbers.find(field);
    return found == numbers.end() ? 0 : found->second;
  }
  [[nodiscard]] std::string text(std::uint32_t field) const {
    const auto found = bytes.find(field);
    return found == bytes.end() ? "" : std::string(found->second);
  }

 private:
  static std::uint64_t varint(std::string_view& text) {
    std::uint64_t out = 0;
    for (unsigned shift = 0; !text.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(text.front());
      text.remove_prefix(1);
      out |= std::uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) break;
    }
    return out;
  }
};

struct Slice {
  std::string track, name, category;
  TimeNs startNs, endNs;
  friend bool operator==(const Slice&, const Slice&) = default;
};

/// A .pftrace as a viewer takes it up.
struct Viewed {
  std::map<std::uint64_t, std::string>
      tracks;  ///< by number: "process 7", "thread 11", or its name
  std::map<std::uint64_t, std::uint64_t> parents;
  std::vector<Slice> slices;
  std::vector<std::pair<std::string, double>> counters;
  std::vector<std::string> instants;
  std::map<std::uint64_t, std::vector<std::pair<std::uint64_t, bool>>>
      flows;  ///< by id: time, and whether it ends

  explicit Viewed(const Store& store) {
    const test::TempFile file(".pftrace");
    EXPECT_TRUE(exportTrace(store, file.path(), Format::Perfetto));
    std::ostringstream out;
    out << std::ifstream(file.path(), std::ios::binary).rdbuf();
    const std::string content = out.str();
    std::vector<std::pair<std::uint64_t, Slice>> open;
    for (const auto& [field, packet] : Message(content).bytes) {
      EXPECT_EQ(field, 1U);
      take(Message(packet), open);
    }
    EXPECT_TRUE(open.empty()) << "every slice ends";
  }

 private:
  void take(const Message& packet, std::vector<std::pair<std::uint64_t, Slice>>& open) {
    EXPECT_EQ(packet.number(10), 1U) << "all packets are of one sequence";
    EXPECT_EQ(packet.number(13), isFirst_ ? 1U : 2U) << "whose state begins with the first";
    isFirst_ = false;
    if (packet.bytes.contains(12)) intern(Message(packet.bytes.find(12)->second));
    if (packet.bytes.contains(60)) takeTrack(Message(packet.bytes.find(60)->second));
    if (!packet.bytes.contains(11)) return;
    const Message event(packet.bytes.find(11)->second);
    const auto timeNs = static_cast<TimeNs>(packet.number(8));
    const std::uint64_t track = event.number(11);
    const std::string name = event.number(10) != 0 ? names_.at(event.number(10)) : event.text(23);
    const std::string category =
        event.numbers.contains(3) ? categories_.at(event.number(3)) : event.text(22);
    if (event.number(9) == 1)
      open.emplace_back(track, Slice{tracks[track], name, category, timeNs, 0});
    if (event.number(9) == 2) {
      ASSERT_FALSE(open.empty());
      EXPECT_EQ(open.back().first, track);
      slices.push_back(open.back().second);
      slices.back().endNs = timeNs;
      open.pop_back();
    }
    if (event.number(9) == 3) instants.push_back(name);
    if (event.number(9) == 4)
      counters.emplace_back(tracks[track], std::bit_cast<double>(event.number(44)));
    for (const std::uint32_t flow : {47U, 48U}) {
      if (event.numbers.contains(flow))
        flows[event.number(flow)].emplace_back(packet.number(8), flow == 48);
    }
  }
  void intern(const Message& interned) {
    for (const auto& [field, entry] : interned.bytes)
      (field == 2 ? names_ : categories_)[Message(entry).number(1)] = Message(entry).text(2);
  }
  void takeTrack(const Message& track) {
    const std::uint64_t uuid = track.number(1);
    EXPECT_FALSE(tracks.contains(uuid)) << "a number twice";
    tracks[uuid] = track.text(2);
    if (track.bytes.contains(3))
      tracks[uuid] = "process " + std::to_string(Message(track.text(3)).number(1));
    if (track.bytes.contains(4))
      tracks[uuid] = "thread " + std::to_string(Message(track.text(4)).number(2));
    if (track.numbers.contains(5)) parents[uuid] = track.number(5);
  }

  std::map<std::uint64_t, std::string> names_, categories_;
  bool isFirst_ = true;
};

/// A thread with ranges and a call, a queue with a kernel, a counter, a mark and a flow.
std::shared_ptr<const Store> oneOfEach() {
  StoreBuilder out;
  out.append(Process{.id = ProcessId(1), .osPid = 7});
  out.append(Thread{.id = ThreadId(1), .process = ProcessId(1), .osTid = 11});
  out.append(
      Device{.id = DeviceId(1), .kind = DeviceKind::Cuda, .index = 3, .name = out.intern("H100")});
  out.append(
      Queue{.id = QueueId(1), .device = DeviceId(1), .process = ProcessId(1), .nativeId = 20});
  out.append(
      CounterTrack{.id = TrackId(1), .thread = ThreadId(1), .name = out.intern("thread CPU")});
  out.append(Range{.startNs = 100,
                   .durNs = 50,
                   .thread = ThreadId(1),
                   .category = out.intern("cpu_op"),
                   .name = out.intern("forward")});
  out.append(Range{.startNs = 90,
                   .durNs = 20,
                   .thread = ThreadId(1),
                   .name = out.intern("open"),
                   .kind = RangeKind::StartEnd});
  out.append(ApiCall{
      .startNs = 110, .durNs = 5, .thread = ThreadId(1), .name = out.intern("cudaLaunchKernel")});
  out.append(Kernel{.startNs = 120,
                    .durNs = 1'000'000'000'000,
                    .queue = QueueId(1),
                    .device = DeviceId(1),
                    .name = out.intern("gemm")});
  out.append(CounterSample{.timeNs = 105, .track = TrackId(1), .value = 12.5});
  out.append(Mark{.timeNs = 106, .thread = ThreadId(1), .name = out.intern("here")});
  out.append(Flow{.timeNs = 110, .thread = ThreadId(1), .id = 77, .phase = FlowPhase::Begin});
  out.append(Flow{.timeNs = 120, .queue = QueueId(1), .id = 77, .phase = FlowPhase::End});
  return out.build();
}

TEST(PerfettoExport, SlicesHaveTheirTrackNameAndTimes) {
  const Viewed viewed(*oneOfEach());
  EXPECT_THAT(viewed.slices,
              ElementsAre(Slice{"range", "open", "", 90, 110},
                          Slice{"thread 11", "forward", "cpu_op", 100, 150},
                          Slice{"api_call", "cudaLaunchKernel", "api_call", 110, 115},
                          Slice{"queue 20 ", "gemm", "kernel", 120, 1'000'000'000'120}));
}

TEST(PerfettoExport, WhatDoesNotNestLiesOnATrackUnderItsThread) {
  const Viewed viewed(*oneOfEach());
  std::vector<std::string> asides;
  for (const auto& [track, parent] : viewed.parents) {
    if (viewed.tracks.at(parent) == "thread 11") asides.push_back(viewed.tracks.at(track));
  }
  EXPECT_THAT(asides, testing::UnorderedElementsAre("thread CPU", "range", "api_call"));
}

TEST(PerfettoExport, QueuesLieUnderTheirDevice) {
  const Viewed viewed(*oneOfEach());
  for (const auto& [track, name] : viewed.tracks) {
    if (name == "queue 20 ") {
      EXPECT_EQ(viewed.tracks.at(viewed.parents.at(track)), "cuda:3 H100");
    }
    if (name == "thread 11") {
      EXPECT_EQ(viewed.tracks.at(viewed.parents.at(track)), "process 7");
    }
  }
  EXPECT_EQ(viewed.tracks.size(), 7U);
}

TEST(PerfettoExport, CountersMarksAndFlowsComeAlong) {
  const Viewed viewed(*oneOfEach());
  EXPECT_THAT(viewed.counters, ElementsAre(std::pair("thread CPU", 12.5)));
  EXPECT_THAT(viewed.instants, testing::Contains("here"));
  ASSERT_EQ(viewed.flows.size(), 1U);
  EXPECT_THAT(viewed.flows.at(77), ElementsAre(std::pair(110U, false), std::pair(120U, true)));
}

TEST(PerfettoExport, EveryRowWithALengthIsASlice) {
  for (unsigned seed = 1; seed <= 5; ++seed) {
    const auto store = test::randomStore(seed, 40);
    std::multiset<std::tuple<TimeNs, TimeNs>> expected, found;
    std::size_t counters = store->rows<CounterSample>();
    forEachTable([&]<class Row>() {
      if constexpr (requires(Row row) { row.durNs; }) {
        for (std::uint64_t i = 0; i < store->rows<Row>(); ++i) {
          const Row row = store->row<Row>(i);
          expected.emplace(row.startNs, row.startNs + row.durNs);
        }
      }
    });
    const Viewed viewed(*store);
    for (const Slice& slice : viewed.slices) found.emplace(slice.startNs, slice.endNs);
    EXPECT_EQ(found, expected) << seed;
    EXPECT_EQ(viewed.counters.size(), counters) << seed;
  }
}

TEST(PerfettoExport, OfAnEmptyTraceHasNoEvents) {
  const Viewed viewed(*StoreBuilder().build());
  EXPECT_TRUE(viewed.slices.empty() && viewed.tracks.empty() && viewed.counters.empty() &&
              viewed.instants.empty());
}

}  // namespace
}  // namespace lacuna::analyzer
