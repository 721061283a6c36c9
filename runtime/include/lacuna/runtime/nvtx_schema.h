// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#ifndef LACUNA_RUNTIME_NVTX_SCHEMA_H
#define LACUNA_RUNTIME_NVTX_SCHEMA_H

/* The data that the runtime reports over NVTX, for any tool. C99 and C++; it needs only <stdint.h>,
 * neither the runtime nor the NVTX headers. docs/nvtx-schema.md explains it, and both change
 * together. LACUNA_RT_SCHEMA_VERSION changes when a meaning does. Fields are only ever appended to
 * a payload, so a reader takes the prefix that it knows and checks the size it was given. A
 * structure holds no padding: every gap has a name.
 *
 * Every payload is registered with the NVTX payload extension under the schema name and the static
 * schema id given here. A field of type STRING holds an nvtxStringHandle_t of the domain (0: none);
 * TIME is CLOCK_MONOTONIC in ns. */

#include <stdint.h>

#define LACUNA_RT_DOMAIN "lacuna.rt"
#define LACUNA_RT_SCHEMA_VERSION 1

/* Categories of the domain: (number, name). Ranges and marks carry them as NVTX categories. */
#define LACUNA_RT_CATEGORIES(CATEGORY) \
  CATEGORY(STEP, 1, "step")            \
  CATEGORY(PHASE, 2, "phase")          \
  CATEGORY(OPERATOR, 3, "operator")    \
  CATEGORY(MODULE, 4, "module")        \
  CATEGORY(LOADER, 5, "loader")        \
  CATEGORY(EXECUTION, 6, "execution")  \
  CATEGORY(MEMORY, 7, "memory")        \
  CATEGORY(SYNC, 8, "sync")            \
  CATEGORY(INFO, 9, "info")

#define LACUNA_RT_CATEGORY_ENUM(name, number, text) LACUNA_RT_CATEGORY_##name = number,
enum LacunaRtCategory { LACUNA_RT_CATEGORIES(LACUNA_RT_CATEGORY_ENUM) };

/* Messages with a fixed meaning. All others (operator names, module paths) are free. */
#define LACUNA_RT_MSG_STEP "step"
#define LACUNA_RT_MSG_PHASE_LOAD "load"
#define LACUNA_RT_MSG_PHASE_FORWARD "forward"
#define LACUNA_RT_MSG_PHASE_BACKWARD "backward"
#define LACUNA_RT_MSG_PHASE_OPTIMIZER "optimizer"
#define LACUNA_RT_MSG_PHASE_SKIPPED \
  "optimizer.skipped" /* a step that was left out: a gradient was infinite */
#define LACUNA_RT_MSG_PHASE_EVALUATION "evaluation"
#define LACUNA_RT_MSG_PHASE_CHECKPOINT "checkpoint"
#define LACUNA_RT_MSG_LOADER_FETCH "fetch"
#define LACUNA_RT_MSG_LOADER_DECODE "decode"
#define LACUNA_RT_MSG_LOADER_AUGMENT "augment"
#define LACUNA_RT_MSG_LOADER_COLLATE "collate"
#define LACUNA_RT_MSG_LOADER_PUT "put"   /* a worker waits for room in the queue of ready batches */
#define LACUNA_RT_MSG_LOADER_WAIT "wait" /* the consumer waits for a batch */
#define LACUNA_RT_MSG_MEMORY "memory"
#define LACUNA_RT_MSG_PLAN_RECORDED \
  "memory.plan.recorded" /* an iteration was recorded and its memory packed */
#define LACUNA_RT_MSG_PLAN_LEFT \
  "memory.plan.left" /* the operator around it asked for what was not recorded */
#define LACUNA_RT_MSG_PLAN_GIVEN_UP \
  "memory.plan.given_up" /* no recording was followed to its end */
#define LACUNA_RT_MSG_STATIC_GRAPH_TRACED \
  "static_graph.traced" /* mark, INFO: later runs launch what this one launched */
#define LACUNA_RT_MSG_STATIC_GRAPH_LEFT \
  "static_graph.left" /* mark, INFO: a run cannot be launched again, or no longer */
#define LACUNA_RT_MSG_HELLO "hello"
#define LACUNA_RT_MSG_QUEUE "queue"
#define LACUNA_RT_MSG_KNOB "knob"
#define LACUNA_RT_MSG_QUEUE_WAIT "queue_wait" /* a queue waits for another one */
#define LACUNA_RT_MSG_LOSS_SCALE \
  "loss_scale" /* mark, INFO; NVTX_PAYLOAD_TYPE_DOUBLE: the factor of losses */

/* Counters (NVTX counters extension, int64): name, static counter id. Loader n of the process uses
 * id + n (n < 256). "loader.queue_depth" counts ready batches, "loader.cpu_time" the nanoseconds
 * that threads computed in its stages so far, of the sampling process; "queue.depth" executions
 * that wait in a queue: id + n for queue n of the device. */
#define LACUNA_RT_COUNTER_ID_BASE 0x1000000u /* NVTX_COUNTER_ID_STATIC_START */
#define LACUNA_RT_COUNTER_LOADER_DEPTH "loader.queue_depth"
#define LACUNA_RT_COUNTER_LOADER_DEPTH_ID (LACUNA_RT_COUNTER_ID_BASE + 0x100u)
#define LACUNA_RT_COUNTER_LOADER_CPU "loader.cpu_time"
#define LACUNA_RT_COUNTER_LOADER_CPU_ID (LACUNA_RT_COUNTER_ID_BASE + 0x300u)
#define LACUNA_RT_COUNTER_QUEUE_DEPTH "queue.depth"
#define LACUNA_RT_COUNTER_QUEUE_DEPTH_ID (LACUNA_RT_COUNTER_ID_BASE + 0x200u)

enum LacunaRtDeviceKind { LACUNA_RT_DEVICE_CPU = 1, LACUNA_RT_DEVICE_CUDA = 2 };

/* Same numbers as the roles of memory in DESIGN's vocabulary. */
enum LacunaRtRole {
  LACUNA_RT_ROLE_OTHER = 0,
  LACUNA_RT_ROLE_PARAMETER = 1,
  LACUNA_RT_ROLE_GRADIENT = 2,
  LACUNA_RT_ROLE_ACTIVATION = 3,
  LACUNA_RT_ROLE_OPTIMIZER = 4,
  LACUNA_RT_ROLE_INPUT = 5,
  LACUNA_RT_ROLE_WORKSPACE = 6,
  LACUNA_RT_ROLE_COMMUNICATION = 7,
  LACUNA_RT_ROLE_CACHED = 8
};

enum LacunaRtMemoryAction {
  LACUNA_RT_MEMORY_ALLOCATE = 0,
  LACUNA_RT_MEMORY_FREE = 1,
  LACUNA_RT_MEMORY_EXTERNAL_ALLOCATE = 2, /* a library's own memory, reported for it */
  LACUNA_RT_MEMORY_EXTERNAL_FREE = 3,
  LACUNA_RT_MEMORY_RESERVE = 4, /* the caching allocator took a segment from the device */
  LACUNA_RT_MEMORY_RELEASE = 5  /* and gave it back */
};

enum LacunaRtDirection {
  LACUNA_RT_DIRECTION_NONE = 0,
  LACUNA_RT_DIRECTION_FORWARD = 1,
  LACUNA_RT_DIRECTION_BACKWARD = 2,
  LACUNA_RT_DIRECTION_OPTIMIZER = 3
};

enum LacunaRtExecutionKind {
  LACUNA_RT_EXECUTION_COMPUTE = 0,
  LACUNA_RT_EXECUTION_COPY = 1,
  LACUNA_RT_EXECUTION_FILL = 2,
  LACUNA_RT_EXECUTION_COMMUNICATION = 3,
  LACUNA_RT_EXECUTION_UPKEEP = 4 /* the runtime's own: memory given back in the queue's order */
};

enum LacunaRtSyncKind {
  LACUNA_RT_SYNC_QUEUE = 0, /* wait until a queue is empty */
  LACUNA_RT_SYNC_ITEM = 1,  /* wait for one value to reach the host */
  LACUNA_RT_SYNC_COPY = 2,  /* wait for a copy to the host */
  LACUNA_RT_SYNC_WAIT = 3,  /* not the host: `queue` waits for `other`, on its own thread */
  LACUNA_RT_SYNC_EVENT = 4  /* wait until a queue has passed a point */
};

/* --- payloads: FIELD(C type, name, NVTX_PAYLOAD_ENTRY_TYPE_ suffix)
 * --------------------------------------------- */

/* Range push, category OPERATOR, message: the operator ("linear", "linear.backward"). On the thread
 * that calls it. */
#define LACUNA_RT_OPERATOR_SCHEMA "lacuna.rt.operator"
#define LACUNA_RT_OPERATOR_SCHEMA_ID 0x1000001u
#define LACUNA_RT_OPERATOR_FIELDS(FIELD)                                                          \
  FIELD(uint64_t, correlation,                                                                    \
        UINT64) /* of the one execution this range itself enqueues; 0: none or by inner ranges */ \
  FIELD(uint64_t, sequence,                                                                       \
        UINT64) /* a forward operator and its backward share it; 0: not differentiated */         \
  FIELD(uint64_t, shapes, NVTX_REGISTERED_STRING_HANDLE) /* STRING "f32[64,784] f32[512,784]" */  \
  FIELD(uint64_t, module,                                                                         \
        NVTX_REGISTERED_STRING_HANDLE) /* STRING path of the module whose forward called it */    \
  FIELD(uint32_t, queue, UINT32)       /* the queue that it enqueues to */                        \
  FIELD(uint32_t, direction, UINT32)   /* LacunaRtDirection */

/* Range push, category EXECUTION, message: what runs. On the thread of the queue: a kernel of the
 * CPU device. */
#define LACUNA_RT_EXECUTION_SCHEMA "lacuna.rt.execution"
#define LACUNA_RT_EXECUTION_SCHEMA_ID 0x1000002u
#define LACUNA_RT_EXECUTION_FIELDS(FIELD)                                                           \
  FIELD(uint64_t, correlation,                                                                      \
        UINT64)                     /* unique in the process; the operator range has the same */    \
  FIELD(uint64_t, sequence, UINT64) /* rises from 1 within the queue */                             \
  FIELD(int64_t, enqueueStartNs, INT64) /* TIME the launch call: entered (0: runs in it) … */     \
  FIELD(int64_t, enqueueEndNs, INT64) /* TIME … and left (later only where it waited for room) */ \
  FIELD(uint32_t, enqueueThread,                                                                    \
        TID_UINT32) /* the operating system's id of the thread that enqueued it */                  \
  FIELD(uint32_t, queue, UINT32)                                                                    \
  FIELD(uint32_t, kind, UINT32)     /* LacunaRtExecutionKind */                                     \
  FIELD(uint32_t, reserved, UINT32) /* 0 */                                                         \
  FIELD(uint64_t, bytes, UINT64)    /* memory it must touch at least; 0: not known */               \
  FIELD(uint64_t, flops, UINT64)    /* arithmetic it must do at least; 0: not known */

/* Mark, category MEMORY, message LACUNA_RT_MSG_MEMORY. On the thread that asks: memory is ordered
 * by the queue, so an allocation is valid for executions after `sequence`, and a free takes effect
 * behind execution `sequence`. */
#define LACUNA_RT_MEMORY_SCHEMA "lacuna.rt.memory"
#define LACUNA_RT_MEMORY_SCHEMA_ID 0x1000003u
#define LACUNA_RT_MEMORY_FIELDS(FIELD)                                                       \
  FIELD(uint64_t, address, ADDRESS)                                                          \
  FIELD(uint64_t, bytes, UINT64)                                                             \
  FIELD(uint64_t, sequence, UINT64) /* the last execution enqueued to `queue` before this */ \
  FIELD(uint64_t, op, NVTX_REGISTERED_STRING_HANDLE)     /* STRING operator that asked */    \
  FIELD(uint64_t, tensor, NVTX_REGISTERED_STRING_HANDLE) /* STRING name, where it has one */ \
  FIELD(uint32_t, queue, UINT32)                                                             \
  FIELD(uint8_t, action, UINT8) /* LacunaRtMemoryAction */                                   \
  FIELD(uint8_t, role, UINT8)   /* LacunaRtRole */                                           \
  FIELD(uint16_t, reserved, UINT16)

/* Range push, category STEP, message LACUNA_RT_MSG_STEP. */
#define LACUNA_RT_STEP_SCHEMA "lacuna.rt.step"
#define LACUNA_RT_STEP_SCHEMA_ID 0x1000004u
#define LACUNA_RT_STEP_FIELDS(FIELD)            \
  FIELD(uint64_t, index, UINT64)   /* from 0 */ \
  FIELD(uint64_t, samples, UINT64) /* batch size; 0: not known */

/* Range push, category LOADER, one of LACUNA_RT_MSG_LOADER_…: by workers, and `wait` by the
 * consumer. */
#define LACUNA_RT_LOADER_SCHEMA "lacuna.rt.loader"
#define LACUNA_RT_LOADER_SCHEMA_ID 0x1000005u
#define LACUNA_RT_LOADER_FIELDS(FIELD)                                                \
  FIELD(uint64_t, batch, UINT64)  /* number of the batch, from 0, over all epochs */  \
  FIELD(uint64_t, bytes, UINT64)  /* size of what the stage works on; 0: not known */ \
  FIELD(uint32_t, loader, UINT32) /* number of the loader in the process, from 0 */   \
  FIELD(int32_t, worker, INT32)   /* -1: the consumer itself (serial mode, and `wait`) */

/* Range push, category SYNC, message: the call ("item", "synchronize", …), or
 * LACUNA_RT_MSG_QUEUE_WAIT. On the waiting thread. */
#define LACUNA_RT_SYNC_SCHEMA "lacuna.rt.sync"
#define LACUNA_RT_SYNC_SCHEMA_ID 0x1000006u
#define LACUNA_RT_SYNC_FIELDS(FIELD)                                                     \
  FIELD(uint64_t, sequence, UINT64) /* the execution waited for */                       \
  FIELD(uint32_t, queue, UINT32)    /* its queue, or the one that waits for it */        \
  FIELD(uint32_t, kind, UINT32)     /* LacunaRtSyncKind */                               \
  FIELD(uint32_t, other, UINT32)    /* of a queue's wait: the queue of that execution */ \
  FIELD(uint32_t, reserved, UINT32) /* 0 */

/* Mark, category INFO, message LACUNA_RT_MSG_HELLO: once, before every other event. */
#define LACUNA_RT_HELLO_SCHEMA "lacuna.rt.hello"
#define LACUNA_RT_HELLO_SCHEMA_ID 0x1000007u
#define LACUNA_RT_HELLO_FIELDS(FIELD)                             \
  FIELD(uint32_t, version, UINT32) /* LACUNA_RT_SCHEMA_VERSION */ \
  FIELD(uint32_t, pid, PID_UINT32)

/* Mark, category INFO, message LACUNA_RT_MSG_QUEUE: once per queue, before its first execution. */
#define LACUNA_RT_QUEUE_SCHEMA "lacuna.rt.queue"
#define LACUNA_RT_QUEUE_SCHEMA_ID 0x1000008u
#define LACUNA_RT_QUEUE_FIELDS(FIELD)                                             \
  FIELD(uint64_t, name, NVTX_REGISTERED_STRING_HANDLE) /* STRING "cpu:0 queue" */ \
  FIELD(uint64_t, memoryBytes, UINT64)                 /* of the device */        \
  FIELD(uint32_t, queue, UINT32)                                                  \
  FIELD(uint32_t, device, UINT32)     /* index among devices of its kind */       \
  FIELD(uint32_t, deviceKind, UINT32) /* LacunaRtDeviceKind */                    \
  FIELD(uint32_t, thread, TID_UINT32) /* that works it off; 0: none */            \
  FIELD(uint32_t, cores, UINT32)      /* threads an execution may use */          \
  FIELD(uint32_t, reserved, UINT32)

/* Mark, category INFO, message LACUNA_RT_MSG_KNOB: a setting of the run, as the flags and findings
 * call it. */
#define LACUNA_RT_KNOB_SCHEMA "lacuna.rt.knob"
#define LACUNA_RT_KNOB_SCHEMA_ID 0x1000009u
#define LACUNA_RT_KNOB_FIELDS(FIELD)                                                  \
  FIELD(uint64_t, name, NVTX_REGISTERED_STRING_HANDLE)  /* STRING "loader.workers" */ \
  FIELD(uint64_t, value, NVTX_REGISTERED_STRING_HANDLE) /* STRING "4" */

/* All payloads: (struct, FIELDS macro, schema name, schema id). */
#define LACUNA_RT_PAYLOADS(PAYLOAD)                                                             \
  PAYLOAD(LacunaRtOperator, LACUNA_RT_OPERATOR_FIELDS, LACUNA_RT_OPERATOR_SCHEMA,               \
          LACUNA_RT_OPERATOR_SCHEMA_ID)                                                         \
  PAYLOAD(LacunaRtExecution, LACUNA_RT_EXECUTION_FIELDS, LACUNA_RT_EXECUTION_SCHEMA,            \
          LACUNA_RT_EXECUTION_SCHEMA_ID)                                                        \
  PAYLOAD(LacunaRtMemory, LACUNA_RT_MEMORY_FIELDS, LACUNA_RT_MEMORY_SCHEMA,                     \
          LACUNA_RT_MEMORY_SCHEMA_ID)                                                           \
  PAYLOAD(LacunaRtStep, LACUNA_RT_STEP_FIELDS, LACUNA_RT_STEP_SCHEMA, LACUNA_RT_STEP_SCHEMA_ID) \
  PAYLOAD(LacunaRtLoader, LACUNA_RT_LOADER_FIELDS, LACUNA_RT_LOADER_SCHEMA,                     \
          LACUNA_RT_LOADER_SCHEMA_ID)                                                           \
  PAYLOAD(LacunaRtSync, LACUNA_RT_SYNC_FIELDS, LACUNA_RT_SYNC_SCHEMA, LACUNA_RT_SYNC_SCHEMA_ID) \
  PAYLOAD(LacunaRtHello, LACUNA_RT_HELLO_FIELDS, LACUNA_RT_HELLO_SCHEMA,                        \
          LACUNA_RT_HELLO_SCHEMA_ID)                                                            \
  PAYLOAD(LacunaRtQueue, LACUNA_RT_QUEUE_FIELDS, LACUNA_RT_QUEUE_SCHEMA,                        \
          LACUNA_RT_QUEUE_SCHEMA_ID)                                                            \
  PAYLOAD(LacunaRtKnob, LACUNA_RT_KNOB_FIELDS, LACUNA_RT_KNOB_SCHEMA, LACUNA_RT_KNOB_SCHEMA_ID)

#define LACUNA_RT_DECLARE_FIELD(type, name, nvtxType) type name;
#define LACUNA_RT_DECLARE_PAYLOAD(Name, FIELDS, schemaName, schemaId) \
  typedef struct Name {                                               \
    FIELDS(LACUNA_RT_DECLARE_FIELD)                                   \
  } Name;
LACUNA_RT_PAYLOADS(LACUNA_RT_DECLARE_PAYLOAD)

/* --- complete operators: an NVTX extension module
 * ----------------------------------------------------------------- */

/* NVTX offers this module to a tool as it offers its own extensions: through
 * InitializeInjectionNvtxExtension. A tool that fills all slots gets one call for a small operator
 * that runs on the calling thread, when the operator is over. The call stands for the operator's
 * range, the execution's range and the mark of its allocation. Other memory comes without the mark
 * around it. A tool that does not know the module gets everything as ranges and marks. */
#define LACUNA_RT_MODULE_ID 0x4c52u
#define LACUNA_RT_MODULE_COMPAT_ID 1u

enum LacunaRtSlot {
  LACUNA_RT_SLOT_STAMP = 0, /* uint64_t (*)(void): the tool's clock, which rises and is never 0 */
  LACUNA_RT_SLOT_COMPLETE = 1, /* void (*)(nvtxDomainHandle_t, const LacunaRtComplete*) */
  LACUNA_RT_SLOT_MEMORY = 2,   /* void (*)(nvtxDomainHandle_t, const LacunaRtMemory*) */
  LACUNA_RT_SLOTS = 3
};

/* Times are the tool's stamps. A stamp of 0 is of a moment still to come: then other events came in
 * between, and the ranges that have begun end later, with pops. An allocation belongs to the moment
 * before `startStamp`. */
typedef struct LacunaRtComplete {
  uint64_t size; /* of this structure; it may grow */
  uint64_t beginStamp, startStamp, stopStamp,
      endStamp;                 /* the operator's, the execution's two, the operator's */
  uint64_t name, executionName; /* STRING messages of the two ranges */
  uint64_t hasMemory;           /* 1: `memory` holds an allocation */
  LacunaRtOperator op;
  LacunaRtExecution execution;
  LacunaRtMemory memory;
} LacunaRtComplete;

#endif
