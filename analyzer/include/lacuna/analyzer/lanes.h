// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lacuna/analyzer/links.h"
#include "lacuna/analyzer/pyramid.h"
#include "lacuna/analyzer/store.h"
#include "lacuna/prof/ids.h"

namespace lacuna::analyzer {

/// The extremes of a counter within one pixel.
struct CounterCell {
  double low = 0;
  double high = 0;
  double last = 0;  ///< value at the pixel's end
  bool known = false;
};

/// Samples of one counter, each holding until the next; extremes are exact at every zoom.
class CounterLane {
 public:
  void add(prof::TimeNs timeNs, double value);
  void finish();
  /// Before finish(): the same samples again, to be added to and finished apart.
  [[nodiscard]] CounterLane copy() const;

  [[nodiscard]] std::size_t size() const { return time_.size(); }
  [[nodiscard]] prof::TimeNs timeNs(std::size_t i) const { return time_[i]; }
  [[nodiscard]] double value(std::size_t i) const { return value_[i]; }
  [[nodiscard]] double lowest() const { return lowest_; }
  [[nodiscard]] double highest() const { return highest_; }
  /// The last sample at or before t; SIZE_MAX before the first.
  [[nodiscard]] std::size_t at(prof::TimeNs t) const;
  void query(const PixelGrid& grid, std::span<CounterCell> cells) const;
  [[nodiscard]] std::uint64_t bytes() const;
  void write(ByteOutput& out) const;
  bool read(ByteInput& in);

 private:
  struct Extremes {
    double low, high;
  };
  void extremes(std::size_t from, std::size_t to, Extremes& out) const;

  PodArray<prof::TimeNs> time_;
  PodArray<double> value_;
  std::vector<PodArray<Extremes>> levels_;  // of 16 samples, then of 8 of the level below
  double lowest_ = 0;
  double highest_ = 0;
};

// The tracks of a timeline: every track of a trace, laid out in lanes and counters, from which
// pictures are drawn.

enum class TrackKind : std::uint8_t {
  Ranges,       ///< nested ranges of a thread
  Calls,        ///< runtime and driver calls of a thread
  AsyncRanges,  ///< ranges of a process that begin and end anywhere
  Annotations,  ///< ranges that lie on a queue
  Work,         ///< kernels, copies and memsets of a queue
  Counter,
};
inline constexpr std::size_t kTrackKinds = 6;

/// The purpose of an event, by its track and its name. It gives the colour where a picture has no
/// room for names.
enum class WorkKind : std::uint8_t {
  Host,
  Call,
  Synchronisation,
  Loader,
  Compute,
  Communication,
  Copy,
  Memset
};
WorkKind workKind(TrackKind track, std::string_view name);

/// Nesting depths of a track that have lanes; deeper events are counted.
inline constexpr std::size_t kMostLanes = 1024;

/// Curves of a device's memory: of all of it, and of a role, whose words follow this, by
/// prof::MemoryRole.
inline constexpr std::string_view kMemoryCurve = "memory";
inline constexpr std::string_view kRoleCurve = "memory · ";
inline constexpr std::array<std::string_view, 9> kRoleCurves{
    "not known", "parameters", "gradients",     "activations", "optimizer",
    "inputs",    "workspace",  "communication", "cached"};

/// One line of the timeline.
struct Track {
  static constexpr std::uint32_t kAllRoles = UINT32_MAX;

  TrackKind kind = TrackKind::Ranges;
  prof::ProcessId process;
  prof::ThreadId thread;
  prof::DeviceId device;
  prof::QueueId queue;
  prof::TrackId counterTrack;
  std::string label;
  std::string unit;         ///< counters only
  std::vector<Lane> lanes;  ///< by nesting depth; empty for counters
  CounterLane counter;
  bool isMemory = false;                 ///< a counter made from allocations
  std::uint32_t memoryRole = kAllRoles;  ///< of such a one
  std::uint64_t events = 0;
  std::uint64_t deeper = 0;  ///< of the events, those that have no lane; the label names them
};

/// A process or a device with its tracks.
struct TrackGroup {
  bool isDevice = false;
  prof::ProcessId process;
  prof::DeviceId device;
  std::string label;
  std::vector<Track> tracks;
};

/// Immutable once built; safe for many threads.
struct TrackSet {
  std::vector<TrackGroup> groups;
  prof::TimeWindow span;
  std::uint64_t events = 0;
  bool kept = false;  ///< came from a file (see loadTracks())
  /// Reads the events of a kept set ahead. It ends with the set, before the events that it reads.
  struct ReadAhead;
  struct EndReadAhead {
    void operator()(ReadAhead* ahead) const;
  };

  /// The name of an event of a lane. Copies and memsets that the trace leaves nameless are called
  /// after what they do.
  static std::string_view name(const Store& store, prof::StringId id);
  [[nodiscard]] std::uint64_t bytes() const;

  std::unique_ptr<ReadAhead, EndReadAhead> readAhead;
};

/// Reads the store once per table and lays out every track. Fails only when cancelled or when a
/// block cannot be read.
prof::Result<std::shared_ptr<const TrackSet>> buildTracks(const Store& store,
                                                          const Progress& progress = {});

/// The row behind an event of a lane, found by its start, length and track.
EventRef findEvent(const Store& store, const Track& track, prof::TimeNs startNs, prof::TimeNs durNs,
                   prof::StringId name);

/// Lays out a trace that grows: what buildTracks() gives, at a cost of what came since and not of
/// what there is. A range is written when it ends, and may then lie above older events. So the last
/// seconds are laid out anew each time; older ones are kept. A range that began before that, such
/// as the one around a whole run, lays out everything once. One thread at a time; the sets are
/// independent of it.
class LiveTracks {
 public:
  LiveTracks();
  ~LiveTracks();

  /// The tracks of a store of an .lcn file that holds all that the one before held, as a
  /// StoreFollower gives them.
  prof::Result<std::shared_ptr<const TrackSet>> layOut(const Store& store,
                                                       const Progress& progress = {});
  /// Rows that the last layOut() read.
  [[nodiscard]] std::uint64_t rowsRead() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Tracks that outlive the program: as derived blocks of the trace itself, or of a file in the cache
// folder.

/// Tracks of fewer events are built faster than a user notices, and are not kept.
inline constexpr std::uint64_t kTracksWorthKeeping = 2'000'000;

/// The tracks kept in the store's file or in the cache folder, when they are there, whole and of
/// the same content and version; else null. Opening reads their pyramids; events are read when they
/// are needed. The set keeps the file open.
std::shared_ptr<const TrackSet> loadTracks(const Store& store);
/// Those, or else new ones (see buildTracks).
prof::Result<std::shared_ptr<const TrackSet>> openTracks(const Store& store,
                                                         const Progress& progress = {});

/// $XDG_CACHE_HOME/lacuna/tracks, else ~/.cache/lacuna/tracks; empty when there is no home.
std::filesystem::path trackCacheFolder();
/// Keeps tracks in the cache folder for the next opening, where it is worth it. The folder holds at
/// most 8 GiB; the files that were unused for longest go first. It is no error where there is
/// nothing to do; a file that is still being written is not kept. Fails when `progress`, which gets
/// no value but 0, answers false.
prof::Status keepTracks(const Store& store, const TrackSet& tracks,
                        std::uint64_t leastEvents = kTracksWorthKeeping,
                        const Progress& progress = {});

/// Appends the tracks of a finished .lcn file to it, where that is worth it. On failure the file is
/// as it was.
prof::Status addTracks(const std::filesystem::path& path, const Progress& progress = {},
                       std::uint64_t leastEvents = kTracksWorthKeeping);

// Questions about laid-out tracks: what is in a stretch, where is a name, what belongs to an event.

/// An event by its place in a TrackSet.
struct TrackEvent {
  std::size_t group = 0;
  std::size_t track = 0;
  std::size_t lane = 0;
  std::size_t event = 0;
  friend auto operator<=>(const TrackEvent&, const TrackEvent&) = default;
};

/// Sums over the events of one name within a window; events that reach out of it count with the
/// part inside.
struct NameSum {
  prof::StringId name;
  TrackKind kind = TrackKind::Ranges;
  std::uint64_t count = 0;
  std::int64_t totalNs = 0;
  std::int64_t longestNs = 0;
};
/// The time of a window that a queue or device was at work: busyNs + idleNs is the window's length.
struct BusySum {
  std::string label;
  bool device = false;  ///< any queue of the device counts
  std::int64_t busyNs = 0;
  std::int64_t idleNs = 0;
};
struct AreaStats {
  prof::TimeWindow window;
  std::vector<NameSum> names;  ///< greatest total first
  std::vector<BusySum> busy;   ///< each device followed by its queues
  /// Time in which more than one queue of a device was at work, over all devices.
  std::int64_t overlapNs = 0;
};
/// Linear in the events of the window; stops early, with what it has, when progress answers false.
AreaStats areaStats(const TrackSet& tracks, prof::TimeWindow window, const Progress& progress = {});

/// The names of a trace's events that a search is for.
struct NameMatches {
  std::vector<bool> texts;  ///< one flag for each string id
  std::vector<bool>
      unnamed;  ///< of copies and memsets that the trace leaves nameless (see TrackSet::name)
};
/// Asked now and then by a search; answering false calls it off, and its answer means nothing then.
/// May be empty.
using SearchWanted = std::function<bool()>;
/// The names that contain `part`, in any ASCII case; none where it is empty.
NameMatches matchNames(const Store& store, std::string_view part, const SearchWanted& wanted = {});
/// The nearest matching event that begins after (or, going back, before) a moment.
std::optional<TrackEvent> nextMatch(const TrackSet& tracks, const NameMatches& names,
                                    prof::TimeNs from, bool forward,
                                    const SearchWanted& wanted = {});
/// The one after (or before) another event. Events that begin together follow in the order of
/// tracks, lanes and events, so a walk from one to the next reaches all of them.
std::optional<TrackEvent> nextMatch(const TrackSet& tracks, const NameMatches& names,
                                    const TrackEvent& from, bool forward,
                                    const SearchWanted& wanted = {});
/// Number of events that match; stops early, with what it has, when progress answers false.
std::uint64_t countMatches(const TrackSet& tracks, const NameMatches& names,
                           const Progress& progress = {});

/// The call or range that started a piece of device work, or the work that a call or range started,
/// at most `limit`: see Links, whose launches this computes if nobody did yet.
std::vector<EventRef> linkedEvents(const Store& store, const EventRef& event,
                                   std::size_t limit = 64);
/// Where a row lies among the tracks.
std::optional<TrackEvent> locate(const Store& store, const TrackSet& tracks, const EventRef& event);

}  // namespace lacuna::analyzer
