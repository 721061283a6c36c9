// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "nvtx/events.h"

/// Ranges that mean something to us, by their words. These are not made a name of the recording for that: it has room
/// for so many, and a program may say any number of them while nothing is recorded.
namespace lacuna::collector::nvtx {

bool isCalled(const Described& event, const std::string& name);
/// PyTorch's step ranges: ProfilerStep#…
bool isNumberedStep(const Described& event);

}  // namespace lacuna::collector::nvtx
