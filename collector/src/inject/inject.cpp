// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "core/guest.h"
#include "cupti/in_process.h"
#include "inject/standby.h"
#include "nvtx/events.h"
#include "nvtx/install.h"

// The entry points by which NVTX and the CUDA driver start us. Each may be called many times, by
// any thread, once for every library of the process that carries NVTX.
namespace {

namespace guest = lacuna::collector::guest;
namespace nvtx = lacuna::collector::nvtx;

bool start() {
  if (!guest::join()) return false;
  if (guest::captureRange() != nullptr && guest::control() != nullptr) {
    nvtx::captureOnly(guest::captureRange(), guest::noteCapture);
  }
  const bool standby = guest::onStandby();
  if (guest::stepRange() != nullptr && (standby || guest::control() != nullptr)) {
    const bool any = std::strcmp(guest::stepRange(), lacuna::collector::kAnyStep) == 0;
    nvtx::watchSteps(any ? nullptr : guest::stepRange(),
                     standby ? guest::countStepRange : guest::noteStep);
  }
  return true;
}

/// Nothing of ours ends the program: for want of memory it runs on unrecorded.
template <class Work>
int guarded(int otherwise, Work&& work) noexcept {
  try {
    return work();
  } catch (const std::exception&) {
    return otherwise;
  }
}

}  // namespace

#define LACUNA_ENTRY_POINT extern "C" __attribute__((visibility("default"))) int

LACUNA_ENTRY_POINT InitializeInjectionNvtx2(NvtxGetExportTableFunc_t exportTable) {
  return guarded(0, [&] { return start() && nvtx::installCore(exportTable) ? 1 : 0; });
}

LACUNA_ENTRY_POINT InitializeInjectionNvtxExtension(nvtxExtModuleInfo_t* module) {
  return guarded(0, [&] { return start() && nvtx::installExtension(module) ? 1 : 0; });
}

/// For a program that records itself (lacuna/collector/session.h): joins the recording in
/// `directory`, again after a stop. 0, or a negative errno.
LACUNA_ENTRY_POINT lacunaInjectStart(const char* directory, int cuda) {
  if (const int code = guarded(-ENOMEM, [&] { return guest::joinRecording(directory); }); code != 0)
    return code;
  // Where the driver is up already, it has looked for its listener, in vain.
  if (cuda != 0 && dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD) != nullptr) {
    lacuna::collector::cupti::startCudaTimeline();
  }
  return 0;
}

extern "C" __attribute__((visibility("default"))) void lacunaInjectStop() {
  lacuna::collector::cupti::stopCudaTimeline();
  guest::leaveRecording();
}

/// For the Python package: starts or stops the whole recording that this process belongs to, as
/// `lacuna trigger` does. Returns 0, or -ENOTCONN when no supervisor can be reached.
LACUNA_ENTRY_POINT lacunaInjectSwitch(int on) {
  return guarded(-ENOMEM, [&] {
    if (!start() || guest::control() == nullptr) return -ENOTCONN;
    guest::control()->order(on != 0);
    return 0;
  });
}

/// 1 while this process records and the recording is on.
LACUNA_ENTRY_POINT lacunaInjectIsOn() {
  return guarded(0, [] { return start() && guest::isRecording() && guest::on() ? 1 : 0; });
}

/// For a program that counts its steps by calls, not by ranges. 1 when this process is on standby.
LACUNA_ENTRY_POINT lacunaInjectStandby() {
  if (guarded(0, [] { return start() && guest::onStandby() ? 1 : 0; }) == 0) return 0;
  guest::ignoreStepRanges();
  return 1;
}
/// A step has ended. 1 while the next one is recorded.
LACUNA_ENTRY_POINT lacunaInjectStep() {
  return guarded(0, [] { return guest::countStep() ? 1 : 0; });
}
/// 1 while the step that runs is the last one to be recorded.
LACUNA_ENTRY_POINT lacunaInjectIsLastStep() {
  return guarded(0, [] { return guest::isLastStep() ? 1 : 0; });
}

/// Called by the CUDA driver while it initialises. The driver has registered its exit handler by
/// then, so ours, registered now, runs before it and finds the driver alive.
LACUNA_ENTRY_POINT InitializeInjection() {
  if (guarded(0, [] { return start() ? 1 : 0; }) == 0) return 0;
  if (!guest::onStandby()) lacuna::collector::cupti::startCudaTimeline();
  std::atexit([] { lacuna::collector::cupti::stopCudaTimeline(); });
  return 1;
}
