/* SPDX-FileCopyrightText: The Lacuna authors
 * SPDX-License-Identifier: Apache-2.0 */

/* The corners of NVTX's extensions: nested structures, arrays, unions and pointers as payloads,
 * deferred events and counters with their own clocks, heaps and regions of memory, names of
 * resources. */
#define _GNU_SOURCE
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCounters.h>
#include <nvtx3/nvToolsExtMem.h>
#include <nvtx3/nvToolsExtMemCudaRt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <nvtx3/nvToolsExtSemanticsTime.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

typedef struct Point {
  int32_t x, y;
} Point;
typedef struct Outer {
  Point corner;
  uint16_t sizes[3];
  uint32_t count;
  Point points[2];
} Outer;

static uint64_t schemaOf(nvtxDomainHandle_t domain, const char* name,
                         const nvtxPayloadSchemaEntry_t* entries, size_t count, size_t size) {
  nvtxPayloadSchemaAttr_t schema = {0};
  schema.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
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
      {NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE, pointId, "points", NULL, 2,
       offsetof(Outer, points), NULL, NULL}};
  const uint64_t outerId = schemaOf(domain, "outer", outer, 4, sizeof(Outer));
  const Outer value = {{-1, 2}, {3, 4, 5}, 6, {{7, 8}, {9, 10}}};
  const nvtxPayloadData_t data = {outerId, sizeof value, &value};
  nvtxMarkPayload(domain, &data, 1);
}

typedef union Either {
  double real;
  int64_t whole;
} Either;
typedef struct Choice {
  int32_t which;
  Either value;
  const char* label;
  const int32_t* sizes;
} Choice;

static void unions(nvtxDomainHandle_t domain) {
  const nvtxPayloadSchemaEntry_t members[] = {
      {0, NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE, "real", NULL, 0, 0, NULL, NULL},
      {0, NVTX_PAYLOAD_ENTRY_TYPE_INT64, "whole", NULL, 0, 0, NULL, NULL}};
  nvtxPayloadSchemaAttr_t either = {0};
  either.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE;
  either.type = NVTX_PAYLOAD_SCHEMA_TYPE_UNION;
  either.entries = members;
  either.numEntries = 2;
  either.payloadStaticSize = sizeof(Either);
  const uint64_t eitherId = nvtxPayloadSchemaRegister(domain, &either);
  const nvtxPayloadSchemaEntry_t entries[] = {
      {0, NVTX_PAYLOAD_ENTRY_TYPE_INT32, "which", NULL, 0, offsetof(Choice, which), NULL, NULL},
      {0, eitherId, "value", NULL, 0, offsetof(Choice, value), NULL, NULL},
      {0, NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, "label", NULL, 0, offsetof(Choice, label), NULL, NULL},
      {NVTX_PAYLOAD_ENTRY_FLAG_POINTER | NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE,
       NVTX_PAYLOAD_ENTRY_TYPE_INT32, "sizes", NULL, 3, offsetof(Choice, sizes), NULL, NULL}};
  const uint64_t choiceId = schemaOf(domain, "choice", entries, 4, sizeof(Choice));
  const int32_t sizes[3] = {4, 5, 6};
  const Choice real = {0, {.real = 0.25}, "a", sizes};
  const Choice whole = {1, {.whole = -7}, "b", sizes};
  const Choice wrong = {9, {.whole = 1}, "c", sizes};
  const nvtxPayloadData_t first[2] = {{choiceId, sizeof real, &real},
                                      {NVTX_TYPE_PAYLOAD_SCHEMA_REFERENCED, sizeof sizes, sizes}};
  nvtxMarkPayload(domain, first, 2);
  const nvtxPayloadData_t second[2] = {{choiceId, sizeof whole, &whole},
                                       {NVTX_TYPE_PAYLOAD_SCHEMA_REFERENCED, sizeof sizes, sizes}};
  nvtxMarkPayload(domain, second, 2);
  const nvtxPayloadData_t third = {choiceId, sizeof wrong, &wrong};
  nvtxMarkPayload(domain, &third, 1);
}

/* Values elsewhere in the payload, lengths elsewhere in the event, and what is not to be seen. */
typedef struct Packed {
  uint32_t wordsAt; /* from the begin */
  uint32_t tailAt;  /* from here on */
  uint16_t shape[2];
  uint16_t grid[6];
  uint32_t secret;
  char words[8];
  int16_t tail[2];
} Packed;

static void displaced(nvtxDomainHandle_t domain) {
  const nvtxPayloadSchemaEntry_t entries[] = {
      {NVTX_PAYLOAD_ENTRY_FLAG_OFFSET_FROM_BASE, NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, "words", NULL, 0,
       offsetof(Packed, wordsAt), NULL, NULL},
      {NVTX_PAYLOAD_ENTRY_FLAG_OFFSET_FROM_HERE | NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE,
       NVTX_PAYLOAD_ENTRY_TYPE_INT16, "tail", NULL, 2, offsetof(Packed, tailAt), NULL, NULL},
      {NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE, NVTX_PAYLOAD_ENTRY_TYPE_UINT16, "shape", NULL, 2,
       offsetof(Packed, shape), NULL, NULL},
      {NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_LENGTH_INDEX, NVTX_PAYLOAD_ENTRY_TYPE_UINT16, "grid", NULL, 2,
       offsetof(Packed, grid), NULL, NULL},
      {NVTX_PAYLOAD_ENTRY_FLAG_HIDE, NVTX_PAYLOAD_ENTRY_TYPE_UINT32, "secret", NULL, 0,
       offsetof(Packed, secret), NULL, NULL}};
  const uint64_t id = schemaOf(domain, "packed", entries, 5, sizeof(Packed));
  Packed value = {offsetof(Packed, words), 0, {2, 3}, {1, 2, 3, 4, 5, 6}, 7, "far off", {-8, 9}};
  value.tailAt = (uint32_t)(offsetof(Packed, tail) - offsetof(Packed, shape));
  const nvtxPayloadData_t data = {id, sizeof value, &value};
  nvtxMarkPayload(domain, &data, 1);
  value.wordsAt = 1u << 30;
  nvtxMarkPayload(domain, &data, 1);

  /* An array as it is, and its two dimensions in a payload of their own. */
  const nvtxPayloadSchemaEntry_t bare[] = {{NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_LENGTH_PAYLOAD_INDEX,
                                            NVTX_PAYLOAD_ENTRY_TYPE_INT32, "cells", NULL, 1, 0,
                                            NULL, NULL}};
  nvtxPayloadSchemaAttr_t dynamic = {0};
  dynamic.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                      NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES;
  dynamic.type = NVTX_PAYLOAD_SCHEMA_TYPE_DYNAMIC;
  dynamic.entries = bare;
  dynamic.numEntries = 1;
  const nvtxPayloadSchemaEntry_t sizes[] = {
      {NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE | NVTX_PAYLOAD_ENTRY_FLAG_HIDE,
       NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "sizes", NULL, 2, 0, NULL, NULL}};
  const uint64_t bareId = nvtxPayloadSchemaRegister(domain, &dynamic);
  const uint64_t sizesId = schemaOf(domain, "sizes", sizes, 1, 2 * sizeof(uint64_t));
  const int32_t cells[4] = {10, 20, 30, 40};
  const uint64_t shape[2] = {2, 2}, tooMany[2] = {1ull << 40, 1ull << 40};
  nvtxPayloadData_t both[2] = {{bareId, sizeof cells, cells}, {sizesId, sizeof shape, shape}};
  nvtxMarkPayload(domain, both, 2);
  both[1].payload = tooMany;
  nvtxMarkPayload(domain, both, 2);
}

/* Numbers of 128 bits, as their halves: the compiler need not have them. */
typedef struct Wide {
  uint64_t least[2], minusOne[2], most[2];
  uint64_t list[2][2];
} Wide;

static void wide(nvtxDomainHandle_t domain) {
  const nvtxPayloadSchemaEntry_t entries[] = {
      {0, NVTX_PAYLOAD_ENTRY_TYPE_INT128, "least", NULL, 0, offsetof(Wide, least), NULL, NULL},
      {0, NVTX_PAYLOAD_ENTRY_TYPE_INT128, "minus_one", NULL, 0, offsetof(Wide, minusOne), NULL,
       NULL},
      {0, NVTX_PAYLOAD_ENTRY_TYPE_UINT128, "most", NULL, 0, offsetof(Wide, most), NULL, NULL},
      {NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE, NVTX_PAYLOAD_ENTRY_TYPE_UINT128, "list", NULL, 2,
       offsetof(Wide, list), NULL, NULL}};
  const uint64_t id = schemaOf(domain, "wide", entries, 4, sizeof(Wide));
  const Wide value = {
      {0, 1ull << 63}, {UINT64_MAX, UINT64_MAX}, {UINT64_MAX, UINT64_MAX}, {{0, 1}, {0, 0}}};
  const nvtxPayloadData_t data = {id, sizeof value, &value};
  nvtxMarkPayload(domain, &data, 1);
  const uint64_t bare[2] = {1, 2};
  const nvtxPayloadData_t plain = {NVTX_PAYLOAD_ENTRY_TYPE_UINT128, sizeof bare, bare};
  nvtxMarkPayload(domain, &plain, 1);
  nvtxCounterAttr_t attributes = {0};
  attributes.structSize = sizeof attributes;
  attributes.schemaId = NVTX_PAYLOAD_ENTRY_TYPE_INT128;
  attributes.name = "wide";
  const uint64_t counter = nvtxCounterRegister(domain, &attributes);
  const uint64_t below[2] = {0, UINT64_MAX - 2}; /* -3 times 2 to the 64th */
  nvtxCounterSample(domain, counter, below, sizeof below);
}

static int64_t nowOf(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}
/* A clock of the program's own: it counts microseconds from some moment of its choice. */
static int64_t ownClock(void) {
  return nowOf(CLOCK_MONOTONIC) / 1000 - 5000000;
}

typedef struct Late {
  int64_t begin, end;
  uint32_t thread;
  const char* words;
} Late;

static uint64_t lateSchema(nvtxDomainHandle_t domain, uint64_t timeDomain) {
  nvtxSemanticsTime_t time = {0};
  time.header.structSize = sizeof time;
  time.header.semanticId = NVTX_SEMANTIC_ID_TIME_V1;
  time.header.version = NVTX_TIME_SEMANTIC_VERSION;
  time.timeDomainId = timeDomain;
  const nvtxPayloadSchemaEntry_t entries[] = {
      {NVTX_PAYLOAD_ENTRY_FLAG_TIMESTAMP | NVTX_PAYLOAD_ENTRY_FLAG_RANGE_BEGIN,
       NVTX_PAYLOAD_ENTRY_TYPE_INT64, "begin", NULL, 0, offsetof(Late, begin), &time.header, NULL},
      {NVTX_PAYLOAD_ENTRY_FLAG_TIMESTAMP | NVTX_PAYLOAD_ENTRY_FLAG_RANGE_END,
       NVTX_PAYLOAD_ENTRY_TYPE_INT64, "end", NULL, 0, offsetof(Late, end), &time.header, NULL},
      {0, NVTX_PAYLOAD_ENTRY_TYPE_TID_UINT32, "thread", NULL, 0, offsetof(Late, thread), NULL,
       NULL},
      {NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE, NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, "words", NULL, 0,
       offsetof(Late, words), NULL, NULL}};
  return schemaOf(domain, "late", entries, 4, sizeof(Late));
}

static void deferred(nvtxDomainHandle_t domain) {
  const uint32_t self = (uint32_t)syscall(SYS_gettid);
  int64_t begin, realBegin, ownBegin;
  do {
    /* One moment by three clocks, even where other programs take this core meanwhile. */
    begin = nowOf(CLOCK_MONOTONIC), realBegin = nowOf(CLOCK_REALTIME), ownBegin = ownClock();
  } while (nowOf(CLOCK_MONOTONIC) - begin > 1000000);
  nvtxTimeDomainAttr_t own = {0};
  own.timerResolution = 1000000;
  const uint64_t ownDomain = nvtxTimeDomainRegister(domain, &own);
  nvtxTimeSyncPoint(domain, ownDomain, NVTX_TIMESTAMP_TYPE_CPU_CLOCK_GETTIME_MONOTONIC, ownBegin,
                    begin);
  const Late late[3] = {{begin, begin + 1000000, self, "monotonic"},
                        {begin + 2000000, begin + 4000000, self, "monotonic"},
                        {realBegin, realBegin + 1000000, self, "realtime"}};
  const nvtxEventBatch_t batch = {
      .eventSchemaId = lateSchema(domain, 0), .size = 2 * sizeof late[0], .events = late};
  nvtxEventBatchSubmit(domain, &batch);
  const nvtxPayloadData_t real = {
      lateSchema(domain, NVTX_TIMESTAMP_TYPE_CPU_CLOCK_GETTIME_REALTIME), sizeof late[2], &late[2]};
  nvtxEventSubmit(domain, &real, 1);
  const Late mine = {ownBegin, ownBegin + 1000, self, "own clock"};
  const nvtxPayloadData_t event = {lateSchema(domain, ownDomain), sizeof mine, &mine};
  nvtxEventSubmit(domain, &event, 1);
  /* Another clock of its own, of whose pace the program thinks better: it counts half microseconds.
   */
  const uint64_t pace = nvtxTimeDomainRegister(domain, &own);
  const uint64_t monotonic = NVTX_TIMESTAMP_TYPE_CPU_CLOCK_GETTIME_MONOTONIC;
  nvtxTimestampConversionFactor(domain, pace, monotonic, 1000., 10, begin + 5000000000);
  nvtxTimestampConversionFactor(domain, pace, monotonic, 500., 10, begin);
  const Late corrected = {10, 2010, self, "corrected clock"};
  const nvtxPayloadData_t again = {lateSchema(domain, pace), sizeof corrected, &corrected};
  nvtxEventSubmit(domain, &again, 1);
  const nvtxPayloadData_t lost = {lateSchema(domain, NVTX_TIMESTAMP_TYPE_GPU_GLOBALTIMER),
                                  sizeof mine, &mine};
  nvtxEventSubmit(domain, &lost, 1);

  nvtxCounterAttr_t attributes = {0};
  attributes.structSize = sizeof attributes;
  attributes.schemaId = NVTX_PAYLOAD_ENTRY_TYPE_INT64;
  attributes.name = "level";
  const uint64_t level = nvtxCounterRegister(domain, &attributes);
  const int64_t values[3] = {10, 20, 30};
  const int64_t times[2] = {begin, 1000};
  const nvtxCounterBatch_t samples = {.counterId = level,
                                      .counters = values,
                                      .countersSize = sizeof values,
                                      .flags = (uint64_t)1 << 32,
                                      .timestamps = times,
                                      .timestampsSize = sizeof times};
  nvtxCounterBatchSubmit(domain, &samples);
}

static void nameRegion(nvtxDomainHandle_t domain, uint32_t refType, nvtxMemRegionRef_t region,
                       const char* text) {
  nvtxMemRegionNameDesc_t name = {0};
  name.regionRefType = refType;
  name.nameType = NVTX_MESSAGE_TYPE_ASCII;
  name.region = region;
  name.name.ascii = text;
  nvtxMemRegionsNameBatch_t names = {0};
  names.extCompatID = NVTX_EXT_COMPATID_MEM;
  names.structSize = sizeof names;
  names.regionCount = 1;
  names.regionElementSize = sizeof name;
  names.regionElements = &name;
  nvtxMemRegionsName(domain, &names);
}

static void unregisterRegions(nvtxDomainHandle_t domain, uint32_t refType,
                              const nvtxMemRegionRef_t* regions, size_t count) {
  nvtxMemRegionsUnregisterBatch_t ended = {0};
  ended.extCompatID = NVTX_EXT_COMPATID_MEM;
  ended.structSize = sizeof ended;
  ended.refType = refType;
  ended.refCount = count;
  ended.refElementSize = sizeof regions[0];
  ended.refElements = regions;
  nvtxMemRegionsUnregister(domain, &ended);
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

  const nvtxMemRegionRef_t first = {.pointer = room};
  nameRegion(domain, NVTX_MEM_REGION_REF_TYPE_POINTER, first, "weights");

  const nvtxMemPermissionsHandle_t mine =
      nvtxMemPermissionsCreate(domain, NVTX_MEM_PERMISSIONS_CREATE_FLAGS_EXCLUDE_GLOBAL_WRITE);
  nvtxMemPermissionsAssignRegionDesc_t access = {0};
  access.flags = NVTX_MEM_PERMISSIONS_REGION_FLAGS_READ | NVTX_MEM_PERMISSIONS_REGION_FLAGS_ATOMIC;
  access.regionRefType = NVTX_MEM_REGION_REF_TYPE_POINTER;
  access.region.pointer = room;
  nvtxMemPermissionsAssignBatch_t assigned = {0};
  assigned.extCompatID = NVTX_EXT_COMPATID_MEM;
  assigned.structSize = sizeof assigned;
  assigned.permissions = mine;
  assigned.regionCount = 1;
  assigned.regionElementSize = sizeof access;
  assigned.regionElements = &access;
  nvtxMemPermissionsAssign(domain, &assigned);
  assigned.permissions = NVTX_MEM_PERMISSIONS_HANDLE_PROCESS_WIDE;
  access.flags = NVTX_MEM_PERMISSIONS_REGION_FLAGS_NONE;
  nvtxMemPermissionsAssign(domain, &assigned);
  nvtxMemPermissionsBind(domain, mine, NVTX_MEM_PERMISSIONS_BIND_SCOPE_CPU_THREAD,
                         NVTX_MEM_PERMISSIONS_BIND_FLAGS_STRICT_WRITE);
  nvtxMemPermissionsUnbind(domain, NVTX_MEM_PERMISSIONS_BIND_SCOPE_CPU_THREAD);
  nvtxMemPermissionsReset(domain, mine);
  nvtxMemPermissionsDestroy(domain, mine);

  nvtxMemRegionRef_t gone[2];
  gone[0].pointer = room;
  gone[1].handle = handles[1];
  unregisterRegions(domain, NVTX_MEM_REGION_REF_TYPE_POINTER, gone, 2);
  nvtxMemRegionsRegister(domain, &batch);
  nvtxMemHeapReset(domain, pool);
  nvtxMemHeapUnregister(domain, pool);
}

static void cudaPermissions(nvtxDomainHandle_t domain, char* room) {
  const cudaStream_t stream = (cudaStream_t)0x77;
  const nvtxMemPermissionsHandle_t process = nvtxMemCudaGetProcessWidePermissions(domain);
  const nvtxMemPermissionsHandle_t third = nvtxMemCudaGetDeviceWidePermissions(domain, 3);
  nvtxMemCudaSetPeerAccess(domain, process, NVTX_MEM_CUDA_PEER_ALL_DEVICES,
                           NVTX_MEM_PERMISSIONS_REGION_FLAGS_NONE);
  nvtxMemCudaSetPeerAccess(domain, third, 0, NVTX_MEM_PERMISSIONS_REGION_FLAGS_READ);
  const nvtxMemVirtualRangeDesc_t ranges[2] = {{16, room}, {32, room + 64}};
  nvtxMemMarkInitializedBatch_t batch = {0};
  batch.extCompatID = NVTX_EXT_COMPATID_MEM;
  batch.structSize = sizeof batch;
  batch.regionType = NVTX_MEM_TYPE_VIRTUAL_ADDRESS;
  batch.regionDescCount = 2;
  batch.regionDescElementSize = sizeof ranges[0];
  batch.regionDescElements = ranges;
  nvtxMemCudaMarkInitialized(domain, stream, 0, &batch);
  batch.regionType = NVTX_MEM_TYPE_UNKNOWN;
  nvtxMemCudaMarkInitialized(domain, stream, 0, &batch);
  nvtxMemCudaMarkInitialized(domain, stream, 0, NULL);
}

static void resizeArray(nvtxDomainHandle_t domain, const nvtxMemCudaArrayRangeDesc_t* array) {
  nvtxMemRegionsResizeBatch_t resized = {0};
  resized.extCompatID = NVTX_EXT_COMPATID_MEM;
  resized.structSize = sizeof resized;
  resized.regionType = NVTX_MEM_TYPE_CUDA_ARRAY;
  resized.regionDescCount = 1;
  resized.regionDescElementSize = sizeof *array;
  resized.regionDescElements = array;
  nvtxMemRegionsResize(domain, &resized);
}

static void cudaArrays(nvtxDomainHandle_t domain) {
  const nvtxMemCudaArrayRangeDesc_t ranges[2] = {
      {NVTX_EXT_COMPATID_MEM, sizeof ranges[0], 0, (cudaArray_t)0x1000, {0, 0, 0}, {64, 32, 1}},
      {NVTX_EXT_COMPATID_MEM, sizeof ranges[0], 0, (cudaArray_t)0x2000, {8, 0, 0}, {16, 1, 1}}};
  nvtxMemRegionHandle_t handles[2] = {0};
  nvtxMemRegionsRegisterBatch_t batch = {0};
  batch.extCompatID = NVTX_EXT_COMPATID_MEM;
  batch.structSize = sizeof batch;
  batch.regionType = NVTX_MEM_TYPE_CUDA_ARRAY;
  batch.regionCount = 2;
  batch.regionDescElementSize = sizeof ranges[0];
  batch.regionDescElements = ranges;
  batch.regionHandleElementsOut = handles;
  nvtxMemRegionsRegister(domain, &batch);
  nvtxMemMarkInitializedBatch_t initialized = {0};
  initialized.extCompatID = NVTX_EXT_COMPATID_MEM;
  initialized.structSize = sizeof initialized;
  initialized.regionType = NVTX_MEM_TYPE_CU_ARRAY;
  initialized.regionDescCount = 1;
  initialized.regionDescElementSize = sizeof ranges[0];
  initialized.regionDescElements = &ranges[1];
  nvtxMemCudaMarkInitialized(domain, NULL, 0, &initialized);
  const nvtxMemRegionRef_t second = {.handle = handles[1]};
  nameRegion(domain, NVTX_MEM_REGION_REF_TYPE_HANDLE, second, "table of sines");
  nvtxMemCudaArrayRangeDesc_t longer = ranges[1];
  longer.extent[0] = 24;
  resizeArray(domain, &longer);
  nvtxMemRegionRef_t gone[2];
  gone[0].handle = handles[0];
  gone[1].handle = handles[1];
  unregisterRegions(domain, NVTX_MEM_REGION_REF_TYPE_HANDLE, gone, 2);
}

/* With an argument: one array in the default domain, and nothing else. */
int main(int argc, char** argv) {
  (void)argv;
  if (argc > 1) {
    const nvtxMemCudaArrayRangeDesc_t array = {NVTX_EXT_COMPATID_MEM, sizeof array, 0,
                                               (cudaArray_t)0x2000,   {8, 0, 0},    {16, 1, 1}};
    resizeArray(NULL, &array);
    return 0;
  }
  static char room[4096];
  const nvtxDomainHandle_t domain = nvtxDomainCreateA("corners");
  nested(domain);
  unions(domain);
  displaced(domain);
  wide(domain);
  deferred(domain);
  memory(domain, room);
  cudaPermissions(domain, room);
  cudaArrays(domain);
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
