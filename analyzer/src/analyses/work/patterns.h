// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lacuna/analyzer/scope.h"
#include "lacuna/analyzer/timeline.h"

namespace lacuna::analyzer {

class LaunchIndex;

/// Signs of how a program is written, from the launches in its steps.
struct PatternStats {
  std::uint64_t zeroFills = 0;  ///< fills launched where gradients are cleared
  std::int64_t zeroFillNs = 0;
  std::uint64_t zeroFillSteps = 0;      ///< steps after the warm-up that launched any
  std::uint64_t optimizerLaunches = 0;  ///< of the kernel that the optimizer launches most
  std::string optimizerKernel;
  std::uint64_t repeatedLaunches =
      0;  ///< short kernels of sequences that repeat 32 times in a row or more
  std::int64_t repeatedDeviceNs = 0;
  std::int64_t repeatedHostNs = 0;  ///< from the first to the last launch of each run of them
  std::uint64_t mostRepeats = 0;
  std::string repeatedSequence;    ///< the one with the most: "softmax, max, add_"
  std::uint64_t numberChecks = 0;  ///< launches that look for values that are no finite numbers
  std::uint64_t releaseSyncs =
      0;  ///< synchronisations directly in front of memory that goes back to the system
};
PatternStats launchPatterns(const Store& store, const Timeline& timeline,
                            const LaunchIndex& launches, prof::TimeWindow window,
                            const StepSpans& steps = {}, const Steps& all = {});
void mergePatterns(PatternStats& into, const PatternStats& more);

/// The same from neighbouring operators of a thread.
struct OperatorPatterns {
  std::uint64_t biasedNorms =
      0;                   ///< linear or convolution with a bias directly in front of a batch norm
  std::string biasedNorm;  ///< the first of them
  std::uint64_t roundTrips = 0;  ///< a conversion directly after a conversion
  std::uint64_t matrixOperators = 0;
  std::uint64_t halfMatrixOperators = 0;  ///< on half-precision inputs, as far as shapes show
};
/// `roundTrips`, where given, gets each conversion directly after a conversion.
prof::Result<OperatorPatterns> operatorPatterns(
    const Store& store, prof::TimeWindow window, const TableScope& scope = {},
    std::vector<prof::TimeWindow>* roundTrips = nullptr);

}  // namespace lacuna::analyzer
