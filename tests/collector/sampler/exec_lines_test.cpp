// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "sampler/exec_lines.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "core/clock.h"
#include "proc/proc_file.h"

namespace lacuna::collector::sampler {
namespace {

PerfRecord execAt(prof::TimeNs timeNs, std::uint32_t pid = 7) {
  PerfRecord record;
  record.kind = PerfRecord::Kind::Comm;
  record.exec = true;
  record.timeNs = timeNs;
  record.pid = record.tid = pid;
  return record;
}

PerfRecord withLine(PerfRecord record, const std::string& line, prof::TimeNs lineNs) {
  record.commandLine = line;
  record.lineNs = lineNs;
  return record;
}

TEST(ExecLines, AreReadFromTheProcessAsItIs) {
  const auto self = static_cast<std::uint32_t>(getpid());
  std::vector<PerfRecord> records{execAt(1, self), execAt(nowNs(), self)};
  EXPECT_TRUE(readExecLines(records, 1));
  EXPECT_EQ(records[0].commandLine, "") << "known before";
  EXPECT_EQ(records[1].commandLine, proc::commandLineOf(self));
  EXPECT_GE(records[1].lineNs, records[1].timeNs);
  EXPECT_FALSE(readExecLines(records, 2));
}

TEST(ExecLines, ThatWereReadInTheNextImageAreItsAlone) {
  std::vector<PerfRecord> records{withLine(execAt(20), "next", 30),
                                  withLine(execAt(10), "next", 30),
                                  withLine(execAt(12, 8), "another process", 30)};
  forgetLinesOfNext(records);
  EXPECT_EQ(records[0].commandLine, "next");
  EXPECT_EQ(records[1].commandLine, "");
  EXPECT_EQ(records[2].commandLine, "another process");
}

TEST(ExecLines, ThatWereReadBeforeTheNextImageStay) {
  std::vector<PerfRecord> records{withLine(execAt(10), "first", 15),
                                  withLine(execAt(20), "next", 30)};
  forgetLinesOfNext(records);
  EXPECT_EQ(records[0].commandLine, "first");
  EXPECT_EQ(records[1].commandLine, "next");
}

}  // namespace
}  // namespace lacuna::collector::sampler
