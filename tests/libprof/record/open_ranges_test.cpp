// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <random>
#include <tuple>

#include "libprof/record/drained.h"
#include "support/sanitizer.h"

namespace lacuna::prof {
namespace {

/// Ranges that stay open while the drainer saves its state, and what recover() has of them when
/// that is gone.
class OpenRangesTest : public DrainedTest {
 protected:
  void finish() {
    lacunaDetach();
    ASSERT_OK(drainer_->finish());
  }
  /// As if the drainer had died.
  Result<DrainStats> recoverAll() {
    drainer_.reset();
    lacunaDetach();
    return recover(recordingDir(), recovered(), true);
  }

  static void push(std::uint64_t payload) {
    LacunaEvent event{};
    event.name = lacunaName("with payload");
    event.payloadType = LacunaPayloadU64;
    event.payload = payload;
    lacunaRangePushEvent(&event);
  }
  static std::uint64_t start(std::uint64_t payload) {
    LacunaEvent event{};
    event.name = lacunaName("started");
    event.payloadType = LacunaPayloadU64;
    event.payload = payload;
    return lacunaRangeStart(&event);
  }
  [[nodiscard]] std::filesystem::path log() const {
    for (const auto& entry : std::filesystem::directory_iterator(recordingDir())) {
      if (entry.path().filename().string().starts_with("open-")) return entry.path();
    }
    return {};
  }
  [[nodiscard]] std::uint64_t logBytes() const {
    return log().empty() ? 0 : std::filesystem::file_size(log());
  }
  [[nodiscard]] std::uint64_t checkpointBytes() const {
    return std::filesystem::file_size(recordingDir() / "checkpoint");
  }
  static std::uint64_t ownBytes() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("RssAnon:")) return std::stoull(line.substr(8)) << 10;
    }
    return 0;
  }
  /// A sanitizer's own memory would count, too.
  static void expectGrowthBelow([[maybe_unused]] std::uint64_t bytes,
                                [[maybe_unused]] std::uint64_t before) {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    EXPECT_LT(ownBytes() - before, bytes);
#endif
  }
};

// The memory for each shows without the thread sanitizer, under which so many take minutes.
constexpr std::uint64_t kMany = test::kThreadSanitized ? 100'000 : 1'000'000;

TEST_F(OpenRangesTest, AMillionTakesLittleMemoryAndIsSavedOnce) {
  flush();
  const std::uint64_t before = ownBytes();
  for (std::uint64_t i = 0; i < kMany; ++i) {
    lacunaRangePush(lacunaName("open"));
    if (i % (kMany / 4) == 0) flush();
  }
  flush();
  const std::uint64_t saved = logBytes();
  EXPECT_LE(saved, 24 * kMany);
  EXPECT_LT(checkpointBytes(), 64u << 10);
  expectGrowthBelow(64u << 20, before);
  for (int i = 0; i < 3; ++i) {
    lacunaRangePush(lacunaName("further"));
    flush();
  }
  EXPECT_LT(logBytes() - saved, 4096u) << "what stays open is not written again";
  finish();
  EXPECT_EQ(Trace(trace()).rows<Range>().size(), kMany + 3);
}

TEST_F(OpenRangesTest, AMillionStartedOnesTakeLittleMemory) {
  flush();
  const std::uint64_t before = ownBytes();
  for (std::uint64_t i = 0; i < kMany; ++i) {
    start(0);
    if (i % (kMany / 4) == 0) flush();
  }
  flush();
  EXPECT_LT(checkpointBytes(), 64u << 10);
  expectGrowthBelow(100u << 20, before);
  finish();
  EXPECT_EQ(drainer_->stats().events, kMany);
}

// One thread fills the room, so the thread sanitizer has nothing to find.
#ifndef __SANITIZE_THREAD__
TEST_F(OpenRangesTest, MoreThanThereIsRoomForAreCountedAndTheOthersKeepTheirEnds) {
  constexpr std::uint64_t kTooMany = 2'400'000;
  for (std::uint64_t i = 0; i < kTooMany; ++i) {
    push(i);
    if (i % 250'000 == 0) flush();
  }
  for (std::uint64_t i = 0; i < kTooMany; ++i) {
    lacunaRangePop();
    if (i % 500'000 == 0) flush();
  }
  push(kTooMany);
  lacunaRangePop();
  finish();
  const DrainStats stats = drainer_->stats();
  EXPECT_EQ(stats.events + stats.dropped, kTooMany + 1);
  EXPECT_GT(stats.dropped, 100'000u);
  Trace file(trace());
  const auto ranges = file.rows<Range>();
  EXPECT_EQ(ranges.size(), stats.events);
  for (const Range& range : ranges) ASSERT_EQ(range.flags, 0);
  EXPECT_EQ(ranges.back().payload, kTooMany) << "there is room again";
  EXPECT_EQ(ranges[ranges.size() - 2].payload, 0u) << "the outermost ends last";
  std::uint64_t dropped = 0;
  for (const Drop& drop : file.rows<Drop>()) {
    dropped += drop.count;
    EXPECT_EQ(file.text(drop.reason), "too many ranges are open");
  }
  EXPECT_EQ(dropped, stats.dropped);
}
#endif

TEST_F(OpenRangesTest, TheirLogIsWrittenAnewWhenMostOfItIsPast) {
  for (int round = 0; round < 60; ++round) {
    for (std::uint64_t i = 0; i < 10'000; ++i) push(i);
    flush();
    for (std::uint64_t i = 0; i < 10'000; ++i) lacunaRangePop();
    flush();
  }
  EXPECT_LT(logBytes(), 3u << 20) << "all of it would be 30 MB";
  const auto folder = std::filesystem::directory_iterator(recordingDir());
  EXPECT_EQ(std::count_if(begin(folder), end(folder),
                          [](const auto& entry) {
                            return entry.path().filename().string().starts_with("open-");
                          }),
            1);
}

/// Opens and closes at random, and knows what there must be.
class RandomRanges {
 public:
  void step(std::mt19937& random) {
    const std::uint32_t way = random() % 8;
    const std::uint32_t domain = random() % 3;
    const std::uint64_t number = ++last_;
    if (way < 3) {
      LacunaEvent event = eventOf(domain, way == 0 ? 0 : number);
      lacunaRangePushEvent(&event);
      open_[domain].push_back(number);
      plain_[number] = way == 0;
    } else if (way < 6 && !open_[domain].empty()) {
      lacunaDomainRangePop(domainOf(domain));
      expected_.push_back(rowOf(open_[domain].back(), domain, 0));
      open_[domain].pop_back();
    } else if (way == 6) {
      LacunaEvent event = eventOf(domain, number);
      started_.push_back({lacunaRangeStart(&event), number, domain});
    } else if (way == 7 && !started_.empty()) {
      const std::size_t at = random() % started_.size();
      const auto [range, which, where] = started_[at];
      lacunaRangeEnd(range);
      expected_.push_back(rowOf(which, where, 0));
      started_.erase(started_.begin() + static_cast<std::ptrdiff_t>(at));
    }
  }
  using Row = std::tuple<std::uint64_t, std::string, std::uint32_t>;
  std::vector<Row> all() const {
    std::vector<Row> rows = expected_;
    for (const auto& [domain, numbers] : open_) {
      for (const std::uint64_t number : numbers) rows.push_back(rowOf(number, domain, kUnfinished));
    }
    for (const auto& [range, number, domain] : started_)
      rows.push_back(rowOf(number, domain, kUnfinished));
    std::sort(rows.begin(), rows.end());
    return rows;
  }

 private:
  static LacunaName domainOf(std::uint32_t domain) {
    return domain == 0 ? 0 : lacunaName(("domain " + std::to_string(domain)).c_str());
  }
  static LacunaEvent eventOf(std::uint32_t domain, std::uint64_t payload) {
    LacunaEvent event{};
    event.name = lacunaName("range");
    event.domain = domainOf(domain);
    event.payload = payload;
    event.payloadType = payload == 0 ? 0 : LacunaPayloadU64;
    return event;
  }
  Row rowOf(std::uint64_t number, std::uint32_t domain, std::uint32_t flags) const {
    const auto plain = plain_.find(number);
    return {plain != plain_.end() && plain->second ? 0 : number,
            domain == 0 ? "" : "domain " + std::to_string(domain), flags};
  }

  std::uint64_t last_ = 0;
  std::map<std::uint32_t, std::vector<std::uint64_t>> open_;
  std::map<std::uint64_t, bool> plain_;
  std::vector<std::tuple<std::uint64_t, std::uint64_t, std::uint32_t>> started_;
  std::vector<Row> expected_;
};

std::vector<RandomRanges::Row> rowsOf(const std::filesystem::path& path) {
  Trace file(path);
  std::vector<RandomRanges::Row> rows;
  for (const Range& range : file.rows<Range>())
    rows.emplace_back(range.payload, file.text(range.domain), range.flags);
  std::sort(rows.begin(), rows.end());
  return rows;
}

TEST_F(OpenRangesTest, AreWhatTheyWereWhereverTheDrainerDies) {
  std::mt19937 random(11);
  RandomRanges ranges;
  for (int part = 0; part < 40; ++part) {
    for (std::uint32_t i = random() % 3000; i > 0; --i) ranges.step(random);
    if (part != 39) flush();
  }
  // The beginning of what another save wrote.
  std::ofstream(log(), std::ios::binary | std::ios::app) << "the tail of a save that did not end";
  ASSERT_OK(recoverAll());
  EXPECT_EQ(rowsOf(recovered()), ranges.all());
}

TEST_F(OpenRangesTest, ADamagedLogIsNotTakenForWhatItWas) {
  for (std::uint64_t i = 0; i < 1000; ++i) push(i);
  flush();
  std::fstream file(log(), std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(200);
  file.put('!');
  file.close();
  const auto stats = recoverAll();
  ASSERT_FALSE(stats.ok());
  EXPECT_NE(stats.error().message.find("open ranges of the recording are damaged"),
            std::string::npos)
      << stats.error().message;
}

}  // namespace
}  // namespace lacuna::prof
