// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstring>

#include "lacuna/analyzer/lanes.h"
#include "lacuna/prof/writer.h"
#include "support/sanitizer.h"
#include "support/temp_dir.h"

namespace lacuna::analyzer {
namespace {

using testing::HasSubstr;
using namespace prof;

/// A few tracks for every file, until the test ends.
class TrackBudgetTest : public testing::Test {
 protected:
  void TearDown() override { Budget::setOfProcess(before_); }
  static void allow(std::string_view items) {
    Budget budget = Budget::ofProcess();
    ASSERT_TRUE(budget.raise(items));
    Budget::setOfProcess(budget);
  }
  /// A trace with one row for each of so many ids.
  template <class Make>
  std::shared_ptr<const Store> traceOf(std::uint32_t count, Make make) {
    auto writer = *Writer::create(path());
    for (std::uint32_t id = 1; id <= count; ++id) writer.append(make(id));
    EXPECT_TRUE(writer.finish());
    return *Store::open(path());
  }
  template <class Make>
  void expectBound(Make make) {
    const auto few = traceOf(10, make);
    EXPECT_TRUE(buildTracks(*few));
    EXPECT_TRUE(LiveTracks().layOut(*few));
    const auto many = traceOf(12, make);
    for (const auto& refused : {buildTracks(*many), LiveTracks().layOut(*many)}) {
      ASSERT_FALSE(refused);
      EXPECT_THAT(refused.error().message, HasSubstr("t.lcn: claims 12 tracks of a timeline in "));
      EXPECT_THAT(refused.error().message, HasSubstr("beyond the budget of 10; "));
      EXPECT_THAT(refused.error().message, HasSubstr("--budget tracks=12 (or LACUNA_BUDGET)"));
    }
  }
  [[nodiscard]] std::filesystem::path path() const { return folder_ / "t.lcn"; }

  test::TempDir folder_;
  Budget before_ = Budget::ofProcess();
};

TEST_F(TrackBudgetTest, ATrackOfEveryKindCounts) {
  allow("tracks=10");
  expectBound(
      [](std::uint32_t id) { return Range{.startNs = id, .durNs = 1, .thread = ThreadId(id)}; });
  expectBound(
      [](std::uint32_t id) { return ApiCall{.startNs = id, .durNs = 1, .thread = ThreadId(id)}; });
  expectBound(
      [](std::uint32_t id) { return Kernel{.startNs = id, .durNs = 1, .queue = QueueId(id)}; });
  expectBound([](std::uint32_t id) {
    return CounterSample{.timeNs = id, .track = TrackId(id), .value = 1};
  });
}

TEST_F(TrackBudgetTest, ADeviceHasATrackOfItsMemoryAndOneOfEachRole) {
  allow("tracks=10");
  const auto make = [](std::uint32_t id) {
    return Allocation{.timeNs = id,
                      .device = DeviceId(id),
                      .role = MemoryRole::Gradient,
                      .address = id,
                      .bytes = 8};
  };
  EXPECT_TRUE(buildTracks(*traceOf(5, make)));
  const auto many = traceOf(6, make);
  EXPECT_THAT(buildTracks(*many).error().message, HasSubstr("claims 11 tracks"));
  EXPECT_THAT(LiveTracks().layOut(*many).error().message, HasSubstr("claims 11 tracks"));
}

TEST_F(TrackBudgetTest, ACounterWithoutSamplesCounts) {
  allow("tracks=10");
  const auto make = [](std::uint32_t id) { return CounterTrack{.id = TrackId(id)}; };
  EXPECT_TRUE(buildTracks(*traceOf(10, make)));
  EXPECT_THAT(buildTracks(*traceOf(12, make)).error().message, HasSubstr("claims 12 tracks"));
}

std::uint64_t mostMemory() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) << 10;
}

/// Laid out, it would take 1.6 GB.
TEST_F(TrackBudgetTest, AFileOfAMillionThreadsIsRefusedInLittleMemory) {
  const auto store = traceOf(1'000'000, [](std::uint32_t id) {
    return Range{.startNs = id, .durNs = 1, .thread = ThreadId(id * 4001)};
  });
  EXPECT_LT(std::filesystem::file_size(path()), 6'000'000U);
  const std::uint64_t before = mostMemory();
  const auto refused = buildTracks(*store);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("claims 1000000 tracks"));
  // The thread sanitizer keeps four times as much about each byte.
  EXPECT_LT(mostMemory() - before, test::kThreadSanitized ? 1'750'000'000U : 350'000'000U);
}

/// Tracks as a file keeps them, with one more lane whose block is that of another.
TEST_F(TrackBudgetTest, OneKeptBlockIsOneLane) {
  ::setenv("XDG_CACHE_HOME", (folder_ / "cache").c_str(), 1);
  const auto store = traceOf(50, [](std::uint32_t id) {
    return Range{.startNs = id, .durNs = 1, .thread = ThreadId(id % 2)};
  });
  ASSERT_TRUE(keepTracks(*store, **buildTracks(*store), 1));
  ASSERT_TRUE(loadTracks(*store));
  const std::filesystem::path cache =
      std::filesystem::directory_iterator(trackCacheFolder())->path();
  constexpr std::size_t kHead = 28, kCountAt = 24, kEntry = 24, kOffsetAt = 16, kIdAt = 4;
  const auto rewrite = [&](bool repeats) {
    const auto kept = *Reader::open(cache);
    const auto blocks = kept.derivedBlocks();
    std::vector<std::vector<std::byte>> contents;
    for (const DerivedBlock& block : blocks) {
      const auto sections = *kept.derivedSections(block, "tracks");
      for (const DerivedSection& section : sections) {
        contents.emplace_back(section.bytes);
        ASSERT_TRUE(kept.readSection(section, contents.back()));
      }
    }
    std::vector<std::byte>& directory = contents.back();
    auto writer = *Writer::create(folder_ / "again.lcn");
    std::size_t at = 0;
    std::vector<std::uint64_t> offsets;
    for (const DerivedBlock& block : blocks.first(blocks.size() - 1)) {
      std::vector<std::span<const std::byte>> sections;
      for (std::size_t i = 0; i < kept.derivedSections(block, "tracks")->size(); ++i)
        sections.emplace_back(contents[at++]);
      offsets.push_back(writer.appendDerived("tracks", sections));
    }
    std::uint32_t count = 0;
    std::memcpy(&count, directory.data() + kCountAt, sizeof count);
    ASSERT_EQ(count, offsets.size());
    for (std::size_t i = 0; i < count; ++i)
      std::memcpy(directory.data() + kHead + i * kEntry + kOffsetAt, &offsets[i],
                  sizeof offsets[i]);
    if (repeats) {
      const std::vector<std::byte> last(directory.end() - kEntry, directory.end());
      directory.insert(directory.end(), last.begin(), last.end());
      const std::uint32_t another = 77;
      std::memcpy(directory.data() + directory.size() - kEntry + kIdAt, &another, sizeof another);
      ++count;
      std::memcpy(directory.data() + kCountAt, &count, sizeof count);
    }
    writer.appendDerived("tracks", std::vector<std::span<const std::byte>>{directory});
    ASSERT_TRUE(writer.finish());
    std::filesystem::rename(folder_ / "again.lcn", cache);
  };
  rewrite(false);
  EXPECT_TRUE(loadTracks(*store)) << "written again as it was";
  rewrite(true);
  EXPECT_FALSE(loadTracks(*store));
  ::unsetenv("XDG_CACHE_HOME");
}

}  // namespace
}  // namespace lacuna::analyzer
