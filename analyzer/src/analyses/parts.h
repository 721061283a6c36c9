// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "analyses/part.h"

/// One line for each analysis, in the order in which they compute.
#define LACUNA_ANALYSES(ANALYSIS) \
  ANALYSIS(stepWork)              \
  ANALYSIS(operators)             \
  ANALYSIS(calls)                 \
  ANALYSIS(communication)         \
  ANALYSIS(patterns)              \
  ANALYSIS(sequences)             \
  ANALYSIS(queueLengths)          \
  ANALYSIS(projection)            \
  ANALYSIS(launches)              \
  ANALYSIS(kernels)               \
  ANALYSIS(loader)                \
  ANALYSIS(copies)                \
  ANALYSIS(operatorPatterns)      \
  ANALYSIS(memory)                \
  ANALYSIS(contention)            \
  ANALYSIS(ranks)                 \
  ANALYSIS(overhead)              \
  ANALYSIS(efficiency)            \
  ANALYSIS(peakEdits)             \
  ANALYSIS(loaderVerdict)         \
  ANALYSIS(bottleneck)

namespace lacuna::analyzer {

namespace parts {
#define LACUNA_ANALYSIS_DECLARED(name) extern constinit const AnalysisPart name;
LACUNA_ANALYSES(LACUNA_ANALYSIS_DECLARED)
#undef LACUNA_ANALYSIS_DECLARED
}  // namespace parts

std::span<const AnalysisPart* const> allParts();

}  // namespace lacuna::analyzer
