// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "lacuna/analyzer/lanes.h"
#include "lacuna/prof/writer.h"
#include "support/temp_dir.h"

namespace lacuna::analyzer {
namespace {

using prof::DeviceId, prof::QueueId, prof::ThreadId, prof::TimeNs;

/// Enough for chunks and pyramids of several levels.
constexpr std::uint64_t kWorthKeeping = 200'000;

/// A trace just large enough to be worth keeping, written once for all tests.
class TrackFileTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<test::TempDir>();
    ASSERT_EQ(::setenv("XDG_CACHE_HOME", (*folder_ / "cache").c_str(), 1), 0);
    write(*folder_ / "master.lcn", kWorthKeeping + 1000);
  }
  static void TearDownTestSuite() { folder_.reset(); }

  void SetUp() override {
    std::filesystem::remove_all(trackCacheFolder());
    std::filesystem::copy_file(*folder_ / "master.lcn", path(),
                               std::filesystem::copy_options::overwrite_existing);
  }

  static void write(const std::filesystem::path& path, std::uint64_t events) {
    auto writer = *prof::Writer::create(path);
    std::mt19937_64 random(3);
    writer.append(prof::Thread{.id = ThreadId(1), .name = writer.intern("main")});
    writer.append(prof::Queue{.id = QueueId(1), .device = DeviceId(1)});
    writer.append(prof::CounterTrack{.id = prof::TrackId(1), .name = writer.intern("depth")});
    TimeNs now = 1000;
    for (std::uint64_t i = 0; i < events; i += 2) {
      const auto dur = static_cast<TimeNs>(random() % 4 == 0 ? random() % 100'000 : random() % 500);
      writer.append(prof::Range{.startNs = now,
                                .durNs = dur,
                                .thread = ThreadId(1),
                                .name = prof::StringId(static_cast<std::uint32_t>(random() % 3))});
      writer.append(prof::Kernel{
          .startNs = now + 10, .durNs = dur / 2, .queue = QueueId(1), .device = DeviceId(1)});
      if (i % 64 == 0) {
        writer.append(prof::CounterSample{
            .timeNs = now, .track = prof::TrackId(1), .value = double(random() % 9)});
        writer.append(prof::Allocation{.timeNs = now,
                                       .device = DeviceId(1),
                                       .role = static_cast<prof::MemoryRole>(random() % 3),
                                       .address = i,
                                       .bytes = 8});
      }
      now += dur + static_cast<TimeNs>(random() % 50);
    }
    ASSERT_TRUE(writer.finish());
  }

  static std::filesystem::path path() { return *folder_ / "t.lcn"; }
  static std::shared_ptr<const Store> open() { return *Store::open(path()); }
  static std::filesystem::path cacheFile() {
    return std::filesystem::directory_iterator(trackCacheFolder())->path();
  }
  static void flip(const std::filesystem::path& file, std::uint64_t at) {
    std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekg(static_cast<std::streamoff>(at));
    const int byte = bytes.get();
    bytes.seekp(static_cast<std::streamoff>(at));
    bytes.put(static_cast<char>(byte ^ 0x10));
  }

  static void expectSame(const TrackSet& a, const TrackSet& b) {
    ASSERT_EQ(a.events, b.events);
    ASSERT_EQ(a.groups.size(), b.groups.size());
    for (std::size_t g = 0; g < a.groups.size(); ++g) {
      ASSERT_EQ(a.groups[g].label, b.groups[g].label);
      ASSERT_EQ(a.groups[g].tracks.size(), b.groups[g].tracks.size());
      for (std::size_t t = 0; t < a.groups[g].tracks.size(); ++t) {
        expectSame(a.groups[g].tracks[t], b.groups[g].tracks[t], a.span);
      }
    }
  }
  static void expectSame(const Track& a, const Track& b, prof::TimeWindow span) {
    ASSERT_EQ(a.label, b.label);
    ASSERT_EQ(a.lanes.size(), b.lanes.size());
    ASSERT_EQ(a.counter.size(), b.counter.size());
    for (std::size_t l = 0; l < a.lanes.size(); ++l) expectSame(a.lanes[l], b.lanes[l], span);
    for (std::size_t i = 0; i < a.counter.size(); ++i) {
      ASSERT_EQ(a.counter.timeNs(i), b.counter.timeNs(i));
      ASSERT_EQ(a.counter.value(i), b.counter.value(i));
    }
    const PixelGrid grid{span.startNs, static_cast<double>(span.endNs - span.startNs) / 300, 300};
    std::vector<CounterCell> mine(300), theirs(300);
    a.counter.query(grid, mine);
    b.counter.query(grid, theirs);
    for (std::size_t x = 0; x < mine.size(); ++x) ASSERT_EQ(mine[x].high, theirs[x].high);
  }
  static void expectSame(const Lane& a, const Lane& b, prof::TimeWindow span) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); i += 7) {
      ASSERT_EQ(a.startNs(i), b.startNs(i));
      ASSERT_EQ(a.durNs(i), b.durNs(i));
      ASSERT_EQ(a.name(i), b.name(i));
    }
    for (const double zoom : {1.0, 100.0, 10'000.0}) {
      const PixelGrid grid{span.startNs,
                           static_cast<double>(span.endNs - span.startNs) / 300 / zoom, 300};
      std::vector<Cell> mine(300), theirs(300);
      a.query(grid, mine);
      b.query(grid, theirs);
      for (std::size_t x = 0; x < mine.size(); ++x) ASSERT_EQ(mine[x].busy, theirs[x].busy);
    }
  }

  static std::unique_ptr<test::TempDir> folder_;
};
std::unique_ptr<test::TempDir> TrackFileTest::folder_;

TEST_F(TrackFileTest, TracksThatWereAppendedAreTheOnesThatWereBuilt) {
  const auto built = *buildTracks(*open());
  ASSERT_EQ(loadTracks(*open()), nullptr);
  ASSERT_TRUE(addTracks(path(), {}, kWorthKeeping));
  const auto loaded = loadTracks(*open());
  ASSERT_NE(loaded, nullptr);
  expectSame(*built, *loaded);
  const auto size = std::filesystem::file_size(path());
  ASSERT_TRUE(addTracks(path(), {}, kWorthKeeping));
  EXPECT_EQ(std::filesystem::file_size(path()), size) << "they are there already";
}

TEST_F(TrackFileTest, WhatHasNoLaneIsKeptAsANumber) {
  auto writer = *prof::Writer::create(path());
  for (TimeNs i = 0; i < 3'000; ++i)
    writer.append(prof::Range{.startNs = i, .durNs = 9'000, .thread = ThreadId(1)});
  ASSERT_TRUE(writer.finish());
  const auto built = *buildTracks(*open());
  ASSERT_TRUE(addTracks(path(), {}, 1));
  const auto loaded = loadTracks(*open());
  ASSERT_NE(loaded, nullptr);
  expectSame(*built, *loaded);
  const Track& track = loaded->groups[0].tracks[0];
  EXPECT_EQ(track.deeper, 3'000U - kMostLanes);
  EXPECT_EQ(track.events, 3'000U);
}

TEST_F(TrackFileTest, TracksAreKeptInTheCacheFolderUntilTheFileChanges) {
  const auto store = open();
  const auto built = *buildTracks(*store);
  ASSERT_TRUE(keepTracks(*store, *built, kWorthKeeping));
  const auto loaded = loadTracks(*open());
  ASSERT_NE(loaded, nullptr);
  expectSame(*built, *loaded);
  write(path(), kWorthKeeping + 3000);
  EXPECT_EQ(loadTracks(*open()), nullptr);
}

TEST_F(TrackFileTest, TracksAreStaleOnceRowsWereAdded) {
  ASSERT_TRUE(addTracks(path(), {}, kWorthKeeping));
  auto writer = *prof::Writer::extend(path());
  writer.append(prof::Range{.startNs = 5, .durNs = 1, .thread = ThreadId(1)});
  ASSERT_TRUE(writer.finish());
  EXPECT_EQ(loadTracks(*open()), nullptr);
  EXPECT_TRUE((*prof::Reader::open(path())).derivedBlocks().empty());
}

TEST_F(TrackFileTest, ADamagedPyramidIsBuiltAnew) {
  const auto store = open();
  const auto built = *buildTracks(*store);
  ASSERT_TRUE(keepTracks(*store, *built, kWorthKeeping));
  flip(cacheFile(), 64 + 4096);  // within the head of the first lane
  EXPECT_EQ(loadTracks(*store), nullptr);
  const auto opened = openTracks(*store);
  ASSERT_TRUE(opened);
  expectSame(*built, **opened);
}

TEST_F(TrackFileTest, ADamagedChunkShowsInstantsAndIsReported) {
  const auto store = open();
  ASSERT_TRUE(keepTracks(*store, **buildTracks(*store), kWorthKeeping));
  const auto reader = *prof::Reader::open(cacheFile());
  const auto sections = *reader.derivedSections(reader.derivedBlocks()[0], "tracks");
  ASSERT_GT(sections.size(), 3u);
  flip(cacheFile(), sections[2].offset + 100);
  const auto loaded = loadTracks(*store);
  ASSERT_NE(loaded, nullptr);
  bool damaged = false;
  for (const TrackGroup& group : loaded->groups) {
    for (const Track& track : group.tracks) {
      for (const Lane& lane : track.lanes) {
        for (std::size_t i = 1; i < lane.size(); ++i)
          ASSERT_LE(lane.startNs(i - 1), lane.startNs(i));
        damaged = damaged || lane.events().damaged();
      }
    }
  }
  EXPECT_TRUE(damaged);
}

TEST_F(TrackFileTest, ACutCacheFileIsNoTracks) {
  const auto store = open();
  ASSERT_TRUE(keepTracks(*store, **buildTracks(*store), kWorthKeeping));
  const auto full = std::filesystem::file_size(cacheFile());
  for (const std::uint64_t size : {full / 2, std::uint64_t{70}, std::uint64_t{0}}) {
    std::filesystem::resize_file(cacheFile(), size);
    EXPECT_EQ(loadTracks(*store), nullptr) << size;
  }
}

TEST_F(TrackFileTest, WhatAReaderWouldRefuseIsNotKept) {
  auto writer = *prof::Writer::create(path());
  writer.append(prof::Thread{.id = ThreadId(1), .name = writer.intern("main")});
  writer.append(prof::Range{.startNs = 0, .durNs = TimeNs{1} << 61, .thread = ThreadId(1)});
  ASSERT_TRUE(writer.finish());
  const auto before = std::filesystem::file_size(path());
  ASSERT_TRUE(addTracks(path(), {}, 1));
  EXPECT_EQ(std::filesystem::file_size(path()), before);
  const auto store = open();
  const auto built = *buildTracks(*store);
  ASSERT_TRUE(keepTracks(*store, *built, 1));
  EXPECT_EQ(loadTracks(*store), nullptr);
  EXPECT_EQ(built->groups.at(0).tracks.at(0).lanes.at(0).durNs(0), TimeNs{1} << 61);
}

TEST_F(TrackFileTest, CountersThatTheTraceDoesNotDescribeAreKeptApart) {
  auto writer = *prof::Writer::create(path());
  for (const std::uint32_t id : {5U, 7U})
    writer.append(prof::CounterSample{.timeNs = id, .track = prof::TrackId(id), .value = 2.0 * id});
  ASSERT_TRUE(writer.finish());
  const auto built = *buildTracks(*open());
  ASSERT_TRUE(addTracks(path(), {}, 1));
  const auto loaded = loadTracks(*open());
  ASSERT_NE(loaded, nullptr);
  ASSERT_EQ(loaded->groups.at(0).tracks.size(), 2u);
  expectSame(*built, *loaded);
}

TEST_F(TrackFileTest, SmallTracesKeepNothing) {
  write(path(), 1000);
  const auto before = std::filesystem::file_size(path());
  ASSERT_TRUE(addTracks(path()));
  EXPECT_EQ(std::filesystem::file_size(path()), before);
  ASSERT_TRUE(keepTracks(*open(), **buildTracks(*open())));
  EXPECT_FALSE(std::filesystem::exists(trackCacheFolder()));
}

}  // namespace
}  // namespace lacuna::analyzer
