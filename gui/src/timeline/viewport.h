// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "lacuna/prof/ids.h"
#include "lacuna/prof/reader.h"

namespace lacuna::gui {

/// The factors by which a notch of the wheel (120) and a press of a key come closer, wherever a
/// stretch of time is shown.
inline constexpr double kWheelZoom = 0.85;
inline constexpr double kKeyZoom = 0.7;

/// The stretch of a trace that is on screen. A value: integer nanoseconds, always inside its bounds
/// (the whole trace with a margin), never closer than kClosestNs.
class Viewport {
 public:
  static constexpr prof::TimeNs kClosestNs = 1000;

  Viewport() = default;
  /// Shows all of `trace`.
  explicit Viewport(prof::TimeWindow trace);

  [[nodiscard]] prof::TimeNs startNs() const { return start_; }
  [[nodiscard]] prof::TimeNs spanNs() const { return span_; }
  [[nodiscard]] prof::TimeNs endNs() const { return start_ + span_; }
  [[nodiscard]] prof::TimeWindow trace() const { return trace_; }

  [[nodiscard]] double nsPerPixel(int width) const {
    return static_cast<double>(span_) / (width > 0 ? width : 1);
  }
  [[nodiscard]] prof::TimeNs timeAt(double x, int width) const;
  [[nodiscard]] double pixelAt(prof::TimeNs t, int width) const;
  /// The same to paint at: of a moment far outside of the width, some place outside of it.
  [[nodiscard]] double pixelNear(prof::TimeNs t, int width) const;

  /// factor < 1 comes closer; the moment at `share` (0 … 1 of the width) stays where it is.
  [[nodiscard]] Viewport zoomed(double factor, double share) const;
  /// Moves by a share of the width; positive goes later.
  [[nodiscard]] Viewport panned(double share) const;
  [[nodiscard]] Viewport movedTo(prof::TimeNs startNs) const;
  /// Shows the window with `margin` of its length on both sides.
  [[nodiscard]] Viewport showing(prof::TimeWindow window, double margin = 0) const;
  [[nodiscard]] Viewport fitted() const { return Viewport(trace_); }
  /// The same stretch of a trace that has more in it now; all of it stays all of it.
  [[nodiscard]] Viewport within(prof::TimeWindow trace) const;
  /// The same, but what reached the end goes on reaching it.
  [[nodiscard]] Viewport grown(prof::TimeWindow trace) const;

  friend bool operator==(const Viewport& a, const Viewport& b) {
    return a.start_ == b.start_ && a.span_ == b.span_;
  }

 private:
  [[nodiscard]] Viewport clamped(double start, double span) const;

  prof::TimeWindow trace_{0, 1'000'000};
  prof::TimeNs start_ = 0;
  prof::TimeNs span_ = 1'000'000;
};

/// The places one has been, for going back and forth. Small moves that follow each other count as
/// one.
class ViewHistory {
 public:
  /// Call before a jump with the viewport that is about to be left.
  void leave(const Viewport& from);
  [[nodiscard]] bool canBack() const { return !past_.empty(); }
  [[nodiscard]] bool canForward() const { return !future_.empty(); }
  Viewport back(const Viewport& from);
  Viewport forward(const Viewport& from);
  /// The same places of a trace that has more in it now.
  [[nodiscard]] ViewHistory within(prof::TimeWindow trace) const;

 private:
  std::vector<Viewport> past_, future_;
};

}  // namespace lacuna::gui
