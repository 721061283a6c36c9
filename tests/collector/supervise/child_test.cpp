// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "supervise/child.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace lacuna::collector {
namespace {

SpawnRequest shell(const std::string& script) {
  SpawnRequest request;
  request.program = "/bin/sh";
  request.arguments = {"sh", "-c", script};
  request.environment = {"PATH=/usr/bin:/bin"};
  sigprocmask(SIG_SETMASK, nullptr, &request.signalMask);
  return request;
}

Exit waitFor(pid_t pid) {
  for (int i = 0; i < 12'000; ++i) {
    const auto reaped = reap(pid);
    if (const auto found = reaped.ended.find(pid); found != reaped.ended.end())
      return found->second;
    poll(nullptr, 0, 5);
  }
  ADD_FAILURE() << "the child did not end";
  return {};
}

TEST(Child, ExitCodeIsKept) {
  EXPECT_EQ(waitFor(*spawn(shell("exit 42"))).code, 42);
}

TEST(Child, KillingSignalIsKept) {
  const Exit exit = waitFor(*spawn(shell("kill -SEGV $$")));
  EXPECT_EQ(exit.signal, SIGSEGV);
  EXPECT_EQ(exit.shellCode(), 128 + SIGSEGV);
}

TEST(Child, WhatCannotBeExecutedIsAnError) {
  auto request = shell("");
  request.program = "/no/such/program";
  const auto pid = spawn(request);
  ASSERT_FALSE(pid);
  EXPECT_NE(pid.error().message.find("/no/such/program"), std::string::npos);
}

TEST(Child, AScriptWithAMissingInterpreterIsReported) {
  const auto script =
      std::filesystem::temp_directory_path() / ("lacuna-child-test-" + std::to_string(getpid()));
  std::ofstream(script) << "#!/no/such/interpreter\n";
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  auto request = shell("");
  request.program = script;
  const auto pid = spawn(request);
  std::filesystem::remove(script);
  ASSERT_FALSE(pid);
  EXPECT_NE(pid.error().message.find("interpreter is missing"), std::string::npos)
      << pid.error().message;
}

TEST(Child, WaitsUntilTheParentIsReady) {
  int pipes[2];
  ASSERT_EQ(pipe(pipes), 0);
  auto request = shell("echo started >&" + std::to_string(pipes[1]));
  bool early = false;
  request.beforeExec = [&](pid_t) {
    pollfd readable{pipes[0], POLLIN, 0};
    early = poll(&readable, 1, 50) > 0;
  };
  const auto pid = spawn(request);
  ASSERT_TRUE(pid);
  waitFor(*pid);
  EXPECT_FALSE(early);
  pollfd readable{pipes[0], POLLIN, 0};
  EXPECT_EQ(poll(&readable, 1, 0), 1);
  close(pipes[0]);
  close(pipes[1]);
}

TEST(Child, OrphansAreReaped) {
  adoptOrphans();
  // The shell ends at once; the process it leaves behind becomes ours.
  const auto pid = spawn(shell("(sleep 0.05; exit 3) & exit 0"));
  ASSERT_TRUE(pid);
  int orphanCode = -1;
  for (int i = 0; i < 12'000 && orphanCode < 0; ++i) {
    for (const auto& [ended, exit] : reap(*pid).ended) {
      if (ended != *pid) orphanCode = exit.code;
    }
    poll(nullptr, 0, 5);
  }
  EXPECT_EQ(orphanCode, 3);
}

}  // namespace
}  // namespace lacuna::collector
