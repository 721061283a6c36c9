// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "held_interrupts.h"

#include <gtest/gtest.h>
#include <signal.h>

namespace lacuna::cli {
namespace {

TEST(HeldInterrupts, OneThatComesIsToldAndEndsNothing) {
  sigset_t before;
  sigset_t after;
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, nullptr, &before), 0);
  {
    const HeldInterrupts held;
    EXPECT_FALSE(held.came());
    raise(SIGINT);
    EXPECT_TRUE(held.came());
  }
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, nullptr, &after), 0);
  EXPECT_EQ(sigismember(&after, SIGINT), sigismember(&before, SIGINT));
}

TEST(HeldInterrupts, WhatIsIgnoredIsNone) {
  signal(SIGHUP, SIG_IGN);
  {
    const HeldInterrupts held;
    raise(SIGHUP);
    EXPECT_FALSE(held.came());
  }
  signal(SIGHUP, SIG_DFL);
}

}  // namespace
}  // namespace lacuna::cli
