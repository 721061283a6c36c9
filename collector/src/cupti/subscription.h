// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cupti.h>

#include <cstdint>
#include <string>

#include "cupti/library.h"

namespace lacuna::collector::cupti {

/// Why there is no CUDA timeline, as the trace and doctor report it.
enum class TracerState : std::uint8_t { Running, NoLibrary, NoDriver, HeldByAnother, Failed };

struct Subscription {
  TracerState state = TracerState::Running;
  std::string text;  ///< for people: what is missing, and the remedy
  CUpti_SubscriberHandle subscriber = nullptr;
};

/// Takes the place that CUPTI has for a profiler. It is the probe for a driver, too.
Subscription subscribeTo(const Library& library, CUpti_CallbackFunc onCallback);

}  // namespace lacuna::collector::cupti
