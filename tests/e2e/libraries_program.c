/* SPDX-FileCopyrightText: The Lacuna authors
 * SPDX-License-Identifier: Apache-2.0 */

/* Calls into the CUDA libraries of this machine as far as they go without a GPU: every call fails, after it has
 * annotated itself. Prints the names of those that are there. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>

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

static void reduce(void) {
  void* loaded = load("libnccl.so.2");
  int (*call)(const void*, void*, size_t, int, int, void*, void*) = NULL;
  if (loaded != NULL) *(void**)&call = dlsym(loaded, "ncclAllReduce");
  if (call == NULL) return;
  // It describes its payloads when it starts.
  char id[128];
  int (*start)(char*) = NULL;
  *(void**)&start = dlsym(loaded, "ncclGetUniqueId");
  if (start == NULL || start(id) != 0) return;
  call(NULL, NULL, 1024, 7 /* float */, 0 /* sum */, NULL, NULL);
  puts("nccl");
}

int main(void) {
  create("libcublas.so.13", "cublasCreate_v2");
  create("libcudnn.so.9", "cudnnCreate");
  reduce();
  return 0;
}
