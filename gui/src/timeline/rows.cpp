// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "timeline/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "lacuna/analyzer/text.h"

namespace lacuna::gui {

namespace {

Row trackRow(const analyzer::Track& track, TrackRef ref, const RowOptions& options) {
  Row row{.kind = Row::Kind::Track, .ref = ref};
  row.pinned = options.pinned.contains(ref);
  row.collapsed = track.lanes.size() > 1 && options.collapsedTracks.contains(ref);
  if (track.kind == analyzer::TrackKind::Counter) {
    row.height = kCounterHeight;
    return row;
  }
  row.lanes = static_cast<int>(track.lanes.size());
  if (row.collapsed) row.lanes = 1;
  row.height = row.lanes * kLanePitch + kTrackPadding;
  return row;
}

std::array<std::uint32_t, 3> identityOf(const analyzer::TrackGroup& group) {
  return {group.isDevice ? 1U : 0U, group.process.value, group.device.value};
}

constexpr std::size_t kProcessOfTrack = 1;  ///< its place in the identity

/// Names are no part of it: threads have theirs in common, and get them late.
std::array<std::uint32_t, 8> identityOf(const analyzer::Track& track) {
  return {static_cast<std::uint32_t>(track.kind),
          track.process.value,
          track.thread.value,
          track.queue.value,
          track.device.value,
          track.counterTrack.value,
          track.isMemory ? 1U : 0U,
          track.memoryRole};
}

/// A thread's, a queue's or a counter's, whatever process it is of.
bool hasOwnNumber(const analyzer::Track& track) {
  return track.thread || track.queue || track.counterTrack;
}

/// The process of a thread may become known late while a recording goes on.
bool isSame(const analyzer::Track& was, const analyzer::Track& now) {
  if (was.process != now.process && !hasOwnNumber(was)) return false;
  auto identity = identityOf(was);
  identity[kProcessOfTrack] = now.process.value;
  return identity == identityOf(now);
}

}  // namespace

std::string keyOf(const analyzer::TrackGroup& group) {
  return fmt::format("{}", fmt::join(identityOf(group), "."));
}

std::string keyOf(const analyzer::Track& track) {
  return fmt::format("{}", fmt::join(identityOf(track), "."));
}

bool isQuiet(const analyzer::Track& track) {
  return track.kind == analyzer::TrackKind::Counter && !track.isMemory &&
         track.counter.lowest() == 0 && track.counter.highest() == 0;
}

namespace {

class RowLayout {
 public:
  RowLayout(const analyzer::TrackSet& tracks, const RowOptions& options)
      : tracks_(tracks), options_(options) {
    const auto isDevice = [](const analyzer::TrackGroup& group) { return group.isDevice; };
    devices_ = std::any_of(tracks.groups.begin(), tracks.groups.end(), isDevice);
  }

  std::vector<Row> run() {
    placePinned();
    for (std::size_t g = 0; g < tracks_.groups.size(); ++g) placeGroup(g);
    for (std::size_t g = 0; g < tracks_.groups.size(); ++g) placeCounters(g);
    return std::move(rows_);
  }

 private:
  void place(Row row) {
    row.y = y_;
    y_ += row.height;
    rows_.push_back(row);
  }

  void placePinned() {
    if (options_.pinned.empty()) return;
    place({.kind = Row::Kind::PinHeader,
           .ref = {},
           .height = kGroupHeight,
           .collapsed = options_.pinnedFolded});
    if (options_.pinnedFolded) return;
    for (const TrackRef& ref : options_.pinned) {
      if (ref.group >= tracks_.groups.size() ||
          ref.track >= tracks_.groups[ref.group].tracks.size())
        continue;
      place(trackRow(tracks_.groups[ref.group].tracks[ref.track], ref, options_));
    }
  }

  /// Those that the filter lets through: counters of a process where there are devices, or the
  /// others.
  [[nodiscard]] std::vector<std::size_t> shown(std::size_t g, bool counters) const {
    const analyzer::TrackGroup& group = tracks_.groups[g];
    const bool matches = analyzer::containsAnyCase(group.label, options_.filter);
    std::vector<std::size_t> out;
    for (std::size_t t = 0; t < group.tracks.size(); ++t) {
      const analyzer::Track& track = group.tracks[t];
      const bool below = devices_ && !group.isDevice && track.kind == analyzer::TrackKind::Counter;
      if (below == counters && (matches || analyzer::containsAnyCase(track.label, options_.filter)))
        out.push_back(t);
    }
    return out;
  }

  void placeGroup(std::size_t g) {
    const std::vector<std::size_t> tracks = shown(g, false);
    if (tracks.empty()) return;
    const bool collapsed = options_.collapsedGroups.contains(g);
    place(
        {.kind = Row::Kind::Group, .ref = {g, 0}, .height = kGroupHeight, .collapsed = collapsed});
    if (collapsed) return;
    if (options_.ledgers.contains(g))
      place({.kind = Row::Kind::Ledger, .ref = {g, 0}, .height = kLedgerHeight});
    placeTracks(g, tracks);
  }

  void placeCounters(std::size_t g) {
    const std::vector<std::size_t> counters = shown(g, true);
    if (counters.empty()) return;
    const bool alone = shown(g, false).empty();  // nothing has named their process yet
    const bool groupCollapsed = options_.collapsedGroups.contains(g);
    if (groupCollapsed && !alone) return;
    const bool folded = alone ? groupCollapsed : options_.foldedCounters.contains(g);
    place({.kind = alone ? Row::Kind::Group : Row::Kind::Counters,
           .ref = {g, 0},
           .height = kGroupHeight,
           .lanes = static_cast<int>(counters.size()),
           .collapsed = folded});
    if (!folded) placeTracks(g, counters);
  }

  /// Those that are always at zero behind one row for all of them.
  void placeTracks(std::size_t g, const std::vector<std::size_t>& tracks) {
    std::vector<std::size_t> quiet;
    const auto placeTrack = [&](std::size_t t) {
      place(trackRow(tracks_.groups[g].tracks[t], {g, t}, options_));
    };
    for (const std::size_t t : tracks) {
      if (options_.filter.empty() && isQuiet(tracks_.groups[g].tracks[t])) {
        quiet.push_back(t);
      } else {
        placeTrack(t);
      }
    }
    if (quiet.empty()) return;
    const bool folded = !options_.quietShown.contains(g);
    place({.kind = Row::Kind::Quiet,
           .ref = {g, quiet.front()},
           .height = kQuietHeight,
           .lanes = static_cast<int>(quiet.size()),
           .collapsed = folded});
    if (folded) return;
    for (const std::size_t t : quiet) placeTrack(t);
  }

  const analyzer::TrackSet& tracks_;
  const RowOptions& options_;
  bool devices_ = false;
  std::vector<Row> rows_;
  int y_ = 0;
};

}  // namespace

std::vector<Row> layOut(const analyzer::TrackSet& tracks, const RowOptions& options) {
  return RowLayout(tracks, options).run();
}

RowOptions movedTo(const analyzer::TrackSet& from, const RowOptions& options,
                   const analyzer::TrackSet& to) {
  const auto group = [&](std::size_t g) -> std::size_t {
    for (std::size_t n = 0; n < to.groups.size(); ++n) {
      if (identityOf(to.groups[n]) == identityOf(from.groups[g])) return n;
    }
    return to.groups.size();
  };
  RowOptions out;
  out.filter = options.filter;
  out.pinnedFolded = options.pinnedFolded;
  const auto keepGroups = [&](const std::set<std::size_t>& old, std::set<std::size_t>& kept) {
    for (const std::size_t g : old) {
      if (group(g) < to.groups.size()) kept.insert(group(g));
    }
  };
  const auto keepTracks = [&](const std::set<TrackRef>& old, std::set<TrackRef>& kept) {
    for (const TrackRef& ref : old) {
      const analyzer::Track& was = from.groups[ref.group].tracks[ref.track];
      for (std::size_t g = 0; g < to.groups.size(); ++g) {
        if (!hasOwnNumber(was) && g != group(ref.group)) continue;
        for (std::size_t t = 0; t < to.groups[g].tracks.size(); ++t) {
          if (isSame(was, to.groups[g].tracks[t])) kept.insert({g, t});
        }
      }
    }
  };
  keepGroups(options.collapsedGroups, out.collapsedGroups);
  keepGroups(options.quietShown, out.quietShown);
  keepGroups(options.foldedCounters, out.foldedCounters);
  keepTracks(options.collapsedTracks, out.collapsedTracks);
  keepTracks(options.pinned, out.pinned);
  return out;
}

std::optional<RowKey> movedTo(const analyzer::TrackSet& from, const RowKey& key,
                              const analyzer::TrackSet& to) {
  const bool track = key.kind == Row::Kind::Track || key.kind == Row::Kind::Quiet;
  RowOptions one;
  if (track) {
    one.collapsedTracks = {key.ref};
  } else {
    one.collapsedGroups = {key.ref.group};
  }
  one = movedTo(from, one, to);
  if (track && !one.collapsedTracks.empty()) return RowKey{key.kind, *one.collapsedTracks.begin()};
  if (!track && !one.collapsedGroups.empty())
    return RowKey{key.kind, {*one.collapsedGroups.begin(), 0}};
  return std::nullopt;
}

std::vector<RowKey> rowsOf(const analyzer::TrackSet& tracks, const analyzer::Evidence& evidence) {
  std::vector<RowKey> out;
  const auto addWhere = [&](auto&& belongs) {
    for (std::size_t g = 0; g < tracks.groups.size(); ++g) {
      for (std::size_t t = 0; t < tracks.groups[g].tracks.size(); ++t) {
        if (belongs(tracks.groups[g].tracks[t])) out.push_back({Row::Kind::Track, {g, t}});
      }
    }
  };
  using analyzer::TrackKind;
  if (evidence.queue) {
    addWhere([&](const auto& track) {
      return track.kind == TrackKind::Work && track.queue == evidence.queue;
    });
  }
  if (evidence.startNs == evidence.endNs && evidence.device) {
    addWhere([&](const auto& track) {
      return track.isMemory && track.memoryRole == analyzer::Track::kAllRoles &&
             track.device == evidence.device;
    });
  }
  if (evidence.thread) {
    addWhere([&](const auto& track) {
      return (track.kind == TrackKind::Ranges || track.kind == TrackKind::Calls) &&
             track.thread == evidence.thread;
    });
  }
  for (std::size_t g = 0; g < tracks.groups.size(); ++g) {
    if (tracks.groups[g].isDevice && evidence.device && tracks.groups[g].device == evidence.device)
      out.push_back({Row::Kind::Ledger, {g, 0}});
  }
  return out;
}

RowOptions showing(const analyzer::TrackSet& tracks, RowOptions options,
                   std::span<const RowKey> wanted) {
  for (const RowKey& key : wanted) {
    options.collapsedGroups.erase(key.ref.group);
    if (key.kind != Row::Kind::Track) continue;
    options.collapsedTracks.erase(key.ref);
    const analyzer::Track& track = tracks.groups[key.ref.group].tracks[key.ref.track];
    if (track.kind == analyzer::TrackKind::Counter) options.foldedCounters.erase(key.ref.group);
  }
  const std::vector<Row> rows = layOut(tracks, options);
  const bool hidden = std::any_of(wanted.begin(), wanted.end(),
                                  [&](const RowKey& key) { return !findRow(rows, key); });
  if (hidden) options.filter.clear();
  return options;
}

const Row* findRow(std::span<const Row> rows, const RowKey& key) {
  const Row* group = nullptr;
  const auto isGroup = [](const Row& row) { return row.kind == Row::Kind::Group; };
  for (const Row& row : std::span(std::find_if(rows.begin(), rows.end(), isGroup), rows.end())) {
    if (row.kind == key.kind && row.ref == key.ref) return &row;
    if (row.kind == Row::Kind::Group && row.ref.group == key.ref.group) group = &row;
  }
  return key.kind == Row::Kind::Track ? nullptr : group;
}

int scrollTo(std::span<const Row> rows, std::span<const RowKey> wanted, int scrolled, int height) {
  int top = 0, bottom = 0;
  for (const RowKey& key : wanted) {
    const Row* row = findRow(rows, key);
    if (row == nullptr) continue;
    const bool first = top == bottom;
    const int above = first ? row->y : std::min(top, row->y);
    const int below = first ? row->y + row->height : std::max(bottom, row->y + row->height);
    if (!first && below - above > height) continue;
    top = above;
    bottom = below;
  }
  if (top == bottom || (top >= scrolled && bottom <= scrolled + height)) return scrolled;
  // With what lies around them; of what is higher than the window, its beginning.
  return std::max(0, top - std::max(0, height - (bottom - top)) / 3);
}

std::size_t rowAt(std::span<const Row> rows, int y) {
  const auto after = std::upper_bound(rows.begin(), rows.end(), y,
                                      [](int v, const Row& row) { return v < row.y; });
  if (after == rows.begin() || y >= (after - 1)->y + (after - 1)->height) return rows.size();
  return static_cast<std::size_t>(after - rows.begin()) - 1;
}

}  // namespace lacuna::gui
