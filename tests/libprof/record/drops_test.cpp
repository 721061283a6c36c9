// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <signal.h>

#include <atomic>
#include <thread>

#include "lacuna/prof/announced.h"
#include "libprof/record/recorded.h"
#include "record/layout.h"

namespace lacuna::prof {
namespace {

/// recorded + dropped = emitted, where a range is one event however much of it was lost.
class DropsTest : public RecordingTest {
 protected:
  void begin(std::uint64_t segments, bool flight = false) {
    RecordingOptions options;
    options.poolBytes = options.maxPoolBytes = segments * recording::kSegmentBytes;
    options.flightRecorder = flight;
    options.sharedMemory = false;
    ASSERT_OK(createRecording(recordingDir(), options));
    ASSERT_EQ(lacunaAttach(recordingDir().c_str()), 0);
  }
  void finish() {
    lacunaDetach();
    const auto stats = recover(recordingDir(), trace(), false);
    ASSERT_OK(stats);
    stats_ = *stats;
  }
  void expectAllAreCounted(std::uint64_t emitted) const {
    Trace file(trace());
    std::uint64_t dropped = 0;
    for (const Drop& drop : file.rows<Drop>()) dropped += drop.count;
    const std::uint64_t rows = file.rows<Range>().size() + file.rows<Mark>().size();
    EXPECT_GT(dropped, 0u);
    EXPECT_GT(rows, 0u);
    EXPECT_EQ(rows + dropped, emitted);
    EXPECT_EQ(stats_.dropped, dropped);
    EXPECT_EQ(stats_.events, rows);
  }
  static void ranges(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      lacunaRangePush(lacunaName("outer"));
      lacunaRangePush(lacunaName("inner"));
      lacunaRangePop();
      lacunaRangePop();
    }
  }
  /// Until the segments are full.
  static std::uint64_t fill() {
    std::uint64_t marks = 0;
    for (; lacunaDropped() == 0; ++marks) lacunaMark(lacunaName("fill"));
    return marks;
  }
  DrainStats stats_;
};

TEST_F(DropsTest, ARangeIsOneEventWhenTheSegmentsAreFull) {
  begin(4);
  ranges(50'000);
  EXPECT_NEAR(static_cast<double>(lacunaDropped()), 100'000 - 2 * 4092, 2 * 4092);
  finish();
  expectAllAreCounted(100'000);
}

TEST_F(DropsTest, ThreadsThatLoseInManyGapsAreCountedExactly) {
  begin(4);
  DrainOptions options;
  options.flushEvery = std::chrono::milliseconds(1);
  auto drainer = Drainer::create(recordingDir(), trace(), options);
  ASSERT_OK(drainer);
  (*drainer).start();
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t) threads.emplace_back([] { ranges(20'000); });
  for (std::thread& thread : threads) thread.join();
  lacunaDetach();
  ASSERT_OK((*drainer).finish());
  stats_ = (*drainer).stats();
  expectAllAreCounted(6 * 40'000);
}

TEST_F(DropsTest, RangesThatAGapLeavesOpenAreCountedWhereTheProcessIsKilled) {
  ASSERT_OK(createRecording(recordingDir(), {.poolBytes = 4 << 16,
                                             .maxPoolBytes = 4 << 16,
                                             .flightRecorder = false,
                                             .sharedMemory = false}));
  constexpr std::uint64_t kMarks = 40'000;
  ASSERT_EQ(inChild([&] {
              lacunaAttach(recordingDir().c_str());
              lacunaRangePush(lacunaName("recorded"));
              for (std::uint64_t i = 0; i < kMarks; ++i) lacunaMark(lacunaName("mark"));
              lacunaRangePush(lacunaName("lost"));
              lacunaRangePush(lacunaName("lost"));
              kill(getpid(), SIGKILL);
            }),
            128 + SIGKILL);
  finish();
  expectAllAreCounted(kMarks + 3);
}

TEST_F(DropsTest, ARangeThatLostItsBeginOrItsEndHasARowAndIsNotDropped) {
  begin(4);
  auto drainer = Drainer::create(recordingDir(), trace());
  ASSERT_OK(drainer);
  lacunaRangePush(lacunaName("without end"));
  const std::uint64_t marks = fill();
  lacunaRangePop();
  lacunaRangePush(lacunaName("without begin"));
  ASSERT_OK((*drainer).flush());
  lacunaRangePop();
  lacunaDetach();
  ASSERT_OK((*drainer).finish());
  stats_ = (*drainer).stats();
  EXPECT_EQ(stats_.dropped, 1u);
  expectAllAreCounted(marks + 2);
}

TEST_F(DropsTest, MoreDomainsThanAGapCanFollowAreCountedExactly) {
  constexpr int kDomains = recording::kGapDomains + 4;
  begin(4);
  auto drainer = Drainer::create(recordingDir(), trace());
  ASSERT_OK(drainer);
  std::vector<LacunaName> domains;
  for (int i = 0; i < kDomains; ++i)
    domains.push_back(lacunaName(("domain " + std::to_string(i)).c_str()));
  const LacunaName name = lacunaName("range");
  for (const LacunaName domain : domains) lacunaDomainRangePush(domain, name);  // recorded
  const std::uint64_t marks = fill();
  for (const LacunaName domain : domains) lacunaDomainRangePop(domain);
  for (const LacunaName domain : domains) {
    lacunaDomainRangePush(domain, name);  // lost whole
    lacunaDomainRangePop(domain);
  }
  for (const LacunaName domain : domains) lacunaDomainRangePush(domain, name);  // without begin
  ASSERT_OK((*drainer).flush());
  for (const LacunaName domain : domains) lacunaDomainRangePop(domain);
  lacunaDetach();
  ASSERT_OK((*drainer).finish());
  stats_ = (*drainer).stats();
  expectAllAreCounted(marks + std::uint64_t{3} * kDomains);
}

TEST_F(DropsTest, StartedRangesAreLostOnlyWithTheirEnd) {
  begin(4);
  auto drainer = Drainer::create(recordingDir(), trace());
  ASSERT_OK(drainer);
  LacunaEvent event{};
  event.name = lacunaName("started");
  const std::uint64_t marks = fill();
  const std::uint64_t ended = lacunaRangeStart(&event);
  for (int i = 0; i < 5; ++i) lacunaRangeEnd(lacunaRangeStart(&event));
  ASSERT_OK((*drainer).flush());
  lacunaRangeEnd(ended);
  lacunaRangeEnd(lacunaRangeStart(&event));
  lacunaDetach();
  ASSERT_OK((*drainer).finish());
  stats_ = (*drainer).stats();
  EXPECT_EQ(stats_.dropped, 1u + 5) << "a mark, and the five";
  expectAllAreCounted(marks + 7);
}

TEST_F(DropsTest, EndsWithoutABeginAreNotHeldUntilTheEnd) {
  begin(64);
  auto drainer = Drainer::create(recordingDir(), trace());
  ASSERT_OK(drainer);
  lacunaRangeEnd(1'000'000);  // of another recording
  for (int pass = 0; pass < 2; ++pass) ASSERT_OK((*drainer).flush());
  EXPECT_EQ((*drainer).stats().events, 1u);
  lacunaDetach();
  ASSERT_OK((*drainer).finish());
  EXPECT_EQ(Trace(trace()).rows<Range>().size(), 1u);
}

TEST_F(DropsTest, AFlightRecorderCountsARangeOnce) {
  begin(8, true);
  lacunaRangePush(lacunaName("ends in the ring"));
  lacunaDomainRangePush(lacunaName("other"), lacunaName("never ends"));
  ranges(100'000);
  lacunaRangePop();
  std::thread([] { ranges(3); }).join();
  ASSERT_OK(snapshot(recordingDir(), home_ / "dump.lcn", {}));
  finish();
  expectAllAreCounted(2 + 200'000 + 6);
  EXPECT_EQ(Trace(home_ / "dump.lcn").rows<Range>().size(), Trace(trace()).rows<Range>().size());
}

TEST_F(DropsTest, ThreadsWithoutAnEntryAreCountedExactly) {
  begin(16);
  constexpr int kThreads = recording::kMaxThreads + 200;
  std::atomic<int> begun = 0;
  std::atomic<bool> end = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      ranges(1);
      lacunaRangePush(lacunaName("open"));
      ++begun;
      end.wait(false);
    });
  }
  while (begun < kThreads) usleep(1000);
  end = true;
  end.notify_all();
  for (std::thread& thread : threads) thread.join();
  finish();
  expectAllAreCounted(std::uint64_t{3} * kThreads);
}

TEST_F(DropsTest, AThreadThatFindsAnEntryLateHasRowsForWhatItEnds) {
  begin(64);
  auto drainer = Drainer::create(recordingDir(), trace());
  ASSERT_OK(drainer);
  std::atomic<int> begun = 0;
  std::atomic<bool> end = false;
  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < recording::kMaxThreads - 1; ++i) {
    threads.emplace_back([&] {
      lacunaMark(lacunaName("here"));
      ++begun;
      end.wait(false);
    });
  }
  while (begun < static_cast<int>(recording::kMaxThreads) - 1) usleep(1000);
  std::atomic<int> step = 0;
  std::thread([] { lacunaMark(lacunaName("the last entry")); }).join();
  std::thread late([&] {
    ranges(1);
    lacunaRangePush(lacunaName("ends later"));
    step = 1;
    while (step != 2) usleep(1000);
    lacunaRangePop();
  });
  while (step != 1) usleep(1000);
  end = true;
  end.notify_all();
  for (std::thread& thread : threads) thread.join();
  ASSERT_OK((*drainer).flush());
  step = 2;
  late.join();
  lacunaDetach();
  ASSERT_OK((*drainer).finish());
  stats_ = (*drainer).stats();
  expectAllAreCounted(recording::kMaxThreads + 3);
}

}  // namespace
}  // namespace lacuna::prof
