// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/collector/session.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <map>

#include "lacuna/prof/reader.h"
#include "support/programs.h"

namespace lacuna::collector {
namespace {

namespace fs = std::filesystem;

std::map<std::string, int> rangesOf(const fs::path& trace) {
  std::map<std::string, int> counts;
  const auto reader = prof::Reader::open(trace);
  EXPECT_TRUE(reader.ok());
  if (!reader.ok()) return counts;
  EXPECT_TRUE(reader->complete());
  const auto names = reader->column<&prof::Range::name>();
  for (const auto id : *names) ++counts[std::string(reader->text(id))];
  return counts;
}

TEST(CollectorSession, AProgramRecordsItselfAgainAndAgainWithNoVariableSet) {
  const fs::path folder =
      fs::temp_directory_path() / ("lacuna-session-test-" + std::to_string(getpid()));
  fs::create_directories(folder);
  const std::string command = "env -u NVTX_INJECTION64_PATH -u CUDA_INJECTION64_PATH " +
                              test::program("session_program") + " " + (folder / "1.lcn").string() +
                              " " + (folder / "2.lcn").string();
  const int status = std::system(command.c_str());
  ASSERT_EQ(WEXITSTATUS(status), 0);
  using Counts = std::map<std::string, int>;
  EXPECT_EQ(rangesOf(folder / "1.lcn"),
            (Counts{{"first", 1}, {"in the child", 1}, {"through prof.h", 2}}));
  EXPECT_EQ(rangesOf(folder / "2.lcn"),
            (Counts{{"second", 1}, {"in the child", 1}, {"through prof.h", 2}}));
  EXPECT_FALSE(fs::exists(folder / "1.lcn.recording"));
  fs::remove_all(folder);
}

TEST(CollectorSession, OneThatCannotRecordLeavesNothing) {
  const fs::path folder =
      fs::temp_directory_path() / ("lacuna-session-none-" + std::to_string(getpid()));
  fs::create_directories(folder);
  const std::string command =
      "ulimit -f 100; exec env -u NVTX_INJECTION64_PATH -u CUDA_INJECTION64_PATH " +
      test::program("session_program") + " " + (folder / "1.lcn").string() + " " +
      (folder / "2.lcn").string();
  EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 1);
  EXPECT_TRUE(fs::is_empty(folder)) << *fs::directory_iterator(folder);
  std::ofstream(folder / "1.lcn") << "precious";
  EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 1);
  EXPECT_EQ(fs::file_size(folder / "1.lcn"), 8u) << "what was there before";
  fs::remove_all(folder);
}

TEST(CollectorSession, APlaceThatCannotBeWrittenIsNamed) {
  Session::Options options;
  const auto session = Session::start("/nonexistent/out.lcn", options);
  ASSERT_FALSE(session.ok());
  EXPECT_NE(session.error().message.find("/nonexistent"), std::string::npos);
}

TEST(CollectorSession, AnInjectionThatIsNoneIsRefused) {
  Session::Options options;
  options.injection = "/bin/sh";
  const auto session = Session::start(fs::temp_directory_path() / "never.lcn", options);
  ASSERT_FALSE(session.ok());
  EXPECT_FALSE(fs::exists(fs::temp_directory_path() / "never.lcn"));
}

}  // namespace
}  // namespace lacuna::collector
