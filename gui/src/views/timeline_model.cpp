// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "views/timeline_model.h"

#include <utility>

namespace lacuna::gui {

namespace {

/// Small moves closer together than this are one move for back().
constexpr qint64 kNewMoveAfterMs = 800;

}  // namespace

void TimelineModel::setTrace(const TracePtr& trace) {
  trace_ = trace;
  view_ = trace ? Viewport(trace->tracks->span) : Viewport();
  history_ = {};
  options_ = {};
  ledgers_ = nullptr;
  bookmarks_.clear();
  layOutRows();
}

void TimelineModel::setGrown(const TracePtr& trace) {
  const TracePtr old = std::exchange(trace_, trace);
  const prof::TimeWindow span = trace->tracks->span;
  history_ = history_.within(span);
  view_ = view_.grown(span);
  setRowOptions(movedTo(*old->tracks, options_, *trace->tracks));
}

void TimelineModel::setViewport(const Viewport& view, bool jump) {
  if (jump || sinceMove_.elapsed() > kNewMoveAfterMs) history_.leave(view_);
  sinceMove_.restart();
  view_ = view;
}

void TimelineModel::setRowOptions(const RowOptions& options) {
  options_ = options;
  layOutRows();
}

void TimelineModel::toggle(const Row& row, bool pin) {
  RowOptions options = options_;
  const auto turn = [](auto& set, const auto& value) {
    if (!set.erase(value)) set.insert(value);
  };
  if (row.kind == Row::Kind::PinHeader) {
    options.pinnedFolded = !options.pinnedFolded;
  } else if (row.kind == Row::Kind::Track) {
    turn(pin ? options.pinned : options.collapsedTracks, row.ref);
    if (pin) options.pinnedFolded = false;  // or it would seem to go nowhere
  } else if (row.kind == Row::Kind::Group && !pin) {
    turn(options.collapsedGroups, row.ref.group);
  } else if (row.kind == Row::Kind::Quiet && !pin) {
    turn(options.quietShown, row.ref.group);
  } else if (row.kind == Row::Kind::Counters && !pin) {
    turn(options.foldedCounters, row.ref.group);
  }
  setRowOptions(options);
}

void TimelineModel::toggleAllGroups() {
  RowOptions options = options_;
  if (options.collapsedGroups.empty()) {
    for (std::size_t g = 0; trace_ && g < trace_->tracks->groups.size(); ++g)
      options.collapsedGroups.insert(g);
  } else {
    options.collapsedGroups.clear();
  }
  setRowOptions(options);
}

void TimelineModel::toggleQuiet() {
  RowOptions options = options_;
  const bool any = !options.quietShown.empty();
  options.quietShown.clear();
  for (const Row& row : rows_) {
    if (!any && row.kind == Row::Kind::Quiet) options.quietShown.insert(row.ref.group);
  }
  setRowOptions(options);
}

std::optional<int> TimelineModel::laneY(const EventPlace& place) const {
  for (const Row& row : rows_) {
    if (row.kind == Row::Kind::Track && row.ref == place.track)
      return row.y + place.lane * kLanePitch;
  }
  return std::nullopt;
}

void TimelineModel::setLedgers(LedgerStrips strips) {
  ledgers_ = std::move(strips);
  options_.ledgers.clear();
  layOutRows();
}

const analyzer::LedgerStrip* TimelineModel::stripOf(std::size_t group) const {
  if (!ledgers_ || !trace_->tracks->groups[group].isDevice) return nullptr;
  const prof::DeviceId device = trace_->tracks->groups[group].device;
  for (const analyzer::LedgerStrip& strip : *ledgers_) {
    if (strip.device == device && !strip.causes.empty()) return &strip;
  }
  return nullptr;
}

Scene TimelineModel::scene(int scrollY, double scale) const {
  return {trace_ ? trace_->tracks.get() : nullptr, rows_, view_, scrollY, scale};
}

void TimelineModel::layOutRows() {
  for (std::size_t g = 0; trace_ && g < trace_->tracks->groups.size(); ++g) {
    if (stripOf(g)) options_.ledgers.insert(g);
  }
  rows_ = trace_ ? layOut(*trace_->tracks, options_) : std::vector<Row>();
}

}  // namespace lacuna::gui
