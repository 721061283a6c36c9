/* SPDX-FileCopyrightText: The Lacuna authors
 * SPDX-License-Identifier: Apache-2.0 */

/* kill_program LEDGER [threads=N] [deep=N] [pause=N] [life=N] [most=N] [children=N] [code=N]
 *
 * Emits numbered events from several threads and processes, and counts them in the file LEDGER,
 * each after its call has returned. The killer reads there how much it had emitted. The steps of a
 * thread follow from their number alone: `deep` ranges that stay open, then cycles of eight steps
 * (see step()). expected.py has the same rule.
 *
 * threads: those that emit at a time. pause: loops between two steps. life: cycles after which a
 * thread or a child ends and another begins, 0 for none. most: steps of a thread. children: forked
 * processes that emit at a time. Ends with `code` when LEDGER wants it to stop. Compiled with
 * SILENT it counts and emits nothing. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef SILENT
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCounters.h>
#endif

enum { kPlainNames = 61, kSteps = 8 };

typedef struct Line {
  uint32_t pid, tid;
  _Atomic uint64_t done; /* steps whose calls have returned */
  uint64_t unused[6];
} Line;

typedef struct Ledger {
  _Atomic uint32_t used;
  _Atomic uint32_t stop;
  uint64_t unused[7];
  Line lines[];
} Ledger;

static Ledger* ledger;
static uint32_t lineCount;
static long threads = 1, deep, pauseLoops, life, most, children, code;

#ifdef SILENT

typedef uint64_t Across;

static void declare(void) {}

static uint64_t declareCounter(uint32_t tid) {
  return tid;
}

static void pushBase(uint64_t number) {
  (void)number;
}

static void step(uint64_t cycle, unsigned which, uint64_t counter, Across* across) {
  (void)cycle, (void)which, (void)counter, (void)across;
}

#else

typedef nvtxRangeId_t Across;

static nvtxDomainHandle_t domain;
static nvtxStringHandle_t baseName, outerName, markName, acrossName, plainNames[kPlainNames];

static nvtxEventAttributes_t event(nvtxStringHandle_t name, uint64_t payload) {
  nvtxEventAttributes_t made = {0};
  made.version = NVTX_VERSION;
  made.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  made.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  made.message.registered = name;
  made.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
  made.payload.ullValue = payload;
  return made;
}

static uint64_t declareCounter(uint32_t tid) {
  char name[32];
  snprintf(name, sizeof name, "count %u", tid);
  nvtxCounterAttr_t counter = {0};
  counter.structSize = sizeof counter;
  counter.schemaId = NVTX_PAYLOAD_ENTRY_TYPE_INT64;
  counter.name = name;
  return nvtxCounterRegister(domain, &counter);
}

static void declare(void) {
  domain = nvtxDomainCreateA("kills");
  baseName = nvtxDomainRegisterStringA(domain, "base");
  outerName = nvtxDomainRegisterStringA(domain, "outer");
  markName = nvtxDomainRegisterStringA(domain, "mark");
  acrossName = nvtxDomainRegisterStringA(domain, "across");
  for (int i = 0; i < kPlainNames; ++i) {
    char text[16];
    snprintf(text, sizeof text, "plain %d", i);
    plainNames[i] = nvtxDomainRegisterStringA(domain, text);
  }
  nvtxDomainNameCategoryA(domain, 1, "outermost");
  /* NVTX's headers find the counters when the first is declared. A child that was forked meanwhile
   * would wait for ever.
   */
  declareCounter(0);
}

static void pushBase(uint64_t number) {
  const nvtxEventAttributes_t base = event(baseName, number);
  nvtxDomainRangePushEx(domain, &base);
}

static void pushOuter(uint64_t cycle) {
  nvtxEventAttributes_t outer = event(outerName, cycle);
  outer.category = 1;
  outer.colorType = NVTX_COLOR_ARGB;
  outer.color = 0xff000000u | (uint32_t)(cycle & 0xffffff);
  nvtxDomainRangePushEx(domain, &outer);
}

static void mark(uint64_t cycle) {
  nvtxEventAttributes_t made = event(markName, 0);
  made.payloadType = NVTX_PAYLOAD_TYPE_INT64;
  made.payload.llValue = -1 - (int64_t)cycle;
  nvtxDomainMarkEx(domain, &made);
}

/* Nothing but a name. */
static void pushPlain(uint64_t cycle) {
  nvtxEventAttributes_t plain = event(plainNames[cycle % kPlainNames], 0);
  plain.payloadType = NVTX_PAYLOAD_UNKNOWN;
  nvtxDomainRangePushEx(domain, &plain);
}

static void step(uint64_t cycle, unsigned which, uint64_t counter, Across* across) {
  switch (which) {
    case 0:
      pushOuter(cycle);
      return;
    case 1:
      mark(cycle);
      return;
    case 2:
      pushPlain(cycle);
      return;
    case 3:
      nvtxCounterSampleInt64(domain, counter, (int64_t)cycle);
      return;
    case 5: {
      const nvtxEventAttributes_t started = event(acrossName, cycle);
      *across = nvtxDomainRangeStartEx(domain, &started);
      return;
    }
    case 7:
      nvtxDomainRangeEnd(domain, *across);
      return;
    default: /* 4 ends the plain range, 6 the outer one */
      nvtxDomainRangePop(domain);
  }
}

#endif

static int wantsToStop(void) {
  return atomic_load_explicit(&ledger->stop, memory_order_relaxed) != 0;
}

static void untilStopped(void) {
  const struct timespec moment = {0, 200000};
  while (!wantsToStop()) nanosleep(&moment, NULL);
}

/* All steps of the calling thread, on a line of its own. False when there is no line left. */
static int emit(long cycles) {
  const uint32_t index = atomic_fetch_add(&ledger->used, 1);
  if (index >= lineCount) return 0;
  Line* line = &ledger->lines[index];
  line->tid = (uint32_t)syscall(SYS_gettid);
  line->pid = (uint32_t)getpid();
  const uint64_t counter = declareCounter(line->tid);
  const uint64_t limit = most > 0 ? (uint64_t)most : UINT64_MAX;
  const uint64_t last = cycles > 0 ? (uint64_t)deep + (uint64_t)cycles * kSteps : UINT64_MAX;
  Across across = 0;
  for (uint64_t n = 0; n < last && n < limit && !wantsToStop(); ++n) {
    const uint64_t after = n - (uint64_t)deep;
    if (n < (uint64_t)deep) {
      pushBase(n);
    } else {
      step(after / kSteps, after % kSteps, counter, &across);
    }
    atomic_store_explicit(&line->done, n + 1, memory_order_release);
    for (volatile long i = 0; i < pauseLoops; ++i) {
    }
  }
  if (cycles == 0) untilStopped();
  return 1;
}

static void* shortLife(void* unused) {
  emit(life);
  return unused;
}

/* Lives of threads, one after the other. */
static void* worker(void* unused) {
  if (life == 0 || children > 0) {
    emit(0);
    return unused;
  }
  while (!wantsToStop() && atomic_load(&ledger->used) < lineCount) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, shortLife, NULL) != 0) break;
    pthread_join(thread, NULL);
  }
  untilStopped();
  return unused;
}

static void forkChildren(void) {
  long alive = 0;
  while (!wantsToStop() || alive > 0) {
    if (!wantsToStop() && alive < children && atomic_load(&ledger->used) < lineCount) {
      const pid_t child = fork();
      if (child == 0) {
        emit(life);
        _exit(0);
      }
      alive += child > 0;
    }
    const struct timespec moment = {0, 200000};
    nanosleep(&moment, NULL);
    while (alive > 0 && waitpid(-1, NULL, WNOHANG) > 0) --alive;
  }
}

static void readOption(const char* word) {
  const struct {
    const char* name;
    long* value;
  } known[] = {{"threads=", &threads}, {"deep=", &deep}, {"pause=", &pauseLoops},
               {"life=", &life},       {"most=", &most}, {"children=", &children},
               {"code=", &code}};
  for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
    const size_t length = strlen(known[i].name);
    if (strncmp(word, known[i].name, length) == 0)
      *known[i].value = strtol(word + length, NULL, 10);
  }
}

static int openLedger(const char* path) {
  struct stat there;
  const int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0 || fstat(file, &there) != 0) return 0;
  ledger = mmap(NULL, (size_t)there.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  lineCount = (uint32_t)(((size_t)there.st_size - sizeof(Ledger)) / sizeof(Line));
  close(file);
  return ledger != MAP_FAILED;
}

int main(int argc, char** argv) {
  for (int i = 2; i < argc; ++i) readOption(argv[i]);
  if (argc < 2 || threads < 1 || threads > 64 || !openLedger(argv[1])) {
    fprintf(
        stderr,
        "usage: %s LEDGER [threads=N] [deep=N] [pause=N] [life=N] [most=N] [children=N] [code=N]\n",
        argv[0]);
    return 2;
  }
  declare();
  pthread_t all[64];
  for (long i = 0; i < threads; ++i) pthread_create(&all[i], NULL, worker, NULL);
  if (children > 0) forkChildren();
  for (long i = 0; i < threads; ++i) pthread_join(all[i], NULL);
  return (int)code;
}
