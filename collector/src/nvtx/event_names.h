// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "nvtx/events.h"

/// Ranges that mean something to us, by their words. Their words do not become names of the
/// recording for that. It has limited room for names, and a program may use any number of them
/// while nothing is recorded.
namespace lacuna::collector::nvtx {

bool isCalled(const Described& event, const std::string& name);
/// PyTorch's step ranges: ProfilerStep#…
bool isNumberedStep(const Described& event);

}  // namespace lacuna::collector::nvtx
