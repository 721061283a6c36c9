// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "lacuna/prof/reader.h"
#include "support/programs.h"

namespace lacuna {

namespace fs = std::filesystem;

/// Runs `lacuna run` in a folder of its own and opens what it wrote.
class RunTest : public testing::Test {
 protected:
  RunTest() {
    fs::create_directories(folder_);
    fs::create_directories(temporary_);
    // The programs' ends are theirs: a sanitizer in them must not turn a signal into an exit
    // status.
    for (const char* variable : {"ASAN_OPTIONS", "TSAN_OPTIONS"}) {
      const char* options = std::getenv(variable);
      const std::string all =
          std::string(options != nullptr ? options : "") +
          " handle_segv=0 handle_sigbus=0 handle_abort=0 detect_leaks=0 die_after_fork=0";
      ::setenv(variable, all.c_str(), 1);
    }
  }
  ~RunTest() override {
    fs::remove_all(folder_);
    fs::remove_all(temporary_);
  }

  static std::string program(const std::string& name) { return test::program(name); }

  /// The wait status of `lacuna run` with these words, seen by a shell in the folder. A trace of
  /// the name is replaced.
  int lacuna(const std::string& words) {
    return shell("exec " + program("lacuna") + " run -q --force " + words + " 2>stderr.txt");
  }
  int shell(const std::string& command) {
    return std::system(
        ("cd " + folder_.string() + "; export TMPDIR=" + temporary_.string() + "; " + command)
            .c_str());
  }
  /// In a shell: until the file has something in it (the place.txt of ending_program: its first
  /// ranges are recorded), or the process is gone.
  static std::string untilThere(const std::string& file, const std::string& process) {
    return "until [ -s " + file + " ] || ! kill -0 " + process +
           " 2>/dev/null; do sleep 0.02; done; ";
  }
  static std::string untilGone(const std::string& process) {
    return "for i in $(seq 600); do kill -0 " + process +
           " 2>/dev/null || break; sleep 0.05; done; ";
  }
  /// Before a command: programs of the test's wait at their end until they have been inspected.
  static std::string lingering() { return "export LINGER=out.lcn.recording/checkpoint; "; }
  int record(const std::string& words) { return lacuna("-o out.lcn -- " + words); }

  prof::Reader trace(const std::string& name = "out.lcn") {
    auto reader = prof::Reader::open(folder_ / name);
    if (!reader) ADD_FAILURE() << reader.error().message;
    EXPECT_TRUE(reader->complete());
    return *reader;
  }
  std::string errorText() const { return textOf("stderr.txt"); }
  std::string textOf(const std::string& name) const {
    std::ifstream file(folder_ / name);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  /// Number of ranges of each name.
  static std::map<std::string, int> rangesOf(const prof::Reader& reader) {
    std::map<std::string, int> counts;
    const auto names = reader.column<&prof::Range::name>();
    for (const auto id : *names) ++counts[std::string(reader.text(id))];
    return counts;
  }
  /// Nothing of the run is left but its trace: no folder, no shared memory, no process.
  void expectNothingLeft() {
    expectNoFilesLeft();
    expectNoProcessesLeft();
  }
  void expectNoFilesLeft() {
    EXPECT_FALSE(fs::exists(folder_ / "out.lcn.recording"));
    EXPECT_TRUE(fs::is_empty(temporary_)) << *fs::directory_iterator(temporary_);
    const std::string place = textOf("place.txt");
    EXPECT_FALSE(!place.empty() && fs::exists(place)) << place;
  }
  void expectNoProcessesLeft() {
    if (!fs::exists(folder_ / "out.lcn")) return;
    const prof::Reader reader = trace();
    const auto processes = *reader.table<prof::Process>();
    for (std::size_t i = 0; i < processes.osPid.size(); ++i) {
      EXPECT_TRUE(goneOrAnother(processes.osPid[i])) << processes.osPid[i];
    }
  }
  /// A number may have been given to a new process of somebody else's meanwhile; ours knows the
  /// recording.
  bool goneOrAnother(std::uint32_t pid) {
    const std::string at = "/proc/" + std::to_string(pid);
    for (int i = 0; i < 3000 && fs::exists(at); ++i) {
      std::ifstream file(at + "/environ", std::ios::binary);
      const std::string variables{std::istreambuf_iterator<char>(file),
                                  std::istreambuf_iterator<char>()};
      if (!variables.empty()) return variables.find(folder_.string()) == std::string::npos;
      usleep(10'000);  // it is just ending, or beginning
    }
    return !fs::exists(at);
  }

  fs::path temporary_ =
      fs::temp_directory_path() / ("lacuna-run-test-tmp-" + std::to_string(getpid()));
  fs::path folder_ = fs::temp_directory_path() / ("lacuna-run-test-" + std::to_string(getpid()));
};

}  // namespace lacuna
