// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QPointF>
#include <optional>

#include "timeline/strip_renderer.h"
#include "views/event_place.h"

namespace lacuna::gui {

/// Mouse and wheel over the timeline: where they are, what lies there, and what they are about to
/// do.
struct TimelinePointer {
  enum class Drag { None, Maybe, Pan, Area, HeaderWidth };

  std::optional<QPointF> mouse;
  Hit hit;  ///< below the mouse
  std::optional<EventPlace> hovered;
  bool byKeys = false;  ///< the mouse has not moved since keys went to a moment
  Drag drag = Drag::None;
  QPointF pressed;  ///< where a button went down, over which view, scrolled how far
  Viewport pressedView;
  int pressedScroll = 0;
  int wheelRest = 0;  ///< of a pixel, in parts of a notch, that the wheel has turned further

  void press(QPointF pos, const Viewport& view, int scrolled);
  /// Too far from where the button went down for a click.
  [[nodiscard]] bool isDraggedTo(QPointF pos) const;
  /// The whole pixels to scroll by when the wheel turns by this many parts of a notch.
  [[nodiscard]] int wheelPixels(int parts);
  /// Nothing lies below the mouse any more, wherever it is.
  void forgetHit();
};

/// The event of a hit, if it is on one.
std::optional<EventPlace> eventOfHit(const Hit& hit);

}  // namespace lacuna::gui
