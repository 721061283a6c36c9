// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "torch/program_steps.h"

#include <nvtx3/nvToolsExtPayload.h>

#include <cstddef>
#include <iterator>

#include "torch/emitter.h"

namespace lacuna::collector::torch {
namespace {

constexpr std::uint32_t kStepCategory = 1;

struct ProgramStep {
  std::int64_t beginNs, endNs;
  const char* name;
  std::uint32_t category;
};

/// The domain and the payload of the deferred events that mark the program's steps.
struct ProgramSteps {
  nvtxDomainHandle_t domain = nvtxDomainCreateA("lacuna");
  std::uint64_t schema = 0;

  ProgramSteps() {
    if (domain == nullptr) return;
    nvtxDomainNameCategoryA(domain, kStepCategory, "step");
    constexpr std::uint64_t kTime = NVTX_PAYLOAD_ENTRY_FLAG_TIMESTAMP;
    const nvtxPayloadSchemaEntry_t entries[] = {
        {kTime | NVTX_PAYLOAD_ENTRY_FLAG_RANGE_BEGIN, NVTX_PAYLOAD_ENTRY_TYPE_INT64, "begin",
         nullptr, 0, offsetof(ProgramStep, beginNs), nullptr, nullptr},
        {kTime | NVTX_PAYLOAD_ENTRY_FLAG_RANGE_END, NVTX_PAYLOAD_ENTRY_TYPE_INT64, "end", nullptr,
         0, offsetof(ProgramStep, endNs), nullptr, nullptr},
        {NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE, NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, "name", nullptr, 0,
         offsetof(ProgramStep, name), nullptr, nullptr},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_CATEGORY, "category", nullptr, 0,
         offsetof(ProgramStep, category), nullptr, nullptr}};
    nvtxPayloadSchemaAttr_t attributes{};
    attributes.fieldMask =
        NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
        NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
        NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE;
    attributes.name = "lacuna.step";
    attributes.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
    attributes.entries = entries;
    attributes.numEntries = std::size(entries);
    attributes.payloadStaticSize = sizeof(ProgramStep);
    schema = nvtxPayloadSchemaRegister(domain, &attributes);
  }
};

}  // namespace

void emitProgramStep(std::int64_t beginNs, std::int64_t endNs) {
  if (!listening()) return;
  static const ProgramSteps steps;
  const ProgramStep step{beginNs, endNs, "step", kStepCategory};
  const nvtxPayloadData_t data{steps.schema, sizeof step, &step};
  nvtxEventSubmit(steps.domain, &data, 1);
}

}  // namespace lacuna::collector::torch
