/* SPDX-FileCopyrightText: The Lacuna authors
 * SPDX-License-Identifier: Apache-2.0 */

/* Calls into the CUDA libraries of this machine as far as they go without a GPU: every call fails,
 * after it has annotated itself. Prints the names of those that are there. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* By name, or in the toolkit's folder. */
static void* load(const char* name) {
  char path[4096];
  void* library = dlopen(name, RTLD_NOW);
  if (library != NULL) return library;
  snprintf(path, sizeof path, "%s/%s", CUDA_LIBRARIES, name);
  return dlopen(path, RTLD_NOW);
}

static void create(const char* library, const char* function) {
  void* handle = NULL;
  void* loaded = load(library);
  int (*call)(void**) = NULL;
  if (loaded != NULL) *(void**)&call = dlsym(loaded, function);
  if (call == NULL) return;
  call(&handle);
  puts(function);
}

/* Types and reductions of NCCL. */
enum { kHalf = 6, kFloat = 7, kDouble = 8, kSum = 0, kMax = 2, kMin = 3, kAverage = 4 };

/* No communicator: NCCL sees that and refuses, but has read from it before what it calls its
 * communicators, wherever that lies in this version. */
static void* likeACommunicator(uint64_t number) {
  static uint64_t memory[2][1 << 19]; /* larger than a communicator */
  static int made;
  uint64_t* words = memory[made++ % 2];
  for (size_t i = 0; i < sizeof memory[0] / sizeof *words; ++i) words[i] = number;
  return words;
}

/* Sets the function pointer at `target`. */
static void find(void* target, void* library, const char* name) {
  void* found = dlsym(library, name);
  if (found == NULL) exit(1);
  memcpy(target, &found, sizeof found);
}

static void communicate(void* nccl) {
  const void* one = likeACommunicator(81985529216486895u);
  const void* other = likeACommunicator(1147797409030816545u);
  int (*allReduce)(const void*, void*, size_t, int, int, const void*, void*);
  int (*reduceScatter)(const void*, void*, size_t, int, int, const void*, void*);
  int (*broadcast)(const void*, void*, size_t, int, int, const void*, void*);
  int (*reduce)(const void*, void*, size_t, int, int, int, const void*, void*);
  int (*allGather)(const void*, void*, size_t, int, const void*, void*);
  int (*send)(const void*, size_t, int, int, const void*, void*);
  int (*receive)(void*, size_t, int, int, const void*, void*);
  find(&allReduce, nccl, "ncclAllReduce");
  find(&reduceScatter, nccl, "ncclReduceScatter");
  find(&broadcast, nccl, "ncclBroadcast");
  find(&reduce, nccl, "ncclReduce");
  find(&allGather, nccl, "ncclAllGather");
  find(&send, nccl, "ncclSend");
  find(&receive, nccl, "ncclRecv");
  allReduce(NULL, NULL, 1024, kFloat, kSum, NULL, NULL);
  allReduce(NULL, NULL, 1024, kFloat, kMax, one, NULL);
  reduceScatter(NULL, NULL, 1000, kHalf, kAverage, other, NULL);
  broadcast(NULL, NULL, 10, kDouble, 3, one, NULL);
  reduce(NULL, NULL, 10, kDouble, kMin, 5, other, NULL);
  allGather(NULL, NULL, 7, kHalf, one, NULL);
  send(NULL, 100, kHalf, 6, one, NULL);
  receive(NULL, 100, kHalf, 7, other, NULL);
}

/* In a child, for another version of NCCL may look further into what is none of its communicators.
 */
static void tryNccl(void) {
  void* nccl = load("libnccl.so.2");
  if (nccl == NULL) return;
  /* It describes its payloads when it starts. */
  char id[128];
  int (*start)(char*) = NULL;
  *(void**)&start = dlsym(nccl, "ncclGetUniqueId");
  if (start == NULL || start(id) != 0) return;
  const pid_t child = fork();
  if (child == 0) {
    communicate(nccl);
    _exit(0);
  }
  int status = 1;
  waitpid(child, &status, 0);
  puts(status == 0 ? "nccl, all calls" : "nccl");
}

int main(void) {
  create("libcublas.so.13", "cublasCreate_v2");
  create("libcudnn.so.9", "cudnnCreate");
  fflush(stdout);
  tryNccl();
  return 0;
}
