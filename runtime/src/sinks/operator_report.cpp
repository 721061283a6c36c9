// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "sinks/operator_report.h"

#include <nvtx3/nvToolsExtPayload.h>

namespace lacuna::rt::instrument {

constinit ToolFunctions gTool;
thread_local constinit Pending tPending;

namespace {

nvtxDomainHandle_t gDomain = nullptr;

template <class Function>
Function* functionIn(intptr_t slot) {
  return slot == NVTX_EXTENSION_FRESH || slot == NVTX_EXTENSION_DISABLED
             ? nullptr
             : reinterpret_cast<Function*>(slot);
}

}  // namespace

void offerModule(nvtxDomainHandle_t domain) {
  gDomain = domain;
  static intptr_t state = NVTX_EXTENSION_FRESH;
  intptr_t slots[LACUNA_RT_SLOTS] = {};
  nvtxExtModuleSegment_t segment{0, LACUNA_RT_SLOTS, slots};
  nvtxExtModuleInfo_t module{NVTX_VERSION,
                             sizeof(nvtxExtModuleInfo_t),
                             LACUNA_RT_MODULE_ID,
                             LACUNA_RT_MODULE_COMPAT_ID,
                             1,
                             &segment,
                             nullptr,
                             nullptr};
  NVTX_VERSIONED_IDENTIFIER(nvtxExtInitOnce)(&module, &state);
  const ToolFunctions offered{
      functionIn<std::uint64_t()>(slots[LACUNA_RT_SLOT_STAMP]),
      functionIn<void(nvtxDomainHandle_t, const LacunaRtComplete*)>(slots[LACUNA_RT_SLOT_COMPLETE]),
      functionIn<void(nvtxDomainHandle_t, const LacunaRtMemory*)>(slots[LACUNA_RT_SLOT_MEMORY])};
  if (offered.stamp != nullptr && offered.complete != nullptr && offered.memory != nullptr)
    gTool = offered;
}

void reportBegunSlow() {
  tPending.op = nullptr;
  gTool.complete(gDomain, &tPending.report);
}

bool finishOperator(const OpContext& op) {
  LacunaRtComplete& report = tPending.report;
  if (tPending.op != &op) return false;
  tPending.op = nullptr;
  // Where no gradient is wanted nothing follows the execution but this.
  if (report.stopStamp != 0)
    report.endStamp = report.op.sequence == 0 ? report.stopStamp : gTool.stamp();
  gTool.complete(gDomain, &report);
  return report.endStamp != 0;
}

}  // namespace lacuna::rt::instrument
