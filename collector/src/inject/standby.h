// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// A process on standby: it counts its steps, and joins a recording for some of them when its
/// keeper asks.
namespace lacuna::collector::guest {

/// Takes a place on the page that the environment names. True when this process is on standby from
/// now on. Once.
bool beginStandby();
[[nodiscard]] bool onStandby();
/// A step of this process has ended. Begins or ends a recording where it is time. True while the
/// next step is recorded.
bool countStep();
/// True while the step that runs is the last one to be recorded.
[[nodiscard]] bool isLastStep();
/// For nvtx::watchSteps(): counts steps by their ranges, until ignoreStepRanges().
void countStepRange(std::int64_t durationNs);
/// From now on only countStep() counts.
void ignoreStepRanges();

}  // namespace lacuna::collector::guest
