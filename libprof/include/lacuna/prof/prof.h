/* SPDX-FileCopyrightText: The Lacuna authors
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef LACUNA_PROF_PROF_H
#define LACUNA_PROF_PROF_H

#include <stddef.h>
#include <stdint.h>

/* The recording part of libprof, as C. It lives inside the program that is recorded.
 *
 * Contract
 * - Every call is safe from any thread, before main, after fork, and while nothing records. When
 * nothing records, a call is one branch. Nothing here prints, throws, exits, or reports failure to
 * the program's logic: what could not be recorded is counted, and the count is in the trace.
 * - Recording a range, mark, counter, allocation or flow takes no lock, no system call and no heap
 * memory. The exceptions are rare: a thread's first event, a full segment (every 4,092 records),
 * and a name seen for the first time.
 * - An event whose call has returned is in the recording, whatever happens to the process next
 * (SIGKILL included).
 * - Not async-signal-safe: a signal handler must not record on a thread that it may have
 * interrupted while recording.
 * - Names are copied when first seen and are limited to 4,095 bytes. A name id stays valid for the
 * life of the process and in its forked children, over any number of recordings.
 */

#ifdef LACUNA_PROF_EMBEDDED /* linked into a library that keeps its own, private recorder */
#define LACUNA_PROF_API __attribute__((visibility("hidden")))
#else
#define LACUNA_PROF_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- recording on and off
 * ------------------------------------------------------------------------------------- */

/* Joins the recording in `directory`; NULL takes it from the environment variable LACUNA_RECORDING.
 * Does nothing when this process records already. A process that has LACUNA_RECORDING set joins by
 * itself when the library is loaded. A forked child joins the recording of its parent with its
 * first event. Returns 0, or a negative errno, such as:
 * - -ENOENT: there is no such recording, or none is named.
 * - -ENOSPC: there is no room for the segments anywhere.
 * - -EPERM: the program runs with other rights than its caller's (set-uid, set-gid or file
 * capabilities). It joins a recording that it names itself, never one that its environment names.
 * - -EPROTONOSUPPORT: another version of Lacuna made the recording.
 * - Others, such as -EACCES, as the system returned them. */
LACUNA_PROF_API int lacunaAttach(const char* directory);
/* Stops recording in this process. Events whose calls returned before stay in the recording. */
LACUNA_PROF_API void lacunaDetach(void);
/* 1 while this process records. */
LACUNA_PROF_API int lacunaIsRecording(void);
/* Events that this process could not record since it joined. A range is one event. Some may yet
 * become rows of the trace: a range that is still open, or one whose end the ring of a flight
 * recorder still holds. */
LACUNA_PROF_API uint64_t lacunaDropped(void);

/* ---- names
 * -----------------------------------------------------------------------------------------------------
 */

/* A text, or a site (a text with its domain, category and colour), known to the recorder. 0 is the
 * empty text. */
typedef uint32_t LacunaName;

/* The id of a text. The same text has the same id. Costs a hash of the text; keep the id where it
 * is hot. Works whether or not anything records. When the table of names is full (16 MiB of texts)
 * the id of "(too many names)" comes back.
 */
LACUNA_PROF_API LacunaName lacunaName(const char* text);
/* The same for `length` bytes, which need not end in a 0. */
LACUNA_PROF_API LacunaName lacunaNameN(const char* text, size_t length);
/* A name that carries its domain, category and colour (0xAARRGGBB, 0 for none), so that a range
 * with all of them takes no more room than one without. Use it wherever a name is expected. */
LACUNA_PROF_API LacunaName lacunaSite(LacunaName name, LacunaName domain, LacunaName category,
                                      uint32_t colour);

/* ---- ranges and marks
 * -------------------------------------------------------------------------------------------- */

enum LacunaPayload {
  LacunaPayloadNone,
  LacunaPayloadU64,
  LacunaPayloadI64,
  LacunaPayloadF64,
  LacunaPayloadU32,
  LacunaPayloadI32,
  LacunaPayloadF32
};

/* Everything a range or a mark can carry. Zero what is not used. `domain` must be a text, not a
 * site. */
typedef struct LacunaEvent {
  LacunaName name;
  LacunaName domain;
  LacunaName category;
  LacunaName text; /* details, a text */
  uint32_t colour;
  uint32_t payloadType; /* enum LacunaPayload */
  uint64_t payload;     /* the bits of the payload */
  uint64_t correlation; /* joins a range to what it started; 0 for nothing */
} LacunaEvent;

/* Opens a range on this thread. `name` is a text, or a site without a domain. */
static inline void lacunaRangePush(LacunaName name);
/* Closes the innermost open range of this thread that is in no domain. */
static inline void lacunaRangePop(void);
/* The same for a range in a domain (a text): each domain nests by itself. `name` is a text or a
 * site. */
static inline void lacunaDomainRangePush(LacunaName domain, LacunaName name);
static inline void lacunaDomainRangePop(LacunaName domain);
/* The same with all that a range can carry; closed by lacunaDomainRangePop(event->domain). The call
 * reads everything that `event` points to before it returns, here and below. */
LACUNA_PROF_API void lacunaRangePushEvent(const LacunaEvent* event);
/* A range that any thread of this process may end, and that need not nest. The result is unique in
 * the process; 0 when nothing records. */
LACUNA_PROF_API uint64_t lacunaRangeStart(const LacunaEvent* event);
/* Ends it, once. 0 is nothing to end. */
LACUNA_PROF_API void lacunaRangeEnd(uint64_t range);

/* A moment on this thread. `name` is a text or a site. */
static inline void lacunaMark(LacunaName name);
LACUNA_PROF_API void lacunaMarkEvent(const LacunaEvent* event);

/* ---- counters, memory, flows, threads, lines
 * --------------------------------------------------------------------- */

/* Declares a counter of this process and returns its number, for lacunaCounter. The same name gives
 * the same number. */
LACUNA_PROF_API uint32_t lacunaCounterTrack(LacunaName name, LacunaName unit);
/* `value` holds from now on. */
LACUNA_PROF_API void lacunaCounter(uint32_t track, double value);

/* Memory handed out and given back on the host: the free of an address belongs to the last
 * allocation there. `role` is a MemoryRole of lacuna/prof/events.h; `name` may be 0. */
LACUNA_PROF_API void lacunaAllocate(uint64_t address, uint64_t bytes, LacunaName name,
                                    uint8_t role);
LACUNA_PROF_API void lacunaFree(uint64_t address);

enum LacunaFlowPhase { LacunaFlowBegin, LacunaFlowStep, LacunaFlowEnd };
/* A point of an arrow between threads; points of one arrow share `id` within name and category. */
LACUNA_PROF_API void lacunaFlow(uint64_t id, enum LacunaFlowPhase phase, LacunaName name,
                                LacunaName category);

/* Names the calling thread. Works while nothing records too: the name is kept. */
LACUNA_PROF_API void lacunaThreadName(LacunaName name);
/* A line of text. `level`: 0 debug, 1 information, 2 warning, 3 error. `source` names the writer.
 */
LACUNA_PROF_API void lacunaLog(uint8_t level, LacunaName source, LacunaName text);

/* ---- what the inline functions are made of; not for direct use
 * -----------------------------------------------------
 */

enum LacunaRecordKind {
  LacunaRecordPush = 1,
  LacunaRecordPop = 2,
  LacunaRecordMark = 3,
};

/* Where the thread writes next, and the recording that it belongs to. A segment ends where the
 * cursor is a multiple of its size. 16 bytes of initial-exec TLS, so that an access is one
 * instruction. */
struct LacunaThread {
  uintptr_t cursor;
  uint64_t epoch;
};
#define LACUNA_SEGMENT_BYTES ((uintptr_t)65536)

extern LACUNA_PROF_API __thread struct LacunaThread lacunaThread_
    __attribute__((tls_model("initial-exec")));
/* NULL while nothing records; otherwise the number of the recording, on a page that a fork wipes
 * and that stays. */
extern LACUNA_PROF_API const uint64_t* lacunaGate_;
LACUNA_PROF_API void lacunaPutSlow_(uint64_t word);

/* Writes a record of one slot where the thread's segment has room for it, behind an open gate. 0:
 * it is for lacunaPutSlow_. */
static inline int lacunaTryPut_(const uint64_t* gate, uint64_t word) {
#ifdef __x86_64__
  uintptr_t cursor = lacunaThread_.cursor;
  if (__builtin_expect(lacunaThread_.epoch == __atomic_load_n(gate, __ATOMIC_RELAXED), 1) &&
      __builtin_expect((cursor & (LACUNA_SEGMENT_BYTES - 1)) != 0, 1)) {
    uint64_t* slot = (uint64_t*)cursor;
    lacunaThread_.cursor = cursor + 16;
    slot[1] = word;
    /* The stamp commits the record: a reader that sees it sees the word before it. */
    __atomic_store_n(slot, __builtin_ia32_rdtsc(), __ATOMIC_RELEASE);
    return 1;
  }
#else
  (void)gate;
  (void)word;
#endif
  return 0;
}

static inline void lacunaPut_(const uint64_t* gate, uint64_t word) {
  if (gate == NULL) return;
  if (!lacunaTryPut_(gate, word)) lacunaPutSlow_(word);
}

static inline const uint64_t* lacunaOpenGate_(void) {
  return __atomic_load_n(&lacunaGate_, __ATOMIC_RELAXED);
}

static inline uint64_t lacunaWord_(uint64_t kind, uint64_t domain, uint64_t name) {
  return kind << 56 | (domain & 0xffffff) << 32 | name;
}

static inline void lacunaRangePush(LacunaName name) {
  lacunaPut_(lacunaOpenGate_(), lacunaWord_(LacunaRecordPush, 0, name));
}
static inline void lacunaRangePop(void) {
  lacunaPut_(lacunaOpenGate_(), lacunaWord_(LacunaRecordPop, 0, 0));
}
static inline void lacunaDomainRangePush(LacunaName domain, LacunaName name) {
  lacunaPut_(lacunaOpenGate_(), lacunaWord_(LacunaRecordPush, domain, name));
}
static inline void lacunaDomainRangePop(LacunaName domain) {
  lacunaPut_(lacunaOpenGate_(), lacunaWord_(LacunaRecordPop, domain, 0));
}
static inline void lacunaMark(LacunaName name) {
  lacunaPut_(lacunaOpenGate_(), lacunaWord_(LacunaRecordMark, 0, name));
}

#ifdef __cplusplus
}
#endif

#endif
