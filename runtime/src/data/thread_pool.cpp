// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <mutex>
#include <thread>

#include "alloc/staging_ring.h"
#include "data/worker_pool.h"

namespace lacuna::rt {
namespace {

/// Time that a loader that ends waits for a dataset that does not look at
/// WorkerContext::stopping().
constexpr std::chrono::seconds kThreadGrace{10};

/// Owned by the pool and by every worker, so that a worker that cannot be stopped does not touch
/// freed memory.
struct Shared {
  LoaderJob job;
  std::mutex mutex;
  std::condition_variable taskAdded;
  std::condition_variable outcomeAdded;
  std::condition_variable workerEnded;
  std::deque<LoaderTask> tasks;
  std::deque<LoaderOutcome> outcomes;
  unsigned running = 0;
  std::atomic<bool> stop = false;
};

/// Waits for a task; shown as the stage in which a worker has no room for another batch.
std::optional<LoaderTask> takeTask(Shared& shared, int worker, std::uint64_t lastBatch) {
  std::unique_lock lock(shared.mutex);
  const auto wake = [&] { return shared.stop || !shared.tasks.empty(); };
  if (!wake()) {
    LoaderScope scope(LoaderStage::Put, shared.job.loader, worker, lastBatch);
    shared.taskAdded.wait(lock, wake);
  }
  if (shared.stop) return std::nullopt;
  LoaderTask task = std::move(shared.tasks.front());
  shared.tasks.pop_front();
  if (shared.job.staging) shared.job.staging->begun(task.ticket);
  return task;
}

void work(const std::shared_ptr<Shared>& shared, int worker) {
  nameThread(("loader " + std::to_string(worker)).c_str());
  const std::function<bool()> stop = [&] { return shared->stop.load(); };
  std::uint64_t lastBatch = 0;
  while (std::optional<LoaderTask> task = takeTask(*shared, worker, lastBatch)) {
    LoaderOutcome outcome = runTask(shared->job, *task, worker, stop);
    lastBatch = task->ticket;
    if (shared->job.staging) shared->job.staging->done(task->ticket);
    std::lock_guard lock(shared->mutex);
    shared->outcomes.push_back(std::move(outcome));
    loaderQueueDepth(shared->job.loader, static_cast<std::int64_t>(shared->outcomes.size()));
    shared->outcomeAdded.notify_one();
  }
  std::lock_guard lock(shared->mutex);
  --shared->running;
  shared->workerEnded.notify_all();
}

class ThreadPool : public WorkerPool {
 public:
  ThreadPool(LoaderJob job, unsigned workers) : shared_(std::make_shared<Shared>()) {
    shared_->job = std::move(job);
    shared_->running = workers;
    try {
      for (unsigned i = 0; i < workers; ++i)
        threads_.emplace_back(work, shared_, static_cast<int>(i));
    } catch (const std::exception& error) {
      const auto started = static_cast<unsigned>(threads_.size());
      {
        const std::lock_guard lock(shared_->mutex);
        shared_->running -= workers - started;
      }
      end();
      fail("DataLoader", "only " + std::to_string(started) + " of " + std::to_string(workers) +
                             " worker threads could be started: " + error.what());
    }
  }

  ~ThreadPool() override { end(); }

  void submit(LoaderTask task) override {
    std::lock_guard lock(shared_->mutex);
    shared_->tasks.push_back(std::move(task));
    shared_->taskAdded.notify_one();
  }

  std::optional<LoaderOutcome> take(std::chrono::milliseconds timeout) override {
    std::unique_lock lock(shared_->mutex);
    const auto wake = [&] { return !shared_->outcomes.empty(); };
    if (timeout.count() == 0) {
      shared_->outcomeAdded.wait(lock, wake);
    } else if (!shared_->outcomeAdded.wait_for(lock, timeout, wake)) {
      return std::nullopt;
    }
    LoaderOutcome outcome = std::move(shared_->outcomes.front());
    shared_->outcomes.pop_front();
    loaderQueueDepth(shared_->job.loader, static_cast<std::int64_t>(shared_->outcomes.size()));
    return outcome;
  }

  void forget() override {
    std::lock_guard lock(shared_->mutex);
    shared_->tasks.clear();
  }

  std::size_t ready() override {
    std::lock_guard lock(shared_->mutex);
    return shared_->outcomes.size();
  }

 private:
  void end() {
    std::unique_lock lock(shared_->mutex);
    shared_->stop = true;
    shared_->taskAdded.notify_all();
    const bool ended =
        shared_->workerEnded.wait_for(lock, kThreadGrace, [&] { return shared_->running == 0; });
    lock.unlock();
    if (!ended) {
      std::fprintf(stderr,
                   "lacuna: a data loader ended, but a worker thread still hangs in its dataset "
                   "and is left behind; datasets should look at WorkerContext::stopping()\n");
    }
    for (std::thread& thread : threads_) ended ? thread.join() : thread.detach();
  }

  std::shared_ptr<Shared> shared_;
  std::vector<std::thread> threads_;
};

}  // namespace

std::unique_ptr<WorkerPool> makeThreadPool(LoaderJob job, unsigned workers) {
  return std::make_unique<ThreadPool>(std::move(job), workers);
}

}  // namespace lacuna::rt
