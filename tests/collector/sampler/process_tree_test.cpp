// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "sampler/process_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "collector/sampler/trace_access.h"

namespace lacuna::collector::sampler {
namespace {

using Kind = PerfRecord::Kind;
using testing::ElementsAre;
using testing::Pair;

/// One thread, and the window of the recording.
class ProcessTreeTest : public testing::Test {
 protected:
  static PerfRecord record(Kind kind, prof::TimeNs timeNs) {
    PerfRecord record;
    record.kind = kind;
    record.timeNs = timeNs;
    record.pid = record.tid = 7;
    return record;
  }
  void take(const PerfRecord& record) { tree_.take(record, access_); }
  void begins(prof::TimeNs timeNs) { take(record(Kind::Fork, timeNs)); }
  void ends(prof::TimeNs timeNs) { take(record(Kind::Exit, timeNs)); }
  void runs(prof::TimeNs timeNs) { take(record(Kind::Switch, timeNs)); }
  void sleeps(prof::TimeNs timeNs) {
    PerfRecord out = record(Kind::Switch, timeNs);
    out.out = true;
    take(out);
  }
  void executes(prof::TimeNs timeNs) {
    PerfRecord comm = record(Kind::Comm, timeNs);
    comm.exec = true;
    take(comm);
  }
  void window(bool open, prof::TimeNs timeNs) {
    PerfRecord edge = record(Kind::Window, timeNs);
    edge.open = open;
    take(edge);
  }
  /// Each state as "Running 1-10", and after it whose it is where that is another thread than the
  /// first.
  std::vector<std::string> states() {
    const prof::Reader reader = access_.read();
    const auto spans = *reader.table<prof::ThreadSpan>();
    std::vector<std::string> words;
    for (std::size_t i = 0; i < spans.thread.size(); ++i) {
      const auto row = spans.row(i);
      words.push_back((row.state == prof::ThreadState::Running ? "Running " : "Sleeping ") +
                      std::to_string(row.startNs) + "-" + std::to_string(row.startNs + row.durNs) +
                      (row.thread == spans.row(0).thread ? "" : " of another"));
    }
    return words;
  }

  TraceAccess access_;
  ProcessTree tree_{1'000'000};
};

TEST_F(ProcessTreeTest, AStateThatLastsAcrossTheOpeningBeginsThere) {
  window(false, 0);
  begins(1);
  runs(2);
  sleeps(10);
  window(true, 1500);
  runs(2000);
  ends(2001);
  EXPECT_THAT(states(), ElementsAre("Sleeping 1500-2000", "Running 2000-2001"));
}

TEST_F(ProcessTreeTest, AStateThatLastsAcrossTheClosingEndsThere) {
  begins(1);
  runs(2);
  sleeps(10);
  window(false, 300);
  runs(400);
  ends(2000);
  EXPECT_THAT(states(), ElementsAre("Running 2-10", "Sleeping 10-300"));
}

TEST_F(ProcessTreeTest, TheEndOfTheRecordingEndsAStateOnlyWhereTheWindowIsOpen) {
  begins(1);
  runs(2);
  tree_.finish(5, access_);
  window(false, 6);
  tree_.finish(9, access_);
  EXPECT_THAT(states(), ElementsAre("Running 2-5", "Running 2-6"));
}

TEST_F(ProcessTreeTest, SamplesOutsideTheWindowAreLeftOutAndWhoLivesIsKnown) {
  window(false, 0);
  begins(1);
  take(record(Kind::Sample, 2));
  EXPECT_EQ(tree_.processes().size(), 1u);
  window(true, 3);
  take(record(Kind::Sample, 4));
  window(false, 5);
  take(record(Kind::Sample, 6));
  ends(7);
  EXPECT_TRUE(tree_.processes().empty());
  const prof::Reader reader = access_.read();
  EXPECT_EQ((*reader.column<&prof::CpuSample::timeNs>())[0], 4);
  EXPECT_EQ(reader.rows<prof::CpuSample>(), 1u);
}

TEST_F(ProcessTreeTest, TheStateBeforeAnExecIsOfTheProgramBefore) {
  begins(1);
  runs(2);
  executes(10);
  sleeps(20);
  ends(21);
  EXPECT_THAT(states(),
              ElementsAre("Running 2-10", "Running 10-20 of another", "Sleeping 20-21 of another"));
}

TEST_F(ProcessTreeTest, WhatIsExecutedIsTheFirstFileThatIsMappedThen) {
  const auto maps = [&](const std::string& file, prof::TimeNs timeNs) {
    PerfRecord map = record(Kind::Map, timeNs);
    map.text = file;
    take(map);
  };
  begins(1);
  maps("/lib/of/the/parent.so", 2);
  executes(10);
  maps("/bin/first", 11);
  maps("/lib/libc.so", 12);
  PerfRecord stranger = record(Kind::Comm, 20);
  stranger.exec = stranger.stranger = true;
  take(stranger);
  maps("/bin/second", 21);
  PerfRecord renamed = record(Kind::Comm, 30);
  renamed.exec = true;
  renamed.image = "/bin/third";
  take(renamed);
  maps("/lib/libc.so", 31);
  EXPECT_THAT(tree_.images().all,
              ElementsAre(Pair("/bin/first", 9), Pair("/bin/second", 9), Pair("/bin/third", 0)))
      << "the third runs on";
  EXPECT_THAT(tree_.images().strangers, ElementsAre("/bin/second"));
  EXPECT_EQ(tree_.seen(), 1u);
}

TEST_F(ProcessTreeTest, AThreadWhoseNumberIsGivenAgainEndsWhenTheNextBegins) {
  begins(1);
  PerfRecord second = record(Kind::Fork, 2);
  second.tid = 8;
  second.parentPid = 7;  // a thread of the same process
  take(second);
  PerfRecord runs = record(Kind::Switch, 3);
  runs.tid = 8;
  take(runs);
  second.timeNs = 10;
  take(second);
  runs.timeNs = 20;
  take(runs);
  tree_.finish(25, access_);
  EXPECT_THAT(access_.threadEnds(), ElementsAre(10));
  EXPECT_EQ(tree_.processes().at(7).threads, 2u);
  EXPECT_THAT(states(), ElementsAre("Running 3-10", "Running 20-25 of another"));
}

TEST_F(ProcessTreeTest, AProcessWhoseNumberIsGivenAgainEndsWhenTheNextBegins) {
  begins(1);
  runs(2);
  begins(10);
  EXPECT_THAT(access_.threadEnds(), ElementsAre(10));
  EXPECT_THAT(access_.processEnds(), ElementsAre(10));
  EXPECT_EQ(tree_.processes().at(7).threads, 1u);
  EXPECT_THAT(states(), ElementsAre("Running 2-10"));
}

TEST_F(ProcessTreeTest, AProcessWhoseOnlyThreadNumberIsGivenToAnotherProcessHasEnded) {
  begins(1);
  PerfRecord second = record(Kind::Fork, 2);
  second.pid = second.tid = 8;
  second.parentPid = 7;
  take(second);
  PerfRecord thread = record(Kind::Fork, 10);
  thread.tid = 8;
  thread.parentPid = 7;  // now of the first process
  take(thread);
  EXPECT_THAT(access_.processEnds(), ElementsAre(10));
  EXPECT_FALSE(tree_.processes().contains(8));
  EXPECT_EQ(tree_.processes().at(7).threads, 2u);
}

TEST_F(ProcessTreeTest, AThreadThatRunsAnotherProgramTakesTheFirstOnesNumber) {
  begins(1);
  PerfRecord second = record(Kind::Fork, 2);
  second.tid = 8;
  second.parentPid = 7;
  take(second);
  ends(5);  // the first one, as the second begins its exec
  executes(6);
  EXPECT_FALSE(tree_.threads().contains(8));
  EXPECT_EQ(tree_.processes().at(7).threads, 1u);
  ends(9);
  EXPECT_THAT(access_.processEnds(), ElementsAre(9));
}

}  // namespace
}  // namespace lacuna::collector::sampler
