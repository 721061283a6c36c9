// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "lacuna/analyzer/store.h"

namespace lacuna::gui::testing {

/// A small training run made by hand: one process with a main and a loader thread, and one device
/// with a queue. It has `steps` steps of 10 ms. Each waits for the loader, launches eight kernels
/// (correlated with their calls) and allocates memory. A second device only holds a block of 200
/// MiB, which is more than the first ever has.
std::shared_ptr<const analyzer::Store> sampleTrace(int steps = 6, int devices = 1);

}  // namespace lacuna::gui::testing
