// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "analyses/work/sequences.h"
#include "lacuna/analyzer/analysis.h"

namespace lacuna::analyzer {

/// "softmax, max, add_ ×3": the kernels' names without namespaces and parameters.
std::string sequenceText(const Store& store, const SequenceRow& row);
/// Share of the devices' time in the steps (without steps: of all of it), 0 … 1.
double sequenceShare(const Analysis& analysis, const SequenceRow& row);
/// Number of times that a process did in a step what all of them did so often; without steps in
/// all.
double sequenceCountPerStep(const Analysis& analysis, std::uint64_t count);
/// The same of the devices' time: the mean over them.
std::int64_t sequenceNsPerStep(const Analysis& analysis, std::int64_t ns);

}  // namespace lacuna::analyzer
