/* SPDX-FileCopyrightText: The Lacuna authors
 * SPDX-License-Identifier: Apache-2.0 */

/* soak_program THREADS SECONDS RANGES_PER_SECOND: ranges of a registered string, from each thread
 * so many a second, or as fast as it can with 0. Prints how many there were in all. */
#define _GNU_SOURCE
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double seconds, rate;
static nvtxDomainHandle_t domain;
static nvtxEventAttributes_t event;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void sleepUntil(double moment) {
  const double left = moment - now();
  if (left <= 0) return;
  const struct timespec pause = {(time_t)left, (long)((left - (double)(time_t)left) * 1e9)};
  nanosleep(&pause, NULL);
}

static void* emit(void* count) {
  const double start = now();
  long emitted = 0;
  double elapsed = 0;
  while ((elapsed = now() - start) < seconds) {
    for (int i = 0; i < 500; ++i) {
      nvtxDomainRangePushEx(domain, &event);
      nvtxDomainRangePop(domain);
    }
    emitted += 500;
    if (rate > 0) sleepUntil(start + (double)emitted / rate);
  }
  *(long*)count = emitted;
  return NULL;
}

int main(int argc, char** argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: %s THREADS SECONDS RANGES_PER_SECOND\n", argv[0]);
    return 2;
  }
  const int threads = atoi(argv[1]);
  seconds = atof(argv[2]);
  rate = atof(argv[3]);
  domain = nvtxDomainCreateA("soak");
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  event.message.registered = nvtxDomainRegisterStringA(domain, "soaking");
  pthread_t* all = calloc((size_t)threads, sizeof *all);
  long* counts = calloc((size_t)threads, sizeof *counts);
  const double start = now();
  for (int i = 0; i < threads; ++i) pthread_create(&all[i], NULL, emit, &counts[i]);
  long sum = 0;
  for (int i = 0; i < threads; ++i) {
    pthread_join(all[i], NULL);
    sum += counts[i];
  }
  printf("%ld %.3f\n", sum, now() - start);
  return 0;
}
