/* SPDX-FileCopyrightText: The Lacuna authors
 * SPDX-License-Identifier: Apache-2.0 */

/* The extensions of NVTX, and the tensor runtime's schema as any program could speak it. */
#include <nvtx3/nvToolsExtCounters.h>
#include <nvtx3/nvToolsExtMem.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <nvtx3/nvToolsExtSemanticsCounters.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "../../runtime/include/lacuna/runtime/nvtx_schema.h"

typedef struct Shape {
  uint64_t bytes;
  double scale;
  int32_t kind;
  char tag[8];
} Shape;

static nvtxEventAttributes_t named(const char* name) {
  nvtxEventAttributes_t event = {0};
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.messageType = NVTX_MESSAGE_TYPE_ASCII;
  event.message.ascii = name;
  return event;
}

static void attach(nvtxEventAttributes_t* event, nvtxPayloadData_t* data, uint64_t schema,
                   const void* at, size_t size) {
  data->schemaId = schema;
  data->size = size;
  data->payload = at;
  event->payloadType = NVTX_PAYLOAD_TYPE_EXT;
  event->reserved0 = 1;
  event->payload.ullValue = (uint64_t)(uintptr_t)data;
}

static void structures(nvtxDomainHandle_t domain) {
  const nvtxPayloadEnum_t kinds[] = {{"dense", 1, 0}, {"sparse", 2, 0}};
  nvtxPayloadEnumAttr_t kind = {0};
  kind.fieldMask = NVTX_PAYLOAD_ENUM_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_ENUM_ATTR_FIELD_NUM_ENTRIES |
                   NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE;
  kind.entries = kinds;
  kind.numEntries = 2;
  kind.sizeOfEnum = 4;
  const uint64_t kindId = nvtxPayloadEnumRegister(domain, &kind);
  const nvtxPayloadSchemaEntry_t entries[] = {
      {0, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "bytes", NULL, 0, offsetof(Shape, bytes), NULL, NULL},
      {0, NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE, "scale", NULL, 0, offsetof(Shape, scale), NULL, NULL},
      {0, kindId, "kind", NULL, 0, offsetof(Shape, kind), NULL, NULL},
      {0, NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, "tag", NULL, 8, offsetof(Shape, tag), NULL, NULL}};
  nvtxPayloadSchemaAttr_t schema = {0};
  schema.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE;
  schema.name = "shape";
  schema.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
  schema.entries = entries;
  schema.numEntries = 4;
  schema.payloadStaticSize = sizeof(Shape);
  const uint64_t id = nvtxPayloadSchemaRegister(domain, &schema);
  const Shape shape = {4096, 0.5, 2, "conv"};
  nvtxPayloadData_t data;
  nvtxEventAttributes_t event = named("structured");
  attach(&event, &data, id, &shape, sizeof shape);
  nvtxDomainRangePushEx(domain, &event);
  nvtxDomainRangePop(domain);
}

/* A text beyond the length that is kept, and one in which two units of 16 bits are one character.
 */
static void texts(nvtxDomainHandle_t domain) {
  char words[3001] = {0};
  for (int i = 0; i < 1000; ++i) memcpy(words + 3 * i, "\xE2\x82\xAC", 3);
  nvtxPayloadData_t data;
  nvtxEventAttributes_t event = named("long");
  attach(&event, &data, NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, words, sizeof words);
  nvtxDomainRangePushEx(domain, &event);
  nvtxDomainRangePop(domain);
  const nvtxPayloadSchemaEntry_t entry = {
      0, NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF16, "word", NULL, 5, 0, NULL, NULL};
  nvtxPayloadSchemaAttr_t schema = {0};
  schema.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE;
  schema.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
  schema.entries = &entry;
  schema.numEntries = 1;
  const uint16_t wide[5] = {0xD83D, 0xDE00, 'a', 0xD83D, 0};
  schema.payloadStaticSize = sizeof wide;
  event = named("wide");
  attach(&event, &data, nvtxPayloadSchemaRegister(domain, &schema), wide, sizeof wide);
  nvtxDomainRangePushEx(domain, &event);
  nvtxDomainRangePop(domain);
}

/* As NCCL does when a communicator is made: what it is, is known when that is over. */
static void communicator(void) {
  typedef struct Made {
    uint64_t id;
    int ranks, rank, device;
  } Made;
  const nvtxDomainHandle_t domain = nvtxDomainCreateA("NCCL");
  const nvtxPayloadSchemaEntry_t entries[] = {
      {0, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "NCCL communicator ID", NULL, 0, offsetof(Made, id), NULL,
       NULL},
      {0, NVTX_PAYLOAD_ENTRY_TYPE_INT, "No. of ranks", NULL, 0, offsetof(Made, ranks), NULL, NULL},
      {0, NVTX_PAYLOAD_ENTRY_TYPE_INT, "Rank", NULL, 0, offsetof(Made, rank), NULL, NULL},
      {0, NVTX_PAYLOAD_ENTRY_TYPE_INT, "CUDA device", NULL, 0, offsetof(Made, device), NULL, NULL}};
  nvtxPayloadSchemaAttr_t schema = {0};
  schema.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE;
  schema.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
  schema.entries = entries;
  schema.numEntries = 4;
  schema.payloadStaticSize = sizeof(Made);
  const Made made = {UINT64_MAX, 8, 5, 1};
  nvtxPayloadData_t data;
  data.schemaId = nvtxPayloadSchemaRegister(domain, &schema);
  data.size = sizeof made;
  data.payload = &made;
  nvtxEventAttributes_t event = named("ncclCommInitRank");
  nvtxDomainRangePushEx(domain, &event);
  nvtxRangePopPayload(domain, &data, 1);
}

static void counters(nvtxDomainHandle_t domain) {
  nvtxSemanticsCounter_t meaning = {0};
  meaning.header.structSize = sizeof meaning;
  meaning.header.semanticId = NVTX_SEMANTIC_ID_COUNTERS_V1;
  meaning.header.version = NVTX_COUNTER_SEMANTIC_VERSION;
  meaning.unit = "bytes";
  meaning.unitScaleNumerator = meaning.unitScaleDenominator = 1;
  nvtxCounterAttr_t counter = {0};
  counter.structSize = sizeof counter;
  counter.schemaId = NVTX_PAYLOAD_ENTRY_TYPE_INT64;
  counter.name = "depth";
  counter.semantics = &meaning.header;
  const uint64_t id = nvtxCounterRegister(domain, &counter);
  for (int64_t i = 1; i <= 5; ++i) nvtxCounterSampleInt64(domain, id, i * 10);
}

#define ENTRY_OF(type, field, nvtxType) \
  {0, NVTX_PAYLOAD_ENTRY_TYPE_##nvtxType, #field, NULL, 0, offsetof(Current, field), NULL, NULL},

#define SCHEMA(Name, FIELDS, schemaName, schemaNumber)                                         \
  {                                                                                            \
    typedef Name Current;                                                                      \
    const nvtxPayloadSchemaEntry_t entries[] = {FIELDS(ENTRY_OF)};                             \
    nvtxPayloadSchemaAttr_t schema = {0};                                                      \
    schema.fieldMask =                                                                         \
        NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |            \
        NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |  \
        NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID; \
    schema.name = schemaName;                                                                  \
    schema.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;                                             \
    schema.entries = entries;                                                                  \
    schema.numEntries = sizeof entries / sizeof *entries;                                      \
    schema.payloadStaticSize = sizeof(Name);                                                   \
    schema.schemaId = schemaNumber;                                                            \
    nvtxPayloadSchemaRegister(domain, &schema);                                                \
  }

static void training(void) {
  const nvtxDomainHandle_t domain = nvtxDomainCreateA(LACUNA_RT_DOMAIN);
  LACUNA_RT_PAYLOADS(SCHEMA)
  nvtxPayloadData_t data;
  nvtxEventAttributes_t event;
  const LacunaRtQueue queue = {
      (uint64_t)(uintptr_t)nvtxDomainRegisterStringA(domain, "cpu:0 queue"),
      1 << 20,
      0,
      0,
      LACUNA_RT_DEVICE_CPU,
      0,
      4,
      0};
  event = named(LACUNA_RT_MSG_QUEUE);
  attach(&event, &data, LACUNA_RT_QUEUE_SCHEMA_ID, &queue, sizeof queue);
  nvtxDomainMarkEx(domain, &event);
  for (uint64_t i = 1; i <= 4; ++i) {
    LacunaRtMemory memory = {
        0x1000 * i, 64, i, 0, 0, 0, LACUNA_RT_MEMORY_ALLOCATE, LACUNA_RT_ROLE_ACTIVATION, 0};
    event = named(LACUNA_RT_MSG_MEMORY);
    attach(&event, &data, LACUNA_RT_MEMORY_SCHEMA_ID, &memory, sizeof memory);
    nvtxDomainMarkEx(domain, &event);
    LacunaRtExecution execution = {0};
    execution.correlation = i;
    execution.sequence = i;
    execution.enqueueStartNs = 1;
    execution.enqueueEndNs = 2;
    event = named("linear");
    attach(&event, &data, LACUNA_RT_EXECUTION_SCHEMA_ID, &execution, sizeof execution);
    nvtxDomainRangePushEx(domain, &event);
    nvtxDomainRangePop(domain);
  }
}

int main(void) {
  const nvtxDomainHandle_t domain = nvtxDomainCreateA("structures");
  structures(domain);
  texts(domain);
  counters(domain);
  training();
  communicator();
  return 0;
}
