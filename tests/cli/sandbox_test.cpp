// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "base/sandbox.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <functional>
#include <string>

#include "support/temp_dir.h"

namespace lacuna::cli {
namespace {

namespace fs = std::filesystem;

/// A folder with a trace to read and a stranger's file, outside of the temporary folder, which
/// stays open to all.
class Sandbox : public testing::Test {
 protected:
  void SetUp() override {
    if (sandboxSupport().landlock == 0 || !sandboxSupport().seccomp)
      GTEST_SKIP() << "this kernel cannot confine";
    ::setenv("TMPDIR", (folder_ / "tmp").c_str(), 1);
    for (const char* name : {"tmp", "out", "other"}) fs::create_directory(folder_ / name);
    for (const char* name : {"trace", "secret"}) std::ofstream(folder_ / name) << name;
  }
  void TearDown() override { ::unsetenv("TMPDIR"); }

  /// True when `work` succeeds in a process that is confined to the trace and to the folder of the
  /// output.
  bool confined(const std::function<bool()>& work, const std::string& mode = "on",
                const fs::path& output = {}) {
    const pid_t child = ::fork();
    if (child == 0) {
      const bool entered =
          confine(mode, {.reads = {folder_ / "trace"},
                         .writes = {output.empty() ? folder_ / "out" / "a" : output}})
              .ok();
      ::_exit(!entered ? 2 : work() ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_NE(WEXITSTATUS(status), 2) << "it was not confined";
    return WEXITSTATUS(status) == 0;
  }
  bool reads(const char* name) { return std::ifstream(folder_ / name).good(); }
  bool writes(const char* name) { return std::ofstream(folder_ / name).good(); }

  test::TempDir folder_;
};

TEST_F(Sandbox, ReadsTheTraceAndNothingBesideIt) {
  EXPECT_TRUE(confined([this] { return reads("trace"); }));
  EXPECT_FALSE(confined([this] { return reads("secret"); }));
}

TEST_F(Sandbox, WritesBesideTheOutputAndNowhereElse) {
  EXPECT_TRUE(confined([this] { return writes("out/a.part") && writes("out/a"); }));
  EXPECT_TRUE(confined([this] { return writes("tmp/unpacked"); }));
  EXPECT_FALSE(confined([this] { return writes("other/b"); }));
  EXPECT_FALSE(confined([this] { return writes("trace"); }));
}

TEST_F(Sandbox, WritesWhereSqliteMakesItsTemporaryFiles) {
  EXPECT_FALSE(confined([this] { return writes("other/sorted"); }));
  ::setenv("SQLITE_TMPDIR", (folder_ / "other").c_str(), 1);
  EXPECT_TRUE(confined([this] { return writes("other/sorted"); }));
  ::unsetenv("SQLITE_TMPDIR");
  ::unsetenv("TMPDIR");
  EXPECT_TRUE(confined([] {
    const std::string name = "/var/tmp/lacuna-sandbox-test-" + std::to_string(::getpid());
    return std::ofstream(name).good() && ::unlink(name.c_str()) == 0;
  }));
}

TEST_F(Sandbox, WritesBesideAnOutputThatIsNamedWithoutAFolder) {
  fs::current_path(folder_ / "out");
  EXPECT_TRUE(confined([this] { return writes("out/a.part"); }, "on", "a"));
  fs::current_path("/");
}

TEST_F(Sandbox, ReplacesTheOutputInOneStep) {
  EXPECT_TRUE(confined([this] {
    return writes("out/a.part") &&
           ::rename((folder_ / "out/a.part").c_str(), (folder_ / "out/a").c_str()) == 0;
  }));
}

TEST_F(Sandbox, MakesAndRemovesFoldersInTheTemporaryOneAlone) {
  const auto makesAndRemoves = [this](const char* where) {
    return ::mkdir((folder_ / where / "copy").c_str(), 0700) == 0 &&
           ::rmdir((folder_ / where / "copy").c_str()) == 0;
  };
  EXPECT_TRUE(confined([&] { return makesAndRemoves("tmp"); }));
  EXPECT_FALSE(confined([&] { return makesAndRemoves("out"); }));
}

TEST_F(Sandbox, StartsNoProgram) {
  EXPECT_FALSE(confined([] {
    ::execl("/bin/sh", "sh", "-c", "exit 0", nullptr);
    return errno != EPERM;
  }));
}

TEST_F(Sandbox, ReachesNoNetwork) {
  EXPECT_TRUE(confined([] { return ::socket(AF_INET, SOCK_STREAM, 0) < 0 && errno == EPERM; }));
}

TEST_F(Sandbox, OffConfinesNothing) {
  EXPECT_TRUE(confined([this] { return reads("secret"); }, "off"));
}

TEST(SandboxMode, WhatIsNoneIsRefused) {
  const auto status = confine("perhaps", {});
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("auto, on and off"), std::string::npos);
}

}  // namespace
}  // namespace lacuna::cli
