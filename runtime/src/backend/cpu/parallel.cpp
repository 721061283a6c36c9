// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/parallel.h"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>

#include "backend/cpu/thread_setting.h"
#include "lacuna/runtime/error.h"

namespace lacuna::rt {

namespace {

constexpr int kMostThreads = 4096;

int initialThreads() {
#ifdef __SANITIZE_THREAD__
  const int count = 1;
  return count;
#else
  if (const int wanted = threadsFromEnvironment(); wanted != 0) return wanted;
  if (std::getenv("OMP_NUM_THREADS") != nullptr) return omp_get_max_threads();
  // Team members spin between regions. Without a core of its own, the training thread would fight
  // them for one.
  return std::max(1, omp_get_num_procs() - 1);
#endif
}

/// 0 until somebody asks. Not a static of a function: a fork could catch another thread inside its
/// guard.
std::atomic<int> chosen{0};

}  // namespace

int threadsFromEnvironment() {
  const char* text = std::getenv("LACUNA_THREADS");
  if (text == nullptr || *text == '\0') return 0;
  const char* end = text + std::strlen(text);
  int count = 0;
  const auto [stop, error] = std::from_chars(text, end, count);
  if (error != std::errc() || stop != end || count < 1 || count > kMostThreads) {
    fail("LACUNA_THREADS", "'" + std::string(text) + "' is no number of threads from 1 to " +
                               std::to_string(kMostThreads));
  }
  return count;
}

int queueThreadCount() {
  int count = chosen.load(std::memory_order_relaxed);
  if (count == 0) {
    const int initial = initialThreads();
    if (chosen.compare_exchange_strong(count, initial)) count = initial;
  }
  return count;
}

AsQueueThread::AsQueueThread() : before_(omp_get_max_threads()) {
  omp_set_num_threads(queueThreadCount());
}

AsQueueThread::~AsQueueThread() {
  omp_set_num_threads(before_);
}

int threadCount() {
  const int count = queueThreadCount();
  thread_local int lastCount = 0;
  if (lastCount != count) {
    omp_set_num_threads(
        count);  // for oneDNN, which asks OpenMP; the setting belongs to the calling thread
    lastCount = count;
  }
  return count;
}

void useOneThread() {
  chosen.store(1);
}

void detail::parallelRun(std::int64_t count, std::int64_t grain,
                         void (*body)(void*, std::int64_t, std::int64_t), void* context) {
  const std::int64_t pieces = std::min<std::int64_t>(threadCount(), (count + grain - 1) / grain);
  if (pieces <= 1 || omp_in_parallel() != 0) {
    body(context, 0, count);
    return;
  }
  std::exception_ptr error;  // none may leave the region
#pragma omp parallel for num_threads(static_cast <int>(pieces)) schedule(static, 1)
  for (std::int64_t piece = 0; piece < pieces; ++piece) {
    try {
      body(context, count * piece / pieces, count * (piece + 1) / pieces);
    } catch (...) {
#pragma omp critical(lacuna_error)
      if (!error) error = std::current_exception();
    }
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace lacuna::rt
