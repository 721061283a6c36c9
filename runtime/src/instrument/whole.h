// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nvtx3/nvToolsExt.h>

#include <cstdint>

#include "instrument/observer.h"

/// Small operators are reported whole, when they are over, to a tool that takes them so (the extension module of
/// nvtx_schema.h). Until then what is known of one is kept here; when anything else is reported in between, that comes
/// first.
namespace lacuna::rt::instrument {

/// The tool's functions; all null when it does not know the module.
struct WholeDoor {
  std::uint64_t (*stamp)() = nullptr;
  void (*whole)(nvtxDomainHandle_t domain, const LacunaRtWhole* said) = nullptr;
  void (*memory)(nvtxDomainHandle_t domain, const LacunaRtMemory* said) = nullptr;
};
extern WholeDoor gDoor;
/// Offers the module to the tool that is attached.
void openDoor(nvtxDomainHandle_t domain);

/// The operator of this thread that is yet to be reported.
struct Pending {
  const OpContext* op = nullptr;
  LacunaRtWhole said{};
};
extern thread_local constinit Pending tPending;

void tellBegunSlow();
/// Reports what has begun, before something else is reported: its ranges are open from then on.
inline void tellBegun() {
  if (tPending.op != nullptr) [[unlikely]]
    tellBegunSlow();
}

/// Keeps `op` back; what is reported of it goes where this points.
inline LacunaRtOperator* beginWhole(const OpContext& op, std::uint64_t name) {
  tellBegun();
  LacunaRtWhole& said = tPending.said;
  tPending.op = &op;
  said.size = sizeof said;
  said.startStamp = said.stopStamp = said.endStamp = 0;
  said.name = name;
  said.hasMemory = 0;
  said.beginStamp = gDoor.stamp();
  return &said.op;
}

/// Where the operator that is yet to be reported takes its memory event; null when that is to be reported by itself.
inline LacunaRtMemory* takeMemory(LacunaRtMemoryAction action) {
  LacunaRtWhole& said = tPending.said;
  if (tPending.op == nullptr) return nullptr;
  if (action != LACUNA_RT_MEMORY_ALLOCATE || said.hasMemory != 0 || said.startStamp != 0) {
    tellBegunSlow();
    return nullptr;
  }
  said.hasMemory = 1;
  return &said.memory;
}

/// The same for its execution, which begins here.
inline LacunaRtExecution* takeExecutionBegin(std::uint64_t correlation, std::uint64_t name) {
  LacunaRtWhole& said = tPending.said;
  if (tPending.op == nullptr) return nullptr;
  if (correlation != said.op.correlation || said.startStamp != 0) {
    tellBegunSlow();
    return nullptr;
  }
  said.executionName = name;
  said.startStamp = gDoor.stamp();
  return &said.execution;
}

inline bool takeExecutionEnd() {
  LacunaRtWhole& said = tPending.said;
  if (tPending.op == nullptr || said.startStamp == 0 || said.stopStamp != 0) return false;
  said.stopStamp = gDoor.stamp();
  return true;
}

/// True when the operator was reported whole; otherwise its range is open.
bool endWhole(const OpContext& op);

}  // namespace lacuna::rt::instrument
