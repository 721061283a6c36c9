// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "held_interrupts.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "lacuna/prof/reader.h"
#include "lacuna/prof/writer.h"
#include "timeline_blocks.h"

namespace lacuna::cli {
namespace {

TEST(HeldInterrupts, OneThatComesIsReportedAndEndsNothing) {
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

/// The same of what is laid out in a trace: the interrupt comes while the thread has it blocked, as
/// one does meanwhile.
TEST(AddTimeline, AnInterruptIsReportedAndTheTraceIsComplete) {
  const std::filesystem::path file = std::filesystem::temp_directory_path() /
                                     ("lacuna-timeline-test-" + std::to_string(getpid()) + ".lcn");
  auto writer = prof::Writer::create(file);
  ASSERT_TRUE(writer.ok());
  writer->append(prof::Mark{.timeNs = 1});
  ASSERT_TRUE(writer->finish().ok());
  EXPECT_TRUE(addTimeline(file));
  sigset_t interrupt;
  sigset_t before;
  sigset_t pending;
  sigemptyset(&interrupt);
  sigaddset(&interrupt, SIGINT);
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &interrupt, &before), 0);
  raise(SIGINT);
  EXPECT_FALSE(addTimeline(file));
  ASSERT_EQ(sigpending(&pending), 0);
  EXPECT_EQ(sigismember(&pending, SIGINT), 0);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  const auto reader = prof::Reader::open(file);
  ASSERT_TRUE(reader.ok());
  EXPECT_TRUE(reader->complete());
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace lacuna::cli
