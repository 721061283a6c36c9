// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <ctime>
#include <set>
#include <vector>

#include "e2e/run_fixture.h"

namespace lacuna {
namespace {

using prof::Reader;
using testing::HasSubstr;

/// The view of programs from outside.
class WatchTest : public RunTest {
 protected:
  /// True when this machine lets us sample, as doctor reports.
  bool kernelSamples() {
    shell(program("lacuna") + " doctor --json >doctor.json");
    const std::string text = textOf("doctor.json");
    const auto at = text.find("\"cpu_samples\"");
    return at != std::string::npos && text.find("\"works\"", at) < text.find('\n', at);
  }
  static std::map<std::string, std::string> environmentOf(const Reader& reader) {
    const auto rows = *reader.table<prof::Environment>();
    std::map<std::string, std::string> values;
    for (std::size_t i = 0; i < rows.key.size(); ++i) {
      values[std::string(reader.text(rows.key[i]))] = reader.text(rows.value[i]);
    }
    return values;
  }
  struct Family {
    std::string name, parent;
    friend bool operator==(const Family&, const Family&) = default;
    friend void PrintTo(const Family& family, std::ostream* out) {
      *out << family.name << " of \"" << family.parent << '"';
    }
  };
  static std::vector<Family> familiesOf(const Reader& reader) {
    const auto rows = *reader.table<prof::Process>();
    const auto nameOf = [&](prof::ProcessId id) {
      return id ? std::string(reader.text(rows.name[id.value - 1])) : std::string();
    };
    std::vector<Family> families;
    for (std::size_t i = 0; i < rows.id.size(); ++i)
      families.push_back({nameOf(rows.id[i]), nameOf(rows.parent[i])});
    return families;
  }
  /// use(thread, functions of the stack from the innermost on, milliseconds) for each sample.
  template <class Use>
  static void forEachSample(const Reader& reader, const Use& use) {
    const auto frames = *reader.table<prof::StackFrame>();
    std::map<std::uint32_t, std::size_t> rowOf;
    for (std::size_t i = 0; i < frames.id.size(); ++i) rowOf[frames.id[i].value] = i;
    const auto samples = *reader.table<prof::CpuSample>();
    for (std::size_t i = 0; i < samples.stack.size(); ++i) {
      std::vector<std::string> functions;
      for (auto id = samples.stack[i]; id && rowOf.count(id.value) > 0;
           id = frames.parent[rowOf[id.value]])
        functions.emplace_back(reader.text(frames.function[rowOf[id.value]]));
      use(samples.thread[i], functions, static_cast<double>(samples.weightNs[i]) / 1e6);
    }
  }
  /// CPU time of the samples whose stacks have all these functions.
  static double sampledMs(const Reader& reader, const std::set<std::string>& functions) {
    double sum = 0;
    forEachSample(reader, [&](prof::ThreadId, const std::vector<std::string>& stack, double ms) {
      std::set<std::string> missing = functions;
      for (const std::string& function : stack) missing.erase(function);
      if (missing.empty()) sum += ms;
    });
    return sum;
  }
  /// For the message of a test that fails: every stack with its time.
  static std::string stacksOf(const Reader& reader) {
    std::map<std::string, double> times;
    forEachSample(reader,
                  [&](prof::ThreadId thread, const std::vector<std::string>& stack, double ms) {
                    times[fmt::format("thread {}: {}", thread.value, fmt::join(stack, " "))] += ms;
                  });
    std::string out;
    for (const auto& [stack, ms] : times) out += fmt::format("{:.1f} ms in {}\n", ms, stack);
    return out;
  }
  /// In a shell: until what the supervisor $run has seen by now is saved. It saves every two
  /// seconds; the first time may have been under way.
  static std::string untilSaved() {
    return "saved() { stat -c %y out.lcn.recording/checkpoint 2>/dev/null; }; for i in 1 2; do "
           "last=$(saved); for j in $(seq 300); do sleep 0.1; [ \"$(saved)\" != \"$last\" ] && "
           "break; [ -e out.lcn.recording ] || break; done; done; ";
  }
  static double sampledMs(const Reader& reader) { return sampledMs(reader, {}); }
};

TEST_F(WatchTest, ProcessesWithoutAnnotationsAreThereWithTheirParents) {
  std::ofstream(folder_ / "launcher.sh") << program("nvtx_program") << " 0\n"
                                         << program("spin_program") << " 20\n exit 6\n";
  ASSERT_EQ(WEXITSTATUS(record("sh -c 'sh launcher.sh; exit $?'")), 6);
  const Reader reader = trace();
  const auto families = familiesOf(reader);
  EXPECT_THAT(families, testing::Contains(Family{"nvtx_program", "sh"}));
  EXPECT_THAT(families, testing::Contains(Family{"spin_program", "sh"}));
  EXPECT_THAT(families, testing::Contains(Family{"spin_program", "spin_program"}))
      << "the forked child";
  EXPECT_THAT(families, testing::Contains(Family{"sh", ""}));
  EXPECT_EQ(rangesOf(reader).at("outer"), 1);
}

TEST_F(WatchTest, TheProcessTreeIsThereAlsoWhereNothingIsMeasured) {
  for (const std::string sources : {"nvtx,cuda", "nvtx", "none"}) {
    ASSERT_EQ(WEXITSTATUS(lacuna("-o out.lcn --trace " + sources + " -- sh -c 'sh -c \"" +
                                 program("nvtx_program") + " 0; exit 5\"; exit $?'")),
              5);
    const Reader reader = trace();
    EXPECT_THAT(familiesOf(reader),
                testing::UnorderedElementsAre(Family{"sh", ""}, Family{"sh", "sh"},
                                              Family{"nvtx_program", "sh"}))
        << sources;
    EXPECT_EQ(rangesOf(reader).count("outer"), sources == "none" ? 0u : 1u);
    EXPECT_EQ(reader.rows<prof::CounterTrack>() + reader.rows<prof::ThreadSpan>() +
                  reader.rows<prof::CpuSample>(),
              0u);
  }
}

TEST_F(WatchTest, TheProcessTreeIsThereAlsoWhereTheKernelReportsNone) {
  // Waits until looks at /proc have found it.
  const int status = shell(
      "export HOLD=0; " + program("without_perf") + " " + program("lacuna") +
      " run -q --force -o out.lcn --trace nvtx -- sh -c '" + program("step_program") +
      " step 1 0; exit 5' & run=$!; until [ -e at-0 ] || ! kill -0 $run; do sleep 0.02; done; " +
      untilSaved() + "touch go-0; wait $run");
  if (WEXITSTATUS(status) == 126) GTEST_SKIP() << "nothing can be refused to a program here";
  ASSERT_EQ(WEXITSTATUS(status), 5);
  EXPECT_THAT(familiesOf(trace()),
              testing::UnorderedElementsAre(Family{"sh", ""}, Family{"step_program", "sh"}));
}

TEST_F(WatchTest, AProcessHasItsOwnCommandLineOrNone) {
  // Processes that are gone when they are inspected, and the shell whose line is another by then.
  std::ofstream(folder_ / "lines.sh")
      << "for i in 1 2 3 4 5; do readlink -f /tmp; /bin/echo hi >/dev/null; (true); done\n"
      << "exec sleep 0.3\n";
  ASSERT_EQ(WEXITSTATUS(record("sh lines.sh >lines.txt")), 0) << errorText();
  const Reader reader = trace();
  const auto rows = *reader.table<prof::Process>();
  std::set<std::string> found;
  for (std::size_t i = 0; i < rows.id.size(); ++i) {
    found.insert(std::string(reader.text(rows.name[i])) + ": " +
                 std::string(reader.text(rows.commandLine[i])));
  }
  EXPECT_THAT(found, testing::Contains("sleep: sleep 0.3"));
  EXPECT_THAT(found, testing::Each(testing::AnyOf("sleep: sleep 0.3", "readlink: readlink -f /tmp",
                                                  "readlink: ", "echo: /bin/echo hi",
                                                  "echo: ", "sh: sh lines.sh", "sh: ")));
}

/// A process that only sleeps, while the recording is switched.
class SleepingTest : public WatchTest {
 protected:
  static std::int64_t monotonicNs() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
  }
  /// Comes back once it sleeps and that has been seen. It is $pid, and `lacuna run` is $run.
  void sleepsWith(const std::string& options) {
    ASSERT_EQ(
        shell(
            program("lacuna") + " run --force -q --trace samples -o out.lcn " + options +
            " -- sleep 1000 2>stderr.txt & echo run=$! >pids; . ./pids; until pid=$(echo $(cat "
            "/proc/$run/task/$run/children)); [ \"$(cut -d' ' -f2,3 /proc/$pid/stat 2>/dev/null)\" "
            "= '(sleep) S' ] || ! kill -0 $run; do sleep 0.02; done; echo pid=$pid >>pids; " +
            untilSaved() + "kill -0 $run"),
        0)
        << errorText();
  }
  void trigger(const std::string& what) {
    ASSERT_EQ(shell(". ./pids; " + program("lacuna") + " trigger $run " + what), 0);
  }
  Reader afterItsEnd() {
    shell(". ./pids; kill $pid; " + untilGone("$run"));
    return trace();
  }
  static std::vector<prof::ThreadSpan> spansOf(const Reader& reader) {
    const auto rows = *reader.table<prof::ThreadSpan>();
    std::vector<prof::ThreadSpan> spans;
    for (std::size_t i = 0; i < rows.thread.size(); ++i) spans.push_back(rows.row(i));
    return spans;
  }
};

TEST_F(SleepingTest, AStateThatLastsWhenRecordingStopsEndsThere) {
  sleepsWith("");
  const std::int64_t beforeNs = monotonicNs();
  trigger("--stop");
  const std::int64_t afterNs = monotonicNs();
  const auto spans = spansOf(afterItsEnd());
  EXPECT_TRUE(std::any_of(spans.begin(), spans.end(), [&](const prof::ThreadSpan& span) {
    return span.state == prof::ThreadState::Sleeping && span.startNs + span.durNs >= beforeNs;
  }));
  for (const auto& span : spans) EXPECT_LE(span.startNs + span.durNs, afterNs);
}

TEST_F(SleepingTest, AStateThatLastsWhenRecordingStartsBeginsThere) {
  sleepsWith("--delay 1000s");
  const std::int64_t beforeNs = monotonicNs();
  trigger("--start");
  const std::int64_t afterNs = monotonicNs();
  const auto spans = spansOf(afterItsEnd());
  ASSERT_FALSE(spans.empty());
  EXPECT_EQ(spans[0].state, prof::ThreadState::Sleeping);
  EXPECT_LE(spans[0].startNs, afterNs);
  for (const auto& span : spans) EXPECT_GE(span.startNs, beforeNs);
}

TEST_F(WatchTest, CountersHaveUnitsAndPlausibleValues) {
  ASSERT_EQ(WEXITSTATUS(shell(lingering() + program("lacuna") + " run --force -q -o out.lcn -- " +
                              program("spin_program") + " 500 2>stderr.txt")),
            4);
  const Reader reader = trace();
  const auto tracks = *reader.table<prof::CounterTrack>();
  std::map<std::string, std::string> units;
  std::map<std::uint32_t, std::string> nameOf;
  for (std::size_t i = 0; i < tracks.id.size(); ++i) {
    nameOf[tracks.id[i].value] = reader.text(tracks.name[i]);
    units[std::string(reader.text(tracks.name[i]))] = reader.text(tracks.unit[i]);
    const std::string& name = nameOf[tracks.id[i].value];
    EXPECT_NE(tracks.process[i] || tracks.thread[i],
              name == "recorder CPU" || name == "idle cores");
  }
  EXPECT_EQ(units.at("recorder CPU"), "percent of a core");
  EXPECT_EQ(units.at("CPU"), "percent of a core");
  EXPECT_EQ(units.at("idle cores"), "percent of a core");
  EXPECT_EQ(units.at("resident memory"), "bytes");
  EXPECT_EQ(units.at("minor page faults"), "1/s");
  EXPECT_EQ(units.at("thread CPU"), "percent of a core");
  const auto samples = *reader.table<prof::CounterSample>();
  std::map<std::string, double> most, usual;
  std::map<std::uint32_t, std::vector<double>> valuesOf;
  for (std::size_t i = 0; i < samples.track.size(); ++i) {
    double& value = most[nameOf[samples.track[i].value]];
    value = std::max(value, samples.value[i]);
    valuesOf[samples.track[i].value].push_back(samples.value[i]);
  }
  // One who is held up between looking at the clock and at a process sees the process do more in
  // that time.
  for (auto& [track, values] : valuesOf) {
    std::sort(values.begin(), values.end());
    double& value = usual[nameOf[track]];
    value = std::max(value, values[(values.size() - 1) / 2]);
  }
  EXPECT_GT(most["CPU"], 5);
  EXPECT_GT(most["recorder CPU"], 0);
  EXPECT_LT(usual["CPU"], 300) << "two threads";
  EXPECT_LE(usual["idle cores"], 110 * sysconf(_SC_NPROCESSORS_ONLN));
  EXPECT_LT(usual["thread CPU"], 120);
  EXPECT_GT(most["resident memory"], 100e3);
}

TEST_F(WatchTest, WhatTheRecorderRunsOnCoresOfItsOwnIsACounterOfItsOwn) {
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &allowed)) cores.push_back(core);
  }
  if (cores.size() < 2) GTEST_SKIP() << "one core";
  ASSERT_EQ(
      WEXITSTATUS(shell(fmt::format(
          "taskset -c {} {} run -q --force -o out.lcn --trace counters -- taskset -c {} {} 400",
          cores[0], program("lacuna"), cores[1], program("spin_program")))),
      4);
  const Reader reader = trace();
  const auto tracks = *reader.table<prof::CounterTrack>();
  const auto samples = *reader.table<prof::CounterSample>();
  std::map<std::string, std::vector<double>> values;
  for (std::size_t i = 0; i < samples.track.size(); ++i)
    values[std::string(reader.text(tracks.name[samples.track[i].value - 1]))].push_back(
        samples.value[i]);
  // In some tenths of a second it does next to nothing.
  const std::vector<double>& others = values["recorder CPU on other cores"];
  ASSERT_FALSE(others.empty());
  EXPECT_GT(*std::ranges::max_element(others), 0);
  ASSERT_FALSE(values["recorder CPU"].empty());
  EXPECT_EQ(values["recorder CPU"].back(), 0) << "but before the program had come to its core";
}

TEST_F(WatchTest, WhatAProgramUsesWhileRecordingIsOffIsInNoCounter) {
  // It sleeps while recording is on, and after that until a scan that may be under way is over.
  const std::string trigger = program("lacuna") + " trigger $PPID ";
  std::ofstream(folder_ / "program.sh") << "sleep 2\n"
                                        << trigger << "--stop\n"
                                        << untilSaved() << "\n"
                                        << "i=0; while [ $i -lt 1000000 ]; do i=$((i+1)); done\n"
                                        << trigger << "--start\nsleep 0.5\n";
  ASSERT_EQ(WEXITSTATUS(lacuna("-o out.lcn --trace counters -- sh program.sh")), 0) << errorText();
  const Reader reader = trace();
  const auto processes = *reader.table<prof::Process>();
  const auto tracks = *reader.table<prof::CounterTrack>();
  const auto samples = *reader.table<prof::CounterSample>();
  ASSERT_EQ(reader.text(processes.name[0]), "sh");
  int seen = 0;
  for (std::size_t i = 0; i < samples.track.size(); ++i) {
    const std::size_t track = samples.track[i].value - 1;
    if (tracks.process[track] != processes.id[0] || reader.text(tracks.name[track]) != "CPU")
      continue;
    ++seen;
    EXPECT_LT(samples.value[i], 10) << "percent of a core";
  }
  EXPECT_GT(seen, 0);
}

TEST_F(WatchTest, SamplesShowWhereTheTimeWent) {
  if (!kernelSamples()) GTEST_SKIP() << "no samples on this machine";
  ASSERT_EQ(
      WEXITSTATUS(lacuna("-o out.lcn --trace samples -- " + program("spin_program") + " 200")), 4);
  const Reader reader = trace();
  // Three times 200 ms, by its own CPU clock.
  EXPECT_GT(sampledMs(reader), 450);
  EXPECT_LT(sampledMs(reader), 900);
  const bool names = errorText().find("elfutils") == std::string::npos;
  if (names) {
    EXPECT_GT(sampledMs(reader, {"spinHot"}), 0.5 * sampledMs(reader));
    EXPECT_GT(sampledMs(reader, {"spinHot", "spinCaller", "main"}), 0.1 * sampledMs(reader));
    EXPECT_GT(sampledMs(reader, {"spinHot", "spinCaller", "spinner"}), 0.1 * sampledMs(reader));
  }
  const auto threads = *reader.table<prof::Thread>();
  EXPECT_TRUE(std::any_of(threads.name.begin(), threads.name.end(),
                          [&](prof::StringId name) { return reader.text(name) == "spinner"; }));
}

TEST_F(WatchTest, ThreadStatesAddUpToTheirThreads) {
  if (!kernelSamples()) GTEST_SKIP() << "no samples on this machine";
  ASSERT_EQ(WEXITSTATUS(lacuna("-o out.lcn --trace samples -- " + program("spin_program") + " 50")),
            4);
  const Reader reader = trace();
  const auto spans = *reader.table<prof::ThreadSpan>();
  std::map<std::uint32_t, std::int64_t> running;
  std::map<std::uint32_t, std::int64_t> end;
  bool slept = false;
  for (std::size_t i = 0; i < spans.thread.size(); ++i) {
    const auto row = spans.row(i);
    if (row.state == prof::ThreadState::Running) running[row.thread.value] += row.durNs;
    slept |= row.state == prof::ThreadState::Sleeping && row.durNs > 40'000'000;
  }
  EXPECT_TRUE(slept) << "between thread and child it sleeps 50 ms";
  std::int64_t sum = 0;
  for (const auto& [thread, ns] : running) sum += ns;
  EXPECT_GT(sum, 140'000'000);
}

TEST_F(WatchTest, PollingProcGivesStatesAndTimesButNoStacks) {
  const int status =
      shell(lingering() + "exec " + program("lacuna") +
            " run --force --no-report --trace samples,nvtx --sampler proc -o out.lcn -- sh -c '" +
            program("spin_program") + " 200; exit 4' 2>stderr.txt");
  ASSERT_EQ(WEXITSTATUS(status), 4);
  EXPECT_THAT(errorText(), HasSubstr("read every 10 ms from /proc"));
  const Reader reader = trace();
  EXPECT_GT(sampledMs(reader), 300);
  EXPECT_LT(sampledMs(reader), 900);
  EXPECT_GT(reader.rows<prof::ThreadSpan>(), 2u);
  EXPECT_EQ(reader.rows<prof::StackFrame>(), 0u);
  EXPECT_THAT(familiesOf(reader), testing::Contains(Family{"spin_program", "sh"}));
}

TEST_F(WatchTest, TimersShowWhereTheTimeWent) {
  const int status =
      shell("exec " + program("lacuna") +
            " run --force --no-report --trace samples,nvtx --sampler timer -o out.lcn -- sh -c '" +
            program("spin_program") + " 300; exit 4' 2>stderr.txt");
  ASSERT_EQ(WEXITSTATUS(status), 4) << errorText();
  EXPECT_THAT(errorText(),
              HasSubstr("CPU samples come from timers in the programs (as asked for)"));
  EXPECT_THAT(errorText(), HasSubstr("CPU samples from timers in the programs\n"));
  const Reader reader = trace();
  EXPECT_EQ(environmentOf(reader).at("cpu_samples.source"), "timer");
  // Three times 300 ms. The time after the last ring of a timer is not reported: more where threads
  // share a core.
  EXPECT_GT(sampledMs(reader), 600);
  EXPECT_LT(sampledMs(reader), 1350);
  const bool names = errorText().find("elfutils") == std::string::npos;
  if (names) {
    EXPECT_GT(sampledMs(reader, {"spinHot"}), 0.5 * sampledMs(reader));
    EXPECT_GT(sampledMs(reader, {"spinHot", "spinCaller", "main"}), 0.1 * sampledMs(reader))
        << "also in a forked child";
    EXPECT_GT(sampledMs(reader, {"spinHot", "spinCaller", "spinner"}), 0.1 * sampledMs(reader))
        << stacksOf(reader);
  }
  EXPECT_THAT(familiesOf(reader), testing::Contains(Family{"spin_program", "sh"}));
  EXPECT_THAT(familiesOf(reader), testing::Contains(Family{"spin_program", "spin_program"}));
  EXPECT_GT(reader.rows<prof::ThreadSpan>(), 2u);
  expectNothingLeft();
}

TEST_F(WatchTest, TimersGiveAtLeastThePlaceInProgramsOfOthers) {
  // The shell keeps no frame pointers, and this machine's has no symbols: its own file, at least,
  // is known.
  ASSERT_EQ(lacuna("-o out.lcn --trace samples --sampler timer -- sh -c 'i=0; while [ $i -lt "
                   "300000 ]; do i=$((i+1)); done'"),
            0)
      << errorText();
  const Reader reader = trace();
  const auto frames = *reader.table<prof::StackFrame>();
  std::map<std::uint32_t, std::string> moduleOf;
  for (std::size_t i = 0; i < frames.id.size(); ++i)
    moduleOf[frames.id[i].value] = reader.text(frames.module[i]);
  const auto samples = *reader.table<prof::CpuSample>();
  double placed = 0, all = 0;
  for (std::size_t i = 0; i < samples.stack.size(); ++i) {
    const auto weight = static_cast<double>(samples.weightNs[i]);
    all += weight;
    if (samples.stack[i] && moduleOf[samples.stack[i].value].starts_with("/")) placed += weight;
  }
  EXPECT_GT(all, 50e6);
  EXPECT_GT(placed, 0.9 * all);
}

TEST_F(WatchTest, TimersLeaveAProgramsSignalsAlone) {
  // With one signal left the timers move there; with none they stop.
  for (const char* spare : {"29", "2", "0"}) {
    EXPECT_EQ(WEXITSTATUS(shell(lingering() + program("lacuna") +
                                " run --force -q -o out.lcn --trace samples --sampler timer -- " +
                                program("signal_program") + " " + spare + " 2>stderr.txt")),
              0)
        << spare << ": " << errorText();
    EXPECT_GT(sampledMs(trace()), 100) << spare << ": looking at /proc tells of the rest";
  }
  const int status = lacuna("-o out.lcn --trace samples --sampler timer -- " +
                            program("signal_program") + " 0 rude");
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGRTMAX - 1);
}

TEST_F(WatchTest, TheKernelsSamplesCanBeInsistedOn) {
  const int status = lacuna("-o out.lcn --trace samples --sampler perf -- true");
  if (kernelSamples()) {
    EXPECT_EQ(status, 0) << errorText();
    EXPECT_EQ(environmentOf(trace()).at("cpu_samples.source"), "perf");
  } else {
    EXPECT_EQ(WEXITSTATUS(status), 127);
    EXPECT_THAT(errorText(), HasSubstr("--sampler perf: the kernel refuses its samples"));
  }
}

TEST_F(WatchTest, NamesSurviveTheDeathOfTheSupervisor) {
  std::ofstream(folder_ / "program.sh")
      << program("spin_program") << " 30\n"
      << program("ending_program") << " wait & echo $! >pid.txt; wait\n";
  shell(program("lacuna") + " run --force -q -o out.lcn -- sh program.sh & run=$!; " +
        untilThere("place.txt", "$run") + untilThere("pid.txt", "$run") + untilSaved() +
        "kill -KILL $run; pid=$(cat pid.txt); kill -TERM $pid; " + untilGone("$pid"));
  ASSERT_TRUE(fs::is_directory(folder_ / "out.lcn.recording"));
  ASSERT_EQ(WEXITSTATUS(shell(program("lacuna") +
                              " recover out.lcn.recording/ --force -o out.lcn >recovered.txt")),
            0);
  const auto families = familiesOf(trace());
  EXPECT_THAT(families, testing::Contains(Family{"spin_program", "sh"}));
  EXPECT_THAT(families, testing::Contains(Family{"ending_program", "sh"}));
}

TEST_F(WatchTest, StacksAndThreadNamesSurviveTheDeathOfTheSupervisor) {
  if (!kernelSamples()) GTEST_SKIP() << "no samples on this machine";
  // Field 14 of /proc/PID/stat is CPU time in hundredths of a second.
  shell(program("lacuna") + " run --force -q -o out.lcn --trace nvtx,samples -- " +
        program("spin_program") +
        " 60000 & run=$!; until pid=$(echo $(cat /proc/$run/task/$run/children)); [ \"$(cat "
        "/proc/$pid/comm 2>/dev/null)\" = spin_program ] || ! kill -0 $run; do sleep 0.05; done; "
        "until [ $(cut -d' ' -f14 /proc/$pid/stat) -gt 100 ]; do sleep 0.1; done; " +
        untilSaved() + "kill -KILL $run; kill -KILL $pid; " + untilGone("$pid"));
  ASSERT_TRUE(fs::is_directory(folder_ / "out.lcn.recording"));
  ASSERT_EQ(
      WEXITSTATUS(shell(program("lacuna") +
                        " recover out.lcn.recording/ --force -o out.lcn >recovered.txt 2>&1")),
      0)
      << textOf("recovered.txt");
  const Reader reader = trace();
  EXPECT_GT(sampledMs(reader), 500);
  EXPECT_GT(sampledMs(reader, {"spinHot", "spinCaller", "main"}), 0.2 * sampledMs(reader));
  EXPECT_GT(sampledMs(reader, {"spinHot", "spinCaller", "spinner"}), 0.2 * sampledMs(reader));
  const auto threads = *reader.table<prof::Thread>();
  EXPECT_TRUE(std::any_of(threads.name.begin(), threads.name.end(),
                          [&](prof::StringId name) { return reader.text(name) == "spinner"; }));
}

struct SampledEnding {
  const char* how;
  int signal;
  int code;
  std::map<std::string, int> ranges;
  int processes;
  std::string computes;  ///< a range of each process that computes
  int computing = 1;     ///< how many do
};
/// Else a failing test would show its bytes.
void PrintTo(const SampledEnding& ending, std::ostream* out) {
  *out << ending.how;
}

/// The end of the program, and the source of the samples.
class SampledEndingTest
    : public WatchTest,
      public testing::WithParamInterface<std::tuple<SampledEnding, std::string>> {
 protected:
  static std::map<std::uint32_t, std::uint32_t> processOfThread(const Reader& reader) {
    const auto threads = *reader.table<prof::Thread>();
    std::map<std::uint32_t, std::uint32_t> processOf;
    for (std::size_t i = 0; i < threads.id.size(); ++i)
      processOf[threads.id[i].value] = threads.process[i].value;
    return processOf;
  }
  /// The processes that record such ranges.
  static std::set<std::uint32_t> processesWith(const Reader& reader, const std::string& range) {
    const auto processOf = processOfThread(reader);
    const auto ranges = *reader.table<prof::Range>();
    std::set<std::uint32_t> found;
    for (std::size_t i = 0; i < ranges.name.size(); ++i) {
      if (reader.text(ranges.name[i]) == range) found.insert(processOf.at(ranges.thread[i].value));
    }
    return found;
  }
  /// CPU time of the samples of each process that has any.
  static std::map<std::uint32_t, double> sampledMsByProcess(const Reader& reader) {
    const auto processOf = processOfThread(reader);
    const auto samples = *reader.table<prof::CpuSample>();
    std::map<std::uint32_t, double> ms;
    for (std::size_t i = 0; i < samples.thread.size(); ++i) {
      ms[processOf.at(samples.thread[i].value)] += static_cast<double>(samples.weightNs[i]) / 1e6;
    }
    return ms;
  }
  /// Those that compute have all of their time in samples, and the others next to none.
  static void expectSamples(const Reader& reader, const SampledEnding& ending, bool timer) {
    const auto computing = processesWith(reader, ending.computes);
    ASSERT_EQ(computing.size(), static_cast<std::size_t>(ending.computing));
    if (computing.size() > 2) return expectSamplesOfMany(reader, timer);
    double others = 0;
    for (const auto& [process, ms] : sampledMsByProcess(reader)) {
      if (computing.count(process) == 0) others += ms;
    }
    EXPECT_LT(others, kComputesMs * 0.25);
    auto ms = sampledMsByProcess(reader);
    for (const auto process : computing) {
      // The time of a thread after its timer's last ring is not reported (docs/run.md): 50 ms, and
      // a scan of /proc, at most.
      EXPECT_GT(ms[process], kComputesMs * (timer ? 0.6 : 0.9));
      EXPECT_LT(ms[process], kComputesMs * 1.25) << "what starting and recording take is in it";
    }
  }
  /// Each has too few samples to prove anything by itself, and joining the recording takes it
  /// longer than what it computes.
  static void expectSamplesOfMany(const Reader& reader, bool timer) {
    const double all = sampledMs(reader);
    // A child lives for less than the kernel's tick: of some the timer never rings, and with them
    // goes all they used.
    EXPECT_GT(all, kComputesMs * (timer ? 0.2 : 0.9));
    const double computed = sampledMs(reader, {"spin"});
    if (timer || computed == 0) return;  // built without elfutils there are no names
    EXPECT_GT(computed, kComputesMs * 0.8);
    EXPECT_LT(computed, kComputesMs * 1.2);
  }
  static constexpr double kComputesMs = 300;
};

TEST_P(SampledEndingTest, LosesNothingAndLeavesNothing) {
  const auto& [ending, sampler] = GetParam();
  if (sampler == "perf" && !kernelSamples())
    GTEST_SKIP() << "the kernel refuses its samples: lacuna doctor says why";
  const int status =
      lacuna("-o out.lcn --trace nvtx,samples,counters --sampler " + sampler + " -- " +
             program("ending_program") + " " + ending.how + " " + std::to_string(kComputesMs));
  if (ending.signal != 0) {
    ASSERT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(WTERMSIG(status), ending.signal);
  } else {
    ASSERT_TRUE(WIFEXITED(status)) << errorText();
    EXPECT_EQ(WEXITSTATUS(status), ending.code) << errorText();
  }
  const Reader reader = trace();
  EXPECT_EQ(rangesOf(reader), ending.ranges);
  EXPECT_EQ(reader.rows<prof::Process>(), static_cast<std::uint64_t>(ending.processes));
  EXPECT_GE(reader.rows<prof::ThreadSpan>(), 1u);
  expectSamples(reader, ending, sampler == "timer");
  // A process that both recorder and kernel report is one row.
  std::set<std::pair<std::uint32_t, prof::TimeNs>> rows;
  const auto processes = *reader.table<prof::Process>();
  for (std::size_t i = 0; i < processes.osPid.size(); ++i) {
    EXPECT_GE(processes.endNs[i], processes.startNs[i]);
    EXPECT_TRUE(rows.emplace(processes.osPid[i], processes.startNs[i]).second);
  }
  expectNothingLeft();
}

INSTANTIATE_TEST_SUITE_P(
    Matrix, SampledEndingTest,
    testing::Combine(
        testing::Values(
            SampledEnding{"exit", 0, 3, {{"before", 1000}}, 1, "before"},
            SampledEnding{"thread", 0, 7, {{"before", 1000}, {"thread", 100}}, 1, "thread"},
            SampledEnding{"abort", SIGABRT, 0, {{"before", 1000}}, 1, "before"},
            SampledEnding{"segv", SIGSEGV, 0, {{"before", 1000}}, 1, "before"},
            SampledEnding{"kill", SIGKILL, 0, {{"before", 1000}}, 1, "before"},
            SampledEnding{"exec", 0, 3, {{"before", 2000}}, 2, "before", 2},
            SampledEnding{"fork", 0, 0, {{"before", 1000}, {"child", 500}}, 2, "child"},
            SampledEnding{"daemon", 0, 0, {{"before", 1000}, {"daemon", 500}}, 3, "daemon"},
            SampledEnding{
                "children", 0, 0, {{"before", 1000}, {"child", 1000}}, 101, "child", 100}),
        testing::Values(std::string("perf"), std::string("timer"))),
    [](const auto& info) {
      return std::string(std::get<0>(info.param).how) + "_" + std::get<1>(info.param);
    });

}  // namespace
}  // namespace lacuna
