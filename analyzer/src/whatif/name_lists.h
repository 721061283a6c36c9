// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "whatif/model.h"

/// Names of a run in few words, for errors about a pattern that matches none.
namespace lacuna::analyzer {

/// The costliest kernels, the costliest first, and how many more there are.
std::string costliestKernels(const Simulator::Model& model);
/// The most frequent calls, the most frequent first, and how many more there are.
std::string frequentCalls(const Simulator::Model& model);

}  // namespace lacuna::analyzer
