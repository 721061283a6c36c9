// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <fstream>

#include "e2e/run_fixture.h"

namespace lacuna {
namespace {

using prof::Reader;
using testing::HasSubstr;
using testing::Not;

/// The times at which things are recorded, and the flight recorder.
class ControlTest : public RunTest {
 protected:
  /// Steps of 10 ms, named "work 0" to "work N-1" inside.
  static std::string steps(int count) {
    return program("step_program") + " step " + std::to_string(count) + " 10";
  }

  /// Starts `lacuna run` in the shell's background; its number is in $run.
  static std::string inBackground(const std::string& words) {
    return program("lacuna") + " run --force -q " + words + " 2>stderr.txt & run=$!; ";
  }
  /// Until the program holds before that step, and after `work`, then on.
  static std::string atStep(int step, const std::string& work) {
    const std::string number = std::to_string(step);
    return "until [ -e at-" + number + " ] || ! kill -0 $run; do sleep 0.01; done; " + work +
           "touch go-" + number + "; ";
  }
  static std::string until(const std::string& condition) {
    return "for i in $(seq 500); do " + condition + " && break; sleep 0.1; done; ";
  }
  static std::string trigger(const std::string& what) {
    return program("lacuna") + " trigger $run " + what + "; ";
  }
  /// The word of the control page that switches recording.
  static std::string switchIs(int on) {
    return "[ $(od -An -tu4 -j8 -N4 out.lcn.recording/control) -eq " + std::to_string(on) + " ]";
  }

  static std::int64_t monotonicNs() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
  }
  static bool has(const Reader& reader, const std::string& name) {
    return rangesOf(reader).count(name) > 0;
  }
  bool exists(const std::string& name) const { return fs::exists(folder_ / name); }

  static std::uint64_t droppedIn(const Reader& reader) {
    std::uint64_t dropped = 0;
    const auto counts = *reader.column<&prof::Drop::count>();
    for (const auto count : counts) dropped += count;
    return dropped;
  }
  static std::string reasonOf(const Reader& reader) {
    const auto rows = *reader.table<prof::Environment>();
    for (std::size_t i = 0; i < rows.key.size(); ++i) {
      if (reader.text(rows.key[i]) == "dump.reason") return std::string(reader.text(rows.value[i]));
    }
    return {};
  }
  std::string refused(const std::string& words) {
    EXPECT_EQ(WEXITSTATUS(lacuna(words + " -- true")), 2) << words;
    EXPECT_FALSE(exists("true.lcn")) << words;
    return errorText();
  }
};

TEST_F(ControlTest, TheReasonForAnEmptyTraceIsReported) {
  const auto errorTextWith = [&](const std::string& options) {
    const std::string words =
        " run --force --no-report -o out.lcn " + options + " -- " + steps(3) + " 2>stderr.txt";
    EXPECT_EQ(WEXITSTATUS(shell(program("lacuna") + words)), 0);
    return errorText();
  };
  EXPECT_THAT(errorTextWith("--capture-range nosuch"),
              HasSubstr("no NVTX range 'nosuch' was opened"));
  EXPECT_THAT(errorTextWith("--delay 1h"), HasSubstr("ended before --delay was over"));
  EXPECT_THAT(errorTextWith("--capture-range step"), Not(HasSubstr("nothing was recorded")));
  EXPECT_THAT(errorTextWith("--duration 1us"),
              HasSubstr("after the start, when --duration was over. Remedy: a longer"));
  EXPECT_THAT(errorTextWith("--duration 1h"), Not(HasSubstr("--duration")));
  EXPECT_THAT(errorTextWith("--ring 16M --dump-on slow-step"), Not(HasSubstr("no step was seen")));
  EXPECT_THAT(
      errorTextWith("--ring 16M --dump-on slow-step --step-range other"),
      HasSubstr("no step was seen, so none could be slow: no NVTX range named other was pushed"));
}

TEST_F(ControlTest, DelayLeavesTheBeginningOut) {
  const std::int64_t before = monotonicNs();
  ASSERT_EQ(WEXITSTATUS(shell("export HOLD=50; " +
                              inBackground("-o out.lcn --delay 200ms -- " + steps(100)) +
                              atStep(50, until(switchIs(1))) + "wait $run")),
            0);
  const Reader reader = trace();
  const auto ranges = *reader.table<prof::Range>();
  ASSERT_FALSE(ranges.name.empty());
  for (std::size_t i = 0; i < ranges.name.size(); ++i) {
    // A range that was open when the time came begins with its thread.
    if ((ranges.flags[i] & prof::kNoStart) != 0) continue;
    EXPECT_GE(ranges.startNs[i], before + 199'000'000) << reader.text(ranges.name[i]);
  }
  EXPECT_TRUE(has(reader, "work 99"));
}

TEST_F(ControlTest, DurationLeavesTheEndOutAndTheProgramRunsOn) {
  // Held until the time is over.
  ASSERT_EQ(WEXITSTATUS(shell("export HOLD=1,10,20; " +
                              inBackground("-o out.lcn --duration 2s -- " + steps(30)) +
                              atStep(1, switchIs(1) + " && touch early; ") +
                              atStep(10, until(switchIs(0))) + atStep(20, "") + "wait $run")),
            0);
  const Reader reader = trace();
  EXPECT_TRUE(has(reader, "work 0") || !exists("early"))
      << "a machine that is held up may begin it too late";
  EXPECT_FALSE(has(reader, "work 11"));
  EXPECT_FALSE(has(reader, "work 29"));
  EXPECT_TRUE(exists("at-20"));
}

TEST_F(ControlTest, TriggerStopsAndStarts) {
  ASSERT_EQ(WEXITSTATUS(shell("export HOLD=10,20; " + inBackground("-o out.lcn -- " + steps(30)) +
                              atStep(10, trigger("--stop")) + atStep(20, trigger("--start")) +
                              "wait $run")),
            0);
  const Reader reader = trace();
  EXPECT_TRUE(has(reader, "work 9"));
  EXPECT_FALSE(has(reader, "work 10"));
  EXPECT_FALSE(has(reader, "work 19"));
  EXPECT_TRUE(has(reader, "work 20"));
}

TEST_F(ControlTest, TriggerHasTheLastWordOverACaptureRange) {
  ASSERT_EQ(
      WEXITSTATUS(shell(
          "export HOLD=10,20; " + inBackground("-o out.lcn --capture-range step -- " + steps(30)) +
          atStep(10, trigger("--stop")) + atStep(20, trigger("--start")) + "wait $run")),
      0);
  const Reader reader = trace();
  EXPECT_TRUE(has(reader, "work 9"));
  EXPECT_FALSE(has(reader, "work 10")) << "its range opens after the stop";
  EXPECT_FALSE(has(reader, "work 19"));
  EXPECT_TRUE(has(reader, "work 20"));
  EXPECT_TRUE(has(reader, "work 29")) << "ranges have closed since the start";
}

TEST_F(ControlTest, TriggerDumpMakesAGrowingTraceReadable) {
  ASSERT_EQ(
      WEXITSTATUS(shell("export HOLD=10; " + inBackground("-o out.lcn -- " + steps(20)) +
                        atStep(10, trigger("--dump") + "cp out.lcn growing.lcn; ") + "wait $run")),
      0)
      << "it waits until that is so";
  auto growing = Reader::open(folder_ / "growing.lcn");
  ASSERT_TRUE(growing);
  EXPECT_FALSE(growing->complete());
  EXPECT_TRUE(has(*growing, "work 5"));
  EXPECT_FALSE(has(*growing, "work 19"));
  EXPECT_TRUE(has(trace(), "work 19"));
}

TEST_F(ControlTest, TriggerReportsItsOutcome) {
  const auto saying = [](const std::string& what) {
    return program("lacuna") + " trigger $run " + what + " 2>>replies.txt; ";
  };
  ASSERT_EQ(WEXITSTATUS(shell("export HOLD=10; " + inBackground("-o out.lcn -- " + steps(20)) +
                              atStep(10, saying("--start") + saying("--stop") + saying("--stop") +
                                             saying("--start") + saying("--dump")) +
                              "wait $run")),
            0);
  const std::string trace = fs::canonical(folder_ / "out.lcn");
  const std::string into = "lacuna: recording into " + trace + " is ";
  EXPECT_EQ(textOf("replies.txt"),
            into + "on already\n" + into + "stopped\n" + into + "stopped already\n" + into +
                "on\nlacuna: what was recorded so far is in " + trace + "\n");
}

TEST_F(ControlTest, TriggerDumpNamesTheDumpOfTheRingsOnceItIsThere) {
  ASSERT_EQ(
      WEXITSTATUS(shell(
          "export HOLD=10; " + inBackground("-o out.lcn --ring 16M -- " + steps(20)) +
          atStep(
              10,
              "for i in 1 2; do " + program("lacuna") +
                  " trigger $run --dump 2>>replies.txt; ls out.dump-$i.lcn >>replies.txt; done; ") +
          "wait $run")),
      0);
  const std::string stem =
      "lacuna: what the rings hold is in " + fs::canonical(folder_).string() + "/out.dump-";
  EXPECT_EQ(textOf("replies.txt"),
            stem + "1.lcn\nout.dump-1.lcn\n" + stem + "2.lcn\nout.dump-2.lcn\n");
  EXPECT_TRUE(has(trace("out.dump-2.lcn"), "work 9"));
}

TEST_F(ControlTest, TriggerReachesARunWhoseProgramClearedItsEnvironment) {
  ASSERT_EQ(WEXITSTATUS(shell("export HOLD=10; " +
                              inBackground("-o out.lcn -- env -i HOLD=10 " + steps(20)) +
                              atStep(10, trigger("--stop") + "echo $? >code.txt; ") + "wait $run")),
            0);
  EXPECT_EQ(textOf("code.txt"), "0\n");
}

TEST_F(ControlTest, TriggerNamesAProcessThatItCannotReach) {
  EXPECT_NE(shell(program("lacuna") + " trigger $$ --stop 2>stderr.txt"), 0);
  EXPECT_THAT(errorText(), HasSubstr("is not being recorded"));
  EXPECT_NE(shell(program("lacuna") + " trigger 2000000000 --stop 2>stderr.txt"), 0);
  EXPECT_THAT(errorText(), HasSubstr("there is no process"));
}

TEST_F(ControlTest, NoWaitLeavesBackgroundProcessesBehind) {
  ASSERT_EQ(
      WEXITSTATUS(lacuna("-o out.lcn --no-wait -- " + program("ending_program") + " background")),
      0);
  EXPECT_EQ(rangesOf(trace()), (std::map<std::string, int>{{"before", 1000}}));
  expectNoFilesLeft();
  // It still runs, and goes on without a recording.
  EXPECT_EQ(shell("touch go; " + until("[ -e gone ]") + "[ -e gone ]"), 0);
}

TEST_F(ControlTest, StatusLineAppearsAndGoesAway) {
  if (shell("script --version >version.txt 2>&1") != 0)
    GTEST_SKIP() << "no script(1) for a terminal";
  // Held until it is there.
  ASSERT_EQ(WEXITSTATUS(shell("export HOLD=99; (" + until("[ -e at-99 ]") +
                              until("grep -q dropped stdout.txt") +
                              "touch go-99) & TERM=xterm script -qec '" + program("lacuna") +
                              " run --force --no-report -o out.lcn -- " + steps(100) +
                              "' terminal.txt >stdout.txt; code=$?; wait; exit $code")),
            0);
  const std::string terminal = textOf("terminal.txt");
  EXPECT_THAT(terminal, HasSubstr("lacuna: recording "));
  EXPECT_THAT(terminal, HasSubstr(" events · 0 dropped · "));
  EXPECT_THAT(terminal, HasSubstr("\033[2K")) << "the last row is cleared";
}

TEST_F(ControlTest, ASignalDumpsTheFlightRecorderAndItGoesOn) {
  ASSERT_EQ(WEXITSTATUS(shell(
                "export HOLD=10,20; " +
                inBackground("-o out.lcn --ring 16M --dump-on signal -- " + steps(30)) +
                atStep(10, "kill -USR2 $run; " + until("[ -e out.dump-1.lcn ]")) +
                atStep(20, trigger("--dump") + until("[ -e out.dump-2.lcn ]")) + "wait $run")),
            0)
      << "the program does not get the signal";
  const Reader first = trace("out.dump-1.lcn");
  EXPECT_TRUE(has(first, "work 9"));
  EXPECT_FALSE(has(first, "work 10"));
  EXPECT_EQ(reasonOf(first), "SIGUSR2");
  const Reader second = trace("out.dump-2.lcn");
  EXPECT_TRUE(has(second, "work 9"));
  EXPECT_TRUE(has(second, "work 19"));
  EXPECT_FALSE(has(second, "work 20"));
  EXPECT_FALSE(exists("out.lcn"));
  expectNothingLeft();
}

TEST_F(ControlTest, ACrashDumpsTheNewestAndCountsTheRest) {
  const int status = lacuna("-o out.lcn --ring 1M -- " + program("ending_program") + " many");
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
  const Reader reader = trace("out.dump-1.lcn");
  EXPECT_THAT(reasonOf(reader), HasSubstr("killed by signal 9"));
  EXPECT_EQ(reader.rows<prof::Range>() + droppedIn(reader), 1000u + 200000);
  EXPECT_GT(reader.rows<prof::Range>(), 20000u)
      << "the ring holds 65536 records less what a segment may lack";
  expectNothingLeft();
}

TEST_F(ControlTest, AFlightRecorderWithoutAReasonLeavesNothing) {
  ASSERT_EQ(WEXITSTATUS(lacuna("-o out.lcn --ring 16M -- " + program("ending_program") + " fork")),
            0);
  EXPECT_FALSE(exists("out.lcn"));
  EXPECT_FALSE(exists("out.dump-1.lcn"));
  expectNothingLeft();
}

TEST_F(ControlTest, TheRingOfProcessesThatEndedIsBounded) {
  // It ends when the supervisor, which looks now and then, has been there.
  std::ofstream(folder_ / "program.sh")
      << program("ending_program") << " children\n"
      << "for i in $(seq 600); do\n"
      << "  [ $(ls $LACUNA_RECORDING $LACUNA_RECORDING/shm/ | wc -l) -lt 50 ] && exit 1\n"
      << "  sleep 0.1\n"
      << "done\n"
      << "exit 3\n";
  ASSERT_EQ(WEXITSTATUS(lacuna("-o out.lcn --ring 1M --dump-on crash -- sh program.sh")), 1)
      << "3: never bounded";
  const Reader reader = trace("out.dump-1.lcn");
  EXPECT_EQ(reader.rows<prof::Range>() + droppedIn(reader), 2000u);
  EXPECT_LT(reader.rows<prof::Process>(), 50u);
}

struct SlowStep {
  const char* name;
  const char* option = "";
  const char* push = "";
};
class SlowStepTest : public ControlTest, public testing::WithParamInterface<SlowStep> {};

TEST_P(SlowStepTest, DumpsWhatLedToIt) {
  const std::string name = GetParam().name;
  const std::string option = GetParam().option;
  // A busy machine may have made other steps slow, too: it holds after the slow one until that is
  // in a dump.
  const std::string dumped = "for dump in out.dump-*.lcn; do [ -e $dump ] && " + program("lacuna") +
                             " query --csv $dump \"select name from range where name = 'work 40'\" "
                             "2>/dev/null; done | grep -q work";
  ASSERT_EQ(WEXITSTATUS(
                shell("export HOLD=41 PUSH=" + std::string(GetParam().push) + "; " +
                      inBackground("-o out.lcn --ring 16M --dump-on slow-step " + option + " -- " +
                                   program("step_program") + " '" + name + "' 50 5 40 1500") +
                      atStep(41, until(dumped)) + "wait $run")),
            0);
  bool found = false;
  for (int i = 1; exists("out.dump-" + std::to_string(i) + ".lcn"); ++i) {
    const Reader reader = trace("out.dump-" + std::to_string(i) + ".lcn");
    EXPECT_THAT(reasonOf(reader), HasSubstr("slow step of process"));
    found |= has(reader, "work 39") && has(reader, "work 40") && !has(reader, "work 41");
  }
  EXPECT_TRUE(found);
  expectNothingLeft();
}

INSTANTIATE_TEST_SUITE_P(Names, SlowStepTest,
                         testing::Values(SlowStep{"step"}, SlowStep{"ProfilerStep#"},
                                         SlowStep{"my loop", "--step-range 'my loop'"},
                                         SlowStep{"step", "", "wide"},
                                         SlowStep{"ProfilerStep#", "", "wide"},
                                         SlowStep{"ProfilerStep#", "", "registered"}),
                         [](const auto& info) { return "Name" + std::to_string(info.index); });

TEST_F(ControlTest, OptionsThatContradictAreRefused) {
  EXPECT_THAT(refused("--dump-on crash"), HasSubstr("--ring 256M"));
  EXPECT_THAT(refused("--ring 64M --dump-on sometimes"),
              HasSubstr("Known: slow-step, signal, crash"));
  EXPECT_THAT(refused("--ring 64M --step-range x"), HasSubstr("--dump-on slow-step"));
  EXPECT_THAT(refused("--ring 64M --dump-on slow-step --trace none"),
              HasSubstr("Add nvtx to --trace"));
  EXPECT_THAT(refused("--ring 64M --dump-on slow-step --step-mad -1"), HasSubstr("--step-mad"));
  EXPECT_THAT(refused("--ring 64M --memory-limit 64M"), HasSubstr("Leave --memory-limit out"));
  EXPECT_THAT(refused("--ring 64K"), HasSubstr("--ring is less than 1M"));
  EXPECT_THAT(refused("--ring 0"), HasSubstr("--ring is 0"));
  EXPECT_THAT(refused("--memory-limit 1K"), HasSubstr("--memory-limit is less than 1M"));
  EXPECT_THAT(refused("--capture-range a --delay 1s"), HasSubstr("Use one of the two"));
  EXPECT_THAT(refused("--capture-range a --trace cuda"), HasSubstr("Add nvtx to --trace"));
  EXPECT_THAT(refused("--duration soon"), HasSubstr("not a duration"));
}

}  // namespace
}  // namespace lacuna
