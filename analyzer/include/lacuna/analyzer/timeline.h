// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {

/// The activity of a host thread, in rising order of precedence: where several cover an instant,
/// the greatest wins.
enum class Activity : std::uint8_t {
  None,
  Annotation,  ///< a step, a phase or a user's range: shows where, not why
  Launch,      ///< inside a call that hands work to a device
  Operator,    ///< host work of a named operator
  OffCpu,      ///< the thread was not running, or was in a call of the operating system
  Driver,      ///< an allocator or driver call
  LoaderWait,  ///< waiting for the next batch
  Sync,        ///< waiting for the device
  Profiler,    ///< held up by a profiler
};
inline constexpr std::size_t kActivityCount = 9;

/// The work of a device queue, in falling order of precedence.
enum class Work : std::uint8_t {
  Compute,
  Communication,
  Copy,
  Unrecorded,  ///< work may have run that the recording lacks
};
inline constexpr std::size_t kWorkCount = 4;

enum class DeviceSpanKind : std::uint8_t { Kernel, Copy, Memset };

struct HostSpan {
  prof::TimeNs startNs = 0;
  prof::TimeNs endNs = 0;
  std::uint64_t correlation = 0;  ///< of the device work it started, 0 for none
  prof::ThreadId thread;
  prof::StringId name;
  prof::ThreadId wokenBy;  ///< for OffCpu: the thread that ended the wait, if known
  Activity activity = Activity::None;
  bool launches =
      false;  ///< `correlation` names device work (an API call, or a range that carries one)
  prof::StringId text = {};  ///< of a range: the shapes of its inputs, where they are known
};

struct DeviceSpan {
  prof::TimeNs startNs = 0;
  prof::TimeNs endNs = 0;
  std::uint64_t correlation = 0;
  prof::QueueId queue;
  prof::StringId name;
  Work work = Work::Compute;
  DeviceSpanKind kind = DeviceSpanKind::Kernel;
  std::uint64_t bytes = 0;  ///< of a copy or memset
  /// The thread that made the graph's node, and when it did, while it captured a stream. None where
  /// the work is of no graph, or nobody recorded the capture.
  prof::ThreadId madeBy = {};
  prof::TimeNs madeNs = 0;
};

/// A queue made to wait for another one, while it lasts.
struct QueueWait {
  prof::TimeNs startNs = 0;
  prof::TimeNs endNs = 0;
  prof::QueueId queue;
};

/// The owners of threads and queues; the small tables of a trace, looked up by id.
struct Topology {
  std::unordered_map<prof::ThreadId, prof::ProcessId> processOfThread;
  std::unordered_map<prof::QueueId, prof::ProcessId> processOfQueue;
  std::unordered_map<prof::QueueId, prof::DeviceId> deviceOfQueue;
};

/// The part of a trace that the ledger and the simulation look at: plain rows, host spans in any
/// order, device spans by start (ties by queue). Either loaded from a store or made by hand.
struct Timeline {
  Topology topology;
  std::vector<HostSpan> host;
  std::vector<DeviceSpan> device;
  std::vector<QueueWait> waits;
};

/// Classifies names, once per distinct name. Not thread-safe; one per analysis.
class NameClasses {
 public:
  explicit NameClasses(const Store& store) : store_(store) {}

  Activity ofRange(prof::StringId domain, prof::StringId category, prof::StringId name);
  Activity ofCall(prof::StringId name);
  Work ofKernel(prof::StringId name);

 private:
  struct RangeKey {
    prof::StringId domain, category, name;
    friend bool operator==(const RangeKey&, const RangeKey&) = default;
  };
  struct RangeKeyHash {
    std::size_t operator()(const RangeKey& key) const {
      return (std::uint64_t{key.name.value} * 0x9e3779b97f4a7c15u) ^
             (std::uint64_t{key.category.value} << 20) ^ key.domain.value;
    }
  };
  const Store& store_;
  std::unordered_map<RangeKey, Activity, RangeKeyHash> ranges_;
  std::unordered_map<prof::StringId, Activity> calls_;
  std::unordered_map<prof::StringId, Work> kernels_;
};

/// Ranges of the category "loader" in which the program waits for workers to begin or to end, and
/// takes no batch.
inline constexpr std::array<std::string_view, 2> kLoaderChanges{"start", "stop"};

/// Phases by name. A program may have others.
inline constexpr std::string_view kLoadPhase = "load", kEvaluation = "evaluation",
                                  kCheckpoint = "checkpoint", kCheckpointSync = "checkpoint sync",
                                  kGarbageCollection = "garbage collection",
                                  kCompilePhase = "compile";
/// A mark for each time that code is compiled again, with the reason as its text.
inline constexpr std::string_view kRecompilationMark = "recompilation";
/// Training stops for these, and each has a finding of its own.
inline constexpr std::array<std::string_view, 4> kStallPhases{kCheckpoint, kCheckpointSync,
                                                              kGarbageCollection, kCompilePhase};

/// As NameClasses, by text; the tables are in docs/analyses/names.md.
Activity classifyRange(std::string_view domain, std::string_view category, std::string_view name);
Activity classifyCall(std::string_view name);
Work classifyKernel(std::string_view name);
/// True for a range that marks one training step ("step", "step 12", "ProfilerStep#12", category
/// "step").
bool isStepMarker(std::string_view category, std::string_view name);

Topology loadTopology(const Store& store);
/// Everything that touches the window.
prof::Result<Timeline> loadTimeline(const Store& store, prof::TimeWindow window = {});

}  // namespace lacuna::analyzer
