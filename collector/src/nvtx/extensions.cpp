// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <nvtx3/nvToolsExtCounters.h>
#include <nvtx3/nvToolsExtMem.h>
#include <nvtx3/nvToolsExtPayload.h>

#include "core/guest.h"
#include "nvtx/events.h"
#include "nvtx/install.h"
#include "nvtx/schema.h"
#include "nvtx/time.h"

namespace lacuna::collector::nvtx {
namespace {

std::uint64_t NVTX_API schemaRegister(nvtxDomainHandle_t domain,
                                      const nvtxPayloadSchemaAttr_t* attributes) {
  return attributes != nullptr ? registerSchema(Domain::of(domain), *attributes) : 0;
}
std::uint64_t NVTX_API enumRegister(nvtxDomainHandle_t domain,
                                    const nvtxPayloadEnumAttr_t* attributes) {
  return attributes != nullptr ? registerEnum(Domain::of(domain), *attributes) : 0;
}
void NVTX_API markPayload(nvtxDomainHandle_t domain, const nvtxPayloadData_t* payloads,
                          std::size_t count) {
  mark(Domain::of(domain), {.payloads = payloads, .payloadCount = count});
}
int NVTX_API pushPayload(nvtxDomainHandle_t domain, const nvtxPayloadData_t* payloads,
                         std::size_t count) {
  return pushRange(Domain::of(domain), {.payloads = payloads, .payloadCount = count});
}
// Data that a range learns when it ends has no place in its record: it becomes a mark at the end.
void closingPayload(nvtxDomainHandle_t domain, const nvtxPayloadData_t* payloads,
                    std::size_t count) {
  if (payloads == nullptr || count == 0) return;
  Domain& owner = Domain::of(domain);
  const Schema* schema = findSchema(owner, payloads->schemaId);
  const bool named = schema != nullptr && !schema->name.empty();
  mark(owner, {.message = named ? schema->name.c_str() : "end of range",
               .payloads = payloads,
               .payloadCount = count});
}
int NVTX_API popPayload(nvtxDomainHandle_t domain, const nvtxPayloadData_t* payloads,
                        std::size_t count) {
  closingPayload(domain, payloads, count);
  return domainPop(domain);
}
nvtxRangeId_t NVTX_API startPayload(nvtxDomainHandle_t domain, const nvtxPayloadData_t* payloads,
                                    std::size_t count) {
  return startRange(Domain::of(domain), {.payloads = payloads, .payloadCount = count});
}
void NVTX_API endPayload(nvtxDomainHandle_t domain, nvtxRangeId_t id,
                         const nvtxPayloadData_t* payloads, std::size_t count) {
  closingPayload(domain, payloads, count);
  endRange(id);
}
std::uint8_t NVTX_API domainIsEnabled(nvtxDomainHandle_t) {
  return guest::on() ? 1 : 0;
}
std::uint64_t NVTX_API scopeRegister(nvtxDomainHandle_t, const nvtxScopeAttr_t* attributes) {
  static std::atomic<std::uint64_t> next{NVTX_SCOPE_ID_DYNAMIC_START};
  if (attributes == nullptr) return 0;
  return attributes->scopeId != 0 ? attributes->scopeId : next.fetch_add(1);
}

}  // namespace

void installPayloads(intptr_t* slots, std::size_t count) {
  setSlot(slots, count, NVTX3EXT_CBID_nvtxPayloadSchemaRegister, schemaRegister);
  setSlot(slots, count, NVTX3EXT_CBID_nvtxPayloadEnumRegister, enumRegister);
  setSlot(slots, count, NVTX3EXT_CBID_nvtxMarkPayload, markPayload);
  setSlot(slots, count, NVTX3EXT_CBID_nvtxRangePushPayload, pushPayload);
  setSlot(slots, count, NVTX3EXT_CBID_nvtxRangePopPayload, popPayload);
  setSlot(slots, count, NVTX3EXT_CBID_nvtxRangeStartPayload, startPayload);
  setSlot(slots, count, NVTX3EXT_CBID_nvtxRangeEndPayload, endPayload);
  setSlot(slots, count, NVTX3EXT_CBID_nvtxDomainIsEnabled, domainIsEnabled);
  setSlot(slots, count, NVTX3EXT_CBID_nvtxScopeRegister, scopeRegister);
  installTime(slots, count);
  installDeferred(slots, count);
}

bool installExtension(nvtxExtModuleInfo_t* module) {
  if (module == nullptr || module->segmentsCount == 0 || module->segments == nullptr) return false;
  const auto& segment = module->segments[0];
  if (segment.functionSlots == nullptr) return false;
  switch (module->moduleId) {
    case NVTX_EXT_PAYLOAD_MODULEID:
      installPayloads(segment.functionSlots, segment.slotCount);
      return true;
    case NVTX_EXT_COUNTERS_MODULEID:
      installCounters(segment.functionSlots, segment.slotCount);
      return true;
    case NVTX_EXT_MODULEID_MEM:
      installMemory(segment.functionSlots, segment.slotCount);
      return true;
    case kSchemaModule:
      return installSchemaModule(segment.functionSlots, segment.slotCount);
    default:
      return false;
  }
}

}  // namespace lacuna::collector::nvtx
