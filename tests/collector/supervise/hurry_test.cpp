// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "supervise/hurry.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace lacuna::collector {
namespace {

constexpr int kNotHeard = 1, kTooEarly = 2, kLivesOn = 3;

void waitFor(const Hurry& hurry) {
  for (int i = 0; i < 1000 && !hurry.wanted(); ++i) usleep(10'000);
}

/// Exit status of a child that did this between the end of its program and the end of its trace.
template <class Work>
int statusOf(const Work& work) {
  const pid_t child = fork();
  if (child == 0) {
    SignalRelay signals;
    kill(getpid(), SIGTERM);  // the program's
    work(signals);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

TEST(Hurry, TheFirstSignalBehindTheProgramsEndAsksForLess) {
  EXPECT_EQ(statusOf([](SignalRelay& signals) {
              const Hurry hurry(signals, "/no/such/recording");
              usleep(100'000);
              if (hurry.wanted()) _exit(kTooEarly);
              kill(getpid(), SIGTERM);
              waitFor(hurry);
              if (!hurry.wanted()) _exit(kNotHeard);
            }),
            0);
}

TEST(Hurry, TheSecondOneEndsAtOnce) {
  const int status = statusOf([](SignalRelay& signals) {
    const Hurry hurry(signals, "/no/such/recording");
    kill(getpid(), SIGINT);
    waitFor(hurry);
    kill(getpid(), SIGTERM);
    sleep(30);
    _exit(kLivesOn);
  });
  ASSERT_TRUE(WIFSIGNALED(status)) << WEXITSTATUS(status);
  EXPECT_EQ(WTERMSIG(status), SIGTERM);
}

TEST(Hurry, OtherSignalsMeanNothing) {
  EXPECT_EQ(statusOf([](SignalRelay& signals) {
              const Hurry hurry(signals, "/no/such/recording");
              for (const int number : {SIGCHLD, SIGUSR1, SIGWINCH}) kill(getpid(), number);
              usleep(200'000);
              if (hurry.wanted()) _exit(kTooEarly);
            }),
            0);
}

}  // namespace
}  // namespace lacuna::collector
