// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nvtx3/nvToolsExt.h>

#include <cstdint>

#include "instrument/observer.h"

/// Small operators are told whole, when they are over, to a tool that takes them so (the extension module of
/// nvtx_schema.h). Until then what is known of one is kept here; when anything else is told in between, that comes
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

/// The operator of this thread that is yet to be told.
struct Pending {
  const OpContext* op = nullptr;
  LacunaRtWhole said{};
};
extern thread_local constinit Pending tPending;

void tellBegunSlow();
/// Tells what has begun, before something else is told: its ranges are open from then on.
inline void tellBegun() {
  if (tPending.op != nullptr) [[unlikely]]
    tellBegunSlow();
}

void beginWhole(const OpContext& op, const LacunaRtOperator& payload, std::uint64_t name);
/// True when the operator that is yet to be told has taken it.
bool takeMemory(const LacunaRtMemory& payload);
bool takeExecutionBegin(const LacunaRtExecution& payload, std::uint64_t name);
bool takeExecutionEnd();
/// True when the operator was told whole; otherwise its range is open.
bool endWhole(const OpContext& op);

}  // namespace lacuna::rt::instrument
