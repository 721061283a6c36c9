// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "views/timeline_pointer.h"

namespace lacuna::gui {

namespace {

constexpr int kWheelScroll = 3 * kLanePitch;
constexpr int kNotch = 120;  // a touchpad reports less at a time
constexpr int kDragFromPx = 4;

}  // namespace

void TimelinePointer::press(QPointF pos, const Viewport& view, int scrolled) {
  pressed = pos;
  pressedView = view;
  pressedScroll = scrolled;
}

bool TimelinePointer::isDraggedTo(QPointF pos) const {
  return (pos - pressed).manhattanLength() >= kDragFromPx;
}

int TimelinePointer::wheelPixels(int parts) {
  wheelRest += parts * kWheelScroll;
  const int pixels = wheelRest / kNotch;
  wheelRest -= pixels * kNotch;
  return pixels;
}

void TimelinePointer::forgetHit() {
  hovered.reset();
  hit = {};
}

std::optional<EventPlace> eventOfHit(const Hit& hit) {
  if (hit.lane < 0 || hit.event == analyzer::Lane::kNone) return std::nullopt;
  return EventPlace{hit.track, hit.lane, hit.event};
}

}  // namespace lacuna::gui
