// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/prof/process.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "libprof/record/recorded.h"
#include "record/drain/saver.h"
#include "record/drain/trace_state.h"
#include "record/drain/trace_state_access.h"

namespace lacuna::prof {
namespace {

using Where = FoundProcess::Where;

/// A process that waits in a PID namespace of its own, where it is number 1.
class NamespacedChild {
 public:
  NamespacedChild() {
    outer_ = fork();
    if (outer_ == 0) {
      if (unshare(CLONE_NEWPID) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0) _exit(1);
      const pid_t inner = fork();
      if (inner == 0) pause();
      (void)!write(pipe_[1], &inner, sizeof inner);
      waitpid(inner, nullptr, 0);
      _exit(0);
    }
    close(pipe_[1]);
    if (read(pipe_[0], &pid_, sizeof pid_) != sizeof pid_) pid_ = 0;
    struct stat status {};
    const std::string at = "/proc/" + std::to_string(pid_) + "/ns/pid";
    if (pid_ > 0 && stat(at.c_str(), &status) == 0) number_ = {1, status.st_ino, 0};
  }
  ~NamespacedChild() {
    end();
    close(pipe_[0]);
  }
  void end() {
    if (pid_ > 0) kill(pid_, SIGKILL);
    if (outer_ > 0) waitpid(outer_, nullptr, 0);
    pid_ = outer_ = 0;
  }
  [[nodiscard]] bool runs() const { return number_.pidNamespace != 0; }
  [[nodiscard]] OwnNumber number() const { return number_; }
  [[nodiscard]] std::uint32_t pid() const { return static_cast<std::uint32_t>(pid_); }
  [[nodiscard]] std::uint32_t parent() const { return static_cast<std::uint32_t>(outer_); }

 private:
  int pipe_[2] = {-1, -1};
  [[maybe_unused]] const int made_ = pipe(pipe_);
  pid_t outer_ = 0;
  pid_t pid_ = 0;
  OwnNumber number_;
};

TEST(FindProcess, OneOfAnotherNamespaceHasItsNumberHere) {
  const NamespacedChild child;
  if (!child.runs()) GTEST_SKIP() << "PID namespaces are not allowed here";
  EXPECT_TRUE(isForeign(child.number()));
  const FoundProcess found = findProcess(child.number());
  EXPECT_EQ(found.where, Where::Here);
  EXPECT_EQ(found.pid, child.pid());
  EXPECT_EQ(found.parent, child.parent());
  EXPECT_EQ(findThread(found.pid, 1), child.pid());
  EXPECT_EQ(findThread(found.pid, 4711), 0u);
}

TEST(FindProcess, OneThatBeganAtAnotherTimeIsAnother) {
  const NamespacedChild child;
  if (!child.runs()) GTEST_SKIP() << "PID namespaces are not allowed here";
  OwnNumber number = child.number();
  number.startTicks = 1;
  EXPECT_EQ(findProcess(number).where, Where::Gone);
}

TEST(FindProcess, OneThatWasSeenAndIsNotAnyMoreHasEnded) {
  NamespacedChild child;
  if (!child.runs()) GTEST_SKIP() << "PID namespaces are not allowed here";
  ASSERT_EQ(findProcess(child.number()).where, Where::Here);
  child.end();
  EXPECT_EQ(findProcess(child.number()).where, Where::Gone);
}

TEST(FindProcess, OfANamespaceThatCannotBeSeenNothingIsKnown) {
  // In the machine's first namespace all others can be seen.
  const bool all = ownPidNamespace() == 0xeffffffc && std::ifstream("/proc/1/status").good();
  EXPECT_EQ(findProcess({1, 1, 0}).where, all ? Where::Gone : Where::Unseen);
}

TEST(FindProcess, OursKeepTheirNumber) {
  const auto self = static_cast<std::uint32_t>(getpid());
  const OwnNumber number{self, ownPidNamespace(), 0};
  EXPECT_FALSE(isForeign(number));
  EXPECT_FALSE(isForeign({self, 0, 0})) << "it does not know its namespace";
  const FoundProcess found = findProcess(number);
  EXPECT_EQ(found.where, Where::Here);
  EXPECT_EQ(found.pid, self);
  EXPECT_EQ(found.parent, static_cast<std::uint32_t>(getppid()));
  EXPECT_EQ(findProcess({self, 0, 1}).where, Where::Gone)
      << "one that began just after the machine did";
}

/// A process with threads that recorders report.
class ThreadNumbers : public RecordingTest {
 protected:
  void SetUp() override {
    RecordingTest::SetUp();
    auto writer = Writer::create(trace());
    ASSERT_OK(writer);
    trace_.emplace(std::move(*writer));
    process_ = trace_->processOf(1);
  }
  ThreadId enters(TimeNs startNs) {
    const ThreadId id = trace_->enterThread(process_, 5, startNs);
    if (trace_->threadInfo(id).startNs == 0) trace_->threadInfo(id).startNs = startNs;
    return id;
  }
  void leaves(ThreadId id, TimeNs endNs) {
    trace_->leaveThread(id);
    trace_->endThread(id, endNs);
  }
  recording::TraceState saveAndLoad() {
    recording::Saver saver;
    trace_->save(saver);
    auto writer = Writer::create(home_ / "again.lcn");
    EXPECT_TRUE(writer.ok());
    recording::TraceState again(std::move(*writer));
    recording::Loader loader(saver.bytes());
    again.load(loader);
    EXPECT_TRUE(loader.ok());
    return again;
  }
  static constexpr TimeNs kSecond = 1'000'000'000;

  std::optional<recording::TraceState> trace_;
  ProcessId process_;
};

TEST_F(ThreadNumbers, AProcessThatRunsAnotherProgramHasNotTheLineOfTheOneBefore) {
  recording::TraceStateAccess outside(*trace_);
  const ProcessId parent = outside.beginProcess(7, {}, kSecond);
  outside.nameProcess(parent, "sh", "sh script");
  const ProcessId child = outside.beginProcess(8, parent, 2 * kSecond);
  EXPECT_EQ(trace_->processInfo(child).commandLine, "sh script")
      << "as long as it runs what its parent runs";
  outside.nameProcess(outside.execProcess(child, 3 * kSecond), "echo", "");
  EXPECT_EQ(trace_->processInfo(child).name, "echo");
  EXPECT_EQ(trace_->processInfo(child).commandLine, "");
}

TEST_F(ThreadNumbers, OneThatIsGivenAgainBeforeTheEndWasSeenFromOutsideIsAnotherThread) {
  const ThreadId first = trace_->beginThread(process_, 5, kSecond);
  EXPECT_EQ(enters(kSecond + 10), first);
  leaves(first, 2 * kSecond);
  const ThreadId second = enters(3 * kSecond);
  EXPECT_NE(second, first);
  EXPECT_EQ(trace_->beginThread(process_, 5, 3 * kSecond), second) << "seen from outside, later";
}

TEST_F(ThreadNumbers, ARecorderThatMetItBeforeItsEndMeansTheSameThread) {
  const ThreadId first = enters(kSecond);
  leaves(first, 3 * kSecond);
  EXPECT_EQ(enters(2 * kSecond), first);
}

TEST_F(ThreadNumbers, WhatAThreadRecordsAtItsVeryEndIsItsOwn) {
  const ThreadId first = enters(kSecond);
  leaves(first, 2 * kSecond);
  EXPECT_EQ(enters(2 * kSecond + 50'000), first);
}

TEST_F(ThreadNumbers, WhatAProcessCallsAThreadIsTheNextOnesWhenItIsGivenAgain) {
  const ThreadId first = trace_->enterThread(process_, 100, kSecond);
  trace_->alsoCall(first, 3);
  EXPECT_EQ(trace_->threadOf(process_, 3), first);
  leaves(first, 2 * kSecond);
  const ThreadId second = trace_->enterThread(process_, 101, 3 * kSecond);
  trace_->alsoCall(second, 3);
  EXPECT_EQ(trace_->threadOf(process_, 3), second);
  // The number here of another thread beats it.
  const ThreadId third = trace_->enterThread(process_, 102, 3 * kSecond);
  trace_->alsoCall(third, 101);
  EXPECT_EQ(trace_->threadOf(process_, 101), second);
}

TEST_F(ThreadNumbers, ASavedStateKnowsWhatAProcessCallsItsThreads) {
  const ThreadId id = trace_->enterThread(process_, 100, kSecond);
  trace_->alsoCall(id, 3);
  recording::TraceState again = saveAndLoad();
  EXPECT_EQ(again.threadOf(process_, 100), id);
  EXPECT_EQ(again.threadOf(process_, 3), id);
}

/// Threads that begin and end one after the other, each a second long.
class ManyThreads : public ThreadNumbers {
 protected:
  static constexpr std::uint32_t kThreads = 5000;

  /// Each has the number that `numberOf` gives it. Answers the most that the state has held at a
  /// time.
  template <class NumberOf>
  std::size_t comeAndGo(NumberOf&& numberOf) {
    std::size_t most = 0;
    for (std::uint32_t i = 1; i <= kThreads; ++i) {
      const ThreadId id = trace_->enterThread(process_, numberOf(i), startOf(i));
      trace_->threadInfo(id).startNs = startOf(i);
      trace_->threadInfo(id).endNs = startOf(i) + kSecond / 2;
      ids_.push_back(id);
      leaves(id, startOf(i) + kSecond / 2);
      EXPECT_EQ(trace_->threadOf(process_, numberOf(i)), id)
          << "a report on it that comes a little later";
      trace_->settleThreads(startOf(i) + kSecond / 2);
      most = std::max(most, trace_->threadCount());
    }
    return most;
  }
  static TimeNs startOf(std::uint32_t i) { return i * kSecond; }
  /// The rows, by id.
  std::map<std::uint32_t, Thread> written() {
    trace_->writeEverybody(kThreads * kSecond);
    EXPECT_TRUE(trace_->writer().finish().ok());
    std::map<std::uint32_t, Thread> rows;
    for (const Thread& row : Trace(trace()).rows<Thread>()) {
      EXPECT_TRUE(rows.emplace(row.id.value, row).second) << row.id.value << " is there twice";
    }
    return rows;
  }

  std::vector<ThreadId> ids_;
};

TEST_F(ManyThreads, ThatHaveEndedTakeNoMemoryAndAreAllWritten) {
  EXPECT_LT(comeAndGo([](std::uint32_t i) { return 100 + i; }), 100u);
  const auto rows = written();
  ASSERT_EQ(rows.size(), kThreads);
  for (std::uint32_t i = 1; i <= kThreads; ++i) {
    const Thread& row = rows.at(ids_[i - 1].value);
    EXPECT_EQ(row.osTid, 100 + i);
    EXPECT_EQ(row.process, process_);
    EXPECT_EQ(row.startNs, startOf(i));
    EXPECT_EQ(row.endNs, startOf(i) + kSecond / 2);
  }
}

TEST_F(ManyThreads, OfOneNumberAreAsManyThreads) {
  EXPECT_LT(comeAndGo([](std::uint32_t) { return std::uint32_t{100}; }), 100u);
  EXPECT_EQ(written().size(), kThreads);
}

TEST_F(ManyThreads, ThoseThatLiveOrWhoseEndIsYetToBeReportedStay) {
  const ThreadId living = trace_->enterThread(process_, 1, kSecond);
  const ThreadId seen = trace_->beginThread(process_, 2, kSecond);
  EXPECT_EQ(trace_->enterThread(process_, 2, kSecond + 10), seen);
  leaves(seen, 2 * kSecond);  // it is yet to be seen from outside that it ended
  comeAndGo([](std::uint32_t i) { return 100 + i; });
  EXPECT_EQ(trace_->threadOf(process_, 1), living);
  EXPECT_EQ(trace_->threadOf(process_, 2), seen);
  trace_->threadInfo(seen).exitNs = 2 * kSecond;
  for (int round = 1; round < 20; ++round)
    trace_->settleThreads(startOf(kThreads) + 2 * round * kSecond);
  EXPECT_NE(trace_->threadOf(process_, 2), seen);
  EXPECT_EQ(trace_->threadOf(process_, 1), living);
}

TEST_F(ManyThreads, ADrainerThatWasHeldUpForgetsNobodyAtOnce) {
  const ThreadId id = enters(kSecond);
  leaves(id, 2 * kSecond);
  trace_->settleThreads(3 * kSecond);
  trace_->settleThreads(1000 * kSecond);
  EXPECT_EQ(trace_->threadOf(process_, 5), id);
}

TEST_F(ManyThreads, ASavedStateGoesOnBehindThoseThatAreWritten) {
  comeAndGo([](std::uint32_t i) { return 100 + i; });
  recording::TraceState again = saveAndLoad();
  EXPECT_EQ(again.threadCount(), trace_->threadCount());
  EXPECT_EQ(again.threadOf(process_, 100 + kThreads), ids_.back());
  EXPECT_EQ(again.enterThread(process_, 7, kThreads * kSecond).value, ids_.back().value + 1);
}

}  // namespace
}  // namespace lacuna::prof
