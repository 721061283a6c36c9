// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <unordered_map>

#include "lacuna/analyzer/lanes.h"
#include "lacuna/analyzer/links.h"
#include "lacuna/analyzer/text.h"
#include "lacuna/prof/bounds.h"
#include "tracks/track_feed.h"

namespace lacuna::analyzer {

using prof::StringId;
using prof::TimeNs;
using prof::TimeWindow;

namespace {

/// Walks the events of several lanes in the order of their starts.
class MergedLanes {
 public:
  MergedLanes(const std::vector<const Lane*>& lanes, TimeWindow window) : window_(window) {
    for (const Lane* lane : lanes) {
      const std::size_t i = lane->lowerBound(window.startNs);
      if (i < lane->size()) heads_.push_back({lane, i});
    }
  }
  /// The next event clipped to the window; false after the last.
  bool next(TimeWindow& out) {
    Head* first = nullptr;
    for (Head& head : heads_) {
      if (head.at < head.lane->size() && (!first || head.start() < first->start())) first = &head;
    }
    if (!first || first->start() >= window_.endNs) return false;
    out = {std::max(first->start(), window_.startNs),
           std::min(first->lane->endNs(first->at), window_.endNs)};
    ++first->at;
    return true;
  }

 private:
  struct Head {
    const Lane* lane;
    std::size_t at;
    [[nodiscard]] TimeNs start() const { return lane->startNs(at); }
  };
  std::vector<Head> heads_;
  TimeWindow window_;
};

std::int64_t covered(const std::vector<const Lane*>& lanes, TimeWindow window) {
  MergedLanes events(lanes, window);
  std::int64_t total = 0;
  TimeNs reached = window.startNs;
  TimeWindow event;
  while (events.next(event)) {
    if (event.endNs <= reached) continue;
    prof::addTo(total, event.endNs - std::max(event.startNs, reached));
    reached = event.endNs;
  }
  return total;
}

void sumNames(const Track& track, TimeWindow window, std::vector<NameSum>& out) {
  std::unordered_map<std::uint32_t, NameSum> sums;
  for (const Lane& lane : track.lanes) {
    for (std::size_t i = lane.lowerBound(window.startNs);
         i < lane.size() && lane.startNs(i) < window.endNs; ++i) {
      NameSum& sum = sums[lane.name(i).value];
      const std::int64_t inside =
          std::min(lane.endNs(i), window.endNs) - std::max(lane.startNs(i), window.startNs);
      ++sum.count;
      prof::addTo(sum.totalNs, inside);
      sum.longestNs = std::max(sum.longestNs, lane.durNs(i));
    }
  }
  for (auto& [name, sum] : sums) {
    sum.name = StringId(name);
    sum.kind = track.kind;
    const auto same = std::find_if(out.begin(), out.end(), [&, sum = &sum](const NameSum& o) {
      return o.name == sum->name && o.kind == sum->kind;
    });
    if (same == out.end()) {
      out.push_back(sum);
      continue;
    }
    same->count += sum.count;
    prof::addTo(same->totalNs, sum.totalNs);
    same->longestNs = std::max(same->longestNs, sum.longestNs);
  }
}

void sumBusy(const TrackGroup& group, AreaStats& stats) {
  std::vector<const Lane*> all;
  std::vector<BusySum> queues;
  std::int64_t sum = 0;
  const std::int64_t length = stats.window.endNs - stats.window.startNs;
  for (const Track& track : group.tracks) {
    if (track.kind != TrackKind::Work) continue;
    std::vector<const Lane*> own;
    for (const Lane& lane : track.lanes) own.push_back(&lane);
    all.insert(all.end(), own.begin(), own.end());
    const std::int64_t busy = covered(own, stats.window);
    queues.push_back({track.label, false, busy, length - busy});
    prof::addTo(sum, busy);
  }
  if (queues.empty()) return;
  const std::int64_t busy = covered(all, stats.window);
  stats.busy.push_back({group.label, true, busy, length - busy});
  stats.busy.insert(stats.busy.end(), queues.begin(), queues.end());
  prof::addTo(stats.overlapNs, sum - busy);
}

template <class Visit>
void forEachLane(const TrackSet& tracks, Visit&& visit) {
  for (std::size_t g = 0; g < tracks.groups.size(); ++g) {
    for (std::size_t t = 0; t < tracks.groups[g].tracks.size(); ++t) {
      const auto& lanes = tracks.groups[g].tracks[t].lanes;
      for (std::size_t l = 0; l < lanes.size(); ++l) visit(TrackEvent{g, t, l, 0}, lanes[l]);
    }
  }
}

bool matches(const NameMatches& names, StringId name) {
  if (name.value < names.texts.size()) return names.texts[name.value];
  return name.value >= kUnnamedCopy && name.value <= kUnnamedMemset &&
         names.unnamed[name.value - kUnnamedCopy];
}

/// Where a walk through events is: they come by their starts, and what begins together by its
/// place.
struct WalkPlace {
  TimeNs start = 0;
  TrackEvent event;
  friend auto operator<=>(const WalkPlace&, const WalkPlace&) = default;
};

/// Events, or names, that a search looks at between two questions whether it is still wanted.
constexpr std::size_t kSearchBlock = std::size_t{1} << 16;

/// Asks whether a search is still wanted, once a block.
class SearchTurn {
 public:
  explicit SearchTurn(const SearchWanted& wanted) : wanted_(wanted) {}
  /// To be called for each event or name; false from where the search was called off on.
  bool goesOn() {
    if (on_ && wanted_ && ++seen_ % kSearchBlock == 0) on_ = wanted_();
    return on_;
  }
  [[nodiscard]] bool calledOff() const { return !on_; }

 private:
  const SearchWanted& wanted_;
  std::size_t seen_ = 0;
  bool on_ = true;
};

std::optional<TrackEvent> matchAfter(const TrackSet& tracks, const NameMatches& names,
                                     const WalkPlace& from, SearchTurn turn) {
  std::optional<TrackEvent> best;
  TimeNs bestStart = INT64_MAX;
  forEachLane(tracks, [&](TrackEvent place, const Lane& lane) {
    for (std::size_t i = lane.lowerBound(from.start);
         i < lane.size() && lane.startNs(i) < bestStart; ++i) {
      if (!turn.goesOn()) return;
      place.event = i;
      if (WalkPlace{lane.startNs(i), place} <= from || !matches(names, lane.name(i))) continue;
      best = place;
      bestStart = lane.startNs(i);
      return;
    }
  });
  return turn.calledOff() ? std::nullopt : best;
}

std::optional<TrackEvent> matchBefore(const TrackSet& tracks, const NameMatches& names,
                                      const WalkPlace& from, SearchTurn turn) {
  std::optional<TrackEvent> best;
  TimeNs bestStart = INT64_MIN;
  forEachLane(tracks, [&](TrackEvent place, const Lane& lane) {
    std::size_t i = lane.lowerBound(from.start);
    while (i < lane.size() && lane.startNs(i) <= from.start) ++i;
    // Lanes come in their order: of what begins together, the later one is nearer.
    for (; i > 0 && lane.startNs(i - 1) >= bestStart; --i) {
      if (!turn.goesOn()) return;
      place.event = i - 1;
      if (WalkPlace{lane.startNs(i - 1), place} >= from || !matches(names, lane.name(i - 1)))
        continue;
      best = place;
      bestStart = lane.startNs(i - 1);
      return;
    }
  });
  return turn.calledOff() ? std::nullopt : best;
}

struct RowPlace {
  TimeNs start = 0;
  TimeNs length = 0;
  StringId name;
  TrackKind kind = TrackKind::Ranges;
  std::uint32_t owner = 0;
};

template <class Row>
RowPlace workPlace(const Store& store, std::uint64_t at) {
  const Row row = store.row<Row>(at);
  return {row.startNs, row.durNs, row.name, TrackKind::Work, row.queue.value};
}

RowPlace placeOf(const Store& store, const EventRef& event) {
  using Table = EventRef::Table;
  switch (event.table) {
    case Table::Range: {
      const auto row = store.row<prof::Range>(event.row);
      if (row.queue)
        return {row.startNs, row.durNs, row.name, TrackKind::Annotations, row.queue.value};
      return {row.startNs, row.durNs, row.name, TrackKind::Ranges, row.thread.value};
    }
    case Table::ApiCall: {
      const auto row = store.row<prof::ApiCall>(event.row);
      return {row.startNs, row.durNs, row.name, TrackKind::Calls, row.thread.value};
    }
    case Table::Kernel:
      return workPlace<prof::Kernel>(store, event.row);
    case Table::Memcpy:
      return workPlace<prof::Memcpy>(store, event.row);
    case Table::Memset:
      return workPlace<prof::Memset>(store, event.row);
    case Table::Sync:
    case Table::None:
      break;
  }
  return {};
}

}  // namespace

AreaStats areaStats(const TrackSet& tracks, TimeWindow window, const Progress& progress) {
  AreaStats stats;
  stats.window = window;
  std::size_t done = 0;
  for (const TrackGroup& group : tracks.groups) {
    for (const Track& track : group.tracks) sumNames(track, window, stats.names);
    sumBusy(group, stats);
    if (progress &&
        !progress(static_cast<double>(++done) / static_cast<double>(tracks.groups.size())))
      break;
  }
  std::stable_sort(stats.names.begin(), stats.names.end(),
                   [](const NameSum& a, const NameSum& b) { return a.totalNs > b.totalNs; });
  return stats;
}

NameMatches matchNames(const Store& store, std::string_view part, const SearchWanted& wanted) {
  NameMatches names{std::vector<bool>(store.stringCount()),
                    std::vector<bool>(kUnnamedMemset - kUnnamedCopy + 1)};
  if (part.empty()) return names;
  SearchTurn turn(wanted);
  const auto match = [&](std::vector<bool>& flags, std::uint32_t first) {
    for (std::uint32_t n = 0; n < flags.size() && turn.goesOn(); ++n)
      flags[n] = containsAnyCase(TrackSet::name(store, StringId(first + n)), part);
  };
  match(names.texts, 0);
  match(names.unnamed, kUnnamedCopy);
  return names;
}

std::optional<TrackEvent> nextMatch(const TrackSet& tracks, const NameMatches& names, TimeNs from,
                                    bool forward, const SearchWanted& wanted) {
  const TrackEvent last{SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX};
  const SearchTurn turn(wanted);
  return forward ? matchAfter(tracks, names, {from, last}, turn)
                 : matchBefore(tracks, names, {from, {}}, turn);
}

std::optional<TrackEvent> nextMatch(const TrackSet& tracks, const NameMatches& names,
                                    const TrackEvent& from, bool forward,
                                    const SearchWanted& wanted) {
  const TimeNs start =
      tracks.groups[from.group].tracks[from.track].lanes[from.lane].startNs(from.event);
  const SearchTurn turn(wanted);
  return forward ? matchAfter(tracks, names, {start, from}, turn)
                 : matchBefore(tracks, names, {start, from}, turn);
}

std::uint64_t countMatches(const TrackSet& tracks, const NameMatches& names,
                           const Progress& progress) {
  std::uint64_t events = 0;
  forEachLane(tracks, [&](TrackEvent, const Lane& lane) { events += lane.size(); });
  std::uint64_t count = 0;
  std::uint64_t done = 0;
  bool goesOn = true;
  forEachLane(tracks, [&](TrackEvent, const Lane& lane) {
    for (std::size_t first = 0; goesOn && first < lane.size(); first += kSearchBlock) {
      const std::size_t end = std::min(lane.size(), first + kSearchBlock);
      for (std::size_t i = first; i < end; ++i) count += matches(names, lane.name(i));
      done += end - first;
      goesOn = !progress || progress(static_cast<double>(done) / static_cast<double>(events));
    }
  });
  return count;
}

std::vector<EventRef> linkedEvents(const Store& store, const EventRef& event, std::size_t limit) {
  const Links& links = store.links();
  if (event.table != EventRef::Table::Range && event.table != EventRef::Table::ApiCall) {
    const EventRef launch = links.launchOf(event);
    return launch && limit > 0 ? std::vector<EventRef>{launch} : std::vector<EventRef>();
  }
  return links.launchedBy(event, limit);
}

std::optional<TrackEvent> locate(const Store& store, const TrackSet& tracks,
                                 const EventRef& event) {
  const RowPlace place = placeOf(store, event);
  for (std::size_t g = 0; g < tracks.groups.size(); ++g) {
    for (std::size_t t = 0; t < tracks.groups[g].tracks.size(); ++t) {
      const Track& track = tracks.groups[g].tracks[t];
      const std::uint32_t owner =
          track.kind == TrackKind::Work || track.kind == TrackKind::Annotations
              ? track.queue.value
              : track.thread.value;
      if (track.kind != place.kind || owner != place.owner) continue;
      for (std::size_t l = 0; l < track.lanes.size(); ++l) {
        const Lane& lane = track.lanes[l];
        for (std::size_t i = lane.lowerBound(place.start);
             i < lane.size() && lane.startNs(i) <= place.start; ++i) {
          if (lane.startNs(i) == place.start && lane.durNs(i) == place.length)
            return TrackEvent{g, t, l, i};
        }
      }
    }
  }
  return std::nullopt;
}

}  // namespace lacuna::analyzer
