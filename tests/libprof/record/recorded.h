// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "lacuna/prof/reader.h"
#include "lacuna/prof/session.h"
#include "lacuna/prof/trace.h"

namespace lacuna::prof {

/// A directory of its own for each test, gone afterwards.
class RecordingTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "lacuna-record-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    home_ = name;
  }
  void TearDown() override {
    lacunaDetach();
    // A recording that no drainer finished has segments in shared memory.
    if (exists(recordingDir())) {
      EXPECT_TRUE(removeRecording(recordingDir()).ok());
    }
    std::filesystem::remove_all(home_);
  }
  [[nodiscard]] std::filesystem::path trace() const { return home_ / "trace.lcn"; }
  [[nodiscard]] std::filesystem::path recordingDir() const { return home_ / "trace.recording"; }

  std::filesystem::path home_;
};

/// The files of events in a folder of segments.
inline std::vector<std::filesystem::path> recordersIn(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".lcr") files.push_back(entry.path());
  }
  return files;
}

/// A finished trace, with the texts that tests compare.
struct Trace {
  explicit Trace(const std::filesystem::path& path) : reader(Reader::open(path)) {
    EXPECT_TRUE(reader.ok()) << (reader.ok() ? "" : reader.error().message);
    if (!reader.ok()) return;
    EXPECT_TRUE((*reader).damage().empty());
    EXPECT_TRUE((*reader).complete());
  }
  template <class Row>
  std::vector<Row> rows() {
    std::vector<Row> rows;
    if (!reader.ok()) return rows;
    auto columns = (*reader).table<Row>();
    EXPECT_TRUE(columns.ok());
    const std::size_t count = (*reader).rows<Row>();
    for (std::size_t i = 0; i < count; ++i) rows.push_back((*columns).row(i));
    return rows;
  }
  std::string text(StringId id) { return std::string((*reader).text(id)); }

  Result<Reader> reader;
};

#define ASSERT_OK(expression)                               \
  do {                                                      \
    const auto& okResult = (expression);                    \
    ASSERT_TRUE(okResult.ok()) << okResult.error().message; \
  } while (false)

template <class Work>
pid_t forkChild(Work&& work) {
  std::fflush(nullptr);  // a sanitizer's _exit() would write what is buffered once more
  const pid_t child = fork();
  if (child == 0) {
    work();
    _exit(0);
  }
  return child;
}

/// The end of a child: its exit code, or 128 + signal.
inline int endOf(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/// Runs `work` in a forked child and returns how it ended.
template <class Work>
int inChild(Work&& work) {
  return endOf(forkChild(work));
}

}  // namespace lacuna::prof
