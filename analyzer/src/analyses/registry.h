// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// One line for each analysis and each section of the report, in the order of lists and of the text
/// report. Under one name stand a SECTION that shows what others compute, an ANALYSIS that others
/// show, or BOTH.
#define LACUNA_REGISTRY(ANALYSIS, SECTION, BOTH) \
  SECTION(summary)                               \
  SECTION(ledger)                                \
  SECTION(causes)                                \
  SECTION(findings)                              \
  SECTION(devices)                               \
  SECTION(steps)                                 \
  BOTH(phases)                                   \
  ANALYSIS(stepWork)                             \
  ANALYSIS(patterns)                             \
  ANALYSIS(bottleneck)                           \
  BOTH(kernels)                                  \
  BOTH(sequences)                                \
  SECTION(graphs)                                \
  BOTH(operators)                                \
  ANALYSIS(operatorPatterns)                     \
  ANALYSIS(gradientUse)                          \
  ANALYSIS(forwardPasses)                        \
  ANALYSIS(sideWork)                             \
  SECTION(ranges)                                \
  BOTH(pythonLines)                              \
  ANALYSIS(projection)                           \
  BOTH(calls)                                    \
  BOTH(launches)                                 \
  ANALYSIS(queueLengths)                         \
  BOTH(loader)                                   \
  ANALYSIS(loaderVerdict)                        \
  BOTH(memory)                                   \
  ANALYSIS(peakEdits)                            \
  BOTH(communication)                            \
  ANALYSIS(ranks)                                \
  BOTH(copies)                                   \
  BOTH(efficiency)                               \
  ANALYSIS(contention)                           \
  ANALYSIS(stepThread)                           \
  ANALYSIS(overhead)

/// For the kinds of lines that a use of the registry leaves out.
#define LACUNA_NOTHING(name)
