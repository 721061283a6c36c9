// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/time.h>

#include <utility>
#include <vector>

#include "e2e/run_fixture.h"

namespace lacuna {
namespace {

/// `lacuna run` as a terminal, a shell or an alarm clock finds it. A minute is forever here.
class SignalTest : public RunTest {
 protected:
  ~SignalTest() override {
    if (terminal_ >= 0) close(terminal_);
  }

  /// Starts `lacuna run` on these words in the background, after `prepare` in its process.
  template <class Prepare>
  pid_t start(std::vector<std::string> words, Prepare&& prepare) {
    const std::string lacuna = program("lacuna");
    words.insert(words.begin(), {lacuna, "run", "-q", "--force", "-o", "out.lcn", "--"});
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const pid_t pid = fork();
    if (pid != 0) return pid;
    if (chdir(folder_.c_str()) != 0) _exit(126);
    prepare();
    execv(lacuna.c_str(), arguments.data());
    _exit(126);
  }
  /// As the leader of the session of a terminal of its own (ssh -t, xterm -e).
  pid_t startOnTerminal(const std::vector<std::string>& words) {
    terminal_ = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (terminal_ < 0 || grantpt(terminal_) != 0 || unlockpt(terminal_) != 0) return -1;
    const std::string name = ptsname(terminal_);
    return start(words, [&] {
      setsid();
      const int end = open(name.c_str(), O_RDWR);
      ioctl(end, TIOCSCTTY, 0);
      for (const int stream : {0, 1, 2}) dup2(end, stream);
      if (end > 2) close(end);
    });
  }
  bool appears(const std::string& file) {
    for (int i = 0; i < 3000 && !fs::exists(folder_ / file); ++i) usleep(20000);
    return fs::exists(folder_ / file);
  }
  /// Its wait status; that of a kill where it does not end by itself.
  static int statusOf(pid_t pid) {
    int status = 0;
    for (int i = 0; i < 3000; ++i) {
      if (waitpid(pid, &status, WNOHANG) == pid) return status;
      usleep(20000);
    }
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    return status;
  }
  static void expectKilledBy(int signal, pid_t run) {
    const int status = statusOf(run);
    ASSERT_TRUE(WIFSIGNALED(status)) << WEXITSTATUS(status);
    EXPECT_EQ(WTERMSIG(status), signal);
  }
  /// In a shell: until the process is stopped.
  static std::string untilStopped(const std::string& process) {
    return "for i in $(seq 600); do grep -q '^State:.T' /proc/" + process +
           "/status && break; sleep 0.05; done; ";
  }

  int terminal_ = -1;
};

TEST_F(SignalTest, AProgramThatIsStoppedAndContinuedByItselfGoesOn) {
  const std::string script = "(" + untilStopped("$$") + untilStopped("$PPID") +
                             "kill -CONT $$) & kill -STOP $$; echo resumed >resumed.txt";
  EXPECT_EQ(WEXITSTATUS(statusOf(start({"sh", "-c", script}, [] {}))), 0);
  EXPECT_EQ(textOf("resumed.txt"), "resumed\n");
}

TEST_F(SignalTest, AProgramThatIsKilledWhileStoppedEndsTheRun) {
  const std::string script =
      "(" + untilStopped("$$") + untilStopped("$PPID") + "kill -KILL $$) & kill -STOP $$";
  expectKilledBy(SIGKILL, start({"sh", "-c", script}, [] {}));
  EXPECT_TRUE(fs::exists(folder_ / "out.lcn")) << "it was not the run that was killed";
}

TEST_F(SignalTest, ATerminalThatHangsUpReachesTheProgram) {
  const pid_t run = startOnTerminal({program("ending_program"), "wait"});
  ASSERT_TRUE(appears("place.txt"));
  close(std::exchange(terminal_, -1));
  expectKilledBy(SIGHUP, run);
  EXPECT_EQ(rangesOf(trace()).at("before"), 1000) << "and what it had recorded is there";
}

TEST_F(SignalTest, AnInterruptReachesAProgramInAGroupOfItsOwn) {
  // timeout(1) makes one, and ends as its program does.
  const pid_t run = startOnTerminal({"timeout", "100", program("ending_program"), "wait"});
  ASSERT_TRUE(appears("place.txt"));
  ASSERT_EQ(write(terminal_, "\003", 1), 1);
  expectKilledBy(SIGINT, run);
  EXPECT_EQ(rangesOf(trace()).at("before"), 1000);
}

TEST_F(SignalTest, AnAlarmSetBeforeTheRunRingsInTheProgram) {
  expectKilledBy(SIGALRM, start({"sleep", "30"}, [] {
                   const itimerval oneSecond{{1, 0}, {1, 0}};
                   setitimer(ITIMER_REAL, &oneSecond, nullptr);
                 }));
}

TEST_F(SignalTest, WhatIsIgnoredAroundTheRunIsIgnoredInTheProgram) {
  // No shell in between: that would want to know of its children.
  const pid_t run = start({"grep", "SigIgn", "/proc/self/status"}, [] {
    dup2(open("ignored.txt", O_WRONLY | O_CREAT, 0600), STDOUT_FILENO);
    signal(SIGCHLD, SIG_IGN);
    signal(SIGUSR1, SIG_IGN);
    signal(SIGBUS, SIG_IGN);
  });
  EXPECT_EQ(WEXITSTATUS(statusOf(run)), 0);
  const std::string text = textOf("ignored.txt");
  ASSERT_NE(text.find(':'), std::string::npos);
  const auto ignored = std::stoull(text.substr(text.find(':') + 1), nullptr, 16);
  EXPECT_NE(ignored & (1ull << (SIGCHLD - 1)), 0u);
  EXPECT_NE(ignored & (1ull << (SIGUSR1 - 1)), 0u);
  EXPECT_NE(ignored & (1ull << (SIGBUS - 1)), 0u);
}

TEST_F(SignalTest, AHangupThatIsIgnoredLeavesBackgroundProcessesRecorded) {
  std::ofstream(folder_ / "program.sh")
      << "echo $$ >pid.txt; exec " << program("ending_program") << " background\n";
  const pid_t run = start({"sh", "program.sh"}, [] { signal(SIGHUP, SIG_IGN); });
  ASSERT_TRUE(appears("place.txt"));
  // Gone: its end has been seen, and what runs on is waited for.
  ASSERT_EQ(shell(untilGone("$(cat pid.txt)") + "! kill -0 $(cat pid.txt) 2>/dev/null"), 0);
  kill(run, SIGHUP);
  std::ofstream(folder_ / "go") << "";
  EXPECT_EQ(WEXITSTATUS(statusOf(run)), 0);
  EXPECT_EQ(rangesOf(trace()), (std::map<std::string, int>{{"before", 1000}, {"background", 500}}));
}

}  // namespace
}  // namespace lacuna
