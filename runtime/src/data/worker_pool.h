// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lacuna/runtime/data.h"

namespace lacuna::rt {

/// One batch to make.
struct LoaderTask {
  std::uint64_t ticket = 0;  ///< rises over all epochs; also the batch's number on the timeline
  std::vector<std::size_t> indices;
  std::vector<std::uint64_t> seeds;  ///< of each example's random numbers
};

/// A batch, or why there is none.
struct LoaderOutcome {
  std::uint64_t ticket = 0;
  Batch batch;
  std::string error;  ///< empty on success
};

/// The things that every worker needs, shared by all of them.
struct LoaderJob {
  std::shared_ptr<const Dataset> dataset;
  Collate collate;
  std::uint32_t loader = 0;
  std::shared_ptr<StagingRing> staging;  ///< none: batches lie in ordinary host memory
  DType dtype = DType::F32;              ///< in which fields in f32 travel
};

/// Makes the batch on the calling thread; never throws.
LoaderOutcome runTask(const LoaderJob& job, const LoaderTask& task, int worker,
                      const std::function<bool()>& stop);

/// Workers that make batches. Used by one consumer thread; tasks come back in any order.
class WorkerPool {
 public:
  virtual ~WorkerPool() = default;
  virtual void submit(LoaderTask task) = 0;
  /// The next finished task; none when `timeout` passed first (zero: waits for ever). Throws Error
  /// when a worker died.
  virtual std::optional<LoaderOutcome> take(std::chrono::milliseconds timeout) = 0;
  /// Forgets the tasks that no worker has begun. Outcomes of begun ones still arrive.
  virtual void forget() = 0;
  /// Number of finished tasks that wait to be taken, as far as known.
  [[nodiscard]] virtual std::size_t ready() = 0;
};

std::unique_ptr<WorkerPool> makeThreadPool(LoaderJob job, unsigned workers);
/// Forks the workers; `prefetch` bounds the tasks that one worker is given ahead.
std::unique_ptr<WorkerPool> makeProcessPool(LoaderJob job, unsigned workers, unsigned prefetch);

}  // namespace lacuna::rt
