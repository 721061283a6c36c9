/* SPDX-FileCopyrightText: The Lacuna authors
 * SPDX-License-Identifier: Apache-2.0 */

/* Stands for a program with CUDA. It starts the recorder as the driver does, and a libcupti of the
 * test's hands over records. cuda_program MODE [ARGUMENT]. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void* cupti;

/* Sets the function pointer at `target`. */
static void find(void* target, void* library, const char* name) {
  void* found = library != NULL ? dlsym(library, name) : NULL;
  if (found == NULL) {
    fprintf(stderr, "cuda_program: %s: %s\n", name, dlerror());
    exit(9);
  }
  memcpy(target, &found, sizeof found);
}

static void fake(const char* name, int number) {
  void (*function)(int);
  find(&function, cupti, name);
  function(number);
}

static void kernel(const char* name) {
  static unsigned correlation;
  void (*function)(const char*, unsigned);
  find(&function, cupti, "fakeKernel");
  function(name, ++correlation);
}

/* Waits until the third flush from now begins. Earlier records are flushed, decoded and counted by
 * then. */
static void settle(void) {
  int (*flushes)(void);
  find(&flushes, cupti, "fakeFlushes");
  const int before = flushes();
  while (flushes() < before + 3) usleep(5000);
}

/* As libcuda does in cuInit. */
static void initialise(void) {
  const char* path = getenv("CUDA_INJECTION64_PATH");
  int (*start)(void);
  find(&start, path != NULL ? dlopen(path, RTLD_NOW) : NULL, "InitializeInjection");
  if (start() != 1) exit(8);
}

/* $LACUNA names the command. */
static void trigger(const char* what) {
  char command[512];
  snprintf(command, sizeof command, "env -u LACUNA_RECORDING \"$LACUNA\" trigger %d --%s",
           (int)getpid(), what);
  usleep(20000);
  if (system(command) != 0) exit(3);
  usleep(20000);
}

static int work(void) {
  initialise();
  for (int i = 0; i < 3; ++i) kernel("_Z4axpyPfPKffi");
  return 0;
}

static int captures(void) {
  initialise();
  kernel("before");
  for (int i = 0; i < 3; ++i) {
    usleep(20000);
    nvtxRangePushA("CAP");
    usleep(5000);
    kernel("inside");
    usleep(5000);
    nvtxRangePop();
    usleep(20000);
    kernel("between");
  }
  return 0;
}

static int stops(void) {
  initialise();
  kernel("before");
  trigger("stop");
  kernel("stopped");
  trigger("start");
  kernel("after");
  return 0;
}

static int forks(void) {
  initialise();
  kernel("before");
  const pid_t child = fork();
  if (child == 0) {
    initialise();
    exit(5);
  }
  int status = 0;
  waitpid(child, &status, 0);
  kernel("after");
  return WEXITSTATUS(status);
}

static int killed(void) {
  initialise();
  kernel("before");
  fake("fakeDrop", 5);
  settle();
  raise(SIGKILL);
  return 0;
}

static int withoutThreads(void) {
  pthread_attr_t usual, huge;
  pthread_getattr_default_np(&usual);
  pthread_getattr_default_np(&huge);
  pthread_attr_setstacksize(&huge, (size_t)1 << 50);
  pthread_setattr_default_np(&huge);
  initialise();
  pthread_setattr_default_np(&usual);
  return 6;
}

int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "";
  cupti = dlopen("libcupti.so.13", RTLD_NOW);
  if (strcmp(mode, "work") == 0) return work();
  if (strcmp(mode, "captures") == 0) return captures();
  if (strcmp(mode, "stops") == 0) return stops();
  if (strcmp(mode, "forks") == 0) return forks();
  if (strcmp(mode, "killed") == 0) return killed();
  if (strcmp(mode, "no-threads") == 0) return withoutThreads();
  if (strcmp(mode, "refused") == 0 && argc > 2) {
    fake("fakeRefuse", atoi(argv[2]));
    initialise();
    return 4;
  }
  if (strcmp(mode, "held") == 0) {
    void (*hold)(const char*);
    find(&hold, cupti, "fakeHolder");
    hold("CUPTI for Kineto");
    initialise();
    return 4;
  }
  if (strcmp(mode, "running") == 0) {
    void (*emit)(void);
    find(&emit, cupti, "fakeRunningKernel");
    initialise();
    emit();
    emit();
    return 0;
  }
  if (strcmp(mode, "kinds") == 0) {
    void (*emit)(void);
    find(&emit, cupti, "fakeEveryKind");
    initialise();
    emit();
    return 0;
  }
  if (strcmp(mode, "program-by-program") == 0) {
    work();
    settle();
    execl(argv[0], argv[0], "work", NULL);
  }
  return 2;
}
