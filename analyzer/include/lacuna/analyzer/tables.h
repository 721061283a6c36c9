// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "lacuna/analyzer/scope.h"
#include "lacuna/analyzer/steps.h"
#include "lacuna/analyzer/timeline.h"

/// The tables beside the ledger. Each function streams over the store in bounded memory and looks at what starts within
/// the window and belongs to the scope. What is named after steps speaks of what lies in the scope's steps only, for
/// figures per step: set-up and evaluation belong to no step. Formulas and limits: docs/analyses/tables.md.
namespace lacuna::analyzer {

class LaunchIndex;

/// Device work by the steps that launched it, wherever it then ran.
struct StepWork {
  struct Sum {
    std::uint64_t count = 0;
    std::int64_t ns = 0;
  };
  std::unordered_map<prof::StringId, Sum> kernels;
  std::uint64_t launches = 0;
  /// Copies and memsets that no step launched, by queue and start; there are few.
  struct PlaceHash {
    std::size_t operator()(const std::pair<prof::QueueId, prof::TimeNs>& place) const {
      return static_cast<std::size_t>(place.second) * 0x9e3779b97f4a7c15u ^ place.first.value;
    }
  };
  std::unordered_set<std::pair<prof::QueueId, prof::TimeNs>, PlaceHash> outside;
};
/// Adds what starts within the window; of a timeline that holds nothing but the scope's rows.
void addStepWork(const Timeline& timeline, const LaunchIndex& launches, prof::TimeWindow window, const StepSpans& steps,
                 StepWork& work);

struct KernelRow {
  std::string name;
  std::uint64_t count = 0;
  std::int64_t totalNs = 0;
  std::uint64_t stepCount = 0;
  std::int64_t stepNs = 0;
  std::int64_t minNs = 0;
  std::int64_t maxNs = 0;
  Work work = Work::Compute;
  bool tensorCore = false;       ///< by its name, a tensor-core kernel
  bool matrix = false;           ///< a matrix product or convolution: eligible for tensor cores
  bool pointwise = false;        ///< elementwise work that could be fused with its neighbours
  std::int64_t recordingNs = 0;  ///< of totalNs, at most; as all of that name (self_overhead.h)
  [[nodiscard]] std::int64_t meanNs() const { return count == 0 ? 0 : totalNs / static_cast<std::int64_t>(count); }
};
/// Costliest first.
prof::Result<std::vector<KernelRow>> kernelTable(const Store& store, prof::TimeWindow window,
                                                 const TableScope& scope = {}, const StepWork& work = {});

/// Guesses from a kernel's or operator's name.
bool isMatrixWork(std::string_view name);
bool isPointwiseWork(std::string_view name);
bool usesTensorCores(std::string_view name);
/// Looks for infinite values and those that are no number.
bool checksNumbers(std::string_view name);
/// Writes one number all over its output.
bool fillsMemory(std::string_view name);

struct OperatorRow {
  std::string name;
  std::string shapes;
  std::uint64_t count = 0;
  std::int64_t totalNs = 0;   ///< host time, children included
  std::int64_t selfNs = 0;    ///< host time without recorded children
  std::int64_t deviceNs = 0;  ///< of the device work whose launch it is the innermost operator of
  std::int64_t stepSelfNs = 0;
  std::int64_t stepDeviceNs = 0;
  std::int64_t memBytes = 0;      ///< allocated less freed while it ran, children included
  std::int64_t selfMemBytes = 0;  ///< the same without recorded children
  std::int64_t recordingNs = 0;   ///< of totalNs, at most (self_overhead.h)
  std::int64_t selfRecordingNs = 0;
  std::int64_t deviceRecordingNs = 0;
};
/// By name, or by name and shapes; greatest device time first, then self time.
enum class GroupBy : std::uint8_t { Name, NameAndShapes };
std::vector<OperatorRow> operatorTable(const Store& store, const Timeline& timeline, const LaunchIndex& launches,
                                       prof::TimeWindow window, GroupBy by = GroupBy::Name, const StepSpans& steps = {},
                                       const ShareCurve& taken = {});

/// Copies up to this size are staged by the driver, which then returns at once; as CUDA's documentation says.
inline constexpr std::uint64_t kStagedBytes = std::uint64_t{64} * 1024;

struct CallRow {
  std::string name;
  std::uint64_t count = 0;
  std::int64_t totalNs = 0;
  std::uint64_t stepCount = 0;
  std::int64_t stepNs = 0;
  std::int64_t recordingNs = 0;  ///< of totalNs, what recording may have added
  Activity activity = Activity::None;
  std::string caller;  ///< for synchronisation: the operator or range around most of its time
  /// Of blocking copies: of how many the copy itself is known, and those in the steps that move too much to be staged.
  std::uint64_t copies = 0;
  std::uint64_t stepLargeCount = 0;
  std::int64_t stepLargeNs = 0;
};
class RecordedCosts;
/// Without `costs` no row has a band.
std::vector<CallRow> callTable(const Store& store, const Timeline& timeline, const LaunchIndex& launches,
                               prof::TimeWindow window, const RecordedCosts* costs = nullptr,
                               const StepSpans& steps = {});
/// In the order that each table has; for rows of several timelines that were added up.
void sortOperators(std::vector<OperatorRow>& operators);
void sortCalls(std::vector<CallRow>& calls);

struct LaunchStats {
  std::uint64_t launches = 0;
  std::uint64_t stepLaunches = 0;
  std::int64_t medianCallNs = 0;
  std::int64_t medianDelayNs = 0;  ///< end of the launch call to start of the work
  /// By how much recording may have moved the medians, at most.
  std::int64_t callRecordingNs = 0;
  std::int64_t delayRecordingNs = 0;
  std::uint64_t shorterThanCall = 0;  ///< device work that is shorter than its launch call
  std::uint64_t foundQueueEmpty = 0;  ///< launched when nothing was running or waiting on its queue
  double meanQueueDepth = 0;          ///< work launched and not finished, seen by each launch
  std::uint64_t unmatched = 0;        ///< device work without a recorded launch
};
/// Without the work of steps, which addStepWork() counts.
LaunchStats launchStats(const Timeline& timeline, const LaunchIndex& launches, prof::TimeWindow window,
                        const RecordedCosts* costs = nullptr);

struct LoaderStats {
  bool present = false;
  std::uint64_t batches = 0;          ///< taken by the consumer
  std::uint64_t preparedBatches = 0;  ///< of them, those that busyNs went into; 0: all
  std::int64_t waitNs = 0;            ///< the consumer's, in the window
  std::int64_t stepWaitNs = 0;        ///< of it, in the steps
  std::int64_t busyNs = 0;            ///< fetch to collate, all workers; the consumer's where it is alone
  std::int64_t spanNs = 0;            ///< from the first stage's start to the last one's end, in the window
  std::int64_t blockedNs = 0;         ///< workers waiting for room
  std::uint32_t workers = 0;          ///< that prepared batches at a time; 0 when the consumer did it itself
  bool workersKnown = true;        ///< false: batches are waited for, and nothing tells who prepares them; workers is 0
  std::uint32_t restarts = 0;      ///< of all workers: how often others took their place
  std::int64_t restartNs = 0;      ///< of waitNs, what the consumer waited for that
  std::int64_t stepRestartNs = 0;  ///< of it, in the steps
  prof::TimeWindow longestRestart{0, 0};       ///< the longest such wait
  std::array<std::int64_t, 4> stageNs{};       ///< fetch, decode, augment, collate; self time
  double meanDepth = -1;                       ///< ready batches, -1 when not recorded
  double cpuShare = -1;                        ///< of busyNs that computed rather than waited; -1 when not recorded
  [[nodiscard]] std::int64_t batchNs() const;  ///< one batch on one worker
  [[nodiscard]] double utilisation() const;    ///< of the workers, while there were batches to prepare
};
inline constexpr std::array<std::string_view, 4> kLoaderStages{"fetch", "decode", "augment", "collate"};

/// What keeps batches from being there in time.
enum class LoaderBound : std::uint8_t {
  None,       ///< nothing: the consumer hardly waits
  Reading,    ///< workers that wait for storage
  Computing,  ///< workers that decode, augment, collate
  HandOver,   ///< idle workers: what lies between them and the consumer
  Copy,       ///< the copy to the device
  Unknown,    ///< nothing tells who prepares them
};
std::string_view loaderBoundName(LoaderBound bound);
struct LoaderVerdict {
  LoaderBound bound = LoaderBound::None;
  /// To prepare batches as fast as the rest of a step uses them; 0 where nothing tells what preparing one takes.
  std::uint32_t workersNeeded = 0;
  std::uint32_t prefetchNeeded = 0;  ///< batches that each of these must be ahead
};
/// `waitNs` and `copyNs`: what a step waits for batches and for copies that nothing hides.
LoaderVerdict loaderVerdict(const LoaderStats& loader, std::int64_t stepNs, std::int64_t waitNs, std::int64_t copyNs);

prof::Result<LoaderStats> loaderStats(const Store& store, prof::TimeWindow window, const TableScope& scope = {});

struct LiveTensor {
  std::uint64_t bytes = 0;
  prof::MemoryRole role = prof::MemoryRole::Other;
  std::string tensor;
  std::string op;
  prof::TimeNs allocatedNs = 0;
};
/// How long a tensor that is alive at the peak has been there, and how long it stays.
struct TensorLife {
  prof::DeviceId device;
  prof::TimeNs freedNs = 0;
  bool freed = false;            ///< false: alive until the end of the trace
  std::uint64_t stepsOld = 0;    ///< steps that began since it was allocated
  std::uint64_t stepsAhead = 0;  ///< steps that begin behind the peak while it is alive
};
struct MemoryPoint {
  prof::TimeNs timeNs = 0;
  std::uint64_t bytes = 0;
};
inline constexpr std::size_t kRoleCount = 9;
std::string_view roleName(prof::MemoryRole role);
/// The same for people: of what nobody said what it is for, that that is not known.
std::string_view roleWords(prof::MemoryRole role);
struct MemoryStats {
  bool present = false;
  std::uint64_t peakBytes = 0;
  prof::TimeNs peakAtNs = 0;
  std::uint64_t peakReservedBytes = 0;
  std::array<std::uint64_t, kRoleCount> peakByRole{};
  std::vector<LiveTensor> live;              ///< at the peak, largest first
  std::vector<TensorLife> lives;             ///< of each of them, in their order
  std::vector<MemoryPoint> curve;            ///< at most some 500 points, each the greatest of its stretch
  std::vector<std::uint64_t> stepEndBytes;   ///< alive at the end of each step that ends within the window, or before
  std::vector<std::uint64_t> stepPeakBytes;  ///< by position in steps.all; what no end is known of is not complete
  std::uint64_t allocations = 0;
  std::uint64_t segmentCalls = 0;     ///< times that the allocator went to the device or system, behind the warm-up
  std::uint64_t segmentReleases = 0;  ///< and gave segments back, likewise
  std::uint64_t stepSegmentCalls = 0;
  std::uint64_t stepSegmentReleases = 0;
  std::int64_t leakBytesPerStep = 0;  ///< steady growth across the steady steps, 0 for none
  std::vector<LiveTensor> leaked;     ///< what grew, by operator: bytes per step
};
prof::Result<MemoryStats> memoryStats(const Store& store, prof::TimeWindow window, const Steps& steps,
                                      const Selection& only = {});

/// What launches in the steps say about how a program is written.
struct PatternStats {
  std::uint64_t zeroFills = 0;  ///< fills launched where gradients are cleared
  std::int64_t zeroFillNs = 0;
  std::uint64_t zeroFillSteps = 0;      ///< steps behind the warm-up that launched any
  std::uint64_t optimizerLaunches = 0;  ///< of the kernel that the optimizer launches most
  std::string optimizerKernel;
  std::uint64_t repeatedLaunches = 0;  ///< short kernels of sequences that repeat 32 times in a row or more
  std::int64_t repeatedDeviceNs = 0;
  std::int64_t repeatedHostNs = 0;  ///< from the first to the last launch of each run of them
  std::uint64_t mostRepeats = 0;
  std::string repeatedSequence;    ///< the one with the most: "softmax, max, add_"
  std::uint64_t numberChecks = 0;  ///< launches that look for values that are no finite numbers
  std::uint64_t releaseSyncs = 0;  ///< synchronisations directly in front of memory that goes back to the system
};
PatternStats launchPatterns(const Store& store, const Timeline& timeline, const LaunchIndex& launches,
                            prof::TimeWindow window, const StepSpans& steps = {}, const Steps& all = {});
void mergePatterns(PatternStats& into, const PatternStats& more);

/// What neighbouring operators of a thread say, in the steps.
struct OperatorPatterns {
  std::uint64_t biasedNorms = 0;  ///< linear or convolution with a bias directly in front of a batch norm
  std::string biasedNorm;         ///< the first of them
  std::uint64_t roundTrips = 0;   ///< a conversion directly behind a conversion
  std::uint64_t matrixOperators = 0;
  std::uint64_t halfMatrixOperators = 0;  ///< on half-precision inputs, as far as shapes say
};
/// `roundTrips`, where given, gets each conversion directly behind a conversion.
prof::Result<OperatorPatterns> operatorPatterns(const Store& store, prof::TimeWindow window,
                                                const TableScope& scope = {},
                                                std::vector<prof::TimeWindow>* roundTrips = nullptr);

struct CollectiveRow {
  std::string name;
  std::string communicator;  ///< empty where the trace does not tell
  std::string kind;          ///< "all_reduce"; empty where neither the trace nor the name tells
  std::uint32_t ranks = 0;   ///< of the communicator; 0 where the trace does not tell
  std::uint64_t count = 0;
  std::uint64_t calls = 0;  ///< that the kernels carried out; 0 where the trace does not tell
  /// That the ranks of this trace put in, of the whole buffers, and that had to cross their links (volumeOfInput()),
  /// with the time of the kernels of which it is known; 0 where the trace does not tell.
  std::uint64_t bytes = 0;
  std::int64_t bytesNs = 0;
  std::uint64_t algorithmBytes = 0;
  std::int64_t algorithmNs = 0;
  double busBytes = 0;
  std::int64_t busNs = 0;
  std::int64_t totalNs = 0;
  std::int64_t exposedNs = 0;
  std::int64_t recordingNs = 0;  ///< of totalNs, and of exposedNs, what recording may have added
};
/// As sortCalls().
void sortCollectives(std::vector<CollectiveRow>& collectives);
struct CommunicationStats {
  std::int64_t totalNs = 0;
  std::int64_t exposedNs = 0;
  std::int64_t recordingNs = 0;
  std::vector<CollectiveRow> collectives;
};
CommunicationStats communicationStats(const Store& store, const Timeline& timeline, prof::TimeWindow window,
                                      const RecordedCosts* costs = nullptr);

struct CopyRow {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::int64_t ns = 0;
  std::int64_t recordingNs = 0;  ///< of ns, what recording may have added: to copies of CPU devices
};
inline constexpr std::size_t kCopyKindCount = 11;
std::string_view copyKindName(std::size_t kind);
struct CopyStats {
  std::array<CopyRow, kCopyKindCount> byKind{};  ///< by CopyKind
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::uint64_t pageableCount = 0;  ///< between pageable host memory and the device
  std::uint64_t pageableBytes = 0;
  std::int64_t pageableNs = 0;
  std::uint64_t memsetCount = 0;
  std::int64_t memsetNs = 0;
  std::uint64_t stepCount = 0;
  std::uint64_t stepMemsets = 0;
  std::uint64_t stepPageableCount = 0;
  std::uint64_t stepPageableBytes = 0;
  std::int64_t stepPageableNs = 0;
  std::int64_t pageableRecordingNs = 0;
  std::int64_t memsetRecordingNs = 0;
};
prof::Result<CopyStats> copyStats(const Store& store, prof::TimeWindow window, const TableScope& scope = {},
                                  const StepWork& work = {});

}  // namespace lacuna::analyzer
