// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lacuna/analyzer/bottleneck.h"
#include "lacuna/analyzer/calls.h"
#include "lacuna/analyzer/communication.h"
#include "lacuna/analyzer/copies.h"
#include "lacuna/analyzer/core_contention.h"
#include "lacuna/analyzer/device_account.h"
#include "lacuna/analyzer/efficiency.h"
#include "lacuna/analyzer/finding.h"
#include "lacuna/analyzer/kernels.h"
#include "lacuna/analyzer/launches.h"
#include "lacuna/analyzer/ledger.h"
#include "lacuna/analyzer/loader.h"
#include "lacuna/analyzer/memory.h"
#include "lacuna/analyzer/memory_use.h"
#include "lacuna/analyzer/operators.h"
#include "lacuna/analyzer/patterns.h"
#include "lacuna/analyzer/projection.h"
#include "lacuna/analyzer/queue_length.h"
#include "lacuna/analyzer/ranks.h"
#include "lacuna/analyzer/scope.h"
#include "lacuna/analyzer/self_overhead.h"
#include "lacuna/analyzer/sequences.h"
#include "lacuna/analyzer/step_path.h"
#include "lacuna/analyzer/step_work.h"
#include "lacuna/analyzer/steps.h"

namespace lacuna::analyzer {

class Calibration;

struct AnalysisOptions {
  /// Positions of the first step and of the one behind the last, as listed in Steps::all.
  std::optional<std::pair<std::uint64_t, std::uint64_t>> steps;
  std::string device;  ///< "cuda:3", or empty for all
  std::optional<std::int32_t> rank;
  std::shared_ptr<const Calibration> calibration{};  ///< null for the built-in one
  Progress progress;  ///< never goes back; comes on the thread that analyses, many times a second
};

/// A cause with the operator, call or range behind it.
struct CauseDetail {
  Cause cause = Cause::Unknown;
  std::string name;
  std::int64_t ns = 0;
  std::uint64_t count = 0;
};

/// A stretch of the window that is in no ledger, as no device has begun its work yet or all have ended it.
struct WithoutDevices {
  std::int64_t ns = 0;
  /// The innermost call or range that takes half of it or more, else the one that takes the most; empty where the host
  /// recorded none.
  std::string longest;
  std::int64_t longestNs = 0;  ///< of it, within the stretch

  [[nodiscard]] bool isMostly() const { return 2 * longestNs >= ns; }
  [[nodiscard]] bool isHardlyKnown() const { return 20 * longestNs < ns; }
};

/// Where the time lies that the ledger has no cause for, summed over the devices; zeros without steps.
struct UnknownPlaces {
  std::int64_t beforeNs = 0;  ///< in front of the first step
  std::int64_t inStepsNs = 0;
  std::int64_t betweenNs = 0;
  std::int64_t behindNs = 0;  ///< the last step
  /// Of the time from the first work of a device to the first step, what the thread of the steps ran, and waited for a
  /// core; -1: not recorded.
  double ranShare = -1;
  double waitedShare = -1;
  struct Library {
    std::string path;
    double share = 0;  ///< of the thread's CPU samples in that time
  };
  std::vector<Library> libraries;  ///< that it was in then, the longest first; empty: no samples
};

/// Everything that a report says about one trace.
struct Analysis {
  std::shared_ptr<const Store> store;
  AnalysisOptions options;
  Steps steps;
  prof::TimeWindow window;  ///< what was analysed: the steps asked for, or everything
  std::vector<DeviceAccount> devices;
  TableScope scope;  ///< what the tables below are about: these devices, their processes, the steps in the window
  Ledger ledger;     ///< sum of the devices
  WithoutDevices before, after;  ///< of the window, what lies before the first and behind the last work of any device
  UnknownPlaces unknown;         ///< of the ledger
  std::vector<Ledger> stepLedgers;  ///< all devices, by position in steps.all
  /// By position in steps.all: what all devices waited for the loader between the step before it and that one.
  std::vector<std::int64_t> loaderWaitsBefore;
  std::vector<CauseDetail> details;  ///< idle causes, costliest first
  /// Of meanStepLedger(), what driver calls and synchronisations of each name are; their counts are of all its steps.
  std::vector<CauseDetail> stepCalls;
  /// The longest few stretches of each cause, longest first.
  std::array<std::vector<DeviceSegment>, kCauseCount> longest;
  std::vector<KernelRow> kernels;
  std::vector<OperatorRow> operators;
  std::vector<OperatorRow> operatorShapes;  ///< the same by name and input shapes
  std::vector<CallRow> calls;
  LaunchStats launches;
  std::vector<QueueLength> queueLengths;        ///< by queue id
  std::vector<ProjectedRange> projectedRanges;  ///< longest on the device first
  LoaderStats loader;
  LoaderVerdict loaderVerdict;
  Bottleneck bottleneck;
  MemoryStats memory;
  std::vector<DeviceMemory> memoryByDevice;  ///< the kMostMemories with the highest peaks before the others
  /// As memory, but of one device each: of the first kMostMemories of memoryByDevice, where that has several.
  std::vector<MemoryStats> memoryStatsByDevice;
  std::vector<PeakEdit> peakEdits;
  CommunicationStats communication;
  RankStats ranks;  ///< empty where the trace holds fewer than two ranks
  EfficiencyStats efficiency;
  CopyStats copies;
  PatternStats patterns;
  SequenceStats sequences;
  OperatorPatterns operatorPatterns;
  std::vector<std::pair<std::string, std::string>> knobs;  ///< settings that the program announced
  std::uint32_t hostCores = 0;                             ///< 0 when the trace does not say
  std::vector<StepPath> stepPaths;                         ///< by position in steps.all; zeros where not replayed
  StepPath criticalPath;                                   ///< mean of the steady steps; zeros without a replay
  std::vector<Finding> findings;                           ///< faults before opportunities, costliest first
  std::uint64_t droppedEvents = 0;
  CoreContention contention;  ///< what other programs' use of the host's cores cost
  SelfOverhead overhead;      ///< what recording itself cost
  RecordingBands bands;       ///< and where that may be in the ledgers

  /// Steps that the per-step figures refer to; 1 when there are none, so that figures are for the whole run.
  [[nodiscard]] std::int64_t stepCount() const;
  /// Processes that fill the devices' queues; 1 when there are none.
  [[nodiscard]] std::int64_t processCount() const;
  /// The median step, in ns of the host's clock; without steps, the window.
  [[nodiscard]] std::int64_t stepNs() const;
  /// The mean over the steady steps and devices; without steps, the whole run of the devices.
  [[nodiscard]] Ledger meanStepLedger() const;
  /// The sum of that: what shares "of a step" are of.
  [[nodiscard]] std::int64_t meanStepNs() const;
  /// What markers leave out between steady steps, which a loader may take; medians, as an evaluation now and then is
  /// none of it.
  struct BetweenSteps {
    std::int64_t ns = 0;
    std::int64_t loaderWaitNs = 0;  ///< of one device
  };
  [[nodiscard]] BetweenSteps betweenSteps() const;
  /// What recording may have added to the entries of meanStepLedger(), and to a step of steps.all.
  [[nodiscard]] Ledger meanStepBands() const;
  [[nodiscard]] std::int64_t stepBandNs(std::size_t step) const;
};

}  // namespace lacuna::analyzer
