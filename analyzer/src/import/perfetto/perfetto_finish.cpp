// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0

// The end of a Perfetto trace: joins what its packets held apart (begins and ends, points of flows,
// tracks and their threads), and warns of what is missing.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "import/perfetto/perfetto_import.h"
#include "store/table_sort.h"

namespace lacuna::analyzer {

/// One run of rows for each name, so that a value is found without reading every event's.
void PerfettoImport::sortArgs() {
  auto& args = builder_.columns<prof::Arg>();
  RowOrder order(args.set.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(
      order, {}, [&](auto row) { return std::pair(args.scope[row], args.key[row].value); });
  args.forEach([&](auto& values) { reorder(values, order); });
}

void PerfettoImport::pairEdges() {
  std::vector<bool> isLocal(asyncs_.size() + 1);
  for (const auto& [id, number] : asyncs_) isLocal[number] = id.scope == LegacyId::Scope::Local;
  // Slices by their track; asynchronous ranges by their number, and by their process where that
  // counts for itself.
  const auto keyOf = [&](const Edge& edge) {
    if (edge.async == 0) return std::pair(std::uint32_t{0}, edge.track);
    return std::pair(edge.async,
                     std::uint64_t{isLocal[edge.async] ? tracks_.processOf(edge.track).value : 0});
  };
  auto& ranges = builder_.columns<prof::Range>();
  std::ranges::stable_sort(edges_, {}, &Edge::timeNs);
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::vector<const Edge*>> open;
  for (const Edge& edge : edges_) {
    auto& stack = open[keyOf(edge)];
    if (edge.range != Edge::kEnd) {
      stack.push_back(&edge);
      continue;
    }
    if (stack.empty()) {
      ++unmatchedEnds_;
      if (edge.args) joins_.push_back({edge.args, {}});
      continue;
    }
    const Edge& begin = *stack.back();
    stack.pop_back();
    if (__builtin_sub_overflow(edge.timeNs, begin.timeNs, &ranges.durNs[begin.range]))
      ranges.durNs[begin.range] = 0;
    ranges.flags[begin.range] = 0;
    if (edge.track != begin.track) endPlaces_.push_back({edge.track, begin.range});
    if (edge.args && ranges.args[begin.range]) {
      joins_.push_back({edge.args, ranges.args[begin.range]});
    } else if (edge.args) {
      ranges.args[begin.range] = edge.args;
    }
  }
}

void PerfettoImport::placeFlows() {
  std::ranges::stable_sort(flows_, {}, &FlowPoint::timeNs);
  using Key = std::tuple<prof::StringId, prof::StringId, std::uint64_t>;
  std::map<Key, bool> begun;
  std::map<Key, std::size_t> last;
  auto& rows = builder_.columns<prof::Flow>();
  for (const FlowPoint& point : flows_) {
    prof::Flow row;
    row.timeNs = point.timeNs;
    row.id = point.id;
    row.name = point.name;
    row.category = point.category;
    row.thread = tracks_.threadOf(point.track);
    const Key key(point.name, point.category, point.id);
    bool& isBegun = begun[key];
    row.phase = point.ends && isBegun ? prof::FlowPhase::End
                : isBegun             ? prof::FlowPhase::Step
                                      : prof::FlowPhase::Begin;
    isBegun = !point.ends;
    last[key] = rows.id.size();
    rows.push(row);
  }
  // A flow that nothing terminates ends with its last point.
  for (const auto& [id, at] : last) {
    if (rows.phase[at] == prof::FlowPhase::Step) rows.phase[at] = prof::FlowPhase::End;
  }
}

void PerfettoImport::placeCounters() {
  auto& samples = builder_.columns<prof::CounterSample>();
  std::map<std::uint64_t, prof::TrackId> made;
  for (const Placed& sample : samples_) {
    prof::TrackId& id = made[sample.track];
    if (!id) {
      const PerfettoTracks::Track& track = tracks_.at(sample.track);
      prof::CounterTrack row;
      row.name = track.name ? track.name : builder_.intern(fmt::format("counter {}", sample.track));
      row.unit = track.unit;
      const PerfettoTracks::Track* parent = tracks_.find(track.parent);
      if (parent != nullptr && parent->isThread) row.thread = tracks_.threadOf(track.parent);
      row.process = tracks_.processOf(sample.track);
      id = tracks_.places().track(row);
    }
    samples.track[sample.row] = id;
  }
}

/// The threads of ranges and marks, which are known when all tracks are.
void PerfettoImport::placeRows() {
  auto& ranges = builder_.columns<prof::Range>();
  for (const Placed& place : rangePlaces_) {
    ranges.thread[place.row] = tracks_.threadOf(place.track);
  }
  for (const Placed& place : endPlaces_)
    ranges.endThread[place.row] = tracks_.threadOf(place.track);
  for (const Placed& place : marks_)
    builder_.columns<prof::Mark>().thread[place.row] = tracks_.threadOf(place.track);
}

/// From the trace's clock to CLOCK_MONOTONIC.
void PerfettoImport::shiftTimes() {
  const auto by = static_cast<std::uint64_t>(clocks_.toMonotonicNs());
  if (by == 0) return;
  const auto shift = [&](std::vector<prof::TimeNs>& times) {
    for (prof::TimeNs& time : times) {
      time = static_cast<prof::TimeNs>(static_cast<std::uint64_t>(time) + by);
    }
  };
  shift(builder_.columns<prof::Range>().startNs);
  shift(builder_.columns<prof::Mark>().timeNs);
  shift(builder_.columns<prof::CounterSample>().timeNs);
  shift(builder_.columns<prof::Flow>().timeNs);
}

void PerfettoImport::warnOfLosses() {
  if (skipped_ > 0) {
    builder_.addWarning(fmt::format(
        "{} packets were left out: packets before them were lost, and they need those", skipped_));
    prof::Drop drop;
    drop.count = skipped_;
    drop.reason = builder_.intern("packets lost by the recorder");
    builder_.append(drop);
  }
  if (unknownClocks_ > 0) {
    builder_.addWarning(fmt::format(
        "{} packets have a clock that no snapshot explains; their times are taken as they are",
        unknownClocks_));
  }
}

void PerfettoImport::warnOfUnread() {
  if (annotations_.unread() > 0) {
    builder_.addWarning(fmt::format("{} annotations have names or values that lacuna does not read",
                                    annotations_.unread()));
  }
  std::string phases;
  for (const auto& [phase, count] : unreadPhases_) {
    phases += fmt::format("{}{} ({})", phases.empty() ? "" : ", ", phase, count);
  }
  if (!phases.empty())
    builder_.addWarning("phases of legacy events that lacuna does not read: " + phases);
  if (unmatchedEnds_ > 0) {
    builder_.addWarning(
        fmt::format("{} ends of slices have no begin and were left out", unmatchedEnds_));
  }
  std::string kinds;
  for (const auto& [number, count] : unread_) {
    if (number == 33 || number == 35 || number == 36 || number == 45 || number == 69 ||
        number == 89)
      continue;
    kinds += fmt::format("{}field {} ({})", kinds.empty() ? "" : ", ", number, count);
  }
  if (!kinds.empty()) builder_.addWarning("packets that lacuna does not read: " + kinds);
}

void PerfettoImport::finish() {
  if (ownRows_.any()) {
    renumberIds(builder_);
    return closeUnfinished(builder_);
  }
  builder_.append(
      prof::Environment{{}, builder_.intern("source.format"), builder_.intern("perfetto")});
  if (clocks_.clock()) builder_.append(*clocks_.clock());
  pairEdges();
  sortArgs();
  joinArgs(builder_, joins_);
  placeRows();
  placeFlows();
  placeCounters();
  tracks_.namePlaces();
  shiftTimes();
  warnOfLosses();
  warnOfUnread();
  closeUnfinished(builder_);
  nestRanges(builder_);
  spanPlaces(builder_);
}

}  // namespace lacuna::analyzer
