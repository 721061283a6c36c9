// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "timeline/rows.h"

#include <gtest/gtest.h>

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
      out += row.kind == Row::Kind::PinHeader ? "(pinned)"
             : row.kind == Row::Kind::Group   ? "[" + group.label + "]"
             : row.kind == Row::Kind::Quiet   ? "(" + std::to_string(row.lanes) + " at zero)"
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
            "[python train.py 4242] main main · calls loader 0 [cuda:0 · Test Device] queue 7 memory memory · "
            "parameters memory · activations ");
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
