// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "import/trace_places.h"

namespace lacuna::analyzer {

/// The tracks of a Perfetto trace, as their descriptions come, and the processes and threads that
/// they are.
class PerfettoTracks {
 public:
  struct Track {
    std::uint64_t parent = 0;
    prof::StringId name, unit, commandLine;
    bool isProcess = false, isThread = false, isCounter = false, isIncremental = false;
    std::uint32_t pid = 0, tid = 0;
    std::int64_t multiplier = 1;
    // Made when something lies there.
    prof::ThreadId thread;
  };

  explicit PerfettoTracks(StoreBuilder& builder) : builder_(builder), places_(builder) {}

  // Take descriptions; false where one is not well-formed.
  bool readTrack(std::string_view bytes);
  bool readProcess(std::string_view bytes, Track& track);
  /// `legacyUs`: gets the time that the thread's events of the older form count from; may be null.
  bool readThread(std::string_view bytes, std::uint64_t uuid, std::int64_t* legacyUs);
  /// Processes and threads that the recorder saw in the system; only of those that have tracks.
  bool readProcessTree(std::string_view bytes);

  /// The track, made where it is not known.
  Track& at(std::uint64_t uuid) { return tracks_[uuid]; }
  [[nodiscard]] const Track* find(std::uint64_t uuid) const {
    const auto found = tracks_.find(uuid);
    return found == tracks_.end() ? nullptr : &found->second;
  }
  /// The track of the thread on whose behalf another one wrote an event.
  std::uint64_t trackOfOther(std::uint64_t writer, std::optional<std::uint32_t> givenPid,
                             std::optional<std::uint32_t> givenTid);

  prof::ProcessId processOf(std::uint64_t uuid, int depth = 0);
  /// A thread's track is the thread; any other track becomes a thread without a number that has the
  /// track's name.
  prof::ThreadId threadOf(std::uint64_t uuid, int depth = 0);
  /// Processes and threads are named by their descriptions wherever those are, what these leave
  /// open by the recorder's lists.
  void namePlaces();
  TracePlaces& places() { return places_; }

 private:
  struct ProcessText {
    prof::StringId name, commandLine;
  };

  bool listedProcess(std::string_view bytes);
  bool listedThread(std::string_view bytes);
  bool readCounter(std::string_view bytes, Track& track);

  StoreBuilder& builder_;
  TracePlaces places_;
  std::map<std::uint64_t, Track> tracks_;
  // Texts in the recorder's lists: of processes, by pid, and of threads, by pid and tid (at the end
  // their tracks, too).
  std::map<std::uint32_t, ProcessText> processTexts_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, prof::StringId> threadNames_;
};

}  // namespace lacuna::analyzer
