// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "supervise/program.h"

#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <tuple>

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
  EXPECT_EQ(obstacleOf(*program).what, "");
  EXPECT_EQ(obstacleOf(inspectImage("/no/such/program")).what, "");
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

TEST_F(ProgramTest, TheLoaderIsNotStatic) {
  // It has no interpreter either, and loads whatever it is given.
  const auto loader = std::string("/lib64/ld-linux-x86-64.so.2");
  if (!std::filesystem::exists(loader)) GTEST_SKIP() << "no loader at " << loader;
  const auto program = findProgram(loader);
  ASSERT_TRUE(program);
  EXPECT_FALSE(program->staticBinary);
}

/// A copy of a program that gives rights away, and what is reported of it.
class PrivilegeTest : public ProgramTest {
 protected:
  PrivilegeTest() { std::filesystem::copy_file("/proc/self/exe", copy_); }
  void give(uid_t user, gid_t group, mode_t mode) {
    ASSERT_EQ(chown(copy_.c_str(), user, group), 0);
    ASSERT_EQ(chmod(copy_.c_str(), mode), 0);
  }
  /// Returns what `work` returns in a process of its own, which may limit itself for good.
  template <class Work>
  static int inChild(Work&& work) {
    const pid_t pid = fork();
    if (pid == 0) _exit(work());
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  [[nodiscard]] std::string obstacle() const {
    const auto program = findProgram(copy_.string());
    if (!program) return program.error().message;
    return program->limits().empty() ? "" : program->limits()[0];
  }
  std::filesystem::path copy_ = folder_ / "copy";
};

TEST_F(PrivilegeTest, OfAnotherUserOrGroupIsNoticed) {
  if (getuid() != 0 || getgid() != 0)
    GTEST_SKIP() << "only root can give a program to another user";
  give(65534, 0, 04755);
  EXPECT_NE(obstacle().find("is set-uid"), std::string::npos) << obstacle();
  give(0, 65534, 02755);
  EXPECT_NE(obstacle().find("is set-gid"), std::string::npos) << obstacle();
}

TEST_F(PrivilegeTest, OfOnesOwnIsNone) {
  give(getuid(), getgid(), 06755);
  EXPECT_EQ(obstacle(), "");
  if (getuid() != 0) return;
  give(65534, 65534, 0755);
  EXPECT_EQ(obstacle(), "") << "another's, who gives nothing";
  give(0, 65534, 02644 | 0101);
  EXPECT_EQ(obstacle(), "") << "a lock, not a group";
}

TEST_F(PrivilegeTest, IsNoneWhereNoProgramMayGainAny) {
  if (getuid() != 0 || getgid() != 0)
    GTEST_SKIP() << "only root can give a program to another user";
  for (const auto& [user, group, mode] :
       {std::tuple(65534u, 0u, 04755u), std::tuple(0u, 65534u, 02755u)}) {
    give(user, group, mode);
    EXPECT_NE(obstacle(), "");
    EXPECT_EQ(inChild([&] {
                return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && obstacle().empty() ? 0 : 1;
              }),
              0);
  }
}

TEST_F(PrivilegeTest, IsNoneOnAFileSystemThatGivesNone) {
  if (getuid() != 0 || getgid() != 0) GTEST_SKIP() << "only root can mount a file system";
  constexpr int kNoMount = 2;
  const auto ended = inChild([&] {
    const auto place = folder_ / "nosuid";
    std::filesystem::create_directory(place);
    if (unshare(CLONE_NEWNS) != 0 ||
        mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("none", place.c_str(), "tmpfs", MS_NOSUID, nullptr) != 0) {
      return kNoMount;
    }
    std::filesystem::copy_file(copy_, place / "copy");
    copy_ = place / "copy";
    give(65534, 0, 04755);
    return obstacle().empty() ? 0 : 1;
  });
  if (ended == kNoMount) GTEST_SKIP() << "nothing can be mounted here";
  EXPECT_EQ(ended, 0);
}

TEST_F(PrivilegeTest, OfAScriptIsThatOfItsInterpreter) {
  give(getuid(), getgid(), 0755);
  const auto script = file("script", "#!" + copy_.string() + "\n", 0755);
  if (getuid() != 0) GTEST_SKIP() << "only root can give a program to another user";
  ASSERT_EQ(chown(script.c_str(), 65534, 65534), 0);
  ASSERT_EQ(chmod(script.c_str(), 06755), 0);
  EXPECT_TRUE(findProgram(script)->limits().empty()) << "the kernel does not heed it";
  give(65534, 0, 04755);
  EXPECT_FALSE(findProgram(script)->limits().empty());
}

TEST_F(PrivilegeTest, CapabilitiesOfTheFileAreNoticedByWhoHasNone) {
  if (getuid() != 0) GTEST_SKIP() << "only root can give capabilities";
  const vfs_cap_data raw{VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE,
                         {{1u << CAP_NET_RAW, 0}, {0, 0}}};
  if (setxattr(copy_.c_str(), "security.capability", &raw, sizeof raw, 0) != 0) {
    GTEST_SKIP() << "no capabilities of files here";
  }
  EXPECT_EQ(obstacle(), "") << "root has them";
  std::filesystem::permissions(folder_, std::filesystem::perms::all);
  ASSERT_EQ(setresuid(65534, 65534, 0), 0);
  EXPECT_NE(obstacle().find("has file capabilities"), std::string::npos) << obstacle();
  EXPECT_EQ(inChild([&] {
              return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && !obstacle().empty() ? 0 : 1;
            }),
            0)
      << "which count as rights of its own although it gets none of them";
  ASSERT_EQ(setresuid(0, 0, 0), 0);
}

}  // namespace
}  // namespace lacuna::collector
