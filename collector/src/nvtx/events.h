// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nvtx3/nvToolsExtPayload.h>

#include <cstddef>
#include <cstdint>

#include "nvtx/domain.h"

/// Ranges and marks, whichever call of NVTX they came through.
namespace lacuna::collector::nvtx {

/// One event as NVTX describes it: its attributes, or a plain message, or payloads only.
struct Described {
  const nvtxEventAttributes_t* attributes = nullptr;
  const char* message = nullptr;
  const wchar_t* wideMessage = nullptr;
  const nvtxPayloadData_t* payloads = nullptr;
  std::size_t payloadCount = 0;
};

/// As NVTX calls them, for nearly all ranges: without a stop on the way.
int NVTX_API domainPush(nvtxDomainHandle_t handle, const nvtxEventAttributes_t* attributes);
int NVTX_API domainPop(nvtxDomainHandle_t handle);
/// The nesting level of the range, from 0, within its domain and thread.
int pushRange(Domain& domain, const Described& event);
nvtxRangeId_t startRange(Domain& domain, const Described& event);
void endRange(nvtxRangeId_t id);
void mark(Domain& domain, const Described& event);

/// Binds recording to ranges of that name: `onCapture(true)` when one opens, `onCapture(false)`
/// when it closes.
void captureOnly(const char* name, void (*onCapture)(bool open));
/// Times pushed ranges of that name, outermost on each thread. With null it times those named
/// "step", "train_step" or "ProfilerStep#…", as the tensor runtime and PyTorch call their steps.
void watchSteps(const char* name, void (*onStep)(std::int64_t durationNs));
/// In a forked child: its parent ends what was open when it was forked.
void forgetParentsRanges();
/// One of the two was asked for.
bool watchesRanges();
/// Keeps from now on the marks that describe queues and settings, for recordings that this process
/// joins later.
void keepDescriptions();
/// Records them again, in the recording that this process has just joined.
void repeatDescriptions();

}  // namespace lacuna::collector::nvtx
