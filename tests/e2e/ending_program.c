/* SPDX-FileCopyrightText: The Lacuna authors
 * SPDX-License-Identifier: Apache-2.0 */

/* Records ranges, and ends in the way that the first argument names. The second argument is the CPU
 * time, in milliseconds, that the ending part computes. This part is the thread that calls exit,
 * the child, the daemon, or the images before and after an exec; else the first thread. Each of the
 * many children computes a hundredth of it. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The leak sanitizer looks from a process of its own at the end, which is one more than the test
 * expects. */
__attribute__((visibility("default"))) int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void) {
  return 1;
}

static void ranges(const char* name, int count) {
  for (int i = 0; i < count; ++i) {
    nvtxRangePushA(name);
    nvtxRangePop();
  }
}

/* Computes in registers alone. A sanitizer calls functions of its own for memory, and a sample at
   the first instruction of one does not show its caller. */
__attribute__((noinline)) static void spin(double ms) {
  if (ms <= 0) return;
  unsigned long spun = 1;
  struct timespec now;
  double until = 0;
  do {
    for (int i = 0; i < 10000; ++i) {
      spun = spun * 3 + 1;
      __asm__ volatile("" : "+r"(spun));
    }
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    const double at = (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
    if (until == 0) until = at + ms;
    if (at >= until) return;
  } while (1);
}

/* Where the recording keeps what is in flight, for the test to look at when all is over. */
static void noteThePlace(void) {
  const char* recording = getenv("LACUNA_RECORDING");
  char name[4096], place[4096];
  if (recording == NULL || snprintf(name, sizeof name, "%s/shm", recording) >= (int)sizeof name)
    return;
  const ssize_t length = readlink(name, place, sizeof place);
  FILE* file = length > 0 ? fopen("place.txt", "w") : NULL;
  if (file == NULL) return;
  fwrite(place, 1, (size_t)length, file);
  fclose(file);
}

static void* exitingThread(void* ms) {
  ranges("thread", 100);
  spin(*(const double*)ms);
  exit(7);
  return ms;
}

static volatile uintptr_t nowhere = 8;

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "exit";
  double ms = argc > 2 ? atof(argv[2]) : 0;
  ranges("before", 1000);
  noteThePlace();
  if (strcmp(how, "thread") == 0) {
    pthread_t thread;
    pthread_create(&thread, NULL, exitingThread, &ms);
    pthread_join(thread, NULL);
  }
  if (strcmp(how, "fork") == 0) {
    const pid_t child = fork();
    if (child == 0) {
      ranges("child", 500);
      spin(ms);
      _exit(0);
    }
    waitpid(child, NULL, 0);
    return 0;
  }
  if (strcmp(how, "daemon") == 0) {
    if (fork() == 0) {
      setsid();
      if (fork() == 0) {
        usleep(200000);
        ranges("daemon", 500);
        spin(ms);
        _exit(9);
      }
      _exit(0);
    }
    wait(NULL);
    return 0;
  }
  if (strcmp(how, "children") == 0) {
    for (int i = 0; i < 100; ++i) {
      const pid_t child = fork();
      if (child == 0) {
        ranges("child", 10);
        spin(ms / 100);
        _exit(0);
      }
      waitpid(child, NULL, 0);
    }
    return 0;
  }
  spin(ms);
  if (strcmp(how, "exit") == 0) return 3;
  if (strcmp(how, "abort") == 0) abort();
  if (strcmp(how, "segv") == 0) *(volatile int*)nowhere = 1;
  if (strcmp(how, "kill") == 0) raise(SIGKILL);
  if (strcmp(how, "many") == 0) {
    ranges("many", 200000);
    raise(SIGKILL);
  }
  if (strcmp(how, "exec") == 0)
    execl(argv[0], argv[0], "exit", argc > 2 ? argv[2] : "0", (char*)NULL);
  if (strcmp(how, "background") == 0) {
    if (fork() == 0) {
      setsid();
      for (int i = 0; i < 6000 && access("go", F_OK) != 0; ++i) usleep(10000);
      ranges("background", 500);
      close(creat("gone", 0600));
      _exit(0);
    }
    return 0;
  }
  if (strcmp(how, "stdin") == 0) {
    char line[64] = "";
    if (fgets(line, sizeof line, stdin) == NULL) return 1;
    return strcmp(line, "hello\n") == 0 ? 21 : 1;
  }
  if (strcmp(how, "wait") == 0) {
    for (;;) pause();
  }
  return 0;
}
