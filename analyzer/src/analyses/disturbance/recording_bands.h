// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "lacuna/analyzer/ledger.h"
#include "lacuna/analyzer/scope.h"
#include "lacuna/analyzer/timeline.h"

namespace lacuna::analyzer {

/// As selfOverhead(), of what the scope's selection holds and of what belongs to no thread. Cores
/// are taken from the steps within `work`: of what else is in the window no step becomes longer.
prof::Result<SelfOverhead> selfOverheadOf(const Store& store, prof::TimeWindow window,
                                          std::int64_t steps, const TableScope& scope,
                                          prof::TimeWindow work);

/// The recorder of a range: a watcher of PyTorch does more for it than hand it over.
enum class CostKind : std::uint8_t { Other, Operator, Python };
inline constexpr std::size_t kCostKinds = 3;

/// Finds the kind of a range by its category, once per category.
class CostKinds {
 public:
  explicit CostKinds(const Store& store) : store_(store) {}
  CostKind of(prof::StringId category);
  double costNs(const EventCosts& costs, prof::StringId category);

 private:
  const Store& store_;
  std::unordered_map<prof::StringId, CostKind> kinds_;
};

/// The cost of recording some time: events, and nanoseconds for which the recorder may have taken
/// the core.
struct RecordedTime : RecordedEvents {
  double takenNs = 0;
  /// At most the time itself.
  [[nodiscard]] std::int64_t of(std::int64_t ns, const EventCosts& costs) const;
};

/// The times when recording took time, as far as events show: on the host side by process, and in
/// executions by CPU device. It also has the share of the cores that the recorder took.
class RecordedCosts {
 public:
  /// Everything that `timeline` and the store's marks, allocations and counters hold within the
  /// window. `taken` outlives it.
  static prof::Result<RecordedCosts> load(const Store& store, const EventCosts& costs,
                                          const Timeline& timeline, prof::TimeWindow window,
                                          const ShareCurve& taken);

  [[nodiscard]] double ofHost(prof::ProcessId process, prof::TimeNs from, prof::TimeNs to) const;
  /// Cost in the process with the thread that did `span`, from the first moment of `span` to its
  /// last.
  [[nodiscard]] std::int64_t within(const HostSpan& span) const;
  [[nodiscard]] double ofExecutions(prof::DeviceId device, prof::TimeNs from,
                                    prof::TimeNs to) const;
  /// An execution of that device; 0 for one that only the device stamps.
  [[nodiscard]] std::int64_t within(prof::DeviceId device, prof::TimeNs from,
                                    prof::TimeNs to) const;
  [[nodiscard]] double ofCores(prof::TimeNs from, prof::TimeNs to) const {
    return taken_->between(from, to);
  }
  [[nodiscard]] bool isCpu(prof::DeviceId device) const { return cpus_.contains(device); }
  /// The threads that launch its work execute most of it, so what they record meanwhile is within
  /// that work.
  [[nodiscard]] bool worksInPlace(prof::DeviceId device) const { return inPlace_.contains(device); }

 private:
  explicit RecordedCosts(const ShareCurve& taken) : taken_(&taken) {}
  /// Moments in order, each with the sum of what it and those before it cost.
  struct Series {
    std::vector<std::pair<prof::TimeNs, double>> sums;
    void finish();
    [[nodiscard]] double between(prof::TimeNs from, prof::TimeNs to) const;
  };
  std::unordered_map<prof::ProcessId, Series> host_;
  std::unordered_map<prof::ThreadId, prof::ProcessId> processOf_;
  std::unordered_map<prof::DeviceId, Series> executions_;
  std::unordered_set<prof::DeviceId> cpus_, inPlace_;
  const ShareCurve* taken_;
};

/// Takes a device's ledger segments one after the other, and answers how much of each may be
/// recording. Recording while the device is busy delays its host. The delay shows in the next idle
/// stretch, so it is carried there. Work in place holds what is recorded meanwhile. Cores that the
/// recorder takes delay a CPU device at once; for other devices they delay only the host.
class BandAttribution {
 public:
  BandAttribution(prof::DeviceId device, prof::ProcessId process)
      : device_(device), process_(process) {}
  /// At most the segment's length.
  std::int64_t of(const RecordedCosts& costs, const LedgerSegment& segment);

 private:
  prof::DeviceId device_;
  prof::ProcessId process_;
  double carried_ = 0;
};

}  // namespace lacuna::analyzer
