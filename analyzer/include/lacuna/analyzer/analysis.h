// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <any>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <typeindex>
#include <utility>
#include <vector>

#include "lacuna/analyzer/ledger.h"
#include "lacuna/analyzer/scope.h"

namespace lacuna::analyzer {

/// The results of a trace's analyses, one of each type.
class Results {
 public:
  /// An empty one where no analysis has put any.
  template <class Result>
  [[nodiscard]] const Result& of() const {
    static const Result kNone{};
    const auto found = all_.find(typeid(Result));
    return found == all_.end() ? kNone : *std::any_cast<Result>(&found->second);
  }
  /// Puts an empty one there first where there is none. References stay valid.
  template <class Result>
  [[nodiscard]] Result& of() {
    std::any& kept = all_[typeid(Result)];
    if (!kept.has_value()) kept.emplace<Result>();
    return *std::any_cast<Result>(&kept);
  }

 private:
  std::map<std::type_index, std::any> all_;
};

class Calibration;

struct AnalysisOptions {
  /// Positions of the first step and of the one after the last, as listed in Steps::all.
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

/// A stretch of the window that is in no ledger, as no device has begun its work yet or all have
/// ended it.
struct WithoutDevices {
  std::int64_t ns = 0;
  /// The innermost call or range that takes half of it or more, else the one that takes the most;
  /// empty where the host recorded none.
  std::string longest;
  std::int64_t longestNs = 0;  ///< of it, within the stretch

  [[nodiscard]] bool isMostly() const { return 2 * longestNs >= ns; }
  [[nodiscard]] bool isHardlyKnown() const { return 20 * longestNs < ns; }
};

/// Where the time of Ledgers::run lies that has no cause, summed over the devices; the places are
/// zeros without steps.
struct UnknownPlaces {
  std::int64_t beforeNs = 0;  ///< in front of the first step
  std::int64_t inStepsNs = 0;
  std::int64_t betweenNs = 0;
  std::int64_t behindNs = 0;  ///< the last step
  /// Where graph replays may have run that the recording lacks, with steps or without.
  std::int64_t unrecordedNs = 0;
  /// The thread of the steps ran for this share of the time from the first work of a device to the
  /// first step, and waited for a core for this one; -1: not recorded.
  double ranShare = -1;
  double waitedShare = -1;
  struct Library {
    std::string path;
    double share = 0;  ///< of the thread's CPU samples in that time
  };
  std::vector<Library> libraries;  ///< that it was in then, the longest first; empty: no samples
};

/// Idle time by what is behind it.
struct IdleCauses {
  std::vector<CauseDetail> details;  ///< costliest first
  /// The driver calls and synchronisations in Analysis::meanStepLedger(), by name; their counts are
  /// of all its steps.
  std::vector<CauseDetail> stepCalls;
  /// The waits in Analysis::meanStepLedger() that lie in a phase with a name, by cause and phase.
  std::vector<CauseDetail> stepPhases;
  /// A pause between two pieces of device work that is so long is the program's own work. In
  /// shorter ones it calls its operators: ten such pauses are no longer, and at most half a
  /// millisecond.
  std::int64_t longPauseNs = 0;
  /// The host's work of a mean step in long pauses.
  std::int64_t longHostWorkNs = 0;
  /// The longest few stretches of each cause, longest first.
  std::array<std::vector<DeviceSegment>, kCauseCount> longest;
};

/// The parts of the window before the first and after the last work of any device.
struct StretchesWithoutDevices {
  WithoutDevices before, after;
};

/// Facts about the program and the machine, from the trace.
struct ProgramFacts {
  std::vector<std::pair<std::string, std::string>> knobs;  ///< settings that the program announced
  std::uint32_t hostCores = 0;                             ///< 0 where the trace lacks it
  std::uint64_t droppedEvents = 0;
};

/// Where the time of all devices went.
struct Ledgers {
  Ledger run;                 ///< sum of the devices
  std::vector<Ledger> steps;  ///< all devices, by position in steps.all
  Ledger pauses;              ///< all devices, between neighbouring steps that the mean step is of
  RecordingBands bands;       ///< where recording itself may be in them
};

/// A trace as its analyses see it, with what they found: everything that a report shows about one
/// trace.
struct Analysis {
  std::shared_ptr<const Store> store;
  AnalysisOptions options;
  Steps steps;
  prof::TimeWindow window;  ///< what was analysed: the steps asked for, or everything
  std::vector<DeviceAccount> devices;
  TableScope scope;  ///< what the results are about: these devices, their processes, the steps in
                     ///< the window
  Ledgers ledgers;
  Results results;

  /// The result of one analysis; each is a type of its own, declared in that analysis' header.
  template <class Result>
  [[nodiscard]] const Result& of() const& {
    return results.of<Result>();
  }
  template <class Result>
  [[nodiscard]] Result& of() & {
    return results.of<Result>();
  }
  /// A temporary analysis gives its result away, as a reference into it would dangle.
  template <class Result>
  [[nodiscard]] Result of() && {
    return std::move(results.of<Result>());
  }

  /// Steps that the per-step figures refer to; 1 when there are none, so that figures are for the
  /// whole run.
  [[nodiscard]] std::int64_t stepCount() const;
  /// The same with the plain ones, for what they record, too.
  [[nodiscard]] std::int64_t everyStepCount() const;
  /// Processes that fill the devices' queues; 1 when there are none.
  [[nodiscard]] std::int64_t processCount() const;
  /// The median step, in ns of the host's clock; without steps, the window.
  [[nodiscard]] std::int64_t stepNs() const;
  /// The mean over the steady steps and devices; without steps, the whole run of the devices.
  [[nodiscard]] Ledger meanStepLedger() const;
  /// The time between those steps, for one device and step.
  [[nodiscard]] Ledger meanPauseLedger() const;
  /// The sum of meanStepLedger(). Shares "of a step" are parts of it.
  [[nodiscard]] std::int64_t meanStepNs() const;
  /// Time that recording may have added to the entries of meanStepLedger(), and to a step of
  /// steps.all.
  [[nodiscard]] Ledger meanStepBands() const;
  [[nodiscard]] std::int64_t stepBandNs(std::size_t step) const;
};

/// Analyses a trace: the numbers of the CLI, the GUI and the HTML page come from here. Fails where
/// the options name steps, a device or a rank that the trace does not have. Fails with "cancelled"
/// soon after the options' progress answers false; that is not kept in the analysis.
prof::Result<Analysis> analyse(std::shared_ptr<const Store> store,
                               const AnalysisOptions& options = {});

}  // namespace lacuna::analyzer
