// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "analyses/work/python_lines.h"
#include "analyses/work/python_places.h"
#include "lacuna/analyzer/store.h"
#include "lacuna/analyzer/timeline.h"
#include "lacuna/prof/events.h"
#include "lacuna/prof/ids.h"
#include "lacuna/prof/reader.h"

/// Sums samples by the line of the user's code that they saw.
namespace lacuna::analyzer::of_python_lines {

/// A sample with what else was recorded at its moment.
struct Sample {
  prof::TimeNs timeNs = 0;
  std::int64_t weightNs = 0;
  prof::FrameId stack;
  prof::ThreadState state = prof::ThreadState::Unknown;
  Activity activity = Activity::None;
  bool isPreparing = false;  ///< in a stage of the loader
  prof::StringId phase{};
  prof::TimeNs phaseStartNs = INT64_MIN;
  bool isStalled = false;  ///< in a phase that has a finding of its own
  // The devices have nothing to do from the one to the other; nothing while they work.
  prof::TimeNs idleFromNs = INT64_MIN, idleToNs = INT64_MAX;
  bool isDeviceBusy = false;
};
using Samples = std::vector<Sample>;  ///< by time

/// Samples in plain steps. Nothing shows which of them saw an operator.
struct PlainSamples {
  std::int64_t ns = 0;
  std::uint64_t samples = 0;
};

/// Sums by the line, while samples are counted.
struct LineSum {
  PythonLine line;
  PlainSamples plain;
  std::map<std::string, std::int64_t> inside;
  std::map<prof::StringId, std::int64_t> phases;
  std::vector<prof::TimeWindow> idle;
};
/// The numbers of steps that samples are of.
struct StepCounts {
  std::int64_t detailed = 0, plain = 0;
};

/// The lines of samples, as the mean of so many parts.
class LineSums {
 public:
  /// `longPauseNs`: as IdleCauses has it.
  LineSums(const Store& store, PythonPlaces& places, std::int64_t longPauseNs)
      : store_(store), places_(places), longPauseNs_(longPauseNs) {}

  /// `isBeside`: what the sample saw is beside the training.
  void take(const Sample& sample, bool ofLoader, bool isBeside = false);
  /// Takes a sample of a plain step.
  void takePlain(const Sample& sample);
  [[nodiscard]] std::uint64_t samples() const { return samples_; }
  /// Costliest first. Leaves no sums.
  std::vector<PythonLine> lines(StepCounts steps);

 private:
  /// A line, and whether the thread slept there.
  using Key = std::tuple<prof::StringId, prof::StringId, std::uint32_t, bool>;

  LineSum& sumOf(const PythonPlace& place, const Sample& sample);
  std::map<Key, LineSum> joined(StepCounts steps);

  const Store& store_;
  PythonPlaces& places_;
  std::int64_t longPauseNs_;
  std::map<Key, LineSum> sums_;
  std::uint64_t samples_ = 0;
};

}  // namespace lacuna::analyzer::of_python_lines
