/* SPDX-FileCopyrightText: The Lacuna authors
 * SPDX-License-Identifier: Apache-2.0 */

/* The corners of NVTX's extensions: nested structures and arrays as payloads, heaps and regions of memory, names of
 * resources. */
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtMem.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Point {
  int32_t x, y;
} Point;
typedef struct Outer {
  Point corner;
  uint16_t sizes[3];
  uint32_t count;
  Point points[2];
} Outer;

static uint64_t schemaOf(nvtxDomainHandle_t domain, const char* name, const nvtxPayloadSchemaEntry_t* entries,
                         size_t count, size_t size) {
  nvtxPayloadSchemaAttr_t schema = {0};
  schema.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE;
  schema.name = name;
  schema.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
  schema.entries = entries;
  schema.numEntries = count;
  schema.payloadStaticSize = size;
  return nvtxPayloadSchemaRegister(domain, &schema);
}

static void nested(nvtxDomainHandle_t domain) {
  const nvtxPayloadSchemaEntry_t point[] = {
      {0, NVTX_PAYLOAD_ENTRY_TYPE_INT32, "x", NULL, 0, offsetof(Point, x), NULL, NULL},
      {0, NVTX_PAYLOAD_ENTRY_TYPE_INT32, "y", NULL, 0, offsetof(Point, y), NULL, NULL}};
  const uint64_t pointId = schemaOf(domain, "point", point, 2, sizeof(Point));
  const nvtxPayloadSchemaEntry_t outer[] = {
      {0, pointId, "corner", NULL, 0, offsetof(Outer, corner), NULL, NULL},
      {NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE, NVTX_PAYLOAD_ENTRY_TYPE_UINT16, "sizes", NULL, 3,
       offsetof(Outer, sizes), NULL, NULL},
      {0, NVTX_PAYLOAD_ENTRY_TYPE_UINT32, "count", NULL, 0, offsetof(Outer, count), NULL, NULL},
      {NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE, pointId, "points", NULL, 2, offsetof(Outer, points), NULL, NULL}};
  const uint64_t outerId = schemaOf(domain, "outer", outer, 4, sizeof(Outer));
  const Outer value = {{-1, 2}, {3, 4, 5}, 6, {{7, 8}, {9, 10}}};
  const nvtxPayloadData_t data = {outerId, sizeof value, &value};
  nvtxMarkPayload(domain, &data, 1);
}

static void memory(nvtxDomainHandle_t domain, char* room) {
  nvtxMemVirtualRangeDesc_t whole = {4096, room};
  nvtxMemHeapDesc_t heap = {0};
  heap.extCompatID = NVTX_EXT_COMPATID_MEM;
  heap.structSize = sizeof heap;
  heap.usage = NVTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR;
  heap.type = NVTX_MEM_TYPE_VIRTUAL_ADDRESS;
  heap.typeSpecificDescSize = sizeof whole;
  heap.typeSpecificDesc = &whole;
  heap.messageType = NVTX_MESSAGE_TYPE_ASCII;
  heap.message.ascii = "my pool";
  const nvtxMemHeapHandle_t pool = nvtxMemHeapRegister(domain, &heap);

  const nvtxMemVirtualRangeDesc_t ranges[2] = {{100, room}, {200, room + 1024}};
  nvtxMemRegionHandle_t handles[2] = {0};
  nvtxMemRegionsRegisterBatch_t batch = {0};
  batch.extCompatID = NVTX_EXT_COMPATID_MEM;
  batch.structSize = sizeof batch;
  batch.regionType = NVTX_MEM_TYPE_VIRTUAL_ADDRESS;
  batch.heap = pool;
  batch.regionCount = 2;
  batch.regionDescElementSize = sizeof ranges[0];
  batch.regionDescElements = ranges;
  batch.regionHandleElementsOut = handles;
  nvtxMemRegionsRegister(domain, &batch);

  nvtxMemRegionNameDesc_t name = {0};
  name.regionRefType = NVTX_MEM_REGION_REF_TYPE_POINTER;
  name.nameType = NVTX_MESSAGE_TYPE_ASCII;
  name.region.pointer = room;
  name.name.ascii = "weights";
  nvtxMemRegionsNameBatch_t names = {0};
  names.extCompatID = NVTX_EXT_COMPATID_MEM;
  names.structSize = sizeof names;
  names.regionCount = 1;
  names.regionElementSize = sizeof name;
  names.regionElements = &name;
  nvtxMemRegionsName(domain, &names);

  nvtxMemRegionRef_t gone[2];
  gone[0].pointer = room;
  gone[1].handle = handles[1];
  nvtxMemRegionsUnregisterBatch_t ended = {0};
  ended.extCompatID = NVTX_EXT_COMPATID_MEM;
  ended.structSize = sizeof ended;
  ended.refType = NVTX_MEM_REGION_REF_TYPE_POINTER;
  ended.refCount = 2;
  ended.refElementSize = sizeof gone[0];
  ended.refElements = gone;
  nvtxMemRegionsUnregister(domain, &ended);
  nvtxMemHeapUnregister(domain, pool);
}

int main(void) {
  static char room[4096];
  const nvtxDomainHandle_t domain = nvtxDomainCreateA("corners");
  nested(domain);
  memory(domain, room);
  nvtxResourceAttributes_t resource = {0};
  resource.version = NVTX_VERSION;
  resource.size = NVTX_RESOURCE_ATTRIB_STRUCT_SIZE;
  resource.identifierType = NVTX_RESOURCE_TYPE_GENERIC_POINTER;
  resource.identifier.ullValue = 0x1234;
  resource.messageType = NVTX_MESSAGE_TYPE_ASCII;
  resource.message.ascii = "queue of batches";
  nvtxDomainResourceCreate(domain, &resource);
  return 0;
}
