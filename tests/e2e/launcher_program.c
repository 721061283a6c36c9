/* SPDX-FileCopyrightText: The Lacuna authors
 * SPDX-License-Identifier: Apache-2.0 */

/* Starts the ranks of a distributed run on this machine, as torchrun does: launcher_program RANKS
 * PROGRAM ARGUMENTS… Each process gets its rank from the environment, has a session of its own, and
 * writes into a pipe. The launcher prints the pipe's lines with the rank before them. When one rank
 * fails, the launcher ends the others and returns its code. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kMost = 8 };

struct Rank {
  pid_t pid;
  int output;
};

static void setNumber(const char* variable, int value) {
  char text[16];
  snprintf(text, sizeof text, "%d", value);
  setenv(variable, text, 1);
}

static struct Rank start(int rank, int world, const int meeting[2], char** command) {
  int output[2];
  if (pipe2(output, O_CLOEXEC) != 0) exit(90);
  const pid_t pid = fork();
  if (pid == 0) {
    setsid();
    setNumber("RANK", rank);
    setNumber("LOCAL_RANK", rank);
    setNumber("WORLD_SIZE", world);
    setNumber("MEETING_SENT", meeting[0]);
    setNumber("MEETING_HEARD", meeting[1]);
    dup2(output[1], STDOUT_FILENO);
    dup2(output[1], STDERR_FILENO);
    execvp(command[0], command);
    _exit(127);
  }
  close(output[1]);
  return (struct Rank){pid, output[0]};
}

static int codeOf(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* The code of the first that failed, once all have ended. */
static int waitForAll(struct Rank* ranks, int world) {
  int failed = 0;
  for (int left = world; left > 0; --left) {
    int status = 0;
    const pid_t ended = wait(&status);
    if (ended < 0) return 91;
    for (int i = 0; i < world; ++i) {
      if (ranks[i].pid == ended) ranks[i].pid = 0;
    }
    if (failed != 0 || codeOf(status) == 0) continue;
    failed = codeOf(status);
    for (int i = 0; i < world; ++i) {
      if (ranks[i].pid != 0) kill(ranks[i].pid, SIGTERM);
    }
  }
  return failed;
}

static void show(int rank, int output) {
  FILE* lines = fdopen(output, "r");
  char line[256];
  while (lines != NULL && fgets(line, sizeof line, lines) != NULL)
    printf("[rank%d]: %s", rank, line);
}

int main(int argc, char** argv) {
  const int world = argc > 2 ? atoi(argv[1]) : 0;
  int meeting[2];
  if (world < 1 || world > kMost || pipe(meeting) != 0) return 2;
  struct Rank ranks[kMost];
  for (int i = 0; i < world; ++i) ranks[i] = start(i, world, meeting, argv + 2);
  const int code = waitForAll(ranks, world);
  for (int i = 0; i < world; ++i) show(i, ranks[i].output);
  return code;
}
