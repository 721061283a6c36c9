// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "timeline/rows.h"

#include <gtest/gtest.h>

#include <utility>

#include "gui/sample_trace.h"

namespace lacuna::gui {
namespace {

class RowsTest : public ::testing::Test {
 protected:
  RowsTest() : tracks_(*analyzer::buildTracks(*testing::sampleTrace())) {}
  std::string show() {
    std::string out;
    for (const Row& row : layOut(*tracks_, options_)) {
      const auto& group = tracks_->groups[row.ref.group];
      out += row.kind == Row::Kind::PinHeader  ? "(pinned)"
             : row.kind == Row::Kind::Group    ? "[" + group.label + "]"
             : row.kind == Row::Kind::Quiet    ? "(" + std::to_string(row.lanes) + " at zero)"
             : row.kind == Row::Kind::Counters ? "{counters of " + group.label + "}"
                                               : group.tracks[row.ref.track].label;
      out += " ";
    }
    return out;
  }
  std::shared_ptr<const analyzer::TrackSet> tracks_;
  RowOptions options_;
};

TEST_F(RowsTest, ListsGroupsWithTheirTracks) {
  EXPECT_EQ(show(),
            "[python train.py 4242] main main · calls loader 0 [cuda:0 · Test Device] queue 7 "
            "memory memory · parameters memory · activations ");
}

TEST_F(RowsTest, ACollapsedGroupKeepsItsHeader) {
  options_.collapsedGroups = {1};
  EXPECT_EQ(show(), "[python train.py 4242] main main · calls loader 0 [cuda:0 · Test Device] ");
}

TEST_F(RowsTest, AFilterKeepsMatchingTracksInAnyCase) {
  options_.filter = "QUEUE";
  EXPECT_EQ(show(), "[cuda:0 · Test Device] queue 7 ");
}

TEST_F(RowsTest, PinnedTracksAreRepeatedOnTop) {
  options_.pinned = {{1, 0}};
  options_.collapsedGroups = {0, 1};
  EXPECT_EQ(show(), "(pinned) queue 7 [python train.py 4242] [cuda:0 · Test Device] ");
}

TEST_F(RowsTest, PinnedTracksAreFoldedAtTheirHeading) {
  options_.pinned = {{1, 0}};
  options_.pinnedFolded = true;
  options_.collapsedGroups = {0, 1};
  EXPECT_EQ(show(), "(pinned) [python train.py 4242] [cuda:0 · Test Device] ");
  EXPECT_TRUE(layOut(*tracks_, options_)[0].collapsed);
  EXPECT_TRUE(movedTo(*tracks_, options_, *tracks_).pinnedFolded);
}

TEST_F(RowsTest, OnlyTracksOfSeveralLanesAreCollapsed) {
  options_.collapsedTracks = {{0, 0}, {1, 0}, {1, 1}};
  const std::vector<Row> rows = layOut(*tracks_, options_);
  const auto row = [&](TrackRef ref) { return *findRow(rows, RowKey{Row::Kind::Track, ref}); };
  EXPECT_TRUE(row({0, 0}).collapsed);
  EXPECT_EQ(row({0, 0}).lanes, 1);
  EXPECT_FALSE(row({1, 0}).collapsed);
  EXPECT_FALSE(row({1, 1}).collapsed);
}

TEST_F(RowsTest, CountersAtZeroShareARowUntilAskedFor) {
  analyzer::TrackSet tracks;
  analyzer::TrackGroup& group = tracks.groups.emplace_back();
  group.label = "host";
  for (const auto& [label, value] : {std::pair("faults", 0.0), {"cpu", 3.0}, {"reads", 0.0}}) {
    analyzer::Track& track = group.tracks.emplace_back();
    track.kind = analyzer::TrackKind::Counter;
    track.label = label;
    track.counter.add(5, 0);
    track.counter.add(10, value);
    track.counter.finish();
  }
  tracks_ = std::make_shared<const analyzer::TrackSet>(std::move(tracks));
  EXPECT_EQ(show(), "[host] cpu (2 at zero) ");
  options_.quietShown = {0};
  EXPECT_EQ(show(), "[host] cpu (2 at zero) faults reads ");
  options_.quietShown = {};
  options_.filter = "READS";
  EXPECT_EQ(show(), "[host] reads ");
  options_.filter = {};
  options_.pinned = {{0, 0}};
  EXPECT_EQ(show(), "(pinned) faults [host] cpu (2 at zero) ");
}

TEST_F(RowsTest, CountersOfAProcessComeBelowTheDevices) {
  analyzer::TrackSet tracks;
  const auto add = [&](std::size_t group, analyzer::TrackKind kind, const char* label,
                       double value = 1) {
    analyzer::Track& track = tracks.groups.at(group).tracks.emplace_back();
    track.kind = kind;
    track.label = label;
    if (kind != analyzer::TrackKind::Counter) return;
    track.counter.add(5, value);
    track.counter.finish();
  };
  for (const char* label : {"python", "cpu:0"}) tracks.groups.emplace_back().label = label;
  tracks.groups[1].isDevice = true;
  add(0, analyzer::TrackKind::Ranges, "main");
  add(0, analyzer::TrackKind::Counter, "executions waiting");
  add(0, analyzer::TrackKind::Counter, "faults", 0);
  add(1, analyzer::TrackKind::Work, "queue 1");
  add(1, analyzer::TrackKind::Counter, "memory");
  tracks_ = std::make_shared<const analyzer::TrackSet>(std::move(tracks));
  EXPECT_EQ(
      show(),
      "[python] main [cpu:0] queue 1 memory {counters of python} executions waiting (1 at zero) ");
  options_.foldedCounters = {0};
  EXPECT_EQ(show(), "[python] main [cpu:0] queue 1 memory {counters of python} ");
  const RowKey waiting{Row::Kind::Track, {0, 1}};
  EXPECT_EQ(findRow(layOut(*tracks_, options_), waiting), nullptr);
  EXPECT_TRUE(showing(*tracks_, options_, {&waiting, 1}).foldedCounters.empty());
  options_.collapsedGroups = {0};
  EXPECT_EQ(show(), "[python] [cpu:0] queue 1 memory ");
  options_ = {};
  options_.filter = "waiting";
  EXPECT_EQ(show(), "[python] executions waiting ");
}

TEST_F(RowsTest, ChoicesStayWithTheirThreadsInAnotherLayout) {
  const auto layout = [](std::initializer_list<std::pair<std::uint32_t, const char*>> threads) {
    analyzer::TrackSet tracks;
    analyzer::TrackGroup& group = tracks.groups.emplace_back();
    for (const auto& [id, name] : threads) {
      analyzer::Track& track = group.tracks.emplace_back();
      track.thread = prof::ThreadId(id);
      track.label = name;
    }
    return tracks;
  };
  const analyzer::TrackSet before = layout({{1, "thread #1"}, {2, "loader"}, {3, "loader"}});
  const analyzer::TrackSet after =
      layout({{1, "main"}, {4, "saver"}, {2, "loader"}, {3, "loader"}});
  options_.pinned = {{0, 2}};
  options_.collapsedTracks = {{0, 0}};
  const RowOptions moved = movedTo(before, options_, after);
  EXPECT_EQ(moved.pinned, (std::set<TrackRef>{{0, 3}}));
  EXPECT_EQ(moved.collapsedTracks, (std::set<TrackRef>{{0, 0}}));
  EXPECT_EQ(movedTo(before, RowKey{Row::Kind::Track, {0, 2}}, after),
            (RowKey{Row::Kind::Track, {0, 3}}));
}

TEST_F(RowsTest, ChoicesStayWithAThreadWhoseProcessIsReportedLate) {
  const auto add = [](analyzer::TrackGroup& group, std::uint32_t thread) {
    analyzer::Track& track = group.tracks.emplace_back();
    track.thread = prof::ThreadId(thread);
    track.process = group.process;
  };
  analyzer::TrackSet before;
  analyzer::TrackGroup& all = before.groups.emplace_back();
  for (const std::uint32_t thread : {1U, 2U, 3U}) add(all, thread);
  analyzer::TrackSet after;
  for (const std::uint32_t process : {0U, 7U})
    after.groups.emplace_back().process = prof::ProcessId(process);
  for (const std::uint32_t thread : {1U, 3U}) add(after.groups[0], thread);
  add(after.groups[1], 2);
  options_.pinned = {{0, 1}, {0, 2}};
  EXPECT_EQ(movedTo(before, options_, after).pinned, (std::set<TrackRef>{{0, 1}, {1, 0}}));
  EXPECT_EQ(movedTo(before, RowKey{Row::Kind::Track, {0, 1}}, after),
            (RowKey{Row::Kind::Track, {1, 0}}));
}

TEST_F(RowsTest, EvidenceIsAboutItsQueueItsThreadAndItsDevice) {
  const auto labels = [&](const analyzer::Evidence& evidence) {
    std::string out;
    for (const RowKey& key : rowsOf(*tracks_, evidence)) {
      const auto& group = tracks_->groups[key.ref.group];
      out += (key.kind == Row::Kind::Ledger ? "ledger of " + group.label
                                            : group.tracks[key.ref.track].label) +
             "; ";
    }
    return out;
  };
  const prof::DeviceId device(1);
  EXPECT_EQ(labels({.endNs = 9, .what = {}, .device = device, .queue = prof::QueueId(1)}),
            "queue 7; ledger of cuda:0 · Test Device; ");
  EXPECT_EQ(labels({.endNs = 9, .what = {}, .device = device, .thread = prof::ThreadId(1)}),
            "main; main · calls; ledger of cuda:0 · Test Device; ");
  EXPECT_EQ(labels({.startNs = 9, .endNs = 9, .what = {}, .device = device}),
            "memory; ledger of cuda:0 · Test Device; ");
  EXPECT_EQ(labels({.endNs = 9, .what = {}}), "");
}

TEST_F(RowsTest, WhatHidesAWantedRowIsOpened) {
  const std::vector<RowKey> wanted{{Row::Kind::Track, {0, 0}}, {Row::Kind::Ledger, {1, 0}}};
  options_.ledgers = {1};
  options_.collapsedGroups = {0, 1};
  options_.collapsedTracks = {{0, 0}, {0, 1}};
  options_.filter = "queue";
  options_ = showing(*tracks_, options_, wanted);
  EXPECT_EQ(options_.collapsedTracks, (std::set<TrackRef>{{0, 1}}));
  const std::vector<Row> rows = layOut(*tracks_, options_);
  for (const RowKey& key : wanted) EXPECT_NE(findRow(rows, key), nullptr);
  options_.filter = "main";
  EXPECT_EQ(showing(*tracks_, options_, {wanted.data(), 1}).filter,
            "main");  // it hides nothing that is wanted
}

TEST_F(RowsTest, ScrollingShowsAsManyWantedRowsAsFit) {
  options_.pinned = {{1, 0}};  // what is pinned is no place to scroll to
  options_.ledgers = {1};
  const std::vector<Row> rows = layOut(*tracks_, options_);
  const RowKey thread{Row::Kind::Track, {0, 0}}, queue{Row::Kind::Track, {1, 0}},
      ledger{Row::Kind::Ledger, {1, 0}};
  const auto sees = [&](const RowKey& key, int scrolled, int height) {
    const Row* row = findRow(rows, key);
    return row->y >= scrolled && row->y + row->height <= scrolled + height;
  };
  const auto both = std::vector{queue, ledger};
  const int high = scrollTo(rows, both, 0, 120);
  EXPECT_TRUE(sees(queue, high, 120) && sees(ledger, high, 120));
  EXPECT_EQ(scrollTo(rows, both, high, 120), high);
  const auto apart = std::vector{queue, thread};
  const int low = scrollTo(rows, apart, 0, 60);
  EXPECT_TRUE(sees(queue, low, 60) && !sees(thread, low, 60));
  EXPECT_EQ(scrollTo(rows, {}, 17, 60), 17);
}

TEST_F(RowsTest, EveryHeightHasItsRow) {
  const auto rows = layOut(*tracks_, options_);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rowAt(rows, rows[i].y), i);
    EXPECT_EQ(rowAt(rows, rows[i].y + rows[i].height - 1), i);
  }
  EXPECT_EQ(rowAt(rows, -1), rows.size());
  EXPECT_EQ(rowAt(rows, rows.back().y + rows.back().height), rows.size());
}

}  // namespace
}  // namespace lacuna::gui
