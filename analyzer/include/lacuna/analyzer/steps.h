// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {

enum class StepSource : std::uint8_t {
  None,    ///< neither markers nor a period
  Marker,  ///< ranges that mark steps
  Period,  ///< the repetition of the work on the busiest queue
};

struct Step {
  std::uint64_t index = 0;  ///< 0, 1, 2, … in the trace
  std::string name;         ///< the marker's own name, "period 3" where there was none
  prof::TimeNs startNs = 0;
  prof::TimeNs endNs = 0;
  std::uint64_t samples = 0;  ///< batch size if the marker says so
  bool warmUp = false;

  [[nodiscard]] std::int64_t durNs() const { return endNs - startNs; }
  [[nodiscard]] bool within(prof::TimeWindow window) const {
    return startNs >= window.startNs && endNs <= window.endNs;
  }
};

struct Steps {
  StepSource source = StepSource::None;
  prof::ProcessId process;
  prof::ThreadId thread;  ///< that set the markers
  std::vector<Step> all;

  /// Those behind the warm-up; empty only when there are no steps.
  [[nodiscard]] std::span<const Step> steady() const;
  /// Of those, the ones that lie within the window.
  [[nodiscard]] std::vector<Step> steadyWithin(prof::TimeWindow window) const;
  /// Of the steady ones; 0 without steps.
  [[nodiscard]] std::int64_t medianNs() const;
  /// Median absolute deviation of the steady ones.
  [[nodiscard]] std::int64_t spreadNs() const;
};

/// How many of these, in their order, have begun (&Step::startNs) or ended (&Step::endNs) by then.
std::size_t countBy(std::span<const Step> steps, prof::TimeNs Step::*edge, prof::TimeNs at);
/// The one that runs then; null between steps.
const Step* stepAt(std::span<const Step> steps, prof::TimeNs at);

/// The steps of one process, or of the first one (by rank, then by id) that has any.
prof::Result<Steps> findSteps(const Store& store, prof::ProcessId process = {});

/// Marks the leading steps that take clearly longer than the second half of the run; never all of them.
void markWarmUp(std::vector<Step>& steps);

/// The smallest number of positions after which `sequence` repeats over nearly all of its length, and where a
/// repetition begins; period 0 when it does not repeat at least three times.
struct Period {
  std::size_t period = 0;
  std::size_t offset = 0;
};
Period findPeriod(std::span<const std::uint32_t> sequence);

/// The middle value, of two middle ones their mean; 0 for none.
std::int64_t medianOf(std::vector<std::int64_t> values);

}  // namespace lacuna::analyzer
