// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nvtx3/nvToolsExt.h>

#include <cstdint>

#include "instrument/observer.h"

/// Small operators are reported complete, when they are over, to a tool that takes them so (the
/// extension module of nvtx_schema.h). Until then what is known of one is kept here; when anything
/// else is reported in between, that comes first.
namespace lacuna::rt::instrument {

/// The tool's functions; all null when it does not know the module.
struct ToolFunctions {
  std::uint64_t (*stamp)() = nullptr;
  void (*complete)(nvtxDomainHandle_t domain, const LacunaRtComplete* report) = nullptr;
  void (*memory)(nvtxDomainHandle_t domain, const LacunaRtMemory* report) = nullptr;
};
extern ToolFunctions gTool;
/// Offers the module to the tool that is attached.
void offerModule(nvtxDomainHandle_t domain);

/// The operator of this thread that is yet to be reported.
struct Pending {
  const OpContext* op = nullptr;
  LacunaRtComplete report{};
};
extern thread_local constinit Pending tPending;

void reportBegunSlow();
/// Reports what has begun, before something else is reported: its ranges are open from then on.
inline void reportBegun() {
  if (tPending.op != nullptr) [[unlikely]]
    reportBegunSlow();
}

/// Keeps `op` back; what is reported of it goes where this points.
inline LacunaRtOperator* holdOperator(const OpContext& op, std::uint64_t name) {
  reportBegun();
  LacunaRtComplete& report = tPending.report;
  tPending.op = &op;
  report.size = sizeof report;
  report.startStamp = report.stopStamp = report.endStamp = 0;
  report.name = name;
  report.hasMemory = 0;
  report.beginStamp = gTool.stamp();
  return &report.op;
}

/// Where the operator that is yet to be reported takes its memory event; null when that is to be
/// reported by itself.
inline LacunaRtMemory* takeMemory(LacunaRtMemoryAction action) {
  LacunaRtComplete& report = tPending.report;
  if (tPending.op == nullptr) return nullptr;
  if (action != LACUNA_RT_MEMORY_ALLOCATE || report.hasMemory != 0 || report.startStamp != 0) {
    reportBegunSlow();
    return nullptr;
  }
  report.hasMemory = 1;
  return &report.memory;
}

/// The same for its execution, which begins here.
inline LacunaRtExecution* takeExecutionBegin(std::uint64_t correlation, std::uint64_t name) {
  LacunaRtComplete& report = tPending.report;
  if (tPending.op == nullptr) return nullptr;
  if (correlation != report.op.correlation || report.startStamp != 0) {
    reportBegunSlow();
    return nullptr;
  }
  report.executionName = name;
  report.startStamp = gTool.stamp();
  return &report.execution;
}

inline bool takeExecutionEnd() {
  LacunaRtComplete& report = tPending.report;
  if (tPending.op == nullptr || report.startStamp == 0 || report.stopStamp != 0) return false;
  report.stopStamp = gTool.stamp();
  return true;
}

/// True when the operator was reported complete; otherwise its range is open.
bool finishOperator(const OpContext& op);

}  // namespace lacuna::rt::instrument
