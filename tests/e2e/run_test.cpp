// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>

#include "e2e/run_fixture.h"

namespace lacuna {
namespace {

using prof::Reader;

TEST_F(RunTest, RecordsEveryCallOfNvtxsCore) {
  ASSERT_EQ(WEXITSTATUS(record(program("nvtx_program") + " 5")), 5);
  const Reader reader = trace();
  const auto counts = rangesOf(reader);
  EXPECT_EQ(counts.at("outer"), 1);
  EXPECT_EQ(counts.at("weit: äöü"), 1);
  EXPECT_EQ(counts.at("step"), 4);
  EXPECT_EQ(counts.at("crossing threads"), 1);
  EXPECT_EQ(counts.at("in the worker"), 1);
  const auto ranges = *reader.table<prof::Range>();
  // The thread sanitizer adds threads of its own to the program.
  const std::set<prof::ThreadId> threads(ranges.thread.begin(), ranges.thread.end());
  EXPECT_EQ(threads.size(), 2u);
  int steps = 0;
  for (std::size_t i = 0; i < ranges.name.size(); ++i) {
    const auto row = ranges.row(i);
    const auto name = reader.text(row.name);
    if (name == "step") {
      EXPECT_EQ(reader.text(row.domain), "my library");
      EXPECT_EQ(reader.text(row.category), "loading");
      EXPECT_EQ(row.colour, 0xff00ff00u);
      if (row.payloadType == prof::PayloadType::I64) {
        EXPECT_EQ(static_cast<std::int64_t>(row.payload), -steps++);
      }
    }
    if (name == "weit: äöü") {
      EXPECT_EQ(row.depth, 1);
    }
    if (name == "crossing threads") {
      EXPECT_EQ(row.kind, prof::RangeKind::StartEnd);
      EXPECT_NE(row.endThread, row.thread);
      EXPECT_TRUE(row.endThread);
    }
  }
  EXPECT_EQ(steps, 3);
  const auto marks = *reader.table<prof::Mark>();
  ASSERT_EQ(marks.name.size(), 3u);
  EXPECT_EQ(marks.payloadType[1], prof::PayloadType::F64);
  const double half = 0.5;
  EXPECT_EQ(std::memcmp(&marks.payload[1], &half, sizeof half), 0);
  expectNothingLeft();
}

TEST_F(RunTest, NotesWhatItsOwnEventsCost) {
  ASSERT_EQ(shell("mkdir tmp; TMPDIR=$PWD/tmp " + program("lacuna") + " run -q -o out.lcn -- true"), 0);
  EXPECT_TRUE(fs::is_empty(folder_ / "tmp"));
  const Reader reader = trace();
  const auto rows = *reader.table<prof::Environment>();
  std::map<std::string, double> costs;
  for (std::size_t i = 0; i < rows.key.size(); ++i) {
    const std::string key(reader.text(rows.key[i]));
    if (key.starts_with("self.cost.")) costs[key] = std::stod(std::string(reader.text(rows.value[i])));
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
  EXPECT_NE(texts[3].find("payload of 32 bytes"), std::string::npos) << "no such member: " << texts[3];
}

TEST_F(RunTest, FollowsOffsetsAndLengthsThatLieElsewhere) {
  ASSERT_EQ(WEXITSTATUS(record(program("extension_program"))), 0);
  const Reader reader = trace();
  std::vector<std::string> texts;
  const auto marks = *reader.table<prof::Mark>();
  for (const auto id : marks.text) texts.emplace_back(reader.text(id));
  ASSERT_GE(texts.size(), 8u);
  EXPECT_EQ(texts[4], "words=far off tail=[-8,9] shape=[2,3] grid=[1,2,3,4,5,6]") << "and no secret";
  EXPECT_NE(texts[5].find("payload of 40 bytes"), std::string::npos) << "beyond its end: " << texts[5];
  EXPECT_EQ(texts[6], "cells=[10,20,30,40]");
  EXPECT_NE(texts[7].find("payload of 16 bytes"), std::string::npos) << "more than there is: " << texts[7];
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
std::vector<std::pair<std::string, std::uint64_t>> marksOf(const Reader& reader, const std::string& category) {
  const auto marks = *reader.table<prof::Mark>();
  std::vector<std::pair<std::string, std::uint64_t>> told;
  for (std::size_t i = 0; i < marks.name.size(); ++i) {
    if (reader.text(marks.category[i]) != category) continue;
    told.emplace_back(std::string(reader.text(marks.name[i])) + " " + std::string(reader.text(marks.text[i])),
                      marks.payload[i]);
  }
  return told;
}

TEST_F(RunTest, RegionsOfCudaArraysAreMarks) {
  ASSERT_EQ(WEXITSTATUS(record(program("extension_program"))), 0);
  const std::vector<std::pair<std::string, std::uint64_t>> expected{{"register offset=0,0,0 extent=64,32,1", 0x1000},
                                                                    {"register offset=8,0,0 extent=16,1,1", 0x2000},
                                                                    {"resize offset=8,0,0 extent=24,1,1", 0x2000},
                                                                    {"unregister offset=0,0,0 extent=64,32,1", 0x1000},
                                                                    {"unregister offset=8,0,0 extent=24,1,1", 0x2000}};
  EXPECT_EQ(marksOf(trace(), "memory array"), expected);
  const auto names = marksOf(trace(), "memory name");
  EXPECT_EQ(std::count(names.begin(), names.end(), std::pair<std::string, std::uint64_t>("table of sines ", 0x2000)),
            1);
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

TEST_F(RunTest, DeferredEventsStandWhereTheirClocksSay) {
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
  const auto samples = *reader.table<prof::CounterSample>();
  std::map<double, prof::TimeNs> level;
  for (std::size_t i = 0; i < samples.value.size(); ++i) level[samples.value[i]] = samples.timeNs[i];
  EXPECT_EQ(level[10], first.startNs);
  EXPECT_EQ(level[30], first.startNs + 2000);
  const auto environment = *reader.table<prof::Environment>();
  bool said = false;
  for (const auto key : environment.key) said |= reader.text(key) == "nvtx.deferred.left_out";
  EXPECT_TRUE(said);
}

TEST_F(RunTest, HeapsAndRegionsAreAllocations) {
  ASSERT_EQ(WEXITSTATUS(record(program("extension_program"))), 0);
  const Reader reader = trace();
  const auto rows = *reader.table<prof::Allocation>();
  using Action = prof::MemoryAction;
  const std::vector<Action> expected{Action::Reserve, Action::Allocate, Action::Allocate, Action::Free,
                                     Action::Free,    Action::Allocate, Action::Allocate, Action::Free,
                                     Action::Free,    Action::Release};
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
    named |= reader.text(marks.name[i]) == "weights" && reader.text(marks.category[i]) == "memory name";
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

INSTANTIATE_TEST_SUITE_P(Matrix, EndingTest,
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
  EXPECT_EQ(WEXITSTATUS(shell("echo hello | " + program("lacuna") + " run -q -o out.lcn -- " +
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
  ASSERT_EQ(WEXITSTATUS(lacuna("-o out.lcn --capture-range outer -- " + program("nvtx_program"))), 0);
  const auto counts = rangesOf(trace());
  EXPECT_EQ(counts.count("outer"), 1u);
  EXPECT_EQ(counts.count("step"), 0u);
}

TEST_F(RunTest, HandsArgumentsOnAsTheyAre) {
  std::ofstream(folder_ / "arguments.sh") << "printf '<%s>' \"$@\" >arguments.txt\n";
  const std::string words = "sh arguments.sh --fault none -o b -- c 'd e' -q --steps=3 '' '[0,1]' '[]' '[\"a\"]'";
  const std::string same = "<--fault><none><-o><b><--><c><d e><-q><--steps=3><><[0,1]><[]><[\"a\"]>";
  ASSERT_EQ(WEXITSTATUS(record(words)), 0);
  EXPECT_EQ(textOf("arguments.txt"), same);
  // Without -- too: with the program begins what is its own.
  ASSERT_EQ(WEXITSTATUS(lacuna("-o again.lcn " + words)), 0) << said();
  EXPECT_EQ(textOf("arguments.txt"), same);
  EXPECT_TRUE(fs::exists(folder_ / "again.lcn"));
}

TEST_F(RunTest, HandsAllArgumentsToAScriptWithoutAnInterpreter) {
  std::ofstream(folder_ / "script") << "echo $# ${100} >arguments.txt\n";
  fs::permissions(folder_ / "script", fs::perms::owner_all);
  ASSERT_EQ(WEXITSTATUS(record("./script $(seq 100)")), 0) << said();
  EXPECT_EQ(textOf("arguments.txt"), "100 100\n");
}

TEST_F(RunTest, EndsWithTheReportAndKeepsTheExitCode) {
  const std::string run = program("lacuna") + " run -o out.lcn ";
  const std::string rest = " -- " + program("nvtx_program") + " 5 >stdout.txt 2>stderr.txt";
  EXPECT_EQ(WEXITSTATUS(shell(run + rest)), 5);
  EXPECT_NE(said().find("lacuna report out.lcn"), std::string::npos) << said();
  EXPECT_EQ(textOf("stdout.txt").find("lacuna"), std::string::npos);
  EXPECT_EQ(WEXITSTATUS(shell(run + "--no-report" + rest)), 5);
  EXPECT_EQ(said().find("lacuna report"), std::string::npos) << said();
}

TEST_F(RunTest, AKilledRecordingIsRecoveredFromItsFolder) {
  std::ofstream(folder_ / "program.sh") << "echo $$ >pid.txt\nexec " << program("ending_program") << " wait\n";
  shell(program("lacuna") + " run -q -o out.lcn -- sh program.sh & run=$!; " + untilThere("place.txt", "$run") +
        "pid=$(cat pid.txt); kill -KILL $run; kill -TERM $pid; " + untilGone("$pid"));
  ASSERT_TRUE(fs::is_directory(folder_ / "out.lcn.recording"));
  EXPECT_EQ(WEXITSTATUS(shell(program("lacuna") + " recover out.lcn.recording/ -o out.lcn >recovered.txt")), 0);
  EXPECT_NE(textOf("recovered.txt").find("from 1 process"), std::string::npos) << textOf("recovered.txt");
  EXPECT_EQ(rangesOf(trace()).at("before"), 1000);
  expectNothingLeft();
}

TEST_F(RunTest, BadUseIsSaidClearly) {
  struct Case {
    const char* words;
    int code;
    const char* says;
  };
  const Case cases[] = {
      {"", 2, "no program was given"},
      {"--bogus -- true", 2, "--bogus"},
      {"--epochs 3", 2, "put -- before the program"},
      {"--trace nvidia -- true", 2, "does not know 'nvidia'"},
      {"--ring 5X -- true", 2, "5X"},
      {"--dump-on tuesday --ring 1M -- true", 2, "tuesday"},
      {"--delay soon -- true", 2, "soon"},
      {"--trace samples --sampler hourglass -- true", 2, "does not know 'hourglass'. Known: auto, perf, timer, proc"},
      {"--sampler timer -- true", 2, "Add samples to --trace"},
      {"-o out.lcn -- no-such-program", 127, "no program 'no-such-program' was found on the PATH"},
      {"-o out.lcn -- ./no-such-program", 127, "there is no program './no-such-program'"},
      {"-o out.lcn -- .", 127, "'.'"},
      {"-o /no/such/folder/out.lcn -- true", 127, "there is no folder /no/such/folder"},
      {"-o /proc/out.lcn -- true", 127, "/proc/out.lcn"},
      {"-o . -- true", 127, "it is a folder"},
      {"--raw-capture /proc/captures -o out.lcn -- true", 127, "--raw-capture /proc/captures"},
  };
  for (const Case& bad : cases) {
    EXPECT_EQ(WEXITSTATUS(lacuna(bad.words)), bad.code) << bad.words << ": " << said();
    EXPECT_NE(said().find(bad.says), std::string::npos) << bad.words << ": " << said();
    EXPECT_FALSE(fs::exists(folder_ / "out.lcn")) << bad.words;
  }
  expectNothingLeft();
}

TEST_F(RunTest, ABadInjectionPathIsSaidClearly) {
  const std::string run = program("lacuna") + " run --no-report -o out.lcn -- ";
  EXPECT_EQ(WEXITSTATUS(shell("LACUNA_INJECTION=/bin/sh " + run + "true 2>stderr.txt")), 127);
  EXPECT_NE(said().find("/bin/sh is not lacuna's injected library"), std::string::npos) << said();
  EXPECT_EQ(WEXITSTATUS(shell("LACUNA_INJECTION=/no/such.so " + run + "true 2>stderr.txt")), 127);
  EXPECT_NE(said().find("/no/such.so does not exist"), std::string::npos) << said();
  expectNothingLeft();
  // The user's own choice stays, good or bad, and NVTX would not say that it is bad.
  EXPECT_EQ(WEXITSTATUS(shell("NVTX_INJECTION64_PATH=/no/such.so " + run + program("nvtx_program") + " 2>stderr.txt")),
            0);
  EXPECT_NE(said().find("NVTX_INJECTION64_PATH is already set to /no/such.so, which does not exist"), std::string::npos)
      << said();
}

TEST_F(RunTest, AStaticProgramRunsAndTheSummarySaysWhatIsMissing) {
  if (!fs::exists(program("static_program"))) GTEST_SKIP() << "this build cannot link statically";
  EXPECT_EQ(WEXITSTATUS(shell(program("lacuna") + " run --no-report -o out.lcn -- " + program("static_program") +
                              " 2>stderr.txt")),
            9);
  EXPECT_NE(said().find("is statically linked and cannot load the recorder"), std::string::npos) << said();
  expectNothingLeft();
}

TEST_F(RunTest, ASetUserIdProgramRunsAndTheSummarySaysWhatIsMissing) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's runtime does not start in a set-uid program";
#endif
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a program to another user";
  fs::copy_file(program("ending_program"), folder_ / "other");
  ASSERT_EQ(chown((folder_ / "other").c_str(), 65534, 65534), 0);
  ASSERT_EQ(chmod((folder_ / "other").c_str(), 04755), 0);
  EXPECT_EQ(WEXITSTATUS(shell(program("lacuna") + " run --no-report -o out.lcn -- ./other exit 2>stderr.txt")), 3);
  EXPECT_NE(said().find("is set-uid"), std::string::npos) << said();
  expectNothingLeft();
}

TEST_F(RunTest, LibrariesAnnotateWhereTheirSwitchIsOn) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the libraries were built without the sanitizer";
#endif
  const std::string run = program("lacuna") + " run -q -o out.lcn --trace ";
  const std::string rest = " -- " + program("libraries_program") + " >found.txt 2>stderr.txt";
  ASSERT_EQ(WEXITSTATUS(shell(run + "nvtx,cublas,cudnn,nccl" + rest)), 0);
  const std::string found = textOf("found.txt");
  if (found.empty()) GTEST_SKIP() << "neither cuBLAS, cuDNN nor NCCL is on this machine";
  const Reader reader = trace();
  const auto rows = *reader.table<prof::Range>();
  std::set<std::string> seen;
  for (std::size_t i = 0; i < rows.name.size(); ++i) {
    seen.insert(std::string(reader.text(rows.domain[i])) + " " + std::string(reader.text(rows.name[i])));
    if (reader.text(rows.name[i]) != "ncclAllReduce") continue;
    const std::string text(reader.text(rows.text[i]));
    EXPECT_NE(text.find("NCCL communicator ID="), std::string::npos) << text;
    EXPECT_NE(text.find("Reduction operation=Sum"), std::string::npos) << text;
    EXPECT_EQ(rows.payload[i], 4096u) << "bytes";
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
