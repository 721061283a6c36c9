// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "supervise/program.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace lacuna::collector {
namespace {

class ProgramTest : public testing::Test {
 protected:
  ProgramTest() { std::filesystem::create_directories(folder_); }
  ~ProgramTest() override { std::filesystem::remove_all(folder_); }
  std::string file(const std::string& name, const std::string& content, int mode) {
    const auto path = folder_ / name;
    std::ofstream(path) << content;
    chmod(path.c_str(), static_cast<mode_t>(mode));
    return path.string();
  }
  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("lacuna-program-test-" + std::to_string(getpid()));
};

TEST_F(ProgramTest, IsFoundOnThePath) {
  const auto program = findProgram("sh");
  ASSERT_TRUE(program);
  EXPECT_EQ(program->path.filename(), "sh");
  EXPECT_FALSE(program->staticBinary);
  EXPECT_TRUE(program->limits().empty());
}

TEST_F(ProgramTest, MissingOnesAreNamed) {
  const auto program = findProgram("no-such-program-anywhere");
  ASSERT_FALSE(program);
  EXPECT_NE(program.error().message.find("no-such-program-anywhere"), std::string::npos);
  EXPECT_FALSE(findProgram(""));
  EXPECT_FALSE(findProgram("/no/such/place"));
  EXPECT_FALSE(findProgram(folder_.string())) << "a folder is no program";
}

TEST_F(ProgramTest, WithoutTheRightToExecuteTheRemedyIsChmod) {
  const auto program = findProgram(file("train.sh", "#!/bin/sh\n", 0644));
  ASSERT_FALSE(program);
  EXPECT_NE(program.error().message.find("chmod +x"), std::string::npos);
}

TEST_F(ProgramTest, ScriptsAreJudgedByTheirInterpreter) {
  const auto program = findProgram(file("train", "#!/usr/bin/env sh\nexit 0\n", 0755));
  ASSERT_TRUE(program);
  EXPECT_EQ(program->image.filename(), "sh");
}

TEST_F(ProgramTest, StaticBinariesAreNoticed) {
  // An ELF header with no program headers at all is as static as it gets.
  std::string elf("\x7f\x45LF\x02\x01\x01", 7);
  elf.resize(64, '\0');
  elf[18] = 62;  // x86-64
  const auto program = findProgram(file("static", elf, 0755));
  ASSERT_TRUE(program);
  ASSERT_EQ(program->limits().size(), 1u);
  EXPECT_NE(program->limits()[0].find("statically linked"), std::string::npos);
}

TEST_F(ProgramTest, SetUserIdIsNoticed) {
  if (geteuid() == 0) {
    const auto path = file("other", "#!/bin/sh\n", 0755);
    ASSERT_EQ(chown(path.c_str(), 65534, 65534), 0);
    chmod(path.c_str(), 04755);
    const auto program = findProgram(path);
    ASSERT_TRUE(program);
    ASSERT_FALSE(program->limits().empty());
    EXPECT_NE(program->limits()[0].find("set-uid"), std::string::npos);
  } else {
    const auto program = findProgram("su");
    ASSERT_TRUE(program);
    EXPECT_FALSE(program->limits().empty());
  }
}

}  // namespace
}  // namespace lacuna::collector
