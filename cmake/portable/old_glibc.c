// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0

// Functions of newer C libraries, for programs that must start with glibc 2.28. scripts/wheel puts
// them in front of the C library that portable programs are linked against. Each program and
// library keeps its own copy.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

// 2.32. The C++ library counts references without locks where it is true.
char __libc_single_threaded = 0;

// 2.32
const char* strerrordesc_np(int error) {
  return strerror(error);
}

// 2.36
uint32_t arc4random(void) {
  uint32_t number = 0;
  while (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number) {
    if (errno != EINTR) abort();
  }
  return number;
}

static struct timespec later(struct timespec time, int64_t ns) {
  const int64_t second = 1000000000;
  ns += time.tv_nsec;
  time.tv_sec += ns / second;
  time.tv_nsec = ns % second;
  if (time.tv_nsec < 0) {
    time.tv_nsec += second;
    --time.tv_sec;
  }
  return time;
}

// 2.30. The older function waits by the system's clock. When that clock is set meanwhile, the
// caller waits again for what is left.
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const struct timespec* until) {
  if (clock == CLOCK_REALTIME) return pthread_cond_timedwait(condition, mutex, until);
  for (;;) {
    struct timespec now, system;
    if (clock_gettime(clock, &now) != 0) return EINVAL;
    clock_gettime(CLOCK_REALTIME, &system);
    const int64_t seconds = (int64_t)until->tv_sec - now.tv_sec;
    const int64_t left = seconds * 1000000000 + (until->tv_nsec - now.tv_nsec);
    if (left <= 0) return ETIMEDOUT;
    const int64_t longest = INT64_C(3600) * 1000000000;
    const struct timespec end = later(system, seconds > 3600 ? longest : left);
    const int result = pthread_cond_timedwait(condition, mutex, &end);
    if (result != ETIMEDOUT) return result;
  }
}

struct search {
  uintptr_t address;
  struct dl_find_object* found;
};

static int holds(struct dl_phdr_info* module, size_t size, void* context) {
  (void)size;
  struct search* search = context;
  uintptr_t begin = UINTPTR_MAX, end = 0, frames = 0;
  int inside = 0;
  for (int i = 0; i < module->dlpi_phnum; ++i) {
    const ElfW(Phdr)* part = &module->dlpi_phdr[i];
    const uintptr_t from = module->dlpi_addr + part->p_vaddr;
    if (part->p_type == PT_GNU_EH_FRAME) frames = from;
    if (part->p_type != PT_LOAD) continue;
    const uintptr_t to = from + part->p_memsz;
    if (from < begin) begin = from;
    if (to > end) end = to;
    if (search->address >= from && search->address < to) inside = 1;
  }
  if (!inside || frames == 0) return 0;
  search->found->dlfo_map_start = (void*)begin;
  search->found->dlfo_map_end = (void*)end;
  search->found->dlfo_eh_frame = (void*)frames;
  return 1;
}

// 2.35. The unwinder of exceptions asks where the tables of a function are.
int _dl_find_object(void* address, struct dl_find_object* found) {
  memset(found, 0, sizeof *found);
  struct search search = {(uintptr_t)address, found};
  return dl_iterate_phdr(holds, &search) == 1 ? 0 : -1;
}
