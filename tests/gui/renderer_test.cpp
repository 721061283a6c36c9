// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "gui/sample_trace.h"
#include "lacuna/analyzer/store.h"
#include "timeline/strip_renderer.h"

namespace lacuna::gui {
namespace {

constexpr int kWidth = 1000;
constexpr int kHeight = 600;

class RendererTest : public ::testing::Test {
 protected:
  RendererTest()
      : store_(testing::sampleTrace()),
        tracks_(*analyzer::buildTracks(*store_)),
        styles_(*store_, true),
        rows_(layOut(*tracks_, {})),
        view_(tracks_->span) {}
  Scene scene() { return {tracks_.get(), rows_, view_, 0, 1}; }
  void render() {
    renderer_.render(scene(), styles_, {pixels_.data(), kWidth, kHeight, kWidth}, labels_);
  }
  Colour at(double x, int y) {
    return pixels_[static_cast<std::size_t>(y) * kWidth + static_cast<std::size_t>(x)];
  }
  const Row& rowOf(std::string_view label) {
    for (const Row& row : rows_) {
      if (row.kind == Row::Kind::Track &&
          tracks_->groups[row.ref.group].tracks[row.ref.track].label == label)
        return row;
    }
    ADD_FAILURE() << label;
    return rows_[0];
  }

  std::shared_ptr<const analyzer::Store> store_;
  std::shared_ptr<const analyzer::TrackSet> tracks_;
  NameStyles styles_;
  std::vector<Row> rows_;
  Viewport view_;
  StripRenderer renderer_;
  std::vector<Colour> pixels_ = std::vector<Colour>(static_cast<std::size_t>(kWidth) * kHeight);
  std::vector<Label> labels_;
};

TEST_F(RendererTest, EveryEventShowsWhereItLies) {
  render();
  const Row& row = rowOf("queue 7");
  const analyzer::Lane& lane = tracks_->groups[row.ref.group].tracks[row.ref.track].lanes[0];
  ASSERT_EQ(lane.size(), 48u);
  for (std::size_t i = 0; i < lane.size(); ++i) {
    const double middle = view_.pixelAt((lane.startNs(i) + lane.endNs(i)) / 2, kWidth);
    EXPECT_EQ(at(middle, row.y + 8), styles_.byName(lane.name(i))) << i;
  }
}

TEST_F(RendererTest, GapsStayDark) {
  render();
  const Row& row = rowOf("queue 7");
  const auto idle = view_.pixelAt(1'001'500'000, kWidth);  // the device waits for the loader
  EXPECT_LE(at(idle, row.y + 8), theme(true).grid);
}

TEST_F(RendererTest, LabelsStayOnScreenWhenTheirEventBeginsBeforeIt) {
  view_ = view_.showing({1'004'000'000, 1'005'000'000});
  render();
  ASSERT_FALSE(labels_.empty());
  bool atEdge = false;
  for (const Label& label : labels_) {
    EXPECT_GE(label.x, 0);
    EXPECT_LE(label.x + label.width, kWidth);
    atEdge |= label.x == 0;
  }
  EXPECT_TRUE(atEdge);
}

TEST_F(RendererTest, AnEventFarLongerThanTheViewHasOneLabelAcrossIt) {
  analyzer::StoreBuilder trace;
  trace.append(prof::Thread{.id = prof::ThreadId(1)});
  trace.append(prof::Range{.startNs = 0,
                           .durNs = 20'000'000'000,
                           .thread = prof::ThreadId(1),
                           .name = trace.intern("epoch")});
  store_ = trace.build();
  tracks_ = *analyzer::buildTracks(*store_);
  const NameStyles styles(*store_, true);
  rows_ = layOut(*tracks_, {});
  view_ = Viewport(tracks_->span).showing({10'000'000'000, 10'000'001'000});
  ASSERT_EQ(view_.spanNs(), 1000);
  renderer_.render(scene(), styles, {pixels_.data(), kWidth, kHeight, kWidth}, labels_);
  ASSERT_EQ(labels_.size(), 1u);
  EXPECT_EQ(labels_[0].x, 0);
  EXPECT_EQ(labels_[0].width, kWidth);
  for (const double x : {0.0, 500.0, 999.0})
    EXPECT_EQ(at(x, labels_[0].y + 2), styles.byName(labels_[0].name)) << x;
}

TEST_F(RendererTest, TheHitIsTheEventThatWasDrawn) {
  const Row& row = rowOf("queue 7");
  const analyzer::Lane& lane = tracks_->groups[row.ref.group].tracks[row.ref.track].lanes[0];
  for (const double zoom : {1.0, 0.1, 0.001}) {
    view_ = view_.fitted().zoomed(zoom, 0.5);
    for (std::size_t i = 0; i < lane.size(); ++i) {
      const double x = view_.pixelAt((lane.startNs(i) + lane.endNs(i)) / 2, kWidth);
      if (x < 0 || x >= kWidth) continue;
      const Hit hit = hitTest(scene(), x, row.y + 5, kWidth);
      EXPECT_EQ(hit.lane, 0);
      EXPECT_EQ(hit.event, i);
    }
  }
}

TEST_F(RendererTest, HighDensityDrawsTheSamePictureLarger) {
  Scene large = scene();
  large.scale = 2;
  std::vector<Colour> pixels(static_cast<std::size_t>(kWidth) * 2 * kHeight * 2);
  renderer_.render(large, styles_, {pixels.data(), kWidth * 2, kHeight * 2, kWidth * 2}, labels_);
  render();
  const Row& row = rowOf("queue 7");
  const auto x = static_cast<std::size_t>(view_.pixelAt(1'003'500'000, kWidth));
  const auto y = static_cast<std::size_t>(row.y + 8);
  EXPECT_EQ(pixels[2 * y * 2 * kWidth + 2 * x], at(static_cast<double>(x), row.y + 8));
}

}  // namespace
}  // namespace lacuna::gui
