// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "lacuna/analyzer/store.h"
#include "lacuna/prof/ids.h"
#include "lacuna/prof/trace.h"

namespace lacuna::analyzer {

/// The work of a thread for a loader, from first to last.
struct WorkerSpan {
  prof::ThreadId thread;
  prof::TimeNs firstNs = 0;
  prof::TimeNs firstBatchNs = 0;  ///< when the first batch was done
  prof::TimeNs lastNs = 0;
  std::uint64_t batches = 0;
};
/// A consumer's wait.
struct ConsumerWait {
  prof::ThreadId thread;
  prof::TimeNs startNs = 0;
  prof::TimeNs endNs = 0;
};
/// The workers of all loaders; some may take the place of others: a loader that starts its workers
/// anew for each epoch has two sets of two, not four.
struct WorkerSets {
  std::uint32_t workers = 0;   ///< at a time; the greatest sets of all consumers
  std::uint32_t restarts = 0;  ///< sets that took the place of one before, while a consumer waited
  /// The consumers' waits between the last batch of a set and the first of the next, and what they
  /// waited for the first batch of a worker because it came later than the others of its set.
  std::vector<ConsumerWait> restartWaits;
};
WorkerSets workerSets(const Store& store, const std::vector<WorkerSpan>& workers,
                      const std::vector<ConsumerWait>& waits);

}  // namespace lacuna::analyzer
