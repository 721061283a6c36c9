/* SPDX-FileCopyrightText: The Lacuna authors
 * SPDX-License-Identifier: Apache-2.0 */

/* A rank of a distributed training run, as launcher_program starts it: two forked loader workers
 * load four batches each and send them through a pipe. The rank trains a step on each batch. At the
 * end all ranks meet. `rank_program FAILING`: that rank ends with 7 once the others wait for it. */
#define _GNU_SOURCE
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kWorkers = 2, kBatches = 4 };

static int numberOf(const char* variable) {
  const char* value = getenv(variable);
  if (value == NULL) exit(3);
  return atoi(value);
}

/* Sends its batches, and ends when nobody wants more of it. */
static void load(int worker, int batches, int wanted) {
  char name[16];
  snprintf(name, sizeof name, "loader %d", worker);
  prctl(PR_SET_NAME, name);
  for (int batch = 0; batch < kBatches; ++batch) {
    nvtxRangePushA("fetch");
    usleep(1000);
    nvtxRangePop();
    if (write(batches, &batch, sizeof batch) != sizeof batch) _exit(1);
  }
  char none;
  _exit(read(wanted, &none, 1) == 0 ? 0 : 1);
}

struct Loader {
  pid_t pid;
  int batches; /* to read from */
};

/* `open` is held by the rank alone, so that its workers see it end. */
static struct Loader startLoader(int worker, const int open[2]) {
  int batches[2];
  if (pipe(batches) != 0) exit(4);
  const pid_t pid = fork();
  if (pid == 0) {
    close(batches[0]);
    close(open[1]);
    load(worker, batches[1], open[0]);
  }
  close(batches[1]);
  return (struct Loader){pid, batches[0]};
}

static void step(struct Loader loader) {
  int batch;
  nvtxRangePushA("wait");
  if (read(loader.batches, &batch, sizeof batch) != sizeof batch) exit(5);
  nvtxRangePop();
  nvtxRangePushA("step");
  usleep(1000);
  nvtxRangePop();
}

/* Each rank writes a word into the meeting's pipe, and rank 0 goes on when it has read the words of
 * all. A failing rank ends when all others wait. */
static void allReduce(int rank, int failing) {
  const int sent = numberOf("MEETING_SENT"), heard = numberOf("MEETING_HEARD");
  const int world = numberOf("WORLD_SIZE");
  char word = 0;
  if (rank == failing) {
    for (int i = 1; i < world; ++i) {
      if (read(sent, &word, 1) != 1) exit(6);
    }
    exit(7);
  }
  nvtxRangePushA("all-reduce");
  if (write(heard, &word, 1) != 1) exit(6);
  if (failing >= 0) {
    for (;;) pause();
  }
  for (int i = 0; rank == 0 && i < world; ++i) {
    if (read(sent, &word, 1) != 1) exit(6);
  }
  nvtxRangePop();
}

int main(int argc, char** argv) {
  const int failing = argc > 1 ? atoi(argv[1]) : -1;
  const int rank = numberOf("RANK");
  int open[2];
  if (pipe(open) != 0) return 4;
  struct Loader loaders[kWorkers];
  for (int i = 0; i < kWorkers; ++i) loaders[i] = startLoader(i, open);
  for (int i = 0; i < kWorkers * kBatches; ++i) step(loaders[i % kWorkers]);
  printf("trained\n");
  fflush(stdout);
  allReduce(rank, failing);
  close(open[1]);
  for (int i = 0; i < kWorkers; ++i) waitpid(loaders[i].pid, NULL, 0);
  return 0;
}
