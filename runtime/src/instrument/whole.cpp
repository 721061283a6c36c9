// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "instrument/whole.h"

#include <nvtx3/nvToolsExtPayload.h>

namespace lacuna::rt::instrument {

constinit WholeDoor gDoor;
thread_local constinit Pending tPending;

namespace {

nvtxDomainHandle_t gDomain = nullptr;

template <class Function>
Function* functionIn(intptr_t slot) {
  return slot == NVTX_EXTENSION_FRESH || slot == NVTX_EXTENSION_DISABLED ? nullptr : reinterpret_cast<Function*>(slot);
}

}  // namespace

void openDoor(nvtxDomainHandle_t domain) {
  gDomain = domain;
  static intptr_t state = NVTX_EXTENSION_FRESH;
  intptr_t slots[LACUNA_RT_SLOTS] = {};
  nvtxExtModuleSegment_t segment{0, LACUNA_RT_SLOTS, slots};
  nvtxExtModuleInfo_t module{
      NVTX_VERSION, sizeof(nvtxExtModuleInfo_t), LACUNA_RT_MODULE_ID, LACUNA_RT_MODULE_COMPAT_ID, 1, &segment, nullptr,
      nullptr};
  NVTX_VERSIONED_IDENTIFIER(nvtxExtInitOnce)(&module, &state);
  const WholeDoor door{functionIn<std::uint64_t()>(slots[LACUNA_RT_SLOT_STAMP]),
                       functionIn<void(nvtxDomainHandle_t, const LacunaRtWhole*)>(slots[LACUNA_RT_SLOT_WHOLE]),
                       functionIn<void(nvtxDomainHandle_t, const LacunaRtMemory*)>(slots[LACUNA_RT_SLOT_MEMORY])};
  if (door.stamp != nullptr && door.whole != nullptr && door.memory != nullptr) gDoor = door;
}

void tellBegunSlow() {
  tPending.op = nullptr;
  gDoor.whole(gDomain, &tPending.said);
}

void beginWhole(const OpContext& op, const LacunaRtOperator& payload, std::uint64_t name) {
  tellBegun();
  LacunaRtWhole& said = tPending.said;
  tPending.op = &op;
  said.size = sizeof said;
  said.startStamp = said.stopStamp = said.endStamp = 0;
  said.name = name;
  said.hasMemory = 0;
  said.op = payload;
  said.beginStamp = gDoor.stamp();
}

bool takeMemory(const LacunaRtMemory& payload) {
  LacunaRtWhole& said = tPending.said;
  if (tPending.op == nullptr) return false;
  if (payload.action != LACUNA_RT_MEMORY_ALLOCATE || said.hasMemory != 0 || said.startStamp != 0) {
    tellBegunSlow();
    return false;
  }
  said.hasMemory = 1;
  said.memory = payload;
  return true;
}

bool takeExecutionBegin(const LacunaRtExecution& payload, std::uint64_t name) {
  LacunaRtWhole& said = tPending.said;
  if (tPending.op == nullptr) return false;
  if (payload.correlation != said.op.correlation || said.startStamp != 0) {
    tellBegunSlow();
    return false;
  }
  said.execution = payload;
  said.executionName = name;
  said.startStamp = gDoor.stamp();
  return true;
}

bool takeExecutionEnd() {
  LacunaRtWhole& said = tPending.said;
  if (tPending.op == nullptr || said.startStamp == 0 || said.stopStamp != 0) return false;
  said.stopStamp = gDoor.stamp();
  return true;
}

bool endWhole(const OpContext& op) {
  LacunaRtWhole& said = tPending.said;
  if (tPending.op != &op) return false;
  tPending.op = nullptr;
  // Where no gradient is wanted nothing follows the execution but this.
  if (said.stopStamp != 0) said.endStamp = said.op.sequence == 0 ? said.stopStamp : gDoor.stamp();
  gDoor.whole(gDomain, &said);
  return said.endStamp != 0;
}

}  // namespace lacuna::rt::instrument
