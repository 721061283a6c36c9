// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lacuna/prof/ids.h"
#include "lacuna/prof/reader.h"

namespace lacuna::analyzer {

/// A line is named where so many samples saw it: the standard error of its time is a third of it
/// then, and less with more of them.
inline constexpr std::uint64_t kLeastLineSamples = 10;

/// So many samples see what takes a tenth of the steps kLeastLineSamples times.
inline constexpr std::uint64_t kLeastStepSamples = 10 * kLeastLineSamples;

/// A line that takes less of a wait is not worth its place in a sentence about it.
inline constexpr double kLeastOfWait = 0.1;
/// More places make a sentence that nobody reads.
inline constexpr std::size_t kMostPlaces = 3;

/// Leaves the few longest of them.
void keepLongest(std::vector<prof::TimeWindow>& stretches);

/// The wall time of one line of the user's Python code, with all that it calls.
struct PythonLine {
  std::string place;     ///< "train.py:42"
  std::string function;  ///< that the line is in
  std::string inside;    ///< the library function that it was in longest: "numpy sort"; empty: none
  std::string file;
  std::uint32_t line = 0;
  std::string phase;  ///< in which most of it was; empty: in none
  std::uint64_t samples = 0;
  std::int64_t ns = 0;           ///< of a step; of a loader, of a batch; without steps, in all
  std::int64_t operatorsNs = 0;  ///< of it, in operators and calls that launch work
  std::int64_t loaderNs = 0;     ///< waiting for a batch
  std::int64_t deviceNs = 0;     ///< waiting for a device, or in calls of its driver
  std::int64_t hostNs = 0;  ///< in nothing that is recorded: the program's own work, and its waits
  /// The part of `hostNs` while the devices had nothing to do, in a long pause
  /// (IdleCauses::longPauseNs) or while the program slept, and training did not stop for a phase of
  /// kStallPhases.
  std::int64_t idleNs = 0;
  std::int64_t asleepNs = 0;  ///< of `idleNs`, while the thread neither ran nor waited for a core
  std::int64_t napsNs = 0;    ///< of `asleepNs`, in pauses that are not long
  std::int64_t frameworkNs = 0;  ///< of the rest of it, in the framework's own Python code
  std::uint64_t idleSamples = 0;
  std::int64_t sideNs = 0;  ///< of `operatorsNs`, beside the training
  std::uint64_t sideSamples = 0;
  std::vector<prof::TimeWindow> idle;  ///< the longest few such stretches
};

/// The part of a line's idle time that counts; all of it where samples do not show whether the
/// thread ran.
enum class IdleTime : std::uint8_t { All, Running, Asleep };

/// Neighbouring lines of one function, which people take for one place.
struct PythonStretch {
  std::string text;     ///< "train.py:42–44 in metrics → numpy sort"
  std::int64_t ns = 0;  ///< of a step
  std::uint64_t samples = 0;
  std::vector<prof::TimeWindow>
      idle;  ///< the longest few stretches in which devices waited for them
};

/// A part of the time before the first step.
struct SetUpPart {
  std::string name;  ///< the package that ran, the file of the user's code, or "Python"
  std::uint64_t samples = 0;
  std::int64_t ns = 0;
};

/// Where Python programs spent their time, by lines of the user's code; costliest first.
struct PythonLines {
  std::vector<PythonLine> step;     ///< of the thread that sets the steps
  std::vector<PythonLine> workers;  ///< of the loader's workers, while they prepare batches
  /// The same thread between the devices' first work and the first step, in all.
  std::vector<PythonLine> before;
  std::vector<SetUpPart> setUp;  ///< the same thread from the recording's begin to the first step
  std::uint64_t samples = 0;     ///< of the thread that sets the steps, in its steps
  bool statesKnown = false;      ///< they show whether it ran
  std::uint64_t workerSamples = 0;
  prof::ThreadId thread;

  /// The places that the devices waited for longest in so much time of a step: those that enough
  /// samples saw, and that take kLeastOfWait of it or more.
  [[nodiscard]] std::vector<PythonStretch> waitedFor(std::int64_t nsPerStep,
                                                     IdleTime counted = IdleTime::All) const;
  /// The same of the places that called operators beside the training.
  [[nodiscard]] std::vector<PythonStretch> beside(std::int64_t nsPerStep) const;
  /// The time of a step that devices waited for the framework's own Python code. It is the cost of
  /// calling that code, without the program's own work. 0 where too few samples saw it.
  [[nodiscard]] std::int64_t frameworkNs() const;
  /// The time of a step that devices waited for lines of the program that ran and were not in the
  /// framework's code. Nothing where there are too few samples to see a tenth of the step.
  [[nodiscard]] std::optional<std::int64_t> programsNs() const;
  /// The same and one standard error, from any number of samples: few of them measure nothing, but
  /// show how much it cannot be. Nothing without samples.
  [[nodiscard]] std::optional<std::int64_t> programsMostNs() const;
  /// And the time of a step that devices waited while the thread slept in its own lines. Nothing
  /// where samples do not show that, or too few.
  [[nodiscard]] std::optional<std::int64_t> asleepNs() const;
  /// The part of asleepNs() in pauses that are not long.
  [[nodiscard]] std::int64_t napsNs() const;

 private:
  [[nodiscard]] std::int64_t seenProgramsNs() const;
};

/// "train.py:42–44 in metrics 4.10 ms; train.py:57 in log 1.20 ms"
std::string listOf(const std::vector<PythonStretch>& places);

}  // namespace lacuna::analyzer
