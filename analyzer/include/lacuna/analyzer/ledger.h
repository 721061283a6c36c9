// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "lacuna/analyzer/scope.h"
#include "lacuna/analyzer/timeline.h"

namespace lacuna::analyzer {

/// The entries of the gap ledger. Every nanosecond of a queue's or device's window belongs to
/// exactly one.
enum class Cause : std::uint8_t {
  Compute,
  ExposedCommunication,
  ExposedCopy,
  Profiler,
  Synchronisation,
  LoaderWait,
  DriverCall,
  OffCpu,
  HostWork,
  Launch,
  Dependency,
  Unknown,
};
inline constexpr std::size_t kCauseCount = 12;

/// The key used in JSON and by options: "compute", "exposed_communication", "loader_wait", …
std::string_view causeKey(Cause cause);
/// The words used in reports: "waiting for the loader", …
std::string_view causeLabel(Cause cause);
std::optional<Cause> findCause(std::string_view key);
constexpr bool isBusy(Cause cause) {
  return cause <= Cause::ExposedCopy;
}

/// One stretch of one cause. For HostWork `name` is the operator, for Synchronisation, DriverCall
/// and LoaderWait the call or range, for idle causes `thread` is who was at it (none when nobody in
/// particular).
struct LedgerSegment {
  prof::TimeNs startNs = 0;
  prof::TimeNs endNs = 0;
  Cause cause = Cause::Unknown;
  prof::StringId name;
  prof::ThreadId thread;
  bool unrecorded = false;  ///< unknown, as work may have run that the recording lacks

  [[nodiscard]] std::int64_t durNs() const { return endNs - startNs; }
  friend bool operator==(const LedgerSegment&, const LedgerSegment&) = default;
};

/// Sums of segments.
struct Ledger {
  std::array<std::int64_t, kCauseCount> ns{};

  [[nodiscard]] std::int64_t operator[](Cause cause) const {
    return ns[static_cast<std::size_t>(cause)];
  }
  [[nodiscard]] std::int64_t totalNs() const;
  [[nodiscard]] std::int64_t busyNs() const;
  [[nodiscard]] std::int64_t idleNs() const { return totalNs() - busyNs(); }
  void add(Cause cause, std::int64_t durNs) { ns[static_cast<std::size_t>(cause)] += durNs; }
  Ledger& operator+=(const Ledger& other);
  friend bool operator==(const Ledger&, const Ledger&) = default;
};

/// The scope of a ledger: one queue, or a device as a whole (busy where any of its queues is).
struct LedgerScope {
  prof::DeviceId device;
  prof::QueueId queue;  ///< none: the whole device
};

/// Called with contiguous segments in time order that cover the window exactly; neighbours may
/// share a cause.
using LedgerSink = std::function<void(const LedgerSegment&)>;

/// The time inside of iterations after the marker of each: the thread of the steps does the
/// program's own work there, also where nothing was recorded.
struct StepPauses {
  prof::ProcessId process;
  prof::ThreadId thread;
  prof::StringId name;                    ///< the marker's
  std::vector<prof::TimeWindow> windows;  ///< in order
};
StepPauses stepPauses(const Store& store, const Steps& steps);

/// The doings of every launching thread, resolved once and shared by the ledgers of all queues and
/// devices. Building is O(n log n) in the timeline's host spans; each account() is linear in the
/// device spans of its process plus O(log n) per idle stretch. Immutable once built; account() may
/// be called from many threads.
class LedgerAccountant {
 public:
  /// The timeline and `unrecorded` must outlive the accountant. Where no work was recorded, the
  /// stretches of `unrecorded` are unknown.
  explicit LedgerAccountant(const Timeline& timeline, StepPauses pauses = {},
                            std::span<const DeviceSpan> unrecorded = {});
  ~LedgerAccountant();
  LedgerAccountant(LedgerAccountant&&) noexcept;

  /// Hands out what every moment of the window went to.
  void account(const LedgerScope& scope, prof::TimeWindow window, const LedgerSink& sink) const;
  /// The sums of it: they add up to the window.
  [[nodiscard]] Ledger sum(const LedgerScope& scope, prof::TimeWindow window) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The cost of recording: from the measured costs of the recorder's events (environment
// `self.cost.…`), from the cores that it took, and from recorded overheads.
// docs/analyses/self-overhead.md.

/// The time in which the recorder ran and threads of the program waited for a core.
inline constexpr std::string_view kUseOfCores = "use of cores";

struct OverheadPart {
  std::string
      kind;  ///< "range", "mark", a watcher's, kUseOfCores, or the name of a recorded overhead
  std::uint64_t events = 0;  ///< 0 of what is no sum over events
  double nsEach = 0;
  std::int64_t nsPerStep = 0;
};

struct SelfOverhead {
  bool known =
      false;  ///< the trace has the cost of an event, the recorder's use of cores, or overheads
  std::vector<OverheadPart> parts;
  /// In all threads of processes with steps or devices together; the mean over all steps, plain
  /// ones too.
  std::int64_t nsPerStep = 0;
  /// How much longer a step in detail is than a plain one: measured, and weighed with the sum of
  /// its bands. 0 where too few of either were recorded.
  std::int64_t detailNsPerStep = 0;
  std::size_t plainSteps = 0;  ///< that were compared

  /// The part of nsPerStep that the recorder's use of cores costs.
  [[nodiscard]] std::int64_t coresNsPerStep() const;
};

/// Nanoseconds for one event, as the recorder measured them; 0: not known.
struct EventCosts {
  double rangeNs = 0;
  double markNs = 0;
  // The cost of watching PyTorch, besides that of the event itself.
  double operatorNs = 0;  ///< a range of an operator
  double moduleNs = 0;    ///< a range that Python code records: of a module, phase, step or loader
  double memoryNs = 0;    ///< an allocation or a free
  [[nodiscard]] bool known() const {
    return rangeNs + markNs + operatorNs + moduleNs + memoryNs > 0;
  }
  [[nodiscard]] double allocationNs() const { return markNs + memoryNs; }
};
EventCosts eventCosts(const Store& store);
/// Devices whose work the threads of their queues recorded as ranges.
std::unordered_set<prof::DeviceId> cpuDevices(const Store& store);

/// The part of each entry of a ledger that may be recording: a figure without the recorder lies
/// between the entry less its band and the entry. Zeros where the trace does not show it.
struct RecordingBands {
  Ledger run;                 ///< of Ledgers::run
  std::vector<Ledger> steps;  ///< of Ledgers::steps
};

/// Events of CPU devices and of their host, by what one of them costs.
struct RecordedEvents {
  std::uint64_t ranges = 0;
  std::uint64_t operators = 0;
  std::uint64_t allocations = 0;
  RecordedEvents& operator+=(const RecordedEvents& other) {
    ranges += other.ranges;
    operators += other.operators;
    allocations += other.allocations;
    return *this;
  }
  [[nodiscard]] std::int64_t costNs(const EventCosts& costs) const;
};

/// "±0.3 %": what recording may have added to a figure, as a share of it; empty where that is
/// nothing.
std::string humanBand(std::int64_t bandNs, std::int64_t ns);

/// Covers the events that start within the window, and the cores that the recorder used meanwhile.
/// Costs are divided by `steps`.
prof::Result<SelfOverhead> selfOverhead(const Store& store, prof::TimeWindow window,
                                        std::int64_t steps);

/// A stretch of a device's ledger.
struct DeviceSegment : LedgerSegment {
  prof::DeviceId device;
};

struct QueueAccount {
  prof::QueueId id;
  std::string name;
  Ledger ledger;
  Ledger bands;  ///< of each entry, what recording may have added
};

/// A device as one process uses it.
struct DeviceAccount {
  prof::DeviceId id;
  prof::DeviceKind kind = prof::DeviceKind::Other;
  std::string label;  ///< "cuda:3", "cpu:0"
  std::uint32_t index = 0;
  std::string uuid;
  std::string name;
  std::uint32_t osPid = 0;
  std::int32_t rank = -1;
  std::uint64_t memoryBytes = 0;
  std::uint64_t memoryBandwidth = 0;  ///< bytes per second; 0: not known
  std::uint32_t cores =
      0;  ///< of a CPU device: threads that an execution may use; else multiprocessors
  prof::TimeWindow window;  ///< first start to last end of its work, within what is analysed
  std::int64_t kernelNs = 0;
  std::int64_t memcpyNs = 0;
  std::int64_t memsetNs = 0;
  std::int64_t commNs = 0;
  std::uint64_t kernels = 0;
  Ledger ledger;
  Ledger bands;  ///< of each entry, what recording may have added
  std::vector<QueueAccount> queues;
};

/// The colour of a cause wherever it is shown: in the window and on the page. 0xFFRRGGBB, for a
/// dark or a light ground. Any two differ for people with any common colour blindness.
std::uint32_t causeColour(Cause cause, bool dark);
/// The nearest of a terminal's 256 colours that are as far from each other.
int terminalColour(Cause cause);

}  // namespace lacuna::analyzer
