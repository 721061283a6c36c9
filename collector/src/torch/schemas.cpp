// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "torch/schemas.h"

#include <nvtx3/nvToolsExtPayload.h>

#include <cstddef>

namespace lacuna::collector::torch {
namespace {

struct Field {
  const char* name;
  std::uint64_t type;
  std::size_t offset;
};

template <class Payload, std::size_t Count>
void registerSchema(nvtxDomainHandle_t domain, const char* name, const Field (&fields)[Count]) {
  nvtxPayloadSchemaEntry_t entries[Count] = {};
  for (std::size_t i = 0; i < Count; ++i) {
    entries[i].type = fields[i].type;
    entries[i].name = fields[i].name;
    entries[i].offset = fields[i].offset;
  }
  nvtxPayloadSchemaAttr_t attributes{};
  attributes.fieldMask =
      NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
      NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
      NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID;
  attributes.name = name;
  attributes.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
  attributes.entries = entries;
  attributes.numEntries = Count;
  attributes.payloadStaticSize = sizeof(Payload);
  attributes.schemaId = kSchemaId<Payload>;
  nvtxPayloadSchemaRegister(domain, &attributes);
}

#define LACUNA_FIELD(Payload, field, TYPE) \
  { #field, NVTX_PAYLOAD_ENTRY_TYPE_##TYPE, offsetof(Payload, field) }

void registerEventSchemas(nvtxDomainHandle_t domain) {
  registerSchema<OperatorPayload>(
      domain, "lacuna.rt.operator",
      {LACUNA_FIELD(OperatorPayload, correlation, UINT64),
       LACUNA_FIELD(OperatorPayload, sequence, UINT64),
       LACUNA_FIELD(OperatorPayload, shapes, NVTX_REGISTERED_STRING_HANDLE),
       LACUNA_FIELD(OperatorPayload, module, NVTX_REGISTERED_STRING_HANDLE),
       LACUNA_FIELD(OperatorPayload, queue, UINT32),
       LACUNA_FIELD(OperatorPayload, direction, UINT32)});
  registerSchema<ExecutionPayload>(
      domain, "lacuna.rt.execution",
      {LACUNA_FIELD(ExecutionPayload, correlation, UINT64),
       LACUNA_FIELD(ExecutionPayload, sequence, UINT64),
       LACUNA_FIELD(ExecutionPayload, enqueueStartNs, INT64),
       LACUNA_FIELD(ExecutionPayload, enqueueEndNs, INT64),
       LACUNA_FIELD(ExecutionPayload, enqueueThread, TID_UINT32),
       LACUNA_FIELD(ExecutionPayload, queue, UINT32), LACUNA_FIELD(ExecutionPayload, kind, UINT32),
       LACUNA_FIELD(ExecutionPayload, reserved, UINT32),
       LACUNA_FIELD(ExecutionPayload, bytes, UINT64),
       LACUNA_FIELD(ExecutionPayload, flops, UINT64)});
  registerSchema<MemoryPayload>(
      domain, "lacuna.rt.memory",
      {LACUNA_FIELD(MemoryPayload, address, ADDRESS), LACUNA_FIELD(MemoryPayload, bytes, UINT64),
       LACUNA_FIELD(MemoryPayload, sequence, UINT64),
       LACUNA_FIELD(MemoryPayload, op, NVTX_REGISTERED_STRING_HANDLE),
       LACUNA_FIELD(MemoryPayload, tensor, NVTX_REGISTERED_STRING_HANDLE),
       LACUNA_FIELD(MemoryPayload, queue, UINT32), LACUNA_FIELD(MemoryPayload, action, UINT8),
       LACUNA_FIELD(MemoryPayload, role, UINT8), LACUNA_FIELD(MemoryPayload, reserved, UINT16)});
  registerSchema<StepPayload>(
      domain, "lacuna.rt.step",
      {LACUNA_FIELD(StepPayload, index, UINT64), LACUNA_FIELD(StepPayload, samples, UINT64)});
  registerSchema<LoaderPayload>(
      domain, "lacuna.rt.loader",
      {LACUNA_FIELD(LoaderPayload, batch, UINT64), LACUNA_FIELD(LoaderPayload, bytes, UINT64),
       LACUNA_FIELD(LoaderPayload, loader, UINT32), LACUNA_FIELD(LoaderPayload, worker, INT32)});
}

void registerInfoSchemas(nvtxDomainHandle_t domain) {
  registerSchema<HelloPayload>(
      domain, "lacuna.rt.hello",
      {LACUNA_FIELD(HelloPayload, version, UINT32), LACUNA_FIELD(HelloPayload, pid, PID_UINT32)});
  registerSchema<QueuePayload>(
      domain, "lacuna.rt.queue",
      {LACUNA_FIELD(QueuePayload, name, NVTX_REGISTERED_STRING_HANDLE),
       LACUNA_FIELD(QueuePayload, memoryBytes, UINT64), LACUNA_FIELD(QueuePayload, queue, UINT32),
       LACUNA_FIELD(QueuePayload, device, UINT32), LACUNA_FIELD(QueuePayload, deviceKind, UINT32),
       LACUNA_FIELD(QueuePayload, thread, TID_UINT32), LACUNA_FIELD(QueuePayload, cores, UINT32),
       LACUNA_FIELD(QueuePayload, reserved, UINT32)});
  registerSchema<KnobPayload>(domain, "lacuna.rt.knob",
                              {LACUNA_FIELD(KnobPayload, name, NVTX_REGISTERED_STRING_HANDLE),
                               LACUNA_FIELD(KnobPayload, value, NVTX_REGISTERED_STRING_HANDLE)});
}

}  // namespace

void registerSchemas(nvtxDomainHandle_t domain) {
  registerEventSchemas(domain);
  registerInfoSchemas(domain);
}

}  // namespace lacuna::collector::torch
