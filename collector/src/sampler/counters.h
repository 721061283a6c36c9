// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>

#include "lacuna/prof/recording.h"
#include "sampler/process_tree.h"

namespace lacuna::collector::proc {

/// Counter tracks of every process and thread, of this process, the recorder, and of the cores that
/// have nothing to do. Rates hold from the sample before to this one, so they carry the time of the
/// sample before. A value is written when it changes, and when recording has begun again.
class Counters {
 public:
  void sample(const sampler::ProcessTree& tree, prof::Drainer::Access& access);
  /// The time between the last sample and the next one belongs to no rate: nothing was to be
  /// recorded.
  void restart();
  /// Number of tracks of those who were living at the last sample.
  [[nodiscard]] std::size_t size() const { return tracks_.size(); }

 private:
  enum class What : std::uint8_t {
    Cpu,
    Resident,
    MinorFaults,
    MajorFaults,
    DiskReads,
    ThreadCpu,
    ThreadWait,
    Recorder,
    RecorderApart,
    Idle
  };
  struct Track {
    prof::TrackId id;
    prof::TimeNs lastNs = 0;
    std::uint64_t total = 0;
    double value = -1;
  };
  using Key = std::pair<What, std::uint32_t>;  ///< with the number of a process or a thread; 0 for
                                               ///< the recorder and the machine

  void sampleRecorder(const cpu_set_t& programs, prof::Drainer::Access& access);
  void sampleIdle(const cpu_set_t& programs, prof::Drainer::Access& access);
  void sampleProcess(std::uint32_t pid, const sampler::ProcessTree::Process& process,
                     prof::Drainer::Access& access);
  void sampleThread(std::uint32_t tid, const sampler::ProcessTree::Thread& thread,
                    prof::Drainer::Access& access);
  Track& trackOf(What what, prof::ProcessId process, prof::ThreadId thread,
                 prof::Drainer::Access& access);
  void forgetTheEnded(const sampler::ProcessTree& tree);
  static void put(Track& track, prof::TimeNs timeNs, double value, prof::Drainer::Access& access);
  /// A running total as what it gained in a second, times `scale`.
  static void putRate(Track& track, prof::TimeNs timeNs, std::uint64_t total, double scale,
                      prof::Drainer::Access& access);

  std::map<Key, Track> tracks_;        ///< of the living
  std::uint64_t recorderNs_ = 0;       ///< CPU time that the recorder has used
  std::uint64_t recorderApartNs_ = 0;  ///< of that, on cores that the program does not use
};

}  // namespace lacuna::collector::proc
