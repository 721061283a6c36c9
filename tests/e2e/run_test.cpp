// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>

#include "e2e/run_fixture.h"

namespace lacuna {
namespace {

using prof::Reader;

/// The contents of the trace of a program that makes every call of NVTX's core.
class NvtxCoreTest : public RunTest {
 protected:
  void SetUp() override {
    ASSERT_EQ(WEXITSTATUS(lacuna("-o out.lcn --trace nvtx -- " + program("nvtx_program") + " 5")),
              5);
  }

  /// All of a name, in order of their beginnings.
  static std::vector<prof::Range> rangesNamed(const Reader& reader, std::string_view name) {
    return rowsNamed<prof::Range>(reader, name);
  }
  static std::vector<prof::Mark> marksNamed(const Reader& reader, std::string_view name) {
    return rowsNamed<prof::Mark>(reader, name);
  }
  static std::string threadName(const Reader& reader, prof::ThreadId id) {
    const auto threads = *reader.table<prof::Thread>();
    for (std::size_t i = 0; i < threads.id.size(); ++i) {
      if (threads.id[i] == id) return std::string(reader.text(threads.name[i]));
    }
    return {};
  }

 private:
  template <class Row>
  static std::vector<Row> rowsNamed(const Reader& reader, std::string_view name) {
    const auto table = *reader.table<Row>();
    std::vector<Row> found;
    for (std::size_t i = 0; i < table.name.size(); ++i) {
      if (reader.text(table.name[i]) == name) found.push_back(table.row(i));
    }
    return found;
  }
};

TEST_F(NvtxCoreTest, RangesOfEveryCallAreRecorded) {
  const Reader reader = trace();
  const std::map<std::string, int> expected{
      {"outer", 1},        {"weit: äöü", 1}, {"push ex", 1},
      {"start ex", 1},     {"start", 1},     {"start ü", 1},
      {"step", 4},         {"schritt ö", 1}, {"crossing threads", 1},
      {"in the worker", 1}};
  EXPECT_EQ(rangesOf(reader), expected);
  const auto ranges = *reader.table<prof::Range>();
  // The thread sanitizer adds threads of its own to the program.
  EXPECT_EQ(std::set<prof::ThreadId>(ranges.thread.begin(), ranges.thread.end()).size(), 2u);
  EXPECT_EQ(rangesNamed(reader, "weit: äöü")[0].depth, 1);
  EXPECT_EQ(reader.text(rangesNamed(reader, "push ex")[0].category), "reading");
  for (const char* name : {"start ex", "start", "start ü"}) {
    const prof::Range row = rangesNamed(reader, name)[0];
    EXPECT_EQ(row.kind, prof::RangeKind::StartEnd) << name;
    EXPECT_EQ(row.flags, 0) << name;
    EXPECT_FALSE(row.endThread) << name;
  }
  const prof::Range crossing = rangesNamed(reader, "crossing threads")[0];
  EXPECT_EQ(crossing.kind, prof::RangeKind::StartEnd);
  EXPECT_EQ(crossing.endThread, rangesNamed(reader, "in the worker")[0].thread);
  EXPECT_NE(crossing.endThread, crossing.thread);
  expectNothingLeft();
}

TEST_F(NvtxCoreTest, RangesAndMarksHaveTheirDomainCategoryAndColour) {
  const Reader reader = trace();
  int steps = 0;
  for (const prof::Range& row : rangesNamed(reader, "step")) {
    EXPECT_EQ(reader.text(row.domain), "my library");
    EXPECT_EQ(reader.text(row.category), "loading");
    EXPECT_EQ(row.colour, 0xff00ff00u);
    if (row.payloadType == prof::PayloadType::None) continue;
    EXPECT_EQ(row.payloadType, prof::PayloadType::I64);
    EXPECT_EQ(static_cast<std::int64_t>(row.payload), -steps++);
  }
  EXPECT_EQ(steps, 3);
  const prof::Range other = rangesNamed(reader, "schritt ö")[0];
  EXPECT_EQ(reader.text(other.domain), "ändere");
  EXPECT_EQ(reader.text(other.category), "rächnen");
  EXPECT_EQ(marksNamed(reader, "a mark").size(), 1u);
  EXPECT_EQ(marksNamed(reader, "a wide mark ä").size(), 1u);
  const auto marks = marksNamed(reader, "mark ex →");
  ASSERT_EQ(marks.size(), 1u);
  EXPECT_EQ(reader.text(marks[0].category), "läsen");
}

TEST_F(NvtxCoreTest, PayloadsOfEveryTypeHaveTheirBits) {
  const Reader reader = trace();
  using Type = prof::PayloadType;
  const std::vector<std::pair<Type, std::uint64_t>> expected{
      {Type::U64, UINT64_MAX - 1},
      {Type::I64, std::bit_cast<std::uint64_t>(INT64_MIN + 1)},
      {Type::F64, std::bit_cast<std::uint64_t>(0.5)},
      {Type::U32, UINT32_MAX - 1},
      {Type::I32, std::bit_cast<std::uint32_t>(-7)},
      {Type::F32, std::bit_cast<std::uint32_t>(0.25f)}};
  std::vector<std::pair<Type, std::uint64_t>> found;
  for (const prof::Mark& mark : marksNamed(reader, "payload"))
    found.emplace_back(mark.payloadType, mark.payload);
  EXPECT_EQ(found, expected);
}

TEST_F(NvtxCoreTest, ThreadsAreNamedByThemselvesAndByOthers) {
  const Reader reader = trace();
  EXPECT_EQ(threadName(reader, rangesNamed(reader, "outer")[0].thread), "main ä");
  EXPECT_EQ(threadName(reader, rangesNamed(reader, "in the worker")[0].thread), "named by another");
}

TEST_F(NvtxCoreTest, NamesOfResourcesAndCudaObjectsAreInTheEnvironment) {
  const Reader reader = trace();
  std::map<std::string, std::string> found;
  const auto rows = *reader.table<prof::Environment>();
  for (std::size_t i = 0; i < rows.key.size(); ++i) {
    const std::string key(reader.text(rows.key[i]));
    if (key.starts_with("nvtx.")) found[key] = reader.text(rows.value[i]);
  }
  const std::map<std::string, std::string> expected{
      {"nvtx.device.0x0", "driver device"},  {"nvtx.device.0x1", "driver device ä"},
      {"nvtx.device.0x2", "device"},         {"nvtx.device.0x3", "device ä"},
      {"nvtx.context.0x10", "context"},      {"nvtx.context.0x11", "context ä"},
      {"nvtx.stream.0x20", "driver stream"}, {"nvtx.stream.0x21", "driver stream ä"},
      {"nvtx.stream.0x22", "stream"},        {"nvtx.stream.0x23", "stream ä"},
      {"nvtx.event.0x30", "driver event"},   {"nvtx.event.0x31", "driver event ä"},
      {"nvtx.event.0x32", "event"},          {"nvtx.event.0x33", "event ä"},
      {"nvtx.resource.0xabc", "pöl"}};
  EXPECT_EQ(found, expected);
}

TEST_F(RunTest, NotesWhatItsOwnEventsCost) {
  std::map<std::string, double> costs;
  // It gives up measuring after five seconds, for which a machine may be held up.
  for (int i = 0; i < 5 && costs.empty(); ++i) {
    ASSERT_EQ(shell("mkdir -p tmp; TMPDIR=$PWD/tmp " + program("lacuna") +
                    " run --force -q -o out.lcn -- true"),
              0);
    EXPECT_TRUE(fs::is_empty(folder_ / "tmp"));
    const Reader reader = trace();
    const auto rows = *reader.table<prof::Environment>();
    for (std::size_t row = 0; row < rows.key.size(); ++row) {
      const std::string key(reader.text(rows.key[row]));
      if (key.starts_with("self.cost."))
        costs[key] = std::stod(std::string(reader.text(rows.value[row])));
    }
  }
  for (const char* kind : {"self.cost.range", "self.cost.mark"}) {
    EXPECT_GT(costs[kind], 1) << kind;
    EXPECT_LT(costs[kind], 100'000) << kind;
  }
}

TEST_F(RunTest, DecodesPayloadsCountersAndTheRuntimesSchema) {
  ASSERT_EQ(WEXITSTATUS(lacuna("-o out.lcn --trace nvtx -- " + program("payload_program"))), 0);
  const Reader reader = trace();
  const auto ranges = *reader.table<prof::Range>();
  bool structured = false;
  for (std::size_t i = 0; i < ranges.name.size(); ++i) {
    if (reader.text(ranges.name[i]) != "structured") continue;
    structured = true;
    EXPECT_EQ(reader.text(ranges.text[i]), "bytes=4096 scale=0.5 kind=sparse tag=conv");
  }
  EXPECT_TRUE(structured);
  const auto samples = *reader.column<&prof::CounterSample::value>();
  ASSERT_EQ(samples.size(), 5u);
  EXPECT_EQ(samples[4], 50);
  const auto tracks = *reader.table<prof::CounterTrack>();
  ASSERT_EQ(tracks.name.size(), 1u);
  EXPECT_EQ(reader.text(tracks.name[0]), "structures.depth");
  EXPECT_EQ(reader.text(tracks.unit[0]), "bytes");
  const auto kernels = *reader.table<prof::Kernel>();
  ASSERT_EQ(kernels.name.size(), 4u);
  EXPECT_EQ(reader.text(kernels.name[0]), "linear");
  EXPECT_EQ(reader.rows<prof::ApiCall>(), 4u);
  const auto queues = *reader.table<prof::Queue>();
  ASSERT_EQ(queues.name.size(), 1u);
  EXPECT_EQ(reader.text(queues.name[0]), "cpu:0 queue");
  EXPECT_EQ(kernels.queue[0], queues.id[0]);
  const auto allocations = *reader.table<prof::Allocation>();
  ASSERT_EQ(allocations.address.size(), 4u);
  EXPECT_EQ(allocations.role[0], prof::MemoryRole::Activation);
  EXPECT_EQ(allocations.bytes[3], 64u);
}

TEST_F(RunTest, WhatARangeLearnsAtItsEndIsAMarkThere) {
  ASSERT_EQ(WEXITSTATUS(lacuna("-o out.lcn --trace nvtx -- " + program("payload_program"))), 0);
  const Reader reader = trace();
  const auto ranges = *reader.table<prof::Range>();
  const auto marks = *reader.table<prof::Mark>();
  ASSERT_EQ(std::count_if(marks.domain.begin(), marks.domain.end(),
                          [&](prof::StringId id) { return reader.text(id) == "NCCL"; }),
            1);
  for (std::size_t i = 0; i < marks.name.size(); ++i) {
    if (reader.text(marks.domain[i]) != "NCCL") continue;
    EXPECT_EQ(reader.text(marks.name[i]), "end of range");
    EXPECT_EQ(reader.text(marks.text[i]),
              "NCCL communicator ID=18446744073709551615 No. of ranks=8 Rank=5 CUDA device=1");
    const auto range = std::find_if(ranges.name.begin(), ranges.name.end(), [&](prof::StringId id) {
      return reader.text(id) == "ncclCommInitRank";
    });
    const auto row = ranges.row(static_cast<std::size_t>(range - ranges.name.begin()));
    EXPECT_GE(marks.timeNs[i], row.startNs);
    EXPECT_LE(marks.timeNs[i], row.startNs + row.durNs);
    EXPECT_EQ(marks.thread[i], row.thread);
  }
}

TEST_F(RunTest, TextsOfPayloadsAreCompleteCharacters) {
  ASSERT_EQ(WEXITSTATUS(lacuna("-o out.lcn --trace nvtx -- " + program("payload_program"))), 0);
  const Reader reader = trace();
  const auto ranges = *reader.table<prof::Range>();
  std::map<std::string, std::string> texts;
  for (std::size_t i = 0; i < ranges.name.size(); ++i) {
    texts[std::string(reader.text(ranges.name[i]))] = reader.text(ranges.text[i]);
  }
  EXPECT_EQ(texts["long"].size(), 2046u) << "not the two bytes of a third that fit";
  EXPECT_TRUE(texts["long"].ends_with("\xE2\x82\xAC"));
  const std::string character = "\xF0\x9F\x98\x80";
  EXPECT_EQ(texts["wide"], "word=" + character + "a\xEF\xBF\xBD")
      << "and what is half a character says so";
}

TEST_F(RunTest, ReadsNestedPayloadsArraysUnionsAndPointers) {
  ASSERT_EQ(WEXITSTATUS(record(program("extension_program"))), 0);
  const Reader reader = trace();
  const auto marks = *reader.table<prof::Mark>();
  std::vector<std::string> texts;
  for (const auto id : marks.text) texts.emplace_back(reader.text(id));
  ASSERT_GE(texts.size(), 4u);
  EXPECT_EQ(texts[0], "corner={x=-1 y=2} sizes=[3,4,5] count=6 points=[{x=7 y=8},{x=9 y=10}]");
  EXPECT_EQ(texts[1], "which=0 value={real=0.25} label=a sizes=[4,5,6]");
  EXPECT_EQ(texts[2], "which=1 value={whole=-7} label=b sizes=[4,5,6]");
  EXPECT_NE(texts[3].find("payload of 32 bytes"), std::string::npos)
      << "no such member: " << texts[3];
}

TEST_F(RunTest, FollowsOffsetsAndLengthsThatLieElsewhere) {
  ASSERT_EQ(WEXITSTATUS(record(program("extension_program"))), 0);
  const Reader reader = trace();
  std::vector<std::string> texts;
  const auto marks = *reader.table<prof::Mark>();
  for (const auto id : marks.text) texts.emplace_back(reader.text(id));
  ASSERT_GE(texts.size(), 8u);
  EXPECT_EQ(texts[4], "words=far off tail=[-8,9] shape=[2,3] grid=[1,2,3,4,5,6]")
      << "and no secret";
  EXPECT_NE(texts[5].find("payload of 40 bytes"), std::string::npos)
      << "beyond its end: " << texts[5];
  EXPECT_EQ(texts[6], "cells=[10,20,30,40]");
  EXPECT_NE(texts[7].find("payload of 16 bytes"), std::string::npos)
      << "more than there is: " << texts[7];
}

TEST_F(RunTest, NumbersOf128BitsAreWhole) {
  ASSERT_EQ(WEXITSTATUS(record(program("extension_program"))), 0);
  const Reader reader = trace();
  const auto texts = *reader.column<&prof::Mark::text>();
  ASSERT_GE(texts.size(), 10u);
  EXPECT_EQ(reader.text(texts[8]),
            "least=-170141183460469231731687303715884105728 minus_one=-1 "
            "most=340282366920938463463374607431768211455 list=[18446744073709551616,0]");
  EXPECT_EQ(reader.text(texts[9]), "36893488147419103233") << "a payload of nothing else";
  const auto values = *reader.column<&prof::CounterSample::value>();
  EXPECT_EQ(std::count(values.begin(), values.end(), -3 * 0x1p64), 1) << "a counter";
}

/// "name text" of each mark of a category, and what it points to.
std::vector<std::pair<std::string, std::uint64_t>> marksOf(const Reader& reader,
                                                           const std::string& category) {
  const auto marks = *reader.table<prof::Mark>();
  std::vector<std::pair<std::string, std::uint64_t>> logged;
  for (std::size_t i = 0; i < marks.name.size(); ++i) {
    if (reader.text(marks.category[i]) != category) continue;
    logged.emplace_back(
        std::string(reader.text(marks.name[i])) + " " + std::string(reader.text(marks.text[i])),
        marks.payload[i]);
  }
  return logged;
}

TEST_F(RunTest, RegionsOfCudaArraysAreMarks) {
  ASSERT_EQ(WEXITSTATUS(record(program("extension_program"))), 0);
  const std::vector<std::pair<std::string, std::uint64_t>> expected{
      {"register offset=0,0,0 extent=64,32,1", 0x1000},
      {"register offset=8,0,0 extent=16,1,1", 0x2000},
      {"resize offset=8,0,0 extent=24,1,1", 0x2000},
      {"unregister offset=0,0,0 extent=64,32,1", 0x1000},
      {"unregister offset=8,0,0 extent=24,1,1", 0x2000}};
  EXPECT_EQ(marksOf(trace(), "memory array"), expected);
  const auto names = marksOf(trace(), "memory name");
  EXPECT_EQ(std::count(names.begin(), names.end(),
                       std::pair<std::string, std::uint64_t>("table of sines ", 0x2000)),
            1);
}

TEST_F(RunTest, AnArrayMayBeTheFirstEventOfTheDefaultDomain) {
  ASSERT_EQ(WEXITSTATUS(record("timeout 100 " + program("extension_program") + " array")), 0);
  const std::vector<std::pair<std::string, std::uint64_t>> expected{
      {"resize offset=8,0,0 extent=16,1,1", 0x2000}};
  EXPECT_EQ(marksOf(trace(), "memory array"), expected);
}

TEST_F(RunTest, MemoryPermissionsAreMarks) {
  ASSERT_EQ(WEXITSTATUS(record(program("extension_program"))), 0);
  const Reader reader = trace();
  const auto allocations = *reader.table<prof::Allocation>();
  const std::uint64_t room = allocations.address[0];
  const std::vector<std::pair<std::string, std::uint64_t>> expected{
      {"create of=1 excludes=write", 0},
      {"assign of=1 access=read,atomic", room},
      {"assign of=process access=none", room},
      {"bind of=1 scope=thread strict=write", 0},
      {"unbind scope=thread", 0},
      {"reset of=1", 0},
      {"destroy of=1", 0},
      {"peer access of=cuda peer=all access=none", 0},
      {"peer access of=cuda:3 peer=0 access=read", 0},
      {"initialized bytes=16 stream=119", room},
      {"initialized bytes=32 stream=119", room + 64},
      {"initialized offset=8,0,0 extent=16,1,1 stream=0", 0x2000}};
  EXPECT_EQ(marksOf(reader, "memory permissions"), expected);
}

TEST_F(RunTest, DeferredEventsStandAtTheTimeOfTheirClocks) {
  ASSERT_EQ(WEXITSTATUS(lacuna("-o out.lcn --trace nvtx -- " + program("extension_program"))), 0);
  const Reader reader = trace();
  const auto rows = *reader.table<prof::Range>();
  std::map<std::string, std::vector<prof::Range>> late;
  for (std::size_t i = 0; i < rows.name.size(); ++i)
    late[std::string(reader.text(rows.name[i]))].push_back(rows.row(i));
  ASSERT_EQ(late["monotonic"].size(), 2u);
  ASSERT_EQ(late["realtime"].size(), 1u);
  ASSERT_EQ(late["own clock"].size(), 1u) << "and none of the clock that nobody described";
  const prof::Range& first = late["monotonic"][0];
  EXPECT_EQ(first.durNs, 1'000'000);
  EXPECT_EQ(late["monotonic"][1].startNs - first.startNs, 2'000'000);
  EXPECT_TRUE(first.thread);
  EXPECT_EQ(late["realtime"][0].durNs, 1'000'000);
  EXPECT_NEAR(static_cast<double>(late["realtime"][0].startNs - first.startNs), 0, 5e7);
  EXPECT_EQ(late["own clock"][0].durNs, 1'000'000);
  EXPECT_NEAR(static_cast<double>(late["own clock"][0].startNs - first.startNs), 0, 5e7);
  ASSERT_EQ(late["corrected clock"].size(), 1u);
  EXPECT_EQ(late["corrected clock"][0].startNs, first.startNs);
  EXPECT_EQ(late["corrected clock"][0].durNs, 1'000'000) << "by the last statement on it";
  const auto samples = *reader.table<prof::CounterSample>();
  std::map<double, prof::TimeNs> level;
  for (std::size_t i = 0; i < samples.value.size(); ++i)
    level[samples.value[i]] = samples.timeNs[i];
  EXPECT_EQ(level[10], first.startNs);
  EXPECT_EQ(level[30], first.startNs + 2000);
  const auto environment = *reader.table<prof::Environment>();
  bool leftOut = false;
  for (const auto key : environment.key) leftOut |= reader.text(key) == "nvtx.deferred.left_out";
  EXPECT_TRUE(leftOut);
}

TEST_F(RunTest, HeapsAndRegionsAreAllocations) {
  ASSERT_EQ(WEXITSTATUS(record(program("extension_program"))), 0);
  const Reader reader = trace();
  const auto rows = *reader.table<prof::Allocation>();
  using Action = prof::MemoryAction;
  const std::vector<Action> expected{
      Action::Reserve,  Action::Allocate, Action::Allocate, Action::Free, Action::Free,
      Action::Allocate, Action::Allocate, Action::Free,     Action::Free, Action::Release};
  ASSERT_EQ(rows.action, expected);
  EXPECT_EQ(reader.text(rows.tensor[0]), "my pool");
  EXPECT_EQ(rows.bytes[0], 4096u);
  EXPECT_EQ(rows.bytes[2], 200u);
  EXPECT_EQ(rows.address[2], rows.address[0] + 1024);
  EXPECT_EQ(rows.address[3], rows.address[1]);
  EXPECT_EQ(rows.address[4], rows.address[2]);
  EXPECT_EQ(rows.address[8], rows.address[2]) << "freed by the reset of its heap";
  bool named = false;
  const auto marks = *reader.table<prof::Mark>();
  for (std::size_t i = 0; i < marks.name.size(); ++i) {
    named |=
        reader.text(marks.name[i]) == "weights" && reader.text(marks.category[i]) == "memory name";
  }
  EXPECT_TRUE(named);
}

TEST_F(RunTest, NamedResourcesAreInTheEnvironment) {
  ASSERT_EQ(WEXITSTATUS(record(program("extension_program"))), 0);
  const Reader reader = trace();
  const auto rows = *reader.table<prof::Environment>();
  std::string value;
  for (std::size_t i = 0; i < rows.key.size(); ++i) {
    if (reader.text(rows.key[i]) == "nvtx.resource.0x1234") value = reader.text(rows.value[i]);
  }
  EXPECT_EQ(value, "queue of batches");
}

struct Ending {
  const char* how;
  int signal;
  int code;
  std::map<std::string, int> ranges;
};
/// Else a failing test would show its bytes.
void PrintTo(const Ending& ending, std::ostream* out) {
  *out << ending.how;
}

class EndingTest : public RunTest, public testing::WithParamInterface<Ending> {};

TEST_P(EndingTest, LosesNothingAndPassesTheEndOn) {
  const Ending& ending = GetParam();
  const int status = record(program("ending_program") + " " + ending.how);
  if (ending.signal != 0) {
    ASSERT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(WTERMSIG(status), ending.signal);
  } else {
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), ending.code);
  }
  EXPECT_EQ(rangesOf(trace()), ending.ranges);
  expectNothingLeft();
}

INSTANTIATE_TEST_SUITE_P(
    Matrix, EndingTest,
    testing::Values(Ending{"exit", 0, 3, {{"before", 1000}}},
                    Ending{"thread", 0, 7, {{"before", 1000}, {"thread", 100}}},
                    Ending{"abort", SIGABRT, 0, {{"before", 1000}}},
                    Ending{"segv", SIGSEGV, 0, {{"before", 1000}}},
                    Ending{"kill", SIGKILL, 0, {{"before", 1000}}},
                    Ending{"exec", 0, 3, {{"before", 2000}}},
                    Ending{"fork", 0, 0, {{"before", 1000}, {"child", 500}}},
                    Ending{"daemon", 0, 0, {{"before", 1000}, {"daemon", 500}}},
                    Ending{"children", 0, 0, {{"before", 1000}, {"child", 1000}}}),
    [](const auto& info) { return std::string(info.param.how); });

TEST_F(RunTest, PassesStandardInputOn) {
  EXPECT_EQ(
      WEXITSTATUS(shell("echo hello | " + program("lacuna") + " run --force -q -o out.lcn -- " +
                        program("ending_program") + " stdin")),
      21);
}

TEST_F(RunTest, HandsSignalsOn) {
  const int status = lacuna("-o out.lcn -- " + program("ending_program") + " wait & pid=$!; " +
                            untilThere("place.txt", "$pid") + "kill -TERM $pid; wait $pid");
  EXPECT_EQ(WEXITSTATUS(status), 128 + SIGTERM);
  EXPECT_EQ(rangesOf(trace()).at("before"), 1000);
}

TEST_F(RunTest, CaptureRangeBoundsTheRecording) {
  ASSERT_EQ(WEXITSTATUS(lacuna("-o out.lcn --capture-range outer -- " + program("nvtx_program"))),
            0);
  const auto counts = rangesOf(trace());
  EXPECT_EQ(counts.count("outer"), 1u);
  EXPECT_EQ(counts.count("step"), 0u);
}

TEST_F(RunTest, HandsArgumentsOnAsTheyAre) {
  std::ofstream(folder_ / "arguments.sh") << "printf '<%s>' \"$@\" >arguments.txt\n";
  const std::string words =
      "sh arguments.sh --fault none -o b -- c 'd e' -q --steps=3 '' '[0,1]' '[]' '[\"a\"]'";
  const std::string same =
      "<--fault><none><-o><b><--><c><d e><-q><--steps=3><><[0,1]><[]><[\"a\"]>";
  ASSERT_EQ(WEXITSTATUS(record(words)), 0);
  EXPECT_EQ(textOf("arguments.txt"), same);
  // Without -- too: with the program begins what is its own.
  ASSERT_EQ(WEXITSTATUS(lacuna("-o again.lcn " + words)), 0) << errorText();
  EXPECT_EQ(textOf("arguments.txt"), same);
  EXPECT_TRUE(fs::exists(folder_ / "again.lcn"));
}

TEST_F(RunTest, HandsAllArgumentsToAScriptWithoutAnInterpreter) {
  std::ofstream(folder_ / "script") << "echo $# ${100} >arguments.txt\n";
  fs::permissions(folder_ / "script", fs::perms::owner_all);
  ASSERT_EQ(WEXITSTATUS(record("./script $(seq 100)")), 0) << errorText();
  EXPECT_EQ(textOf("arguments.txt"), "100 100\n");
}

TEST_F(RunTest, EndsWithTheReportAndKeepsTheExitCode) {
  const std::string run = program("lacuna") + " run --force -o out.lcn ";
  const std::string rest = " -- " + program("nvtx_program") + " 5 >stdout.txt 2>stderr.txt";
  EXPECT_EQ(WEXITSTATUS(shell(run + rest)), 5);
  EXPECT_NE(errorText().find("lacuna report out.lcn"), std::string::npos) << errorText();
  EXPECT_EQ(textOf("stdout.txt").find("lacuna"), std::string::npos);
  EXPECT_EQ(WEXITSTATUS(shell(run + "--no-report" + rest)), 5);
  EXPECT_EQ(errorText().find("lacuna report"), std::string::npos) << errorText();
}

TEST_F(RunTest, AKilledRecordingIsRecoveredFromItsFolder) {
  std::ofstream(folder_ / "program.sh")
      << "echo $$ >pid.txt\nexec " << program("ending_program") << " wait\n";
  shell(program("lacuna") + " run --force -q -o out.lcn -- sh program.sh & run=$!; " +
        untilThere("place.txt", "$run") + "pid=$(cat pid.txt); kill -KILL $run; kill -TERM $pid; " +
        untilGone("$pid"));
  ASSERT_TRUE(fs::is_directory(folder_ / "out.lcn.recording"));
  EXPECT_EQ(WEXITSTATUS(shell(program("lacuna") +
                              " recover out.lcn.recording/ --force -o out.lcn >recovered.txt")),
            0);
  EXPECT_NE(textOf("recovered.txt").find("from 1 process"), std::string::npos)
      << textOf("recovered.txt");
  EXPECT_EQ(rangesOf(trace()).at("before"), 1000);
  expectNothingLeft();
}

TEST_F(RunTest, BadUseIsReportedClearly) {
  struct Case {
    const char* words;
    int code;
    const char* part;
  };
  const Case cases[] = {
      {"", 2, "no program was given"},
      {"--bogus -- true", 2, "--bogus"},
      {"--epochs 3", 2, "put -- before the program"},
      {"--trce nvtx -- true", 2,
       "there is no option '--trce'; did you mean '--trace'? `lacuna run --help` lists the "
       "options\n"},
      {"--ring 1000T -- true", 2, "--ring is more than the memory of this machine"},
      {"--trace nvidia -- true", 2, "does not know 'nvidia'"},
      {"-o a.lcn -o b.lcn -- true", 2, "--output is given more than once: leave all but one out"},
      {"--trace , -- true", 2, "--trace ',' has an empty place"},
      {"--trace nvtx,,cuda -- true", 2, "has an empty place"},
      {"--ring 1M --dump-on crash, -- true", 2, "--dump-on 'crash,' has an empty place"},
      {"--ring 5X -- true", 2, "5X"},
      {"--dump-on tuesday --ring 1M -- true", 2, "tuesday"},
      {"--delay soon -- true", 2, "soon"},
      {"--trace samples --sampler hourglass -- true", 2,
       "does not know 'hourglass'. Known: auto, perf, timer, proc"},
      {"--sampler timer -- true", 2, "Add samples to --trace"},
      {"-o out.lcn -- no-such-program", 127, "no program 'no-such-program' was found on the PATH"},
      {"-o out.lcn -- ./no-such-program", 127, "there is no program './no-such-program'"},
      {"-o out.lcn -- .", 127, "'.'"},
      {"-o out.lcn -- ./damaged", 127,
       "cannot run ./damaged: Exec format error. It is damaged, or built for another"},
      {"-o /no/such/folder/out.lcn -- true", 127, "there is no folder /no/such/folder"},
      {"-o /proc/out.lcn -- true", 127, "choose a file elsewhere with -o"},
      {"-o . -- true", 127, "it is a folder"},
      {"--raw-capture /proc/captures -o out.lcn -- true", 127, "--raw-capture /proc/captures"},
  };
  std::ofstream(folder_ / "damaged") << "\x7f"
                                        "ELF and no more";
  fs::permissions(folder_ / "damaged", fs::perms::owner_all);
  for (const Case& bad : cases) {
    EXPECT_EQ(WEXITSTATUS(lacuna(bad.words)), bad.code) << bad.words << ": " << errorText();
    EXPECT_NE(errorText().find(bad.part), std::string::npos) << bad.words << ": " << errorText();
    EXPECT_FALSE(fs::exists(folder_ / "out.lcn")) << bad.words;
  }
  expectNothingLeft();
}

TEST_F(RunTest, ABadInjectionPathIsReportedClearly) {
  const std::string run = program("lacuna") + " run --force --no-report -o out.lcn -- ";
  EXPECT_EQ(WEXITSTATUS(shell("LACUNA_INJECTION=/bin/sh " + run + "true 2>stderr.txt")), 127);
  EXPECT_NE(errorText().find("/bin/sh is not lacuna's injected library"), std::string::npos)
      << errorText();
  EXPECT_EQ(WEXITSTATUS(shell("LACUNA_INJECTION=/no/such.so " + run + "true 2>stderr.txt")), 127);
  EXPECT_NE(errorText().find("/no/such.so does not exist"), std::string::npos) << errorText();
  expectNothingLeft();
  // The user's own choice stays, good or bad, and NVTX would not report that it is bad.
  EXPECT_EQ(WEXITSTATUS(shell("NVTX_INJECTION64_PATH=/no/such.so " + run + program("nvtx_program") +
                              " 2>stderr.txt")),
            0);
  EXPECT_NE(errorText().find("NVTX_INJECTION64_PATH is already set to /no/such.so, which does not "
                             "exist but stays: no library is loaded by it"),
            std::string::npos)
      << errorText();
  EXPECT_EQ(errorText().find("no process recorded anything"), std::string::npos) << errorText();
  shell("NVTX_INJECTION64_PATH=/etc/passwd " + run + program("nvtx_program") + " 2>stderr.txt");
  EXPECT_NE(
      errorText().find("set to /etc/passwd, which is no library but stays: no library is loaded"),
      std::string::npos)
      << errorText();
}

TEST_F(RunTest, AStaticProgramRunsAndTheSummaryNamesTheGap) {
  if (!fs::exists(program("static_program"))) GTEST_SKIP() << "this build cannot link statically";
  EXPECT_EQ(WEXITSTATUS(shell(program("lacuna") + " run --force --no-report -o out.lcn -- " +
                              program("static_program") + " 2>stderr.txt")),
            9);
  EXPECT_NE(errorText().find("is statically linked and cannot load the recorder"),
            std::string::npos)
      << errorText();
  expectNothingLeft();
}

TEST_F(RunTest, ASetUserIdProgramRunsAndTheSummaryNamesTheGap) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's runtime does not start in a set-uid program";
#endif
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a program to another user";
  fs::copy_file(program("ending_program"), folder_ / "other");
  // One that could write into the recording, if it wanted to.
  std::ofstream(folder_ / "program.sh")
      << "chmod 0777 . $LACUNA_RECORDING $LACUNA_RECORDING/shm/\n"
      << "chmod 0644 $LACUNA_RECORDING/settings\n"
      << "./other wait & other=$!\n"
      << untilThere("place.txt", "$other")
      << "find $LACUNA_RECORDING/ $LACUNA_RECORDING/shm/ -name '*.lcr' >found.txt\n"
      << "kill $other\n";
  const std::string run = program("lacuna") + " run --force --no-report -o out.lcn -- ";
  const auto expectErrorText = [&](uid_t user, gid_t group, mode_t mode, const std::string& words) {
    const std::string other = folder_ / "other";
    ASSERT_TRUE(chown(other.c_str(), user, group) == 0 && chmod(other.c_str(), mode) == 0);
    EXPECT_EQ(WEXITSTATUS(shell(run + "./other exit 2>stderr.txt")), 3);
    EXPECT_NE(errorText().find(words), std::string::npos) << errorText();
    EXPECT_TRUE(rangesOf(trace()).empty()) << words;
    shell("rm -f place.txt; " + run + "sh program.sh 2>stderr.txt");
    EXPECT_TRUE(fs::exists(folder_ / "place.txt")) << words;
    EXPECT_EQ(textOf("found.txt"), "") << words;
  };
  expectErrorText(65534, 0, 04755, "is set-uid");
  expectErrorText(0, 65534, 02755, "is set-gid");
  expectNothingLeft();
}

TEST_F(RunTest, TheLoaderRunsAProgramThatIsRecorded) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's runtime takes /proc/self/exe for the program";
#endif
  const fs::path loader = "/lib64/ld-linux-x86-64.so.2";
  if (!fs::exists(loader)) GTEST_SKIP() << "no loader at " << loader;
  const std::string run = program("lacuna") + " run --force --no-report -o out.lcn -- ";
  EXPECT_EQ(WEXITSTATUS(shell(run + loader.string() + " " + program("ending_program") +
                              " exit 2>stderr.txt")),
            3);
  EXPECT_EQ(errorText().find("statically linked"), std::string::npos) << errorText();
  EXPECT_EQ(rangesOf(trace()).at("before"), 1000);
}

TEST_F(RunTest, CallsOfNcclHaveTheirBytesCommunicatorRootPeerAndReduction) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the libraries were built without the sanitizer";
#endif
  const std::string run = program("lacuna") + " run --force -q -o out.lcn --trace nccl -- ";
  ASSERT_EQ(WEXITSTATUS(shell(run + program("libraries_program") + " >found.txt 2>stderr.txt")), 0);
  if (textOf("found.txt").find("nccl, all calls") == std::string::npos)
    GTEST_SKIP() << "no NCCL that takes them";
  const Reader reader = trace();
  const auto rows = *reader.table<prof::Range>();
  std::vector<std::string> calls;
  for (std::size_t i = 0; i < rows.name.size(); ++i) {
    const std::string text(reader.text(rows.text[i]));
    if (text.empty() || reader.text(rows.domain[i]) != "NCCL") continue;
    EXPECT_EQ(rows.payloadType[i], prof::PayloadType::U64);
    EXPECT_NE(text.find(" Message size [bytes]=" + std::to_string(rows.payload[i])),
              std::string::npos)
        << text;
    calls.push_back(std::string(reader.text(rows.name[i])) + ' ' + text);
  }
  const auto call = [](const std::string& name, std::uint64_t communicator, int bytes,
                       const std::string& more) {
    return name + " NCCL communicator ID=" + std::to_string(communicator) +
           " Message size [bytes]=" + std::to_string(bytes) + more;
  };
  constexpr std::uint64_t kOne = 81985529216486895u, kOther = 1147797409030816545u;
  const std::vector<std::string> expected{
      call("ncclAllReduce", 0, 4096, " Reduction operation=Sum"),
      call("ncclAllReduce", kOne, 4096, " Reduction operation=Max"),
      call("ncclReduceScatter", kOther, 2000, " Reduction operation=Avg"),
      call("ncclBroadcast", kOne, 80, " Root=3"),
      call("ncclReduce", kOther, 80, " Root=5 Reduction operation=Min"),
      call("ncclAllGather", kOne, 14, ""),
      call("ncclSend", kOne, 200, " Peer rank=6"),
      call("ncclRecv", kOther, 200, " Peer rank=7")};
  EXPECT_EQ(calls, expected);
}

TEST_F(RunTest, LibrariesAnnotateWhereTheirSwitchIsOn) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the libraries were built without the sanitizer";
#endif
  const std::string run = program("lacuna") + " run --force -q -o out.lcn --trace ";
  const std::string rest = " -- " + program("libraries_program") + " >found.txt 2>stderr.txt";
  ASSERT_EQ(WEXITSTATUS(shell(run + "nvtx,cublas,cudnn,nccl" + rest)), 0);
  const std::string found = textOf("found.txt");
  if (found.empty()) GTEST_SKIP() << "neither cuBLAS, cuDNN nor NCCL is on this machine";
  const Reader reader = trace();
  const auto rows = *reader.table<prof::Range>();
  std::set<std::string> seen;
  for (std::size_t i = 0; i < rows.name.size(); ++i) {
    seen.insert(std::string(reader.text(rows.domain[i])) + " " +
                std::string(reader.text(rows.name[i])));
  }
  const auto expectFrom = [&](const char* library, const char* range) {
    EXPECT_EQ(seen.count(range), found.find(library) != std::string::npos ? 1u : 0u) << range;
  };
  expectFrom("cublas", "cuBLAS cublasCreate_v2");
  expectFrom("cudnn", "cuDNN cudnnCreate");
  expectFrom("nccl", "NCCL ncclAllReduce");
  ASSERT_EQ(WEXITSTATUS(shell(run + "nvtx" + rest)), 0);
  EXPECT_TRUE(rangesOf(trace()).empty());
}

}  // namespace
}  // namespace lacuna
