// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "analyses/time/interval_set.h"
#include "lacuna/analyzer/scope.h"

namespace lacuna::analyzer {

/// Settings that the PyTorch hook announces: the debug mode, and the nanoseconds that anomaly
/// detection takes to keep the stack of one node of the graph of gradients.
inline constexpr std::string_view kDebugKnob = "debug", kStackKnob = "debug.stack_ns";

/// Adds the times of the work in operators that only anomaly detection asks for. They search for
/// values that are no numbers, up to reading the answer. They also keep the Python stack of each
/// node that they add to the graph of gradients, for `stackNs` each.
prof::Status addAnomalyWork(const Store& store, prof::TimeWindow window, const Selection& only,
                            std::int64_t stackNs, IntervalSet& times);

}  // namespace lacuna::analyzer
