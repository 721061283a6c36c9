// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "lacuna/analyzer/whatif.h"
#include "support/analysed_run.h"

/// Changes played on made-up runs.
namespace lacuna::analyzer {

using test::restlessRun;

inline Prediction play(const RunPlan& plan, std::string_view change) {
  EXPECT_TRUE(parseChange(change)) << change;
  const Analysis analysis = analysed(plan);
  const auto simulator = Simulator::create(analysis);
  EXPECT_TRUE(simulator);
  return simulator->play(change);
}

/// Step time of a whole run made with the other plan.
inline double measured(const RunPlan& plan) {
  return static_cast<double>(play(plan, "host*1").measuredNsPerStep);
}

inline double gain(const RunPlan& plan, std::string_view change) {
  return static_cast<double>(play(plan, change).gainNs());
}

}  // namespace lacuna::analyzer
