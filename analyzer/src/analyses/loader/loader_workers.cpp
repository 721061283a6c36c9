// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyses/loader/loader_workers.h"
#include "lacuna/prof/bounds.h"

#include <algorithm>
#include <map>
#include <span>
#include <unordered_map>
#include <unordered_set>

namespace lacuna::analyzer {
namespace {

using prof::ProcessId;
using prof::ThreadId;
using prof::TimeNs;

constexpr int kMostGenerations = 16;  ///< of processes between a consumer and its workers

/// The process whose loader a thread works for: the nearest one above it that takes batches, else
/// its own.
class Consumers {
 public:
  Consumers(const Store& store, const std::vector<ConsumerWait>& waits) {
    for (std::uint64_t i = 0; i < store.rows<prof::Thread>(); ++i) {
      const auto thread = store.row<prof::Thread>(i);
      processOf_.emplace(thread.id, thread.process);
    }
    for (std::uint64_t i = 0; i < store.rows<prof::Process>(); ++i) {
      const auto process = store.row<prof::Process>(i);
      parentOf_.emplace(process.id, process.parent);
    }
    for (const ConsumerWait& wait : waits) consumers_.insert(of(wait.thread));
  }
  [[nodiscard]] ProcessId of(ThreadId thread) const {
    const auto found = processOf_.find(thread);
    return found == processOf_.end() ? ProcessId() : found->second;
  }
  [[nodiscard]] ProcessId servedBy(ThreadId worker) const {
    const ProcessId own = of(worker);
    ProcessId process = own;
    for (int i = 0; i < kMostGenerations && !consumers_.contains(process); ++i) {
      const auto parent = parentOf_.find(process);
      if (parent == parentOf_.end() || !parent->second) return own;
      process = parent->second;
    }
    return consumers_.contains(process) ? process : own;
  }

 private:
  std::unordered_map<ThreadId, ProcessId> processOf_;
  std::unordered_map<ProcessId, ProcessId> parentOf_;
  std::unordered_set<ProcessId> consumers_;
};

/// One consumer's workers and waits.
struct Served {
  std::vector<WorkerSpan> workers;
  std::vector<ConsumerWait> waits;
};

/// Adds the waits between the two times, cut to them; false where there are none.
bool addWaits(const std::vector<ConsumerWait>& waits, TimeNs from, TimeNs to,
              std::vector<ConsumerWait>& out) {
  const std::size_t before = out.size();
  for (const ConsumerWait& wait : waits) {
    const ConsumerWait cut{wait.thread, std::max(wait.startNs, from), std::min(wait.endNs, to)};
    if (cut.startNs < cut.endNs) out.push_back(cut);
  }
  return out.size() > before;
}

/// Workers that are started one after the other begin one after the other. Had the last of a set
/// begun with the first, its first batch would have been there sooner by that, and the consumer
/// would have waited as much less.
void addLateStarts(const std::vector<ConsumerWait>& waits, std::span<const WorkerSpan> set,
                   std::vector<ConsumerWait>& out) {
  std::int64_t lateNs = set.back().firstNs - set.front().firstNs;
  std::vector<ConsumerWait> between;
  addWaits(waits, set.front().firstBatchNs, set.back().firstBatchNs, between);
  for (ConsumerWait& wait : between) {
    wait.endNs = std::min(wait.endNs, wait.startNs + lateNs);
    prof::takeFrom(lateNs, wait.endNs - wait.startNs);
    if (wait.startNs < wait.endNs) out.push_back(wait);
  }
}

void addSets(Served& served, WorkerSets& sets) {
  std::ranges::sort(served.workers, {}, &WorkerSpan::firstNs);
  const std::vector<WorkerSpan>& workers = served.workers;
  std::size_t begin = 0, widest = 0;
  std::uint64_t batches = 0;
  bool isAnew = false;
  TimeNs lastNs = INT64_MIN;
  const auto endSet = [&](std::size_t end) {
    widest = std::max(widest, end - begin);
    if (isAnew)
      addLateStarts(served.waits, std::span(workers).subspan(begin, end - begin),
                    sets.restartWaits);
    begin = end;
    batches = 0;
  };
  for (std::size_t i = 0; i < workers.size(); ++i) {
    // Two workers that made a batch each, one after the other, are no set and its successor.
    if (i > begin && workers[i].firstNs >= lastNs && batches > i - begin) {
      endSet(i);
      isAnew = addWaits(served.waits, lastNs, workers[i].firstNs, sets.restartWaits);
      sets.restarts += isAnew ? 1 : 0;
    }
    batches += workers[i].batches;
    lastNs = std::max(lastNs, workers[i].lastNs);
  }
  endSet(workers.size());
  sets.workers += static_cast<std::uint32_t>(widest);
}

}  // namespace

WorkerSets workerSets(const Store& store, const std::vector<WorkerSpan>& workers,
                      const std::vector<ConsumerWait>& waits) {
  WorkerSets sets;
  if (workers.empty()) return sets;
  const Consumers consumers(store, waits);
  std::map<ProcessId, Served> served;
  for (const WorkerSpan& worker : workers)
    served[consumers.servedBy(worker.thread)].workers.push_back(worker);
  for (const ConsumerWait& wait : waits) served[consumers.of(wait.thread)].waits.push_back(wait);
  for (auto& [process, its] : served) addSets(its, sets);
  return sets;
}

}  // namespace lacuna::analyzer
