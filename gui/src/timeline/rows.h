// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lacuna/analyzer/findings.h"
#include "lacuna/analyzer/lanes.h"

namespace lacuna::gui {

/// A track by its place in the TrackSet.
struct TrackRef {
  std::size_t group = 0;
  std::size_t track = 0;
  friend auto operator<=>(const TrackRef&, const TrackRef&) = default;
};

/// The choices of the user for the tracks.
struct RowOptions {
  std::set<std::size_t> collapsedGroups;
  std::set<TrackRef> collapsedTracks;  ///< only the topmost lane shows
  std::set<TrackRef> pinned;           ///< repeated above everything else
  bool pinnedFolded = false;           ///< only their heading shows
  std::set<std::size_t>
      quietShown;  ///< groups whose counters that are always zero are shown as well
  std::set<std::size_t>
      foldedCounters;             ///< processes whose counters, below the devices, are folded away
  std::set<std::size_t> ledgers;  ///< groups whose ledger is there to be shown below their name
  std::string filter;             ///< part of a track's or group's label, any case
};

struct Row {
  enum class Kind { PinHeader, Group, Ledger, Track, Quiet, Counters };
  Kind kind = Kind::Group;
  TrackRef ref;
  int y = 0;
  int height = 0;
  int lanes = 0;  ///< of Quiet and Counters: how many counters it stands for
  bool collapsed = false;
  bool pinned = false;
};

/// A row by what it shows, wherever it lies: a track, or a group's name, ledger or counters.
struct RowKey {
  Row::Kind kind = Row::Kind::Track;
  TrackRef ref;
  friend bool operator==(const RowKey&, const RowKey&) = default;
};

inline constexpr int kGroupHeight = 26;
inline constexpr int kLaneHeight = 18;
inline constexpr int kLanePitch = 19;
inline constexpr int kTrackPadding = 5;
inline constexpr int kCounterHeight = 44;
inline constexpr int kLedgerHeight = 26;
inline constexpr int kQuietHeight = 24;

/// A counter that never was anything but zero. Those of a group share one row, unless they are
/// asked for.
bool isQuiet(const analyzer::Track& track);
/// Where every track lies, from y = 0 down, in logical pixels. The tracks of threads and devices
/// come first; the counters of processes follow below the last device.
std::vector<Row> layOut(const analyzer::TrackSet& tracks, const RowOptions& options);
/// The key of a group or a track by the thing that it shows, whatever its name and place. It stays
/// the same while a recording goes on, and when its file is opened again.
std::string keyOf(const analyzer::TrackGroup& group);
std::string keyOf(const analyzer::Track& track);
/// The same choices for another layout of the same trace: groups and tracks are found by what they
/// are of, what is gone is dropped.
RowOptions movedTo(const analyzer::TrackSet& from, const RowOptions& options,
                   const analyzer::TrackSet& to);
/// The same row, found in the same way.
std::optional<RowKey> movedTo(const analyzer::TrackSet& from, const RowKey& key,
                              const analyzer::TrackSet& to);
/// The rows that evidence is about, the most relevant first: the queue's work, the memory of a
/// moment, the thread's ranges and calls, the device's ledger.
std::vector<RowKey> rowsOf(const analyzer::TrackSet& tracks, const analyzer::Evidence& evidence);
/// The same choices, but with all of these rows shown.
RowOptions showing(const analyzer::TrackSet& tracks, RowOptions options,
                   std::span<const RowKey> wanted);
/// Where a row lies among those below the pinned ones. A missing ledger gives its group, a missing
/// track null.
const Row* findRow(std::span<const Row> rows, const RowKey& key);
/// The position to scroll a window of this height to, so that as many of the rows as fit, from the
/// first on, can be seen: `scrolled`, if they can already.
int scrollTo(std::span<const Row> rows, std::span<const RowKey> wanted, int scrolled, int height);
/// The row at y, or the size of `rows` when there is none.
std::size_t rowAt(std::span<const Row> rows, int y);

}  // namespace lacuna::gui
