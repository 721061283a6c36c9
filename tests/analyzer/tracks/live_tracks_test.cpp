// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>

#include "lacuna/analyzer/lanes.h"
#include "lacuna/analyzer/store.h"
#include "lacuna/prof/writer.h"
#include "support/temp_dir.h"

namespace lacuna::analyzer {
namespace {

using namespace prof;

constexpr TimeNs kSecond = 1'000'000'000;

/// A program that is recorded as it runs: ranges are written when they end, so after what lies in
/// them.
class GrowingRun {
 public:
  explicit GrowingRun(const std::filesystem::path& path) : writer_(*Writer::create(path)) {
    writer_.append(
        Process{.id = ProcessId(1), .osPid = 7, .name = writer_.intern("train"), .rank = -1});
    for (std::uint32_t t = 1; t <= 2; ++t)
      writer_.append(Thread{.id = ThreadId(t), .process = ProcessId(1), .osTid = t});
    writer_.append(Device{.id = DeviceId(1), .kind = DeviceKind::Cuda});
    writer_.append(
        Queue{.id = QueueId(1), .device = DeviceId(1), .process = ProcessId(1), .nativeId = 1});
    writer_.append(
        CounterTrack{.id = TrackId(1), .device = DeviceId(1), .name = writer_.intern("clock")});
  }

  /// A second of work and its flush.
  void run() {
    const TimeNs begin = now_;
    for (int i = 0; i < 200; ++i, now_ += kSecond / 200) {
      const auto length = static_cast<TimeNs>(1 + random_() % (kSecond / 200));
      const auto thread = ThreadId(1 + static_cast<std::uint32_t>(random_() % 2));
      range(now_ + length / 4, length / 2, thread);
      range(now_, length, thread);
      if (i % 3 == 0)
        writer_.append(
            Memset{.startNs = now_, .durNs = 10, .queue = QueueId(1), .device = DeviceId(1)});
      writer_.append(Kernel{.startNs = now_ + 20,
                            .durNs = length / 2,
                            .queue = QueueId(1),
                            .device = DeviceId(1),
                            .name = name()});
      writer_.append(CounterSample{
          .timeNs = now_, .track = TrackId(1), .value = static_cast<double>(random_() % 100)});
      const std::uint64_t address = 1 + random_() % 20;
      writer_.append(
          Allocation{.timeNs = now_,
                     .device = DeviceId(1),
                     .action = random_() % 2 ? MemoryAction::Allocate : MemoryAction::Free,
                     .role = random_() % 2 ? MemoryRole::Activation : MemoryRole::Gradient,
                     .address = address,
                     .bytes = 1 + random_() % 1000});
    }
    range(begin, now_ - begin, ThreadId(1));
    ASSERT_TRUE(writer_.flush());
  }
  /// Around everything so far.
  void endPhase() {
    range(0, now_, ThreadId(2));
    ASSERT_TRUE(writer_.flush());
  }
  /// The row of a thread that was not known before; it began with the program.
  void addThread(std::uint32_t number) {
    writer_.append(Thread{.id = ThreadId(number), .process = ProcessId(1), .osTid = number});
    ASSERT_TRUE(writer_.flush());
  }
  void rangeAcrossThreads(std::uint32_t thread) {
    writer_.append(Range{
        .startNs = now_, .thread = ThreadId(thread), .name = name(), .kind = RangeKind::StartEnd});
  }

 private:
  StringId name() { return writer_.intern("op " + std::to_string(random_() % 9)); }
  void range(TimeNs start, TimeNs length, ThreadId thread) {
    writer_.append(Range{.startNs = start, .durNs = length, .thread = thread, .name = name()});
  }
  Writer writer_;
  TimeNs now_ = 0;
  std::mt19937_64 random_{5};
};

void expectSame(const Lane& shown, const Lane& wanted) {
  ASSERT_EQ(shown.size(), wanted.size());
  for (std::size_t i = 0; i < shown.size(); ++i) {
    ASSERT_EQ(shown.startNs(i), wanted.startNs(i));
    ASSERT_EQ(shown.durNs(i), wanted.durNs(i));
    ASSERT_EQ(shown.name(i), wanted.name(i));
  }
  for (const double nsPerPixel : {1e3, 1e5, 1e7}) {
    const PixelGrid grid{wanted.startNs(0) - 1000, nsPerPixel, 300};
    std::vector<Cell> ours(300), theirs(300);
    shown.query(grid, ours);
    wanted.query(grid, theirs);
    for (std::size_t x = 0; x < ours.size(); ++x) {
      ASSERT_EQ(ours[x].occupied(), theirs[x].occupied()) << x << " at " << nsPerPixel;
      ASSERT_NEAR(ours[x].busy, theirs[x].busy, 0.12)
          << x << " at " << nsPerPixel;  // 0.06 off each
    }
  }
}

void expectSame(const CounterLane& shown, const CounterLane& wanted) {
  ASSERT_EQ(shown.size(), wanted.size());
  EXPECT_EQ(shown.highest(), wanted.highest());
  for (std::size_t i = 0; i < shown.size(); ++i) {
    ASSERT_EQ(shown.timeNs(i), wanted.timeNs(i));
    ASSERT_EQ(shown.value(i), wanted.value(i));
  }
}

void expectSame(const TrackSet& shown, const TrackSet& wanted) {
  EXPECT_EQ(shown.events, wanted.events);
  EXPECT_EQ(shown.span.endNs, wanted.span.endNs);
  ASSERT_EQ(shown.groups.size(), wanted.groups.size());
  for (std::size_t g = 0; g < shown.groups.size(); ++g) {
    ASSERT_EQ(shown.groups[g].label, wanted.groups[g].label);
    ASSERT_EQ(shown.groups[g].tracks.size(), wanted.groups[g].tracks.size());
    for (std::size_t t = 0; t < shown.groups[g].tracks.size(); ++t) {
      const Track& ours = shown.groups[g].tracks[t];
      const Track& theirs = wanted.groups[g].tracks[t];
      ASSERT_EQ(ours.label, theirs.label);
      ASSERT_EQ(ours.lanes.size(), theirs.lanes.size()) << ours.label;
      for (std::size_t n = 0; n < ours.lanes.size(); ++n)
        expectSame(ours.lanes[n], theirs.lanes[n]);
      expectSame(ours.counter, theirs.counter);
    }
  }
}

class LiveTracksTest : public testing::Test {
 protected:
  /// Compares with a layout of everything.
  void follow() {
    const auto store = follower_.poll();
    ASSERT_TRUE(store && *store);
    rows_ = 0;
    const auto shown = live_.layOut(**store);
    ASSERT_TRUE(shown);
    rows_ = live_.rowsRead();
    if (kept_) {
      EXPECT_EQ(kept_->events, keptEvents_) << "a set is independent of what follows";
    }
    kept_ = *shown;
    keptEvents_ = kept_->events;
    expectSame(**shown, **buildTracks(**store));
  }
  test::TempDir folder_;
  std::filesystem::path path_ = folder_ / "run.lcn";
  StoreFollower follower_{path_};
  LiveTracks live_;
  std::uint64_t rows_ = 0;
  std::shared_ptr<const TrackSet> kept_;
  std::uint64_t keptEvents_ = 0;
};

TEST_F(LiveTracksTest, ShowWhatALayoutOfEverythingShowsAndReadOnlyTheEnd) {
  GrowingRun run(path_);
  for (int second = 0; second < 12; ++second) {
    run.run();
    follow();
    if (HasFatalFailure()) return;
    // Some 1,070 rows a second. The last two seconds and the block around them are read again.
    if (second > 2) {
      EXPECT_LT(rows_, 5'000u) << "second " << second;
    }
  }
}

TEST_F(LiveTracksTest, ReadOnlyTheEndWhereThreadsAreReportedLongAfterTheyBegan) {
  GrowingRun run(path_);
  for (std::uint32_t second = 0; second < 12; ++second) {
    run.run();
    run.addThread(10 + second);
    follow();
    if (HasFatalFailure()) return;
    if (second > 2) {
      EXPECT_LT(rows_, 5'000u) << "second " << second;
    }
  }
}

TEST_F(LiveTracksTest, RangesAcrossThreadsGoToTheProcessThatIsLearntOfLate) {
  GrowingRun run(path_);
  run.rangeAcrossThreads(3);
  for (int second = 0; second < 6; ++second) {
    run.run();
    follow();
    if (HasFatalFailure()) return;
  }
  run.addThread(3);
  follow();
}

TEST_F(LiveTracksTest, LayOutEverythingOnceForARangeAroundIt) {
  GrowingRun run(path_);
  for (int second = 0; second < 6; ++second) run.run();
  follow();
  run.run();
  run.endPhase();
  follow();
  EXPECT_GT(rows_, 7'000u);
}

}  // namespace
}  // namespace lacuna::analyzer
