// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <simdjson.h>
#include <sys/stat.h>

#include "e2e/run_fixture.h"

namespace lacuna {
namespace {

using prof::Reader;
using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

/// The files that `lacuna run` writes and leaves alone, and what it reports where that goes wrong.
class OutputTest : public RunTest {
 protected:
  void put(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    fs::permissions(folder_ / name, fs::perms::owner_all);
  }
  /// Nothing is left of the shared memory whose place the program noted before it deleted the
  /// recording's folder.
  void expectNoSegments() {
    const std::string place = textOf("segments.txt");
    EXPECT_FALSE(!place.empty() && fs::exists(place.substr(0, place.size() - 1))) << place;
  }
  static std::string logOf(const Reader& reader) {
    std::string log;
    const auto lines = *reader.table<prof::LogLine>();
    for (const auto text : lines.text) log += std::string(reader.text(text)) + "\n";
    return log;
  }
  /// A run that prints what it has to report.
  int loud(const std::string& words) { return shell(program("lacuna") + " run --force " + words); }
};

TEST_F(OutputTest, ARunThatCannotStartLeavesTheOldTraceAlone) {
  put("out.lcn", "precious");
  put("broken.sh", "#!/no/such/interpreter\n");
  EXPECT_EQ(WEXITSTATUS(record("./broken.sh")), 127);
  EXPECT_THAT(errorText(), HasSubstr("interpreter is missing"));
  EXPECT_EQ(textOf("out.lcn"), "precious");
  EXPECT_FALSE(fs::exists(folder_ / "out.lcn.recording"));
  ASSERT_EQ(WEXITSTATUS(record(program("nvtx_program") + " 5")), 5) << "one that can replaces it";
  EXPECT_FALSE(rangesOf(trace()).empty());
}

TEST_F(OutputTest, WhatIsNoFileIsRefusedAndStays) {
  ASSERT_EQ(mkfifo((folder_ / "out.lcn").c_str(), 0600), 0);
  EXPECT_EQ(WEXITSTATUS(record("true")), 127);
  EXPECT_THAT(errorText(), HasSubstr("not a file that can hold a trace"));
  EXPECT_TRUE(fs::is_fifo(folder_ / "out.lcn"));
  EXPECT_FALSE(fs::exists(folder_ / "out.lcn.recording"));
  fs::remove(folder_ / "out.lcn");
}

TEST_F(OutputTest, ALinkToAFileStaysALink) {
  put("target.lcn", "old");
  fs::create_symlink("target.lcn", folder_ / "out.lcn");
  ASSERT_EQ(WEXITSTATUS(record(program("nvtx_program") + " 5")), 5);
  EXPECT_TRUE(fs::is_symlink(folder_ / "out.lcn"));
  EXPECT_FALSE(rangesOf(trace("target.lcn")).empty());
}

TEST_F(OutputTest, RunsThatAreStartedTogetherTakeNumbersOfTheirOwn) {
  // As under mpirun: the same command several times at once, with no -o.
  constexpr int kRuns = 6;
  std::string all;
  for (int i = 0; i < kRuns; ++i) {
    all += "(" + program("lacuna") + " run --force -q -- " + program("ending_program") +
           " exit 2>>stderr.txt; echo $? >>codes.txt) & ";
  }
  shell(all + "wait");
  std::string codes;
  for (int i = 0; i < kRuns; ++i) codes += "3\n";
  EXPECT_EQ(textOf("codes.txt"), codes) << errorText();
  for (int i = 1; i <= kRuns; ++i) {
    const std::string name = "ending_program" + (i == 1 ? "" : "-" + std::to_string(i)) + ".lcn";
    ASSERT_TRUE(fs::exists(folder_ / name)) << name;
    EXPECT_EQ(rangesOf(trace(name)).at("before"), 1000) << name;
    EXPECT_FALSE(fs::exists(folder_ / (name + ".recording"))) << name;
  }
}

/// Nobody knows what a link to nothing is for; and a folder may be anybody's, even an empty one.
TEST_F(OutputTest, ARunWithoutANameTakesNoneThatAnythingHas) {
  fs::create_symlink("nowhere", folder_ / "ending_program.lcn");
  fs::create_directory(folder_ / "ending_program-2.lcn.recording");
  ASSERT_EQ(WEXITSTATUS(lacuna("-- " + program("ending_program") + " exit")), 3) << errorText();
  EXPECT_EQ(rangesOf(trace("ending_program-3.lcn")).at("before"), 1000);
  EXPECT_TRUE(fs::is_symlink(folder_ / "ending_program.lcn"));
  EXPECT_TRUE(fs::is_empty(folder_ / "ending_program-2.lcn.recording"));
}

TEST_F(OutputTest, ASecondRunIntoTheSameTraceIsRefusedAndTheFirstGoesOn) {
  EXPECT_EQ(WEXITSTATUS(lacuna("-o out.lcn -- " + program("ending_program") + " wait & run=$!; " +
                               untilThere("place.txt", "$run") + program("lacuna") +
                               " run -q --force -o out.lcn -- true 2>second.txt; echo $? "
                               ">code.txt; kill -TERM $run; wait $run")),
            128 + SIGTERM);
  EXPECT_EQ(textOf("code.txt"), "127\n");
  EXPECT_THAT(textOf("second.txt"), HasSubstr("another run records there now"));
  EXPECT_EQ(rangesOf(trace()).at("before"), 1000);
  expectNothingLeft();
}

TEST_F(OutputTest, AFolderGivesTheTraceItsName) {
  // Python runs folders.
  put("python3", "#!/bin/sh\nexit 0\n");
  fs::create_directory(folder_ / "app");
  ASSERT_EQ(WEXITSTATUS(lacuna("-- ./python3 ./app/")), 0) << errorText();
  EXPECT_TRUE(fs::exists(folder_ / "app.lcn"));
  EXPECT_FALSE(fs::exists(folder_ / ".lcn"));
}

TEST_F(OutputTest, TheProgramsCodeIsKeptWhereNothingCanBePrinted) {
  const std::string run = "-o out.lcn -- " + program("nvtx_program") + " 5 ";
  EXPECT_EQ(WEXITSTATUS(loud(run + "2>/dev/full")), 5);
  EXPECT_EQ(WEXITSTATUS(loud(run + "2>&-")), 5);
  EXPECT_EQ(WEXITSTATUS(shell("(" + program("lacuna") + " run --force " + run +
                              "; echo $? >code.txt) 2>&1 | true; " +
                              "until [ -s code.txt ]; do sleep 0.05; done")),
            0);
  EXPECT_EQ(textOf("code.txt"), "5\n");
  EXPECT_FALSE(rangesOf(trace()).empty())
      << "a message that cannot be printed is not written into another file";
  fs::create_directory(folder_ / "gone");
  EXPECT_EQ(WEXITSTATUS(shell("cd gone; " + program("lacuna") +
                              " run --force -o ../out.lcn -- sh -c 'rmdir ../gone; exec " +
                              program("nvtx_program") + " 5' 2>../stderr.txt")),
            5)
      << errorText();
  EXPECT_THAT(errorText(),
              HasSubstr("lacuna report " + fs::canonical(folder_ / "out.lcn").string()));
}

TEST_F(OutputTest, ATraceThatFindsNoRoomCostsNeitherTheCodeNorWhatWasRecorded) {
  // A limit of lacuna's own in place of a full disk; the program takes it back for itself.
  shell("ulimit -S -f 32; " + program("lacuna") +
        " run --force -o out.lcn -- sh -c 'ulimit -S -f unlimited; exec " +
        program("ending_program") + " many' 2>stderr.txt; echo $? >code.txt");
  EXPECT_EQ(textOf("code.txt"), std::to_string(128 + SIGKILL) + "\n") << "the program's end";
  EXPECT_THAT(errorText(), AllOf(HasSubstr("file size limit"), HasSubstr("lacuna recover ")));
  ASSERT_EQ(WEXITSTATUS(shell(program("lacuna") +
                              " recover out.lcn.recording -o whole.lcn >recovered.txt 2>&1")),
            0)
      << textOf("recovered.txt");
  EXPECT_EQ(rangesOf(trace("whole.lcn")),
            (std::map<std::string, int>{{"before", 1000}, {"many", 200000}}));
}

TEST_F(OutputTest, ARecordingThatFailedIsNoSuccess) {
  const auto full = [&](const std::string& options, const std::string& program) {
    return WEXITSTATUS(shell("ulimit -S -f 32; " + this->program("lacuna") + " run --force " +
                             options + " -o out.lcn -- sh -c '" + "ulimit -S -f unlimited; " +
                             program + "' 2>stderr.txt"));
  };
  EXPECT_EQ(full("", program("ending_program") + " many; exit 0"), 1);
  EXPECT_THAT(errorText(), AllOf(HasSubstr("file size limit"), HasSubstr("lacuna recover ")));
  ASSERT_EQ(
      shell(program("lacuna") + " recover --json out.lcn.recording -o whole.lcn >answer.json"), 0);
  simdjson::dom::parser parser;
  const simdjson::dom::element answer = parser.load((folder_ / "answer.json").string());
  EXPECT_EQ(std::string_view(answer["file"]), "whole.lcn");
  EXPECT_FALSE(bool(answer["was_complete"]));
  EXPECT_GE(std::uint64_t(answer["processes"]), 1u);
  EXPECT_GE(std::uint64_t(answer["rows"]), 201000u);
  EXPECT_EQ(std::uint64_t(answer["dropped_events"]), 0u);
  EXPECT_EQ(rangesOf(trace("whole.lcn")),
            (std::map<std::string, int>{{"before", 1000}, {"many", 200000}}));

  EXPECT_EQ(full("", program("ending_program") + " many; exit 4"), 4)
      << "the program's own code says more";
  EXPECT_EQ(
      shell(program("lacuna") + " recover out.lcn.recording -o other.lcn >recovered.txt 2>&1"), 0);
  EXPECT_EQ(full("--ring 16M --dump-on signal",
                 program("ending_program") + " exit; kill -USR2 $PPID; exit 0"),
            1);
  EXPECT_THAT(errorText(), HasSubstr("lacuna: error: "));
  // The data in the rings stays, in shared memory too, until somebody uses it or deletes it as the
  // next run advises.
  std::error_code error;  // where shared memory has no room they are in the folder itself
  const std::string rings = fs::read_symlink(folder_ / "out.lcn.recording/shm", error).string();
  EXPECT_EQ(WEXITSTATUS(record("true")), 127);
  const std::string command = "rm -r " + fs::canonical(folder_ / "out.lcn.recording").string() +
                              (rings.empty() ? "" : " " + rings);
  EXPECT_THAT(errorText(), HasSubstr("or delete it: " + command + "\n"));
  EXPECT_TRUE(rings.empty() || fs::exists(rings)) << rings;
  EXPECT_EQ(shell(command), 0);
  expectNoFilesLeft();
}

TEST_F(OutputTest, ADumpThatFindsNoRoomCostsNotWhatTheRingHolds) {
  const std::string run = program("lacuna") + " run --force -o out.lcn --ring 16M -- sh -c '";
  shell("ulimit -S -f 32; " + run + "ulimit -S -f unlimited; exec " + program("ending_program") +
        " many' 2>stderr.txt; echo $? >code.txt");
  EXPECT_EQ(textOf("code.txt"), std::to_string(128 + SIGKILL) + "\n") << "the program's end";
  EXPECT_FALSE(fs::exists(folder_ / "out.dump-1.lcn"));
  EXPECT_THAT(errorText(),
              HasSubstr("The events in the rings are kept; when that is fixed: lacuna recover " +
                        fs::canonical(folder_).string() + "/out.lcn.recording"));
  ASSERT_EQ(WEXITSTATUS(shell(program("lacuna") +
                              " recover out.lcn.recording -o ring.lcn >recovered.txt 2>&1")),
            0)
      << textOf("recovered.txt");
  EXPECT_EQ(rangesOf(trace("ring.lcn")),
            (std::map<std::string, int>{{"before", 1000}, {"many", 200000}}));
  expectNothingLeft();
}

TEST_F(OutputTest, ATraceThatIsTakenAwayMeanwhileIsNoSuccess) {
  const std::string there = "until [ -e out.lcn ]; do sleep 0.02; done; ";
  EXPECT_EQ(WEXITSTATUS(record("sh -c '" + there + "rm out.lcn; exit 0'")), 1);
  EXPECT_THAT(errorText(), HasSubstr("out.lcn is gone"));
  EXPECT_EQ(WEXITSTATUS(record("sh -c '" + there + "rm out.lcn; exit 4'")), 4);
  fs::create_directory(folder_ / "sub");
  EXPECT_EQ(WEXITSTATUS(shell("exec " + program("lacuna") +
                              " run --force -q -o sub/out.lcn -- sh -c 'cd sub; " + there +
                              "rm -r $(readlink out.lcn.recording/shm); cd ..; until rm -r sub; do "
                              ":; done; exit 0' 2>stderr.txt")),
            1);
  EXPECT_THAT(errorText(), HasSubstr("out.lcn is gone"));
}

TEST_F(OutputTest, ARecordingThatIsTakenAwayMeanwhileIsNamed) {
  EXPECT_EQ(WEXITSTATUS(record(
                "sh -c 'until [ -e out.lcn ]; do sleep 0.02; done; readlink out.lcn.recording/shm "
                ">segments.txt; until rm -r out.lcn.recording; do :; done; exit 0'")),
            1);
  EXPECT_THAT(errorText(), AllOf(HasSubstr("out.lcn.recording is gone: it was deleted or moved"),
                                 HasSubstr("out.lcn has what processes recorded")));
  EXPECT_TRUE(trace().damage().empty());
  expectNoSegments();
}

TEST_F(OutputTest, ARunWhoseFolderWasDeletedLeavesTheNextOneThereAlone) {
  const auto until = [](const std::string& file) {
    return "until [ -e " + file + " ]; do sleep 0.02; done; ";
  };
  const std::string run = program("lacuna") + " run --force -q -o out.lcn -- sh -c '";
  shell(run + until("go") + "exit 0' 2>first.txt & first=$!; " + until("out.lcn") +
        "until rm -r out.lcn.recording; do :; done; " + run + ">go; " + until("over") + "exec " +
        program("ending_program") +
        " exit' 2>stderr.txt & second=$!; wait $first; echo $? >codes.txt; >over; wait $second; "
        "echo $? >>codes.txt");
  EXPECT_EQ(textOf("codes.txt"), "1\n3\n") << textOf("first.txt") << errorText();
  EXPECT_THAT(textOf("first.txt"), HasSubstr("out.lcn.recording is gone: it was deleted or moved"));
  EXPECT_EQ(rangesOf(trace()).at("before"), 1000);
  expectNothingLeft();
}

TEST_F(OutputTest, RingsThatAreTakenAwayMeanwhileAreNotReportedAsKept) {
  const auto takenAway = [&](const std::string& then) {
    return WEXITSTATUS(
        lacuna("-o out.lcn --ring 16M --dump-on signal -- sh -c 'readlink out.lcn.recording/shm "
               ">segments.txt; until rm -r out.lcn.recording; do :; done; " +
               then + "exit 0'"));
  };
  EXPECT_EQ(takenAway("kill -USR2 $PPID; "), 1);
  EXPECT_THAT(errorText(),
              AllOf(HasSubstr("out.lcn.recording is gone"), Not(HasSubstr("is kept"))));
  expectNoSegments();
  EXPECT_EQ(takenAway(""), 0) << errorText();
  expectNoSegments();
}

TEST_F(OutputTest, AFileSizeLimitThatIsTooSmallForLacunaIsNamed) {
  EXPECT_EQ(WEXITSTATUS(shell("ulimit -S -f 8; exec " + program("lacuna") +
                              " run --force -q -o out.lcn -- true 2>stderr.txt")),
            127);
  EXPECT_THAT(errorText(), HasSubstr("Remedy: raise the file size limit (ulimit -f)"));
  EXPECT_FALSE(fs::exists(folder_ / "out.lcn.recording"));
}

TEST_F(OutputTest, AProcessThatCannotRecordIsNamedWithTheRemedy) {
  const auto summaryOf = [&](const std::string& limit, const std::string& programs) {
    shell(program("lacuna") + " run --force --no-report -o out.lcn -- sh -c '" + limit + "; " +
          programs + "' 2>stderr.txt");
    EXPECT_THAT(errorText(), Not(HasSubstr("no process recorded anything")));
    return errorText();
  };
  const std::string one = program("nvtx_program") + " 0; ";
  EXPECT_THAT(summaryOf("ulimit -f 100", one),
              HasSubstr(" could not record: File too large; raise ulimit -f\n"));
  EXPECT_THAT(summaryOf("ulimit -f 100", one + one + one),
              HasSubstr("; raise ulimit -f; nor could 2 others\n"));
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_THAT(summaryOf("ulimit -v 300000", one),
              HasSubstr("raise ulimit -v, or give each process less"));
#endif
}

TEST_F(OutputTest, TooFewDescriptorsAreNamedAndNothingIsLeft) {
  int refused = 0;
  for (int limit = 4; limit <= 24; ++limit) {
    const int status = shell("exec 2>stderr.txt; ulimit -n " + std::to_string(limit) + "; exec " +
                             program("lacuna") + " run -q --force -o out.lcn -- true");
    if (WEXITSTATUS(status) == 0) continue;
    ++refused;
    EXPECT_EQ(WEXITSTATUS(status), 127) << limit;
    EXPECT_THAT(errorText(), AnyOf(HasSubstr("Remedy: raise ulimit -n"),
                                   HasSubstr("error while loading shared libraries")))
        << limit;
    expectNoFilesLeft();
  }
  EXPECT_GT(refused, 0);
}

TEST_F(OutputTest, AFullDiskIsNamedBeforeTheProgramStarts) {
  fs::create_directory(folder_ / "small");
  const std::string run =
      "mount -t tmpfs -o size=4k tmpfs small || exit 77; cd small; " + program("lacuna") +
      " run -q --force -o out.lcn -- touch ../started 2>../stderr.txt; code=$?; ls -A; exit $code";
  int code = 77;
  for (const std::string alone : {"unshare -m", "unshare -Urm"}) {
    if (code == 77) code = WEXITSTATUS(shell(alone + " sh -c '" + run + "' >left.txt"));
  }
  if (code == 77 || code == 1) GTEST_SKIP() << "no file system can be mounted here";
  EXPECT_EQ(code, 127) << errorText();
  EXPECT_THAT(
      errorText(),
      HasSubstr("No space left on device. Remedy: make room there, or choose a file elsewhere"));
  EXPECT_EQ(textOf("left.txt"), "");
  EXPECT_FALSE(fs::exists(folder_ / "started"));
}

TEST_F(OutputTest, AProgramsFileSizeLimitLeavesItAlive) {
  const auto limited = [&](const char* blocks, const std::string& rest) {
    return record(std::string("sh -c 'ulimit -f ") + blocks + "; exec " + rest + "'");
  };
  // Less than a recorder takes at first, but enough for one.
  ASSERT_EQ(WEXITSTATUS(limited("100000", program("ending_program") + " exit")), 3);
  EXPECT_EQ(rangesOf(trace()).at("before"), 1000);
  ASSERT_EQ(WEXITSTATUS(limited("100", program("ending_program") + " exit")), 3);
  const Reader reader = trace();
  EXPECT_TRUE(rangesOf(reader).empty());
  EXPECT_THAT(logOf(reader), HasSubstr("could not record: File too large; raise ulimit -f"));
  ASSERT_EQ(WEXITSTATUS(lacuna("-o out.lcn --trace samples --sampler timer -- sh -c 'ulimit -f "
                               "100; exec sh -c \"exit 4\"'")),
            4);
}

TEST_F(OutputTest, EventsThatWillBeMissingAreReportedBeforeTheProgramStartsAndInTheLog) {
  const std::string note = "lacuna: NVTX_INJECTION64_PATH is set and empty, which stays";
  for (const std::string quiet : {"-q ", "--no-report "}) {
    ASSERT_EQ(WEXITSTATUS(shell("NVTX_INJECTION64_PATH= " + program("lacuna") + " run --force " +
                                quiet + "-o out.lcn -- sh -c 'echo now >&2' 2>stderr.txt")),
              0);
    EXPECT_EQ(errorText().rfind(note, 0), 0u) << errorText();
    EXPECT_LT(errorText().find(note), errorText().find("now\n")) << errorText();
    EXPECT_EQ(errorText().find(note, 1) == std::string::npos, quiet == "-q ")
        << "the summary repeats it\n"
        << errorText();
    EXPECT_THAT(logOf(trace()), HasSubstr(note.substr(8)));
  }
  ASSERT_EQ(WEXITSTATUS(shell("NVTX_INJECTION64_PATH= " + program("lacuna") +
                              " run -q --ring 16M -o ring.lcn -- sh -c 'exit 3' 2>stderr.txt")),
            3);
  EXPECT_THAT(logOf(trace("ring.dump-1.lcn")), HasSubstr(note.substr(8)));
  // Where nobody listens the program runs all the same.
  ASSERT_EQ(WEXITSTATUS(shell(
                "(NVTX_INJECTION64_PATH= " + program("lacuna") +
                " run -q --force -o out.lcn -- sh -c 'exit 5'; echo $? >code.txt) 2>&1 | true; " +
                "until [ -s code.txt ]; do sleep 0.05; done")),
            0);
  EXPECT_EQ(textOf("code.txt"), "5\n");
}

TEST_F(OutputTest, AProgramOfAnotherUserIsReportedAsOutOfReach) {
  if (geteuid() != 0 || shell("setpriv --version >version.txt 2>&1") != 0) {
    GTEST_SKIP() << "only root can run a program as another user, and setpriv(1) does it";
  }
  EXPECT_EQ(WEXITSTATUS(loud("--no-report -o out.lcn -- setpriv --reuid=65534 true 2>stderr.txt")),
            0);
  EXPECT_THAT(errorText(), AllOf(HasSubstr("ran as user 65534, who cannot reach the recording"),
                                 Not(HasSubstr("Only programs with NVTX"))));
  EXPECT_EQ(WEXITSTATUS(loud("--no-report -o out.lcn -- true 2>stderr.txt")), 0);
  EXPECT_THAT(errorText(),
              AllOf(Not(HasSubstr("ran as user")), HasSubstr("Only programs with NVTX")));
}

TEST_F(OutputTest, ProgramsThatTheProgramStartsAndNobodyCanRecordAreNamed) {
  shell(program("lacuna") + " doctor --json >doctor.json");
  const bool kernelSamples =
      textOf("doctor.json").find("the kernel samples call chains") != std::string::npos;
  if (kernelSamples && fs::exists(program("static_program"))) {
    // Also one that lives for a moment, however often.
    const std::string both = program("static_program") + "; " + program("static_program");
    EXPECT_EQ(
        WEXITSTATUS(loud("--no-report -o out.lcn -- sh -c '" + both + "; exit 4' 2>stderr.txt")),
        4);
    const std::string note =
        "1 program could not be recorded: " + program("static_program") +
        " (static). NVTX and CUDA events of it are missing. Remedy: link it dynamically.";
    EXPECT_THAT(errorText(), AllOf(HasSubstr(note), Not(HasSubstr("Only programs with NVTX"))));
    EXPECT_THAT(errorText(), HasSubstr(" events from 3 processes, seen from outside only, in "));
    EXPECT_THAT(logOf(trace()), HasSubstr(note));
    // A tool that somebody called in passing is no news, and in the log all the same.
    EXPECT_EQ(WEXITSTATUS(loud("--no-report -o out.lcn -- sh -c 'sleep 1; " +
                               program("static_program") + "; exit 4' 2>stderr.txt")),
              4);
    EXPECT_THAT(errorText(), Not(HasSubstr("could not be recorded")));
    EXPECT_THAT(logOf(trace()), HasSubstr(note));
  }
  EXPECT_EQ(
      WEXITSTATUS(loud("--no-report -o out.lcn -- sh -c 'env -i sleep 0.5; exit 4' 2>stderr.txt")),
      4);
  EXPECT_THAT(errorText(),
              AllOf(HasSubstr("/sleep (environment cleared). "),
                    HasSubstr("Remedy: leave it the variables that lacuna run sets.")));
  EXPECT_EQ(WEXITSTATUS(loud("--no-report -o out.lcn -- sh -c 'sleep 0.3; exit 4' 2>stderr.txt")),
            4);
  EXPECT_THAT(errorText(), Not(HasSubstr("could not be recorded")));
}

TEST_F(OutputTest, ProgramsThatSeeOtherFilesAreJudgedByThose) {
  if (!fs::exists(program("static_program"))) GTEST_SKIP() << "not built";
  shell("cp \"$(command -v sleep)\" dynamic; cp " + program("static_program") +
        " static; cp dynamic seen");
  std::string alone;
  for (const std::string way : {"unshare -m", "unshare -Urm"}) {
    if (alone.empty() && shell(way + " mount --bind static seen 2>mount.txt") == 0) alone = way;
  }
  if (alone.empty()) GTEST_SKIP() << "mounting is not allowed here";
  const auto runWith = [&](const std::string& inside) {
    loud("--no-report -o out.lcn -- " + alone + " sh -c 'mount --bind " + inside +
         " seen && ./seen 1' 2>stderr.txt");
    return errorText();
  };
  EXPECT_THAT(
      runWith("static"),
      HasSubstr("1 program could not be recorded: " + (folder_ / "seen").string() + " (static)"));
  fs::copy_file(folder_ / "static", folder_ / "seen", fs::copy_options::overwrite_existing);
  EXPECT_THAT(runWith("dynamic"), Not(HasSubstr("could not be recorded")));
}

TEST_F(OutputTest, ARecorderThatHangsHoldsNobodyUp) {
  if (!fs::exists(program("libhanging_injection.so"))) GTEST_SKIP() << "not built";
  EXPECT_EQ(WEXITSTATUS(shell("export LACUNA_INJECTION=" + program("libhanging_injection.so") +
                              "; timeout -s KILL 100 " + program("lacuna") +
                              " run --force -q -o out.lcn -- sh -c 'exit 6' 2>stderr.txt")),
            6)
      << errorText();
}

}  // namespace
}  // namespace lacuna
