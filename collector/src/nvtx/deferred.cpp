// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <nvtx3/nvToolsExtPayload.h>

#include <atomic>

#include "core/guest.h"
#include "lacuna/prof/trace.h"
#include "nvtx/install.h"
#include "nvtx/schema.h"
#include "nvtx/thread.h"

/// Events that a program hands over after they happened, with their own times.
namespace lacuna::collector::nvtx {
namespace {

/// Reports once that such events are left out: they would stand at a wrong time.
void reportUnknownClock(const Domain& domain) {
  static std::atomic<bool> reported{false};
  if (reported.exchange(true)) return;
  prof::Environment row;
  row.process = prof::ProcessId(1);
  row.key = prof::StringId(prof::name("nvtx.deferred.left_out"));
  row.value = prof::StringId(
      prof::name("the clock of deferred events of domain '" + domain.text() + "' is not known"));
  prof::record(row);
}

template <class Row>
void describe(const Domain& domain, const Payloads& payloads, Row& row) {
  const std::uint32_t thread = payloads.thread != 0 ? payloads.thread : threadId();
  row.thread = prof::ThreadId(thread);
  row.domain = prof::StringId(domain.name());
  row.name = prof::StringId(prof::name(payloads.message));
  row.colour = payloads.colour;
  if (!payloads.text.empty()) row.text = prof::StringId(prof::name(payloads.text));
}

void submit(Domain& domain, const nvtxPayloadData_t* data, std::size_t count) {
  Payloads payloads;
  readPayloads(domain, data, count, payloads);
  if (payloads.unknownClock) return reportUnknownClock(domain);
  const LacunaName category = domain.category(payloads.category);
  if (payloads.endNs != 0 && payloads.beginNs != 0) {
    prof::Range row;
    describe(domain, payloads, row);
    row.category = prof::StringId(category);
    row.startNs = payloads.beginNs;
    row.durNs = payloads.endNs > payloads.beginNs ? payloads.endNs - payloads.beginNs : 0;
    // Its depth is not known, and it may overlap with others.
    row.kind = prof::RangeKind::StartEnd;
    return prof::record(row);
  }
  prof::Mark row;
  describe(domain, payloads, row);
  row.category = prof::StringId(category);
  row.timeNs = payloads.beginNs != 0 ? payloads.beginNs
               : payloads.endNs != 0 ? payloads.endNs
                                     : nowNs();
  prof::record(row);
}

void NVTX_API eventSubmit(nvtxDomainHandle_t domain, const nvtxPayloadData_t* payloads,
                          std::size_t count) {
  if (guest::on() && payloads != nullptr && count > 0) submit(Domain::of(domain), payloads, count);
}

void NVTX_API eventBatchSubmit(nvtxDomainHandle_t handle, const nvtxEventBatch_t* batch) {
  if (!guest::on() || batch == nullptr || batch->events == nullptr) return;
  Domain& domain = Domain::of(handle);
  const Schema* schema = findSchema(domain, batch->eventSchemaId);
  if (schema == nullptr || schema->size == 0) return;
  for (std::size_t at = 0; at + schema->size <= batch->size; at += schema->size) {
    const nvtxPayloadData_t event{schema->id, schema->size,
                                  static_cast<const char*>(batch->events) + at};
    submit(domain, &event, 1);
  }
}

}  // namespace

void installDeferred(intptr_t* slots, std::size_t count) {
  setSlot(slots, count, NVTX3EXT_CBID_nvtxEventSubmit, eventSubmit);
  setSlot(slots, count, NVTX3EXT_CBID_nvtxEventBatchSubmit, eventBatchSubmit);
}

}  // namespace lacuna::collector::nvtx
