// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0

/// A training loop of the runtime that leaves its device idle for causes that it knows, and prints
/// when: planted_program STEPS. Prints a line for each stretch: what was planted, its begin and end
/// on CLOCK_MONOTONIC, and the CPU time that the thread used in it, in nanoseconds. The device has
/// nothing to do in any of them.
#include <nvtx3/nvToolsExt.h>
#include <time.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "lacuna/runtime/instrument.h"
#include "lacuna/runtime/ops.h"

namespace {

namespace rt = lacuna::rt;

constexpr std::int64_t kPlantedNs = 4'000'000;

std::int64_t nowNs(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

void sleepAWhile() {
  const timespec time{0, kPlantedNs};
  nanosleep(&time, nullptr);
}
void computeAWhile() {
  const std::int64_t until = nowNs(CLOCK_THREAD_CPUTIME_ID) + kPlantedNs;
  while (nowNs(CLOCK_THREAD_CPUTIME_ID) < until) {
  }
}

template <class Body>
void plant(const char* what, Body&& body) {
  const std::int64_t cpu = nowNs(CLOCK_THREAD_CPUTIME_ID);
  const std::int64_t from = nowNs(CLOCK_MONOTONIC);
  body();
  const std::int64_t to = nowNs(CLOCK_MONOTONIC);
  std::printf("%s %lld %lld %lld\n", what, static_cast<long long>(from), static_cast<long long>(to),
              static_cast<long long>(nowNs(CLOCK_THREAD_CPUTIME_ID) - cpu));
}

/// A range of a category of its own around what is planted.
template <class Body>
void plantIn(std::uint32_t category, const char* what, Body&& body) {
  nvtxEventAttributes_t event{};
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.category = category;
  event.messageType = NVTX_MESSAGE_TYPE_ASCII;
  event.message.ascii = what;
  nvtxRangePushEx(&event);
  plant(what, body);
  nvtxRangePop();
}

}  // namespace

int main(int argc, char** argv) {
  enum : std::uint32_t { kProfiler = 1, kSync, kAllocator, kOperator };
  nvtxNameCategoryA(kProfiler, "profiler");
  nvtxNameCategoryA(kSync, "sync");
  nvtxNameCategoryA(kAllocator, "allocator");
  nvtxNameCategoryA(kOperator, "operator");
  const std::uint32_t loader = rt::registerLoader();
  const rt::Tensor a = rt::ones({64, 64});
  const int steps = argc > 1 ? std::atoi(argv[1]) : 10;
  for (int index = 0; index < steps; ++index) {
    const rt::StepScope step(static_cast<std::uint64_t>(index), 1);
    const auto work = [&] {
      const rt::Tensor b = rt::matmul(a, a);
      rt::synchronize();
    };
    work();
    {
      const rt::LoaderScope wait(rt::LoaderStage::Wait, loader, -1,
                                 static_cast<std::uint64_t>(index));
      plant("loader_wait", sleepAWhile);
    }
    work();
    plantIn(kProfiler, "profiler", sleepAWhile);
    work();
    plantIn(kSync, "synchronisation", sleepAWhile);
    work();
    plantIn(kAllocator, "driver_call", sleepAWhile);
    work();
    plantIn(kOperator, "host_work", computeAWhile);
    work();
    plant("off_cpu", sleepAWhile);
    work();
  }
  return 0;
}
