/* SPDX-FileCopyrightText: The Lacuna authors
 * SPDX-License-Identifier: Apache-2.0 */

/* A program with signals of its own: handles SIGPROF, SIGURG and every real-time signal but
 * `signal_program FREE` of them. It computes for a while. It ends with 0 when every signal that it
 * sent came, and no other. `rude` as a second argument: sends itself signals that it does not
 * handle, and ends by the last. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "linger.h"

static volatile sig_atomic_t came[128];
static void onSignal(int number) {
  ++came[number];
}

static _Thread_local volatile unsigned long spun;
__attribute__((noinline)) void signalSpin(double ms) {
  struct timespec time;
  double end = 0, now = 0;
  do {
    for (int i = 0; i < 10000; ++i) spun = spun * 3 + 1;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    now = (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
    if (end == 0) end = now + ms;
  } while (now < end);
}

/* As runtimes do it: the child shares this process's memory while it puts every handler back. */
static void spawn(void) {
  const pid_t child = vfork();
  if (child == 0) {
    for (int number = 1; number <= SIGRTMAX; ++number) signal(number, SIG_DFL);
    execl("/bin/true", "true", (char*)NULL);
    _exit(1);
  }
  waitpid(child, NULL, 0);
}

static void* worker(void* unused) {
  signalSpin(100);
  return unused;
}

int main(int argc, char** argv) {
  const int spare = argc > 1 ? atoi(argv[1]) : 0;
  if (argc > 2 && strcmp(argv[2], "rude") == 0) {
    /* Those that a library in here would most likely choose for itself, one after the other. */
    raise(SIGURG);
    signal(SIGURG, onSignal);
    signalSpin(20);
    raise(SIGRTMAX - 1);
    return 9;
  }
  pthread_t early, late;
  pthread_create(&early, NULL, worker, NULL);
  signalSpin(50);
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = onSignal;
  sigaction(SIGPROF, &action, NULL);
  sigaction(SIGURG, &action, NULL);
  spawn();
  for (int number = SIGRTMIN + spare; number <= SIGRTMAX; ++number) {
    /* Both ways to ask for one. */
    if (number % 2 == 0) {
      sigaction(number, &action, NULL);
    } else {
      signal(number, onSignal);
    }
  }
  pthread_create(&late, NULL, worker, NULL);
  signalSpin(100);
  pthread_join(early, NULL);
  pthread_join(late, NULL);
  linger();
  for (int number = 1; number <= SIGRTMAX; ++number) {
    if (came[number] != 0) return printf("a stray signal %d\n", number), 1;
  }
  for (int number = SIGRTMIN + spare; number <= SIGRTMAX; ++number) {
    raise(number);
    if (came[number] != 1) return printf("signal %d came %d times\n", number, (int)came[number]), 2;
  }
  return 0;
}
