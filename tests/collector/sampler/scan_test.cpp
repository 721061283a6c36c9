// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "proc/scan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/clock.h"

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
    while (readStat("/proc/" + std::to_string(child_) + "/stat", stat) && stat.state != 'Z') usleep(1000);
  }
  [[nodiscard]] std::uint32_t parent() const { return static_cast<std::uint32_t>(parent_); }
  [[nodiscard]] std::uint32_t child() const { return static_cast<std::uint32_t>(child_); }

 private:
  pid_t parent_ = 0;
  pid_t child_ = 0;
};

/// The processes that begin, in order, and whose child each is. A sanitizer may give them threads of its own.
std::vector<std::pair<std::uint32_t, std::uint32_t>> beginningsIn(const std::vector<PerfRecord>& records) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> beginnings;
  for (const PerfRecord& record : records) {
    const bool begins = record.kind == PerfRecord::Kind::Fork && record.tid == record.pid;
    if (begins) beginnings.emplace_back(record.pid, record.parentPid);
  }
  return beginnings;
}

using testing::ElementsAre;
using testing::Pair;

TEST(Scan, TellsOfAParentBeforeItsChildThatWasHeardOfFirst) {
  const Family family;
  ASSERT_GT(family.child(), 0u);
  Scan scan(family.parent(), true);
  std::vector<PerfRecord> records;
  scan.meet(family.child(), family.parent(), "child", nowNs(), records);
  scan.look(nowNs(), true, records);
  EXPECT_THAT(beginningsIn(records), ElementsAre(Pair(family.parent(), 0u), Pair(family.child(), family.parent())));
}

TEST(Scan, PutsNobodyBeforeItsParent) {
  const Family family;
  ASSERT_GT(family.child(), 0u);
  Scan scan(family.parent(), true);
  std::vector<PerfRecord> records;
  const prof::TimeNs parentNs = nowNs();
  scan.meet(family.parent(), 0, "parent", parentNs, records);
  scan.meet(family.child(), family.parent(), "child", parentNs - 9'000'000, records);
  for (const PerfRecord& record : records) EXPECT_GE(record.timeNs, parentNs) << record.pid;
}

TEST(Scan, TellsOnceOfAProcessThatIsHeardOfAfterItsEnd) {
  const Family family;
  ASSERT_GT(family.child(), 0u);
  Scan scan(family.parent(), true);
  std::vector<PerfRecord> records;
  const prof::TimeNs begunNs = nowNs();
  scan.look(nowNs(), true, records);
  family.endChild();
  scan.look(nowNs(), true, records);
  scan.meet(family.child(), family.parent(), "child", begunNs, records);
  EXPECT_THAT(beginningsIn(records), ElementsAre(Pair(family.parent(), 0u), Pair(family.child(), family.parent())));
  // A number that comes again is another process.
  scan.meet(family.child(), family.parent(), "another", nowNs(), records);
  EXPECT_EQ(beginningsIn(records).size(), 3u);
}

TEST(Scan, EndsNobodyBeforeItsLastSample) {
  const Family family;
  ASSERT_GT(family.child(), 0u);
  Scan scan(family.parent(), true);
  std::vector<PerfRecord> records;
  scan.look(nowNs(), true, records);
  const prof::TimeNs begunNs = nowNs();  // of a look that takes its time
  family.endChild();
  const prof::TimeNs lastNs = nowNs();
  scan.look(begunNs, true, records);
  EXPECT_EQ(records.back().kind, PerfRecord::Kind::Exit);
  EXPECT_EQ(records.back().pid, family.child());
  EXPECT_GE(records.back().timeNs, lastNs);
}

TEST(Scan, AnEndingProcessRunsNoOtherProgram) {
  const Family family;
  ASSERT_GT(family.child(), 0u);
  Scan scan(family.parent(), true);
  std::vector<PerfRecord> records;
  scan.look(nowNs(), true, records);
  family.endChild();  // nobody can read its program any more
  records.clear();
  scan.meet(family.child(), family.parent(), "child", nowNs(), records);
  for (const PerfRecord& record : records) EXPECT_FALSE(record.exec);
}

TEST(Scan, LeavesOutWhatIsNotOfTheProgram) {
  const Family family;
  ASSERT_GT(family.child(), 0u);
  Scan scan(family.child(), true);
  std::vector<PerfRecord> records;
  scan.meet(family.child(), 1, "child", nowNs(), records);
  EXPECT_THAT(beginningsIn(records), ElementsAre(Pair(family.child(), 1u)));
}

}  // namespace
}  // namespace lacuna::collector::proc
