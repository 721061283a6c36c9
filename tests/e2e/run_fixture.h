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

namespace lacuna {

namespace fs = std::filesystem;

/// Runs `lacuna run` in a folder of its own and opens what it wrote.
class RunTest : public testing::Test {
 protected:
  RunTest() {
    fs::create_directories(folder_);
    // The programs' ends are theirs: a sanitizer in them must not turn a signal into an exit status.
    for (const char* variable : {"ASAN_OPTIONS", "TSAN_OPTIONS"}) {
      const char* options = std::getenv(variable);
      const std::string all = std::string(options != nullptr ? options : "") +
                              " handle_segv=0 handle_abort=0 detect_leaks=0 die_after_fork=0";
      ::setenv(variable, all.c_str(), 1);
    }
  }
  ~RunTest() override { fs::remove_all(folder_); }

  static std::string program(const std::string& name) { return std::string(LACUNA_BIN_DIR) + "/" + name; }

  /// The wait status of `lacuna run` with these words, seen by a shell in the folder.
  int lacuna(const std::string& words) {
    return shell("exec " + program("lacuna") + " run -q " + words + " 2>stderr.txt");
  }
  int shell(const std::string& command) { return std::system(("cd " + folder_.string() + "; " + command).c_str()); }
  int record(const std::string& words) { return lacuna("-o out.lcn -- " + words); }

  prof::Reader trace(const std::string& name = "out.lcn") {
    auto reader = prof::Reader::open(folder_ / name);
    if (!reader) ADD_FAILURE() << reader.error().message;
    EXPECT_TRUE(reader->complete());
    return *reader;
  }
  std::string said() const { return textOf("stderr.txt"); }
  std::string textOf(const std::string& name) const {
    std::ifstream file(folder_ / name);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  /// How many ranges there are of each name.
  static std::map<std::string, int> rangesOf(const prof::Reader& reader) {
    std::map<std::string, int> counts;
    const auto names = reader.column<&prof::Range::name>();
    for (const auto id : *names) ++counts[std::string(reader.text(id))];
    return counts;
  }
  void expectNothingLeft() { EXPECT_FALSE(fs::exists(folder_ / "out.lcn.recording")); }

  fs::path folder_ = fs::temp_directory_path() / ("lacuna-run-test-" + std::to_string(getpid()));
};

}  // namespace lacuna
