// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <nvtx3/nvToolsExtPayload.h>

#include <cstddef>

#include "core/guest.h"
#include "core/runtime_payloads.h"
#include "lacuna/prof/announced_operator.h"
#include "lacuna/prof/trace.h"
#include "nvtx/events.h"
#include "nvtx/install.h"
#include "nvtx/thread.h"

/// The extension module of the tensor runtime's schema: operators reported at their end, and memory
/// without a mark.
namespace lacuna::collector::nvtx {
namespace {

// As in the runtime's nvtx_schema.h, whose test holds the same size.
struct CompleteOperator {
  std::uint64_t size;
  std::uint64_t beginStamp, startStamp, stopStamp, endStamp;
  StringHandle name, executionName;
  std::uint64_t hasMemory;
  OperatorPayload op;
  ExecutionPayload execution;
  MemoryPayload memory;
};
static_assert(sizeof(CompleteOperator) == 216 && offsetof(CompleteOperator, op) == 64 &&
              offsetof(CompleteOperator, memory) == 168);
enum Slot { kStamp, kOperator, kMemory, kSlots };
constexpr std::uint32_t kOperatorCategory = 3;
constexpr std::uint32_t kExecutionCategory = 6;

RegisteredText* registered(StringHandle handle) {
  return reinterpret_cast<RegisteredText*>(handle);
}
LacunaName textOf(StringHandle handle) {
  return handle != 0 ? registered(handle)->text() : 0;
}
LacunaName siteOf(Domain& domain, StringHandle handle, std::uint32_t category) {
  return handle != 0 ? registered(handle)->site(domain, category, 0) : 0;
}

prof::AnnouncedMemory announcedOf(const MemoryPayload& memory) {
  return {.address = memory.address,
          .bytes = memory.bytes,
          .sequence = memory.sequence,
          .op = textOf(memory.op),
          .tensor = textOf(memory.tensor),
          .queue = static_cast<std::uint16_t>(memory.queue),
          .action = memory.action,
          .role = memory.role};
}

prof::AnnouncedExecution announcedOf(const ExecutionPayload& execution) {
  return {.correlation = execution.correlation,
          .sequence = execution.sequence,
          .bytes = execution.bytes,
          .queue = execution.queue,
          .kind = static_cast<std::uint8_t>(execution.kind)};
}

void NVTX_API completeOperator(nvtxDomainHandle_t handle, const CompleteOperator* from) {
  if (from->size < sizeof(CompleteOperator)) return;
  Domain& domain = Domain::of(handle);
  const bool on = guest::on();
  if (__builtin_expect(from->endStamp == 0, 0)) {
    // Ranges that stay open end with pops that count levels.
    const int open = 1 + (from->startStamp != 0 ? 1 : 0) - (from->stopStamp != 0 ? 1 : 0);
    const unsigned slot = domain.levelSlot();
    for (int i = 0; i < open; ++i) {
      const unsigned level = threadLevels.in[slot].level++;
      if (!on) beginUnrecorded(slot, level);
    }
  }
  if (!on) return;
  // Whatever did not happen is skipped, and nothing is written twice: this runs at every operator.
  const bool began = from->startStamp != 0;
  const bool hasMemory = from->hasMemory != 0;
  const prof::AnnouncedOperator announced{
      .beginStamp = from->beginStamp,
      .startStamp = from->startStamp,
      .stopStamp = from->stopStamp,
      .endStamp = from->endStamp,
      .domain = domain.name(),
      .name = siteOf(domain, from->name, kOperatorCategory),
      .executionName = began ? siteOf(domain, from->executionName, kExecutionCategory) : 0,
      .shapes = textOf(from->op.shapes),
      .correlation = from->op.correlation,
      .sequence = from->op.sequence,
      .execution = began ? announcedOf(from->execution) : prof::AnnouncedExecution{},
      .memory = hasMemory ? announcedOf(from->memory) : prof::AnnouncedMemory{},
      .hasMemory = hasMemory};
  prof::lacunaAnnouncedOperator_(&announced);
}

void NVTX_API memory(nvtxDomainHandle_t, const MemoryPayload* from) {
  if (!guest::on()) return;
  prof::recordMemory(announcedOf(*from));
}

}  // namespace

bool installSchemaModule(std::intptr_t* slots, std::size_t count) {
  // Ranges that somebody waits for have to be heard of when they begin.
  if (count < kSlots || watchesRanges()) return false;
  setSlot(slots, count, kStamp, prof::lacunaStamp_);
  setSlot(slots, count, kOperator, completeOperator);
  setSlot(slots, count, kMemory, memory);
  return true;
}

}  // namespace lacuna::collector::nvtx
