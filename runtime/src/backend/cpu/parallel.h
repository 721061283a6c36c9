// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

namespace lacuna::rt {

/// Threads that an execution may use. `LACUNA_THREADS`, else OMP_NUM_THREADS, else the cores
/// allowed but one, which is the training thread's; one under the thread sanitizer, which does not
/// understand libgomp.
int threadCount();
/// The same number, for a thread that executes nothing itself; OpenMP's setting for that thread
/// stays as it is.
int queueThreadCount();
/// While it lives OpenMP, and with it oneDNN, takes the calling thread for one that executes.
class AsQueueThread {
 public:
  AsQueueThread();
  ~AsQueueThread();
  AsQueueThread(const AsQueueThread&) = delete;
  AsQueueThread& operator=(const AsQueueThread&) = delete;

 private:
  int before_;
};
/// For a forked child: the OpenMP team of the parent is gone.
void useOneThread();

namespace detail {
void parallelRun(std::int64_t count, std::int64_t grain,
                 void (*body)(void*, std::int64_t, std::int64_t), void* context);
}

/// Calls body(begin, end) on pieces of [0, count), of at least `grain`, in the OpenMP team of the
/// queue thread. How the range is cut depends on the number of threads: results must not depend on
/// it.
template <class Body>
void parallelFor(std::int64_t count, std::int64_t grain, const Body& body) {
  if (count <= grain) {
    if (count > 0) body(std::int64_t{0}, count);
    return;
  }
  detail::parallelRun(
      count, grain,
      [](void* context, std::int64_t begin, std::int64_t end) {
        (*static_cast<const Body*>(context))(begin, end);
      },
      const_cast<void*>(static_cast<const void*>(&body)));
}

}  // namespace lacuna::rt
