// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "libprof/record/recorded.h"
#include "support/programs.h"

/// Recording from C, from shared libraries, before main and after it, and beside a second recorder
/// in one process.
namespace lacuna::prof {
namespace {

class EmbeddingTest : public RecordingTest {
 protected:
  void runTheProgram() {
    ASSERT_OK(createRecording(recordingDir()));
    ASSERT_EQ(inChild([this] {
                setenv(kRecordingVariable, recordingDir().c_str(), 1);
                execl(test::program("record_c_program").c_str(), "record_c_program",
                      static_cast<char*>(nullptr));
                _exit(127);
              }),
              0);
    auto drainer = Drainer::create(recordingDir(), trace());
    ASSERT_OK(drainer);
    ASSERT_OK((*drainer).finish());
    ASSERT_EQ((*drainer).stats().damaged, 0u);
  }
  static const Range* find(Trace& file, const std::vector<Range>& ranges, std::string_view name) {
    const auto at = std::find_if(ranges.begin(), ranges.end(),
                                 [&](const Range& range) { return file.text(range.name) == name; });
    return at == ranges.end() ? nullptr : &*at;
  }
};

TEST_F(EmbeddingTest, EverythingThatACProgramRecordsArrives) {
  runTheProgram();
  Trace file(trace());
  const std::vector<Range> ranges = file.rows<Range>();
  const Range* outer = find(file, ranges, "outer");
  const Range* inDomain = find(file, ranges, "in a domain");
  const Range* payload = find(file, ranges, "with a payload");
  const Range* across = find(file, ranges, "across threads");
  ASSERT_TRUE(outer != nullptr && inDomain != nullptr && payload != nullptr && across != nullptr);
  EXPECT_EQ(file.text(inDomain->domain), "c");
  EXPECT_EQ(file.text(inDomain->category), "kind");
  EXPECT_EQ(inDomain->colour, 0xff336699u);
  EXPECT_EQ(static_cast<std::int64_t>(payload->payload), -5);
  EXPECT_GE(payload->startNs, outer->startNs);
  EXPECT_LE(payload->startNs + payload->durNs, outer->startNs + outer->durNs);
  EXPECT_NE(across->endThread, across->thread);

  std::map<std::uint32_t, std::string> threads;
  for (const Thread& thread : file.rows<Thread>())
    threads[thread.id.value] = file.text(thread.name);
  EXPECT_EQ(threads[across->thread.value], "the main thread");
  EXPECT_EQ(threads[across->endThread.value], "the other thread");

  const std::vector<CounterSample> samples = file.rows<CounterSample>();
  ASSERT_EQ(samples.size(), 1u);
  EXPECT_EQ(samples[0].value, 273.25);
  EXPECT_EQ(file.rows<Allocation>().size(), 2u);
  EXPECT_EQ(file.rows<Flow>().size(), 2u);
  const std::vector<LogLine> lines = file.rows<LogLine>();
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(file.text(lines[0].text), "a warning");
}

TEST_F(EmbeddingTest, WhatHappensBeforeMainAndAfterItIsRecorded) {
  runTheProgram();
  Trace file(trace());
  std::set<std::string> names;
  for (const Range& range : file.rows<Range>()) names.insert(file.text(range.name));
  for (const Mark& mark : file.rows<Mark>()) names.insert(file.text(mark.name));
  for (const char* name :
       {"before main", "in a constructor", "in a shared library", "in a destructor"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

TEST_F(EmbeddingTest, TwoRecordersOfAProcessShareItsProcessAndThreads) {
  runTheProgram();
  Trace file(trace());
  EXPECT_EQ(file.rows<Process>().size(), 1u);
  EXPECT_EQ(file.rows<Thread>().size(), 2u);
  const std::vector<Range> ranges = file.rows<Range>();
  const Range* outer = find(file, ranges, "outer");
  ASSERT_NE(outer, nullptr);
  std::size_t second = 0;
  TimeNs between = 0;
  for (const Mark& mark : file.rows<Mark>()) {
    if (file.text(mark.name) == "between") between = mark.timeNs;
  }
  std::size_t beforeMark = 0;
  for (const Range& range : ranges) {
    if (file.text(range.name) != "by the second recorder") continue;
    ++second;
    EXPECT_EQ(range.thread, outer->thread);
    beforeMark += range.startNs + range.durNs <= between ? 1 : 0;
  }
  EXPECT_EQ(second, 200u);
  EXPECT_EQ(beforeMark, 100u) << "the two recorders do not share a clock";
}

TEST_F(EmbeddingTest, ACProgramRecordsItself) {
  ASSERT_EQ(inChild([this] {
              const std::string file = trace().string();
              execl(test::program("record_c_session").c_str(), "record_c_session", file.c_str(),
                    static_cast<char*>(nullptr));
              _exit(127);
            }),
            0);
  Trace file(trace());
  EXPECT_EQ(file.rows<Range>().size(), 1u);
  const std::vector<Mark> marks = file.rows<Mark>();
  ASSERT_EQ(marks.size(), 1u);
  EXPECT_EQ(file.text(marks[0].name), "still recording");
  EXPECT_FALSE(std::filesystem::exists(recordingDir()));
}

// It would write as another user where its caller chooses.
TEST_F(EmbeddingTest, AProgramWithOtherRightsThanItsCallersDoesNotJoin) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's runtime does not start in a set-uid program";
#endif
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a program to another user";
  ASSERT_OK(createRecording(recordingDir()));
  const auto shared = std::filesystem::read_symlink(recordingDir() / "shm");
  for (const auto& folder : {home_, recordingDir(), shared})
    ASSERT_EQ(chmod(folder.c_str(), 0777), 0);
  ASSERT_EQ(chmod((recordingDir() / "settings").c_str(), 0644), 0);
  const auto other = home_ / "other";
  std::filesystem::copy_file(test::program("record_c_program"), other);
  const auto ended = [&](uid_t owner) {
    EXPECT_TRUE(chown(other.c_str(), owner, 0) == 0 && chmod(other.c_str(), 04755) == 0);
    return inChild([&] {
      setenv(kRecordingVariable, recordingDir().c_str(), 1);
      execl(other.c_str(), "other", static_cast<char*>(nullptr));
      _exit(127);
    });
  };
  EXPECT_EQ(ended(65534), 5) << "it says that nothing records, and lacunaAttach() that it may not";
  EXPECT_TRUE(recordersIn(shared).empty());
  EXPECT_EQ(ended(0), 0) << "its caller's own rights";
  EXPECT_FALSE(recordersIn(shared).empty());
}

}  // namespace
}  // namespace lacuna::prof
