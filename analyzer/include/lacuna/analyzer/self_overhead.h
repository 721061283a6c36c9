// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "lacuna/analyzer/ledger.h"
#include "lacuna/analyzer/steps.h"

/// What recording itself cost, from what the recorder measured of its own events (environment `self.cost.…`), from the
/// cores that it took, and from overheads that were recorded as such. docs/analyses/self-overhead.md.
namespace lacuna::analyzer {

/// Of the time in which the recorder ran, that in which threads of the program waited for a core.
inline constexpr std::string_view kUseOfCores = "use of cores";

struct OverheadPart {
  std::string kind;          ///< "range", "mark", kUseOfCores, or the name of a recorded overhead
  std::uint64_t events = 0;  ///< 0 of what is no sum over events
  double nsEach = 0;
  std::int64_t nsPerStep = 0;
};

struct SelfOverhead {
  bool known = false;  ///< the trace says what an event costs or what the recorder ran, or holds overheads
  std::vector<OverheadPart> parts;
  /// Of all threads of processes with steps or devices together.
  std::int64_t nsPerStep = 0;

  /// Of nsPerStep, what comes of the recorder's use of cores.
  [[nodiscard]] std::int64_t coresNsPerStep() const;
};

/// Nanoseconds that the recorder says an event takes; 0 where it does not.
struct EventCosts {
  double rangeNs = 0;
  double markNs = 0;
  [[nodiscard]] bool known() const { return rangeNs > 0 || markNs > 0; }
};
EventCosts eventCosts(const Store& store);
/// Devices whose executions were told by their queues' threads, as ranges.
std::unordered_set<prof::DeviceId> cpuDevices(const Store& store);

/// How much of each entry of a ledger may be recording: a figure without the recorder lies between the entry less its
/// band and the entry. Zeros where the trace does not say.
struct RecordingBands {
  Ledger run;                 ///< of Analysis::ledger
  std::vector<Ledger> steps;  ///< of Analysis::stepLedgers
};

/// Events of CPU devices and of their host, by what one of them costs.
struct RecordedEvents {
  std::uint64_t ranges = 0;
  std::uint64_t marks = 0;
  RecordedEvents& operator+=(const RecordedEvents& other) {
    ranges += other.ranges;
    marks += other.marks;
    return *this;
  }
  [[nodiscard]] std::int64_t costNs(const EventCosts& costs) const;
};

/// "±0.3 %": what recording may have added to a figure, as a share of it; empty where that is nothing.
std::string humanBand(std::int64_t bandNs, std::int64_t ns);

/// Counts what starts within the window, and cores that were taken meanwhile; `steps` is what it is divided by.
prof::Result<SelfOverhead> selfOverhead(const Store& store, prof::TimeWindow window, std::int64_t steps);

}  // namespace lacuna::analyzer
