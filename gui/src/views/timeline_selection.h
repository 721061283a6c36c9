// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <cstddef>
#include <optional>
#include <vector>

#include "base/trace.h"
#include "views/event_place.h"

namespace lacuna::gui {

/// The things on the timeline that somebody chose or pointed out.
struct TimelineSelection {
  std::optional<EventPlace> event;
  std::vector<EventPlace> links;  ///< joined to it by an arrow
  std::optional<EventPlace> measuredFrom;
  std::optional<RowKey> row;  ///< that keys are about
  std::optional<prof::TimeWindow> area;
  std::vector<prof::TimeWindow> highlights;
  QString caption;             ///< of the highlights
  std::vector<RowKey> marked;  ///< the rows that they are about
  std::optional<prof::TimeNs> cursorMark;

  /// The number of the row that keys are about.
  [[nodiscard]] std::optional<std::size_t> rowAmong(const std::vector<Row>& rows) const;
  /// The stretch from the selected event, or the one that is measured from, to another one.
  [[nodiscard]] prof::TimeWindow measuredTo(const Trace& trace, const EventPlace& other) const;
  /// The same things in the same trace with more in it. Its links are others.
  void moveTo(const Trace& from, const Trace& to);
};

}  // namespace lacuna::gui
