// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "lacuna/analyzer/lanes.h"
#include "timeline/palette.h"
#include "timeline/rows.h"
#include "timeline/viewport.h"

namespace lacuna::gui {

/// The colours of every name of a trace, worked out once per trace and theme. Immutable; safe for
/// many threads.
class NameStyles {
 public:
  NameStyles(const analyzer::Store& store, bool dark);
  [[nodiscard]] bool dark() const { return dark_; }
  [[nodiscard]] Colour byName(prof::StringId id) const;
  [[nodiscard]] Colour byKind(analyzer::TrackKind track, prof::StringId id) const;

 private:
  bool dark_;
  std::vector<Colour> names_;
  std::vector<Colour> hostKinds_, callKinds_, workKinds_;
};

/// 32-bit pixels, in device pixels.
struct Canvas {
  Colour* pixels = nullptr;
  int width = 0;
  int height = 0;
  int stride = 0;  ///< in pixels
};

/// A name to write on an event, in device pixels.
struct Label {
  int x = 0;
  int y = 0;
  int width = 0;
  int height = 0;
  prof::StringId name;
  Colour ink = 0;
};

/// The scene to draw: rows of tracks as layOut() gives them, scrolled, through a viewport.
struct Scene {
  const analyzer::TrackSet* tracks = nullptr;
  std::span<const Row> rows;
  Viewport view;
  int scrollY = 0;   ///< logical pixels
  double scale = 1;  ///< device pixels per logical one
};

/// Draws rows by writing one scanline of each lane and copying it to the lane's height, so that the
/// cost depends on the pixels alone. Keeps its scratch buffers between frames; one thread at a
/// time.
class StripRenderer {
 public:
  /// Fills the canvas and replaces `labels`.
  void render(const Scene& scene, const NameStyles& styles, const Canvas& canvas,
              std::vector<Label>& labels);

 private:
  void drawRow(const Scene& scene, const NameStyles& styles, const Row& row, const Canvas& canvas,
               std::vector<Label>& labels);
  void drawLane(const analyzer::Lane& lane, analyzer::TrackKind kind, const NameStyles& styles,
                int top, int height, const Canvas& canvas, std::vector<Label>* labels);
  void drawCounter(const analyzer::CounterLane& lane, const NameStyles& styles, Colour stroke,
                   int top, int height, const Canvas& canvas);
  void copyLine(const std::vector<Colour>& line, int top, int height, const Canvas& canvas) const;

  analyzer::PixelGrid grid_;
  double scale_ = 1;
  std::vector<Colour> ground_, line_;
  std::vector<analyzer::Cell> cells_;
  std::vector<analyzer::CounterCell> counterCells_;
};

/// The event or sample under a point of the rows.
struct Hit {
  bool onTrack = false;
  TrackRef track;
  std::size_t row = 0;
  int lane = -1;
  std::size_t event = analyzer::Lane::kNone;  ///< of that lane, or the sample of a counter
  analyzer::Cell cell;  ///< what the pixel shows, where events are too small to separate
};
/// x in logical pixels of a canvas `width` wide, y in the rows' coordinates.
Hit hitTest(const Scene& scene, double x, int y, int width);

}  // namespace lacuna::gui
