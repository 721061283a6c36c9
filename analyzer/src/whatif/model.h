// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/findings.h"
#include "lacuna/analyzer/whatif.h"

namespace lacuna::analyzer {

inline constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

/// Work that ranges show, and that a program could do without.
enum class AvoidableWork : std::uint8_t {
  Replicates,    ///< copies the model to several devices and gathers what they computed
  ThroughHost,   ///< collectives of a library that works in the host's memory
  ConvertsBack,  ///< a conversion of what was just converted
  Debugs,        ///< what a debug mode does inside of operators
};
inline constexpr std::size_t kAvoidableKinds = static_cast<std::size_t>(AvoidableWork::Debugs) + 1;

/// A piece of device work and what its start waited for when it was recorded.
struct DeviceNode {
  std::int64_t durNs = 0;
  std::size_t queue = 0;
  std::size_t after = kNowhere;    ///< work on another queue that it waited for
  std::int64_t launchDelayNs = 0;  ///< from the end of its launch call
  std::int64_t queueGapNs = 0;     ///< from the end of the work before it
  std::int64_t afterGapNs = 0;     ///< from the end of `after`
  std::size_t behind =
      kNowhere;  ///< where it waited for none: what was last done on the device's other queues
  std::uint64_t bytes = 0;  ///< of a copy or memset
  double warmShare =
      1;  ///< of its time, when the device has not been left waiting before; see warmUp
  /// The avoidable time inside of work that the caller executes.
  std::array<std::int64_t, kAvoidableKinds> avoidableNs{};
  prof::TimeNs measuredEndNs = 0;
  prof::StringId name;
  Work work = Work::Compute;
  bool isMemset = false;
  bool isPageable = false;
  bool operator==(const DeviceNode&) const = default;
};

enum class HostItemKind : std::uint8_t {
  Launch,
  Sync,
  LoaderWait,
  WorkerChange,  ///< the loader starts or stops its workers, as many as it has
};

/// Lists of calls leave these out: the loader has settings of its own.
[[nodiscard]] constexpr bool isOfLoader(HostItemKind kind) {
  return kind == HostItemKind::LoaderWait || kind == HostItemKind::WorkerChange;
}

/// Steps in a row whose mean length counts: long enough for work that one step leaves to the next,
/// short enough that a short run has several.
inline constexpr std::size_t kRun = 4;

/// One thing of the host's program, with the host's own work in front of it.
struct HostItem {
  HostItemKind kind = HostItemKind::Launch;
  std::size_t step = 0;
  std::int64_t gapNs = 0;      ///< host work between the item before and this one
  std::int64_t driverNs = 0;   ///< of that, allocator and driver calls
  std::int64_t offCpuNs = 0;   ///< and what the thread was off the CPU outside of those
  std::int64_t betweenNs = 0;  ///< of the gap, what lies outside of the steps that ranges mark
  std::array<std::int64_t, kAvoidableKinds> avoidableNs{};
  std::int64_t durNs = 0;       ///< the call; for waits what is left without the waiting
  std::size_t node = kNowhere;  ///< the work launched, or waited for
  std::size_t room =
      kNowhere;  ///< a launch that had to wait for room in its queue: the work that made it
  std::int64_t periodNs =
      0;  ///< loader: from the batch before becoming ready to this one; 0: it was ready in time
  bool handsOver = false;  ///< loader: the wait is for handing over, by workers with time to spare
  bool beginsEpoch =
      false;  ///< loader: workers prepare nothing of an epoch before its first batch is asked for
  bool blocks = false;  ///< a launch that returns when its work is done, or that executes it itself
  bool inOptimizer = false;
  bool inZeroGrad = false;
  bool accumulates = false;    ///< a launch that adds a gradient to the one that is there
  std::uint8_t avoidable = 0;  ///< a bit for each AvoidableWork that it is part of
  prof::StringId call;         ///< the call's name
  bool operator==(const HostItem&) const = default;
};

/// The way that batches are prepared, as far as the trace shows.
struct LoaderModel {
  std::uint32_t workers = 0;
  std::uint32_t prefetch = 2;       ///< batches that each worker may be ahead; PyTorch's default
  bool serial = false;              ///< the training thread prepares them itself, in its waits
  std::int64_t batchNs = 0;         ///< one batch on one worker; 0: not recorded
  std::int64_t handoverNs = 0;      ///< from a batch becoming ready to the consumer having it
  std::int64_t idleHandoverNs = 0;  ///< the same by a worker that prepares no other batch meanwhile
  double cpuShare = -1;             ///< of a batch's preparation that computes; -1: not recorded
  [[nodiscard]] bool canBePlayed() const { return workers > 0 && batchNs > 0; }
};

/// The time of driver calls of one name in the gap before an item.
struct DriverPart {
  std::size_t item = 0;
  prof::StringId call;
  std::int64_t ns = 0;
};

/// The source of the step time: when each step and its device work were done.
struct Completions {
  std::vector<std::int64_t> atNs;
  std::int64_t totalNs = 0;
  std::size_t runLength = kRun;  ///< steps, see runLengthOf
  /// The typical step: the median over runs of steps, so that a disturbance now and then does not
  /// count.
  [[nodiscard]] std::int64_t typicalNs() const;
};

/// The same program with every piece of a step at the median of its like in the other steps. A
/// thread that is woken after a stall shares a core for a while with the one that woke it, here and
/// there in the step. Without the stall it does not. So this is the rest of a step when its stalls
/// are gone.
struct SteadyProgram {
  std::vector<DeviceNode> nodes;
  std::vector<HostItem> items;
  GainLimit limit;  ///< on the pieces' sums, of a step
};

struct Simulator::Model {
  std::vector<DeviceNode> nodes;  ///< in the order of their launches
  std::vector<HostItem> items;
  std::size_t queues = 0;
  std::vector<std::string> queueNames;
  std::size_t steps = 1;  ///< 1 where none were found: all of the run
  bool hasSteps = false;
  std::int64_t tailNs = 0;  ///< host work after the last item
  /// The typical step where all of the run becomes shorter to this. A run never becomes longer when
  /// a piece of it becomes shorter; the median of its steps may, where they leave work to each
  /// other.
  [[nodiscard]] std::int64_t shortenedNs(const Completions& changed) const;
  std::int64_t usualGapNs = 0;  ///< the median of the host's work in front of launches
  SteadyProgram steady;
  Completions measured;
  Completions replayed;            ///< without a change
  std::int64_t baseNs = 0;         ///< the typical step of that
  std::vector<std::string> names;  ///< by node, for patterns
  std::unordered_map<prof::StringId, std::string> callNames;
  std::vector<DriverPart> driverParts;
  /// On a CPU device a launch that blocks is one whose caller does the work.
  [[nodiscard]] bool callerWorks(const HostItem& item) const {
    return item.blocks && queueCores > 0;
  }
  /// By node: the one that would do its work too if a loop over samples were one operator; empty
  /// where there is none.
  std::vector<std::size_t> joins;
  LoaderModel loader;
  std::shared_ptr<const Calibration> calibration;  ///< null for the built-in one
  [[nodiscard]] const Calibration& factors() const {
    return calibration ? *calibration : Calibration::builtIn();
  }
  std::uint32_t hostCores = 0;
  std::uint32_t queueCores =
      0;                  ///< cores that a running piece of work takes; 0 for a device of its own
  double teamOfWork = 1;  ///< of the work's time, that it takes all of them
  std::int64_t busyNs =
      0;  ///< what a typical step takes of the device that works most, queues side by side
  double stepNoise = 0;      ///< standard error of the typical step, relative
  double lostShare = 0;      ///< of the time that threads wanted to run, what other programs took
  double hostLostShare = 0;  ///< the same of the threads that launch
};

/// Parts of buildModel.
SteadyProgram steadyProgram(const Simulator::Model& model);
/// Steps in a row that show a typical one. Workers that were started together hand over together,
/// and then all of them make the step wait: only whole rounds of theirs show the pace.
std::size_t runLengthOf(const LoaderModel& loader, std::size_t steps);
LoaderModel loaderModel(const Analysis& analysis, const Simulator::Model& model);
/// When the program asked for the first batch of each epoch, as batches are numbered; in order.
/// None where the loader does not number them.
std::vector<prof::TimeNs> epochBegins(const Store& store, prof::TimeWindow window);
double stepNoise(const Completions& completions);

/// Reads the model off the timeline of the steady steps; nothing when no device work lies in them.
std::unique_ptr<Simulator::Model> buildModel(const Analysis& analysis);

}  // namespace lacuna::analyzer
