// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "sampler/scan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "proc/proc_file.h"

namespace lacuna::collector::proc {
namespace {

using sampler::PerfRecord;

/// A child that has a child; both wait until this goes.
class Family {
 public:
  Family() {
    int ends[2];
    if (pipe(ends) != 0) return;
    parent_ = fork();
    if (parent_ == 0) {
      const pid_t child = fork();
      if (child != 0 && ::write(ends[1], &child, sizeof child) != sizeof child) _exit(1);
      pause();
      _exit(0);
    }
    if (::read(ends[0], &child_, sizeof child_) != sizeof child_) child_ = 0;
    close(ends[0]);
    close(ends[1]);
  }
  ~Family() {
    if (child_ > 0) ::kill(child_, SIGKILL);
    ::kill(parent_, SIGKILL);
    waitpid(parent_, nullptr, 0);
  }
  Family(const Family&) = delete;
  Family& operator=(const Family&) = delete;
  /// The child ends, and its parent does not ask for its status.
  void endChild() const {
    ::kill(child_, SIGKILL);
    Stat stat;
    while (readStat("/proc/" + std::to_string(child_) + "/stat", stat) && stat.state != 'Z')
      usleep(1000);
  }
  [[nodiscard]] std::uint32_t parent() const { return static_cast<std::uint32_t>(parent_); }
  [[nodiscard]] std::uint32_t child() const { return static_cast<std::uint32_t>(child_); }

 private:
  pid_t parent_ = 0;
  pid_t child_ = 0;
};

/// The processes that begin, in order, and whose child each is. A sanitizer may give them threads
/// of its own.
std::vector<std::pair<std::uint32_t, std::uint32_t>> beginningsIn(
    const std::vector<PerfRecord>& records) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> beginnings;
  for (const PerfRecord& record : records) {
    const bool begins = record.kind == PerfRecord::Kind::Fork && record.tid == record.pid;
    if (begins) beginnings.emplace_back(record.pid, record.parentPid);
  }
  return beginnings;
}

/// Looks for the family's parent and those below it.
class ScanTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_GT(family_.child(), 0u); }

  const Family family_;
  Scan scan_{family_.parent(), true};
  std::vector<PerfRecord> records_;
};

using testing::ElementsAre;
using testing::Pair;

TEST_F(ScanTest, TheStateOfAThreadIsReadAgainAndAgain) {
  proc::StateFile state;
  EXPECT_NE(std::string_view("RSD").find(state.read(family_.child(), family_.child())),
            std::string_view::npos);
  family_.endChild();
  EXPECT_EQ(state.read(family_.child(), family_.child()), 'Z');
  proc::StateFile nobody;
  EXPECT_EQ(nobody.read(family_.parent(), 1), 0) << "it has no such thread";
}

TEST_F(ScanTest, ReportsAParentBeforeItsChildThatWasSeenFirst) {
  scan_.meet(family_.child(), family_.parent(), "child", nowNs(), records_);
  scan_.scan(nowNs(), true, records_);
  EXPECT_THAT(beginningsIn(records_),
              ElementsAre(Pair(family_.parent(), 0u), Pair(family_.child(), family_.parent())));
}

TEST_F(ScanTest, PutsNobodyBeforeItsParent) {
  const prof::TimeNs parentNs = nowNs();
  scan_.meet(family_.parent(), 0, "parent", parentNs, records_);
  scan_.meet(family_.child(), family_.parent(), "child", parentNs - 9'000'000, records_);
  for (const PerfRecord& record : records_) EXPECT_GE(record.timeNs, parentNs) << record.pid;
}

TEST_F(ScanTest, ReportsOnceAProcessThatIsSeenAfterItsEnd) {
  const prof::TimeNs begunNs = nowNs();
  scan_.scan(nowNs(), true, records_);
  family_.endChild();
  scan_.scan(nowNs(), true, records_);
  scan_.meet(family_.child(), family_.parent(), "child", begunNs, records_);
  EXPECT_THAT(beginningsIn(records_),
              ElementsAre(Pair(family_.parent(), 0u), Pair(family_.child(), family_.parent())));
  // A number that comes again is another process.
  scan_.meet(family_.child(), family_.parent(), "another", nowNs(), records_);
  EXPECT_EQ(beginningsIn(records_).size(), 3u);
}

TEST_F(ScanTest, EndsNobodyBeforeItsLastSample) {
  scan_.scan(nowNs(), true, records_);
  const prof::TimeNs begunNs = nowNs();  // of a scan that takes its time
  family_.endChild();
  const prof::TimeNs lastNs = nowNs();
  scan_.scan(begunNs, true, records_);
  EXPECT_EQ(records_.back().kind, PerfRecord::Kind::Exit);
  EXPECT_EQ(records_.back().pid, family_.child());
  EXPECT_GE(records_.back().timeNs, lastNs);
}

TEST_F(ScanTest, AnEndingProcessRunsNoOtherProgram) {
  scan_.scan(nowNs(), true, records_);
  family_.endChild();  // nobody can read its program any more
  records_.clear();
  scan_.meet(family_.child(), family_.parent(), "child", nowNs(), records_);
  for (const PerfRecord& record : records_) EXPECT_FALSE(record.exec);
}

/// A child of this process that waits to be killed; with a number, it gets that one. -1 where that
/// is not allowed.
pid_t waitingChild(pid_t number = 0) {
  clone_args arguments{};
  arguments.exit_signal = SIGCHLD;
  if (number != 0) {
    arguments.set_tid = reinterpret_cast<std::uintptr_t>(&number);
    arguments.set_tid_size = 1;
  }
  const auto child = static_cast<pid_t>(syscall(SYS_clone3, &arguments, sizeof arguments));
  if (child == 0) {
    for (;;) pause();
  }
  return child;
}

std::uint64_t startTicksOf(pid_t pid) {
  Stat stat;
  return readStat("/proc/" + std::to_string(pid) + "/stat", stat) ? stat.startTicks : 0;
}

void endAndReap(pid_t pid) {
  ::kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
}

TEST(Scan, AThreadWhoseNumberIsGivenAgainEndsBeforeTheNextBegins) {
  const pid_t first = waitingChild();
  if (first < 0) GTEST_SKIP() << "clone3 is not allowed here";
  const std::uint64_t began = startTicksOf(first);
  Scan scan(static_cast<std::uint32_t>(first), true);
  std::vector<PerfRecord> records;
  scan.scan(nowNs(), true, records);
  pid_t again = first;
  // Until the kernel's hundredths of a second differ.
  for (int tries = 0; again == first && startTicksOf(first) == began && tries < 10'000; ++tries) {
    endAndReap(first);
    again = waitingChild(first);
  }
  if (again != first) GTEST_SKIP() << "nobody may choose a process's number here";
  records.clear();
  scan.scan(nowNs(), true, records);
  endAndReap(first);
  ASSERT_GE(records.size(), 2u);
  EXPECT_EQ(records[0].kind, PerfRecord::Kind::Exit);
  EXPECT_EQ(records[1].kind, PerfRecord::Kind::Fork);
  EXPECT_LE(records[0].timeNs, records[1].timeNs);
  EXPECT_EQ(records[0].pid, records[1].pid);
}

TEST_F(ScanTest, LeavesOutWhatIsNotOfTheProgram) {
  Scan ofChild(family_.child(), true);
  ofChild.meet(family_.child(), 1, "child", nowNs(), records_);
  EXPECT_THAT(beginningsIn(records_), ElementsAre(Pair(family_.child(), 1u)));
}

}  // namespace
}  // namespace lacuna::collector::proc
