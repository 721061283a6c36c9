// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "supervise/capture_watch.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lacuna/prof/process.h"

namespace lacuna::collector {
namespace {

class CaptureWatchTest : public testing::Test {
 protected:
  /// A process opens so many capture ranges.
  CaptureSlot& opens(std::uint32_t pid, std::uint64_t pidNamespace, std::uint32_t count) {
    CaptureSlot& slot = control_.captureSlots[slots_++];
    slot.owner = CaptureSlot::ownerOf(pid, pidNamespace);
    slot.open = count;
    control_.enabled = 1;
    return slot;
  }
  static std::uint32_t endedProcess() {
    const pid_t pid = fork();
    if (pid == 0) _exit(0);
    waitpid(pid, nullptr, 0);
    return static_cast<std::uint32_t>(pid);
  }

  Control control_;
  CaptureWatch watch_{control_};
  std::size_t slots_ = 0;
  std::uint64_t ours_ = prof::ownPidNamespace();
  std::uint32_t self_ = static_cast<std::uint32_t>(getpid());
};

TEST_F(CaptureWatchTest, WhatAnEndedProcessLeavesOpenIsClosed) {
  const CaptureSlot& slot = opens(endedProcess(), ours_, 3);
  watch_.check();
  EXPECT_EQ(slot.open, 0u);
  EXPECT_EQ(slot.owner, 0u) << "free for another";
  EXPECT_EQ(control_.enabled, 0u);
}

TEST_F(CaptureWatchTest, ItGoesOnWhileAnotherHasOneOpen) {
  opens(endedProcess(), ours_, 1);
  const CaptureSlot& living = opens(self_, ours_, 1);
  watch_.check();
  EXPECT_EQ(living.open, 1u);
  EXPECT_EQ(control_.enabled, 1u);
  watch_.ended(getpid());
  EXPECT_EQ(living.open, 0u);
  EXPECT_EQ(control_.enabled, 0u);
}

TEST_F(CaptureWatchTest, AnEndOfTheSameNumberInAnotherNamespaceIsNotItsEnd) {
  const CaptureSlot& slot = opens(self_, 1, 1);
  watch_.ended(getpid());
  EXPECT_EQ(slot.open, 1u);
  EXPECT_EQ(control_.enabled, 1u);
}

TEST_F(CaptureWatchTest, ItSwitchesOnlyWhatACaptureSwitched) {
  opens(endedProcess(), ours_, 0);
  watch_.check();
  EXPECT_EQ(control_.enabled, 1u);
}

}  // namespace
}  // namespace lacuna::collector
