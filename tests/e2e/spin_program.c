/* SPDX-FileCopyrightText: The Lacuna authors
 * SPDX-License-Identifier: Apache-2.0 */

/* Computes and knows no annotations: spin_program MS, in its first thread, in another named
 * "spinner", and in a forked child, each of which lingers at its end. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "linger.h"

static _Thread_local volatile unsigned long spun;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

__attribute__((noinline)) void spinHot(double ms) {
  const double end = now() + ms;
  while (now() < end) {
    for (int i = 0; i < 100000; ++i) spun = spun * 3 + 1;
  }
}

__attribute__((noinline)) void spinCaller(double ms) {
  spinHot(ms);
  spun = 0;
}

static void* spinner(void* ms) {
  pthread_setname_np(pthread_self(), "spinner");
  spinCaller(*(double*)ms);
  linger();
  return NULL;
}

int main(int argc, char** argv) {
  double ms = argc > 1 ? atof(argv[1]) : 100;
  pthread_t thread;
  pthread_create(&thread, NULL, spinner, &ms);
  spinCaller(ms);
  linger();
  pthread_join(thread, NULL);
  usleep(50000);
  const pid_t child = fork();
  if (child == 0) {
    spinCaller(ms);
    linger();
    _exit(0);
  }
  waitpid(child, NULL, 0);
  return 4;
}
