// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <simdjson.h>
#include <sys/resource.h>

#include <functional>
#include <set>
#include <string>
#include <thread>

#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/report.h"
#include "lacuna/analyzer/store.h"
#include "lacuna/prof/bounds.h"
#include "libprof/record/recorded.h"
#include "support/crafted_segments.h"
#include "support/trace_faults.h"

namespace lacuna::test {
namespace {

namespace fs = std::filesystem;
using prof::recording::kSegmentBytes;
using Domain = CraftedSegments::Domain;

constexpr std::uint64_t kMost = ~std::uint64_t{0};
constexpr std::uint64_t kMostOfCount = prof::kMostOfSum<std::uint64_t>;
constexpr std::uint32_t kMostRanges = ~std::uint32_t{0};
constexpr std::uint32_t kManyDomains = 15;
constexpr std::uint64_t kSteps = 5;
/// The contents of the recording before anything is crafted: a step and a range in it each time,
/// and a mark of each thread.
constexpr std::uint64_t kRanges = 2 * kSteps;
constexpr std::uint64_t kMarks = 2;

/// A real recording whose records of gaps were made up, and the way of them from the segments to
/// the report.
class CraftedGapsTest : public prof::RecordingTest {
 protected:
  void begin(std::uint64_t segments) {
    prof::RecordingOptions options;
    options.poolBytes = options.maxPoolBytes = segments * kSegmentBytes;
    options.sharedMemory = false;
    ASSERT_OK(prof::createRecording(recordingDir(), options));
    ASSERT_EQ(lacunaAttach(recordingDir().c_str()), 0);
  }
  static void recordSomething() {
    for (std::uint64_t i = 0; i < kSteps; ++i) {
      lacunaRangePush(lacunaName("step"));
      lacunaRangePush(lacunaName("forward"));
      lacunaRangePop();
      lacunaRangePop();
    }
    lacunaMark(lacunaName("of the first thread"));
    std::thread([] { lacunaMark(lacunaName("of a thread that ends")); }).join();
  }
  /// The entry of a thread that has ended, or of the other one.
  static std::uint32_t entryOf(const CraftedSegments& crafted, bool ended) {
    using State = CraftedSegments::EntryState;
    for (const std::uint32_t index : crafted.threads()) {
      if (crafted.thread(index).state.load() == (ended ? State::Exited : State::Live)) return index;
    }
    ADD_FAILURE() << "no such entry";
    return crafted.threads().front();
  }
  [[nodiscard]] CraftedSegments segments() const {
    return CraftedSegments(prof::recordersIn(recordingDir()).front());
  }
  /// Records, changes what was recorded, and recovers it.
  void recoverWith(const std::function<void(CraftedSegments&)>& craft, std::uint64_t pool = 4) {
    begin(pool);
    recordSomething();
    lacunaDetach();
    {
      CraftedSegments crafted = segments();
      ASSERT_TRUE(crafted.ok());
      ASSERT_EQ(crafted.threads().size(), 2u);
      craft(crafted);
    }
    const auto stats = prof::recover(recordingDir(), trace(), true);
    ASSERT_OK(stats);
    stats_ = *stats;
  }
  /// The trace is sound, everything can be asked of it, and its count of what was dropped is the
  /// same at every stop.
  void expectDropped(std::uint64_t dropped) const {
    EXPECT_EQ(stats_.dropped, dropped);
    std::uint64_t rows = 0;
    prof::Trace file(trace());
    for (const prof::Drop& drop : file.rows<prof::Drop>()) prof::addTo(rows, drop.count);
    EXPECT_EQ(rows, dropped);
    EXPECT_EQ(inReport(), dropped);
    EXPECT_EQ(faultOfFile(trace(), home_), "");
  }
  [[nodiscard]] std::uint64_t inReport() const {
    const auto store = analyzer::Store::open(trace());
    if (!store) return ~dropped(store.error().message);
    const auto analysis = analyzer::analyse(*store);
    if (!analysis) return ~dropped(analysis.error().message);
    const std::string json = analyzer::renderJson(*analysis);
    simdjson::dom::parser parser;
    std::uint64_t count = 0;
    EXPECT_EQ(parser.parse(json).at_pointer(kPlaceInReport).get(count), simdjson::SUCCESS)
        << json.substr(0, 2000);
    return count;
  }
  static std::uint64_t dropped(const std::string& why) {
    ADD_FAILURE() << why;
    return 0;
  }
  [[nodiscard]] std::size_t ranges() const {
    return prof::Trace(trace()).rows<prof::Range>().size();
  }
  static std::vector<Domain> manyDomains(std::uint32_t from, std::uint32_t pops,
                                         std::uint32_t pushes) {
    std::vector<Domain> domains;
    for (std::uint32_t i = 0; i < kManyDomains; ++i) domains.push_back({from + i, pops, pushes});
    return domains;
  }

  static constexpr const char* kPlaceInReport = "/trace/dropped_events";
  prof::DrainStats stats_;
};

TEST_F(CraftedGapsTest, WithoutOneNothingIsDropped) {
  recoverWith([](CraftedSegments&) {});
  expectDropped(0);
  EXPECT_EQ(ranges(), kRanges);
}

TEST_F(CraftedGapsTest, EnormousCountsOfOpenRangesGiveOneRowEach) {
  recoverWith([](CraftedSegments& crafted) {
    const std::uint32_t index = entryOf(crafted, false);
    const std::uint64_t stamp = crafted.lastStamp(index);
    ASSERT_TRUE(crafted.append(
        index,
        CraftedSegments::gap(stamp, 1, manyDomains(100, kMostRanges, kMostRanges), false, kMost)));
  });
  expectDropped(kManyDomains * std::uint64_t{kMostRanges - 1});
  EXPECT_EQ(ranges(), kRanges + kManyDomains);
}

TEST_F(CraftedGapsTest, CountsThatOverflowWhenTheyAreAddedStopAtTheMost) {
  recoverWith([](CraftedSegments& crafted) {
    for (const std::uint32_t index : crafted.threads()) {
      crafted.thread(index).dropped.store(kMost);
      crafted.thread(index).droppedStarts.store(kMost);
      crafted.thread(index).ended = kMost;
      crafted.thread(index).endedNext = kMost;
      crafted.thread(index).gapRecords = kMost;
    }
    crafted.view().header().dropped.store(kMost);
    crafted.view().header().droppedOpen.store(kMost);
    crafted.view().header().droppedStarts.store(kMost);
  });
  expectDropped(kMostOfCount);
  EXPECT_EQ(ranges(), kRanges);
}

TEST_F(CraftedGapsTest, CountsWhoseSumIsZeroAgainAreNotTakenForNone) {
  recoverWith([](CraftedSegments& crafted) {
    CraftedSegments::ThreadEntry& entry = crafted.thread(entryOf(crafted, false));
    entry.dropped.store(std::uint64_t{1} << 63);
    entry.ended = std::uint64_t{1} << 63;
  });
  expectDropped(kMostOfCount);
}

TEST_F(CraftedGapsTest, AThreadThatEndedHasLostNoLessThanItsGapsBefore) {
  recoverWith([](CraftedSegments& crafted) {
    const std::uint32_t index = entryOf(crafted, true);
    CraftedSegments::ThreadEntry& entry = crafted.thread(index);
    ASSERT_TRUE(
        crafted.append(index, CraftedSegments::gap(crafted.lastStamp(index), 7, {{3, 0, 2}})));
    entry.gapRecords = 1;
    entry.gapNumber = 7;
    entry.ended = 1000;
    entry.endedNext = 1;
  });
  expectDropped(1000 + 1);
  EXPECT_EQ(ranges(), kRanges + 1);
}

TEST_F(CraftedGapsTest, TimesThatAreReversedOrFarOutsideTheRunKeepTheOrderOfRecords) {
  recoverWith([](CraftedSegments& crafted) {
    const std::uint32_t living = entryOf(crafted, false), ended = entryOf(crafted, true);
    crafted.thread(living).startStamp = std::uint64_t{1} << 63;
    crafted.thread(ended).startStamp = kMost;
    crafted.thread(ended).endStamp = (std::uint64_t{1} << 63) - 1;
    const std::uint64_t stamp = crafted.lastStamp(living);
    std::uint32_t number = 0;
    for (const std::uint64_t at :
         {stamp, stamp - 1'000'000, std::uint64_t{1}, (std::uint64_t{1} << 63) - 1,
          std::uint64_t{1} << 63, kMost, stamp}) {
      ASSERT_TRUE(crafted.append(living, CraftedSegments::gap(at, ++number, {{100, 1, 2}})));
    }
    ASSERT_TRUE(
        crafted.append(ended, {1, prof::recording::word(prof::recording::Kind::Pop, 0, 0)}));
  });
  const std::uint64_t begun = 7 * 2;
  EXPECT_EQ(ranges() - kRanges - 1 + stats_.dropped, begun);
  for (const prof::Range& range : prof::Trace(trace()).rows<prof::Range>()) {
    EXPECT_GE(range.durNs, 0);
    EXPECT_LE(range.startNs, prof::kFarthestNs);
    EXPECT_GE(range.startNs, -prof::kFarthestNs);
  }
  expectDropped(stats_.dropped);
}

/// Each record names domains that no other does, and each second one ends all that is open.
TEST_F(CraftedGapsTest, ThousandsWithDomainsOfTheirOwnEndInBoundedTimeAndMemory) {
  constexpr std::uint64_t kPool = 1024;
  std::uint64_t gaps = 0, closes = 0;
  const auto craft = [&](CraftedSegments& crafted) {
    const std::uint32_t index = entryOf(crafted, false);
    const std::uint64_t stamp = crafted.lastStamp(index);
    const auto put = [&](const CraftedSegments::Words& gap) { return crafted.append(index, gap); };
    while (put(CraftedSegments::gap(
        stamp, 1, manyDomains(static_cast<std::uint32_t>(gaps) * kManyDomains + 1, 1, 1)))) {
      if (++gaps == 150'000) break;
    }
    while (put(CraftedSegments::gap(stamp, 1, {{1, 0, 1}}, true))) ++closes;
  };
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  recoverWith(craft, kPool);
  getrusage(RUSAGE_SELF, &after);
  EXPECT_GT(gaps, 100'000u);
  EXPECT_GT(closes, 100'000u);
  EXPECT_EQ(stats_.events + stats_.dropped, kRanges + kMarks + gaps * kManyDomains + closes);
  EXPECT_LT(after.ru_utime.tv_sec - before.ru_utime.tv_sec, 60);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  // The pool itself is mapped, too.
  EXPECT_LT(static_cast<std::uint64_t>(after.ru_maxrss) << 10,
            kPool * kSegmentBytes + (std::uint64_t{400} << 20));
#endif
}

/// The thread that is gone is read while others go on, and again at the end.
TEST_F(CraftedGapsTest, ADrainerThatIsThereCountsThemOnce) {
  begin(4);
  auto drainer = prof::Drainer::create(recordingDir(), trace());
  ASSERT_OK(drainer);
  recordSomething();
  {
    CraftedSegments crafted = segments();
    ASSERT_TRUE(crafted.ok());
    const std::uint32_t index = entryOf(crafted, true);
    const std::uint64_t stamp = crafted.lastStamp(index);
    ASSERT_TRUE(
        crafted.append(index, CraftedSegments::gap(stamp, 1, {{3, kMostRanges, kMostRanges}})));
    ASSERT_TRUE(crafted.append(index, CraftedSegments::gap(stamp, 2, {{3, kMostRanges, 0}})));
    crafted.thread(index).ended = 40;
    ASSERT_OK(drainer->flush());
  }
  lacunaMark(lacunaName("behind it"));
  ASSERT_OK(drainer->flush());
  lacunaDetach();
  ASSERT_OK(drainer->finish());
  stats_ = drainer->stats();
  EXPECT_EQ(stats_.events, kRanges + kMarks + 2);
  expectDropped(40 + std::uint64_t{kMostRanges - 1});
}

/// Every entry leads to the same segment, and that to itself.
TEST_F(CraftedGapsTest, AChainThatLeadsAroundIsCountedOnceWhereARingIsTrimmed) {
  prof::RecordingOptions options;
  options.poolBytes = options.maxPoolBytes = 4 * kSegmentBytes;
  options.flightRecorder = true;
  options.sharedMemory = false;
  ASSERT_OK(prof::createRecording(recordingDir(), options));
  for (int process = 0; process < 2; ++process) {
    ASSERT_EQ(prof::inChild([&] {
                lacunaAttach(recordingDir().c_str());
                for (std::uint64_t i = 0; i < kMarks; ++i) lacunaMark(lacunaName("mark"));
              }),
              0);
  }
  for (const fs::path& file : prof::recordersIn(recordingDir())) {
    CraftedSegments crafted(file);
    ASSERT_TRUE(crafted.ok());
    const std::uint32_t segment = crafted.thread(entryOf(crafted, false)).first.load();
    crafted.view().segment(segment).next.store(segment);
    for (std::uint32_t index = 1; index <= prof::recording::kMaxThreads; ++index) {
      crafted.thread(index).first.store(segment);
    }
    crafted.thread(1).dropped.store(kMost);
    crafted.thread(2).droppedStarts.store(1);
    crafted.append(entryOf(crafted, false), CraftedSegments::gap(1, 1, {{0, 0, kMostRanges}}));
  }
  prof::FlightTrimmer trimmer(recordingDir());
  EXPECT_EQ(trimmer.trim(0), kMostOfCount);
  EXPECT_EQ(prof::recordersIn(recordingDir()).size(), 1u);
}

}  // namespace
}  // namespace lacuna::test
