/* SPDX-FileCopyrightText: The Lacuna authors
 * SPDX-License-Identifier: Apache-2.0 */

/* Ranges that the recording is switched on and off around: window_program MODE [FILE]. The program
 * writes their times by its own clock to spans.txt: NAME START END, where a range lies surely
 * within. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCounters.h>
#include <nvtx3/nvToolsExtSemanticsCounters.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "linger.h"

static void rest(int ms) {
  usleep(1000 * (useconds_t)ms);
}

static long long now(void) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return at.tv_sec * 1000000000LL + at.tv_nsec;
}

static FILE* spans;
static struct {
  char name[32];
  long long start;
} open_[64];
static int depth;

static void push(const char* name) {
  snprintf(open_[depth].name, sizeof open_[depth].name, "%s", name);
  open_[depth++].start = now();
  nvtxRangePushA(name);
}
static void pop(void) {
  nvtxRangePop();
  --depth;
  fprintf(spans, "%s %lld %lld\n", open_[depth].name, open_[depth].start, now());
}

/* $LACUNA names the command. */
static void trigger(const char* what) {
  char command[512];
  snprintf(command, sizeof command, "env -u LACUNA_RECORDING \"$LACUNA\" trigger %d --%s",
           (int)getpid(), what);
  if (system(command) != 0) exit(3);
  rest(20);
}

/* Ranges that are open while recording stops and starts, at any depth. */
static int stops(void) {
  push("begun-on");
  trigger("stop");
  pop();
  rest(20);
  push("begun-off");
  trigger("start");
  pop();
  push("base");
  trigger("stop");
  push("off-in-base");
  trigger("start");
  push("on-in-off");
  trigger("stop");
  push("off-in-on");
  trigger("start");
  push("innermost");
  pop();
  pop();
  push("sibling");
  trigger("stop");
  pop();
  pop();
  trigger("start");
  pop();
  push("last-in-base");
  pop();
  pop();
  const long long before = now();
  const nvtxRangeId_t id = nvtxRangeStartA("anywhere");
  trigger("stop");
  nvtxRangeEnd(id);
  fprintf(spans, "anywhere %lld %lld\n", before, now());
  rest(20);
  trigger("start");
  push("after");
  pop();
  return 0;
}

/* A counter of what is added, with one while recording is off. */
static int counter(void) {
  const nvtxDomainHandle_t domain = nvtxDomainCreateA("window");
  nvtxSemanticsCounter_t delta = {0};
  delta.header.structSize = sizeof delta;
  delta.header.semanticId = NVTX_SEMANTIC_ID_COUNTERS_V1;
  delta.header.version = NVTX_COUNTER_SEMANTIC_VERSION;
  delta.flags = NVTX_COUNTER_FLAG_VALUETYPE_DELTA;
  nvtxCounterAttr_t attributes = {0};
  attributes.structSize = sizeof attributes;
  attributes.schemaId = NVTX_PAYLOAD_ENTRY_TYPE_INT64;
  attributes.name = "added";
  attributes.semantics = &delta.header;
  const uint64_t id = nvtxCounterRegister(domain, &attributes);
  nvtxCounterSampleInt64(domain, id, 1);
  trigger("stop");
  nvtxCounterSampleInt64(domain, id, 2);
  trigger("start");
  nvtxCounterSampleInt64(domain, id, 4);
  return 0;
}

static atomic_int over, fetched;
static void* fetch(void* unused) {
  (void)unused;
  for (int i = 0; !over; ++i) {
    char name[32];
    snprintf(name, sizeof name, "fetch-%d", i);
    const long long start = now();
    nvtxRangePushA(name);
    rest(15);
    nvtxRangePop();
    fprintf(spans, "%s %lld %lld\n", name, start, now());
    ++fetched;
    rest(1);
  }
  return NULL;
}

/* Windows of capture around whose ends another thread has ranges open. */
static int captures(void) {
  nvtxInitialize(NULL);  // else the two threads race for it in NVTX's own header
  pthread_t thread;
  pthread_create(&thread, NULL, fetch, NULL);
  for (int i = 0; i < 10; ++i) {
    nvtxRangePushA("CAP");
    const int before = fetched;
    rest(25);
    /* The other thread may be held up; in the first window it has its turn. */
    while (i == 0 && fetched < before + 3) rest(1);
    nvtxRangePop();
    rest(25);
  }
  over = 1;
  pthread_join(thread, NULL);
  return 0;
}

static void one(const char* name) {
  nvtxRangePushA(name);
  rest(1);
  nvtxRangePop();
}

/* A child closes what its parent has opened, as far as it can. */
static int forkCapture(void) {
  for (int i = 0; i < 5; ++i) {
    nvtxRangePushA("CAP");
    const nvtxRangeId_t id = i % 2 == 1 ? nvtxRangeStartA("CAP") : 0;
    if (i < 2) {
      if (fork() == 0) {
        if (id != 0) nvtxRangeEnd(id);
        nvtxRangePop();
        _exit(0);
      }
      wait(NULL);
    }
    one("inside");
    if (id != 0) nvtxRangeEnd(id);
    nvtxRangePop();
    one("outside");
  }
  return 0;
}

/* The word of the control page that switches recording on and off. */
static uint32_t recording(void) {
  uint32_t on = 1;
  const int fd = open(getenv("LACUNA_CONTROL"), O_RDONLY);
  if (fd < 0 || pread(fd, &on, sizeof on, 8) != sizeof on) exit(4);
  close(fd);
  return on;
}

/* A process ends inside its capture range. */
static int killCapture(void) {
  const pid_t child = fork();
  if (child == 0) {
    nvtxRangePushA("CAP");
    one("inside");
    kill(getpid(), SIGKILL);
  }
  waitpid(child, NULL, 0);
  for (int i = 0; i < 6000 && recording() != 0; ++i) rest(10);
  for (int i = 0; i < 5; ++i) one("outside");
  nvtxRangePushA("CAP");
  one("inside");
  nvtxRangePop();
  one("outside");
  return 0;
}

static void* captureAndLeave(void* unused) {
  (void)unused;
  nvtxRangePushA("CAP");
  one("inside");
  return NULL;
}

/* A thread ends inside its capture range. */
static int threadCapture(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, captureAndLeave, NULL);
  pthread_join(thread, NULL);
  for (int i = 0; i < 5; ++i) one("outside");
  return 0;
}

/* More names than a recording has room for, while nothing is recorded. */
static int manyNames(void) {
  char name[32];
  for (int i = 0; i < 140000; ++i) {
    snprintf(name, sizeof name, "outside-%d", i);
    nvtxRangePushA(name);
    nvtxRangePop();
  }
  nvtxRangePushA("CAP");
  one("inside");
  nvtxRangePop();
  return 0;
}

/* Long enough for a drainer to have looked after it several times, lingering included; with a file,
 * until that is there. */
static int work(const char* file) {
  for (int i = 0; file != NULL ? access(file, F_OK) != 0 && i < 12000 : i < 100; ++i) {
    push("work");
    rest(5);
    pop();
  }
  if (file == NULL) linger();
  return 0;
}

int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "";
  spans = fopen("spans.txt", "w");
  if (spans == NULL) return 2;
  setvbuf(spans, NULL, _IOLBF, 0);
  if (strcmp(mode, "stops") == 0) return stops();
  if (strcmp(mode, "counter") == 0) return counter();
  if (strcmp(mode, "captures") == 0) return captures();
  if (strcmp(mode, "fork-capture") == 0) return forkCapture();
  if (strcmp(mode, "kill-capture") == 0) return killCapture();
  if (strcmp(mode, "thread-capture") == 0) return threadCapture();
  if (strcmp(mode, "many-names") == 0) return manyNames();
  if (strcmp(mode, "work") == 0) return work(argc > 2 ? argv[2] : NULL);
  return 2;
}
