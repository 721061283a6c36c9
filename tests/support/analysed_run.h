// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <utility>

#include "lacuna/analyzer/analysis.h"
#include "support/synthetic_run.h"

/// Made-up runs that the tests of several folders share, and their analysis.
namespace lacuna::analyzer {

using test::RunPlan;

inline Analysis analysed(const RunPlan& plan, const AnalysisOptions& options = {}) {
  auto analysis = analyse(test::makeRun(plan), options);
  EXPECT_TRUE(analysis) << analysis.error().message;
  return std::move(*analysis);
}

constexpr RunPlan with(RunPlan plan, auto change) {
  change(plan);
  return plan;
}

/// A run whose training thread prepares each batch itself, for 20 ms of a step.
inline constexpr RunPlan kSlow{.batchNs = 20'000'000, .workers = 0};

/// A step of 40 µs of device work and some 0.2 ms of the host's, at whose end the host waits for
/// the device.
inline constexpr RunPlan kHostBound{
    .steps = 20, .operators = 10, .kernelNs = 4'000, .batchNs = 1'000, .syncEachStep = true};

/// A CPU device whose training thread prepares each batch itself, for which it sleeps.
inline constexpr RunPlan kSleepsForBatches{.steps = 60,
                                           .batchNs = 3'000'000,
                                           .workers = 0,
                                           .syncEachStep = true,
                                           .hostCores = 2,
                                           .cpuDevice = true,
                                           .loaderSleeps = true};

/// The same, and other programs kept its thread off the cores for almost half of the time that it
/// wanted to run.
inline constexpr RunPlan kDisplaced =
    with(kSleepsForBatches, [](RunPlan& plan) { plan.displaced = 0.46; });

}  // namespace lacuna::analyzer
