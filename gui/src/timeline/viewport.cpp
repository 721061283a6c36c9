// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "timeline/viewport.h"

#include <algorithm>
#include <cmath>

namespace lacuna::gui {

using prof::TimeNs;

namespace {
constexpr double kMargin = 0.02;  // of the trace, visible on both of its sides
constexpr double kOutside =
    1000;  // pixels beside the width from which on it does not matter how many
constexpr std::size_t kRemembered = 200;
}  // namespace

Viewport::Viewport(prof::TimeWindow trace) : trace_(trace) {
  if (trace_.endNs <= trace_.startNs) trace_.endNs = trace_.startNs + kClosestNs;
  *this = showing(trace_, kMargin);
}

TimeNs Viewport::timeAt(double x, int width) const {
  return start_ + static_cast<TimeNs>(std::floor(x * nsPerPixel(width)));
}

double Viewport::pixelAt(TimeNs t, int width) const {
  return static_cast<double>(t - start_) / nsPerPixel(width);
}

double Viewport::pixelNear(TimeNs t, int width) const {
  return std::clamp(pixelAt(t, width), -kOutside, width + kOutside);
}

Viewport Viewport::clamped(double offset, double span) const {
  const auto full = static_cast<double>(trace_.endNs - trace_.startNs);
  const double margin = std::max(full * kMargin, kClosestNs / 2.0);
  const double longest = full + 2 * margin;
  Viewport out = *this;
  span = std::clamp(span, std::min<double>(kClosestNs, longest), longest);
  offset = std::clamp(offset, -margin, full + margin - span);
  out.span_ = std::max<TimeNs>(1, std::llround(span));
  out.start_ = trace_.startNs + std::llround(offset);
  return out;
}

Viewport Viewport::zoomed(double factor, double share) const {
  const auto span = static_cast<double>(span_);
  const double shown = std::max(span * factor, static_cast<double>(kClosestNs));
  return clamped(static_cast<double>(start_ - trace_.startNs) + (span - shown) * share, shown);
}

Viewport Viewport::panned(double share) const {
  const auto span = static_cast<double>(span_);
  return clamped(static_cast<double>(start_ - trace_.startNs) + span * share, span);
}

Viewport Viewport::movedTo(TimeNs startNs) const {
  return clamped(static_cast<double>(startNs - trace_.startNs), static_cast<double>(span_));
}

Viewport Viewport::showing(prof::TimeWindow window, double margin) const {
  const auto length = static_cast<double>(window.endNs - window.startNs);
  const double span = std::max(length * (1 + 2 * margin), static_cast<double>(kClosestNs));
  return clamped(static_cast<double>(window.startNs - trace_.startNs) - (span - length) / 2, span);
}

Viewport Viewport::within(prof::TimeWindow trace) const {
  const Viewport full(trace);
  return *this == fitted() ? full : full.showing({startNs(), endNs()});
}

Viewport Viewport::grown(prof::TimeWindow trace) const {
  const Viewport same = within(trace);
  const bool atEnd = endNs() >= trace_.endNs && *this != fitted();
  return atEnd ? same.movedTo(trace.endNs - spanNs()) : same;
}

void ViewHistory::leave(const Viewport& from) {
  if (!past_.empty() && past_.back() == from) return;
  past_.push_back(from);
  if (past_.size() > kRemembered) past_.erase(past_.begin());
  future_.clear();
}

Viewport ViewHistory::back(const Viewport& from) {
  if (past_.empty()) return from;
  const Viewport to = past_.back();
  past_.pop_back();
  future_.push_back(from);
  return to;
}

Viewport ViewHistory::forward(const Viewport& from) {
  if (future_.empty()) return from;
  const Viewport to = future_.back();
  future_.pop_back();
  past_.push_back(from);
  return to;
}

ViewHistory ViewHistory::within(prof::TimeWindow trace) const {
  ViewHistory out = *this;
  for (auto* places : {&out.past_, &out.future_}) {
    for (Viewport& place : *places) place = place.within(trace);
  }
  return out;
}

}  // namespace lacuna::gui
