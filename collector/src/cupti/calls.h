// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cupti.h>

#include <span>
#include <string_view>

#include "cupti/contexts.h"

namespace lacuna::collector::cupti {

/// Calls that begin or end the capture of a stream into a graph, of the runtime and of the driver
/// that it may or may not call for it where CUPTI sees it.
struct CaptureCalls {
  CUpti_CallbackDomain domain;
  std::span<const CUpti_CallbackId> begin, end;
};
std::span<const CaptureCalls> captureCalls();

/// Counts a capture that the end of a call began or ended.
void followCapture(Contexts& contexts, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                   const CUpti_CallbackData& call);

/// True for calls whose cost or effect matters to training; all others would only make the trace
/// larger.
bool matters(std::string_view name);

}  // namespace lacuna::collector::cupti
