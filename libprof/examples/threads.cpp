// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0

// A program that records itself: workers prepare batches, a trainer consumes them, and a counter
// shows the queue between them. threads FILE.lcn writes the trace.
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <queue>
#include <string>
#include <thread>
#include <vector>

#include "lacuna/prof/session.h"
#include "lacuna/prof/trace.h"

namespace prof = lacuna::prof;

namespace {

constexpr int kWorkers = 3;
constexpr int kBatchesPerWorker = 40;
constexpr std::uint64_t kBatchBytes = 64 * 1024;

/// The queue between workers and trainer. Thread-safe.
class BatchQueue {
 public:
  BatchQueue() : depth_(lacunaCounterTrack(prof::name("queue depth"), prof::name("batches"))) {}

  void put(std::vector<float> batch) {
    const std::lock_guard lock(mutex_);
    batches_.push(std::move(batch));
    lacunaCounter(depth_, static_cast<double>(batches_.size()));
    ready_.notify_one();
  }
  std::vector<float> take() {
    LACUNA_RANGE("wait for a batch", "example", "loader");
    std::unique_lock lock(mutex_);
    ready_.wait(lock, [&] { return !batches_.empty(); });
    std::vector<float> batch = std::move(batches_.front());
    batches_.pop();
    lacunaCounter(depth_, static_cast<double>(batches_.size()));
    return batch;
  }

 private:
  std::mutex mutex_;
  std::condition_variable ready_;
  std::queue<std::vector<float>> batches_;
  std::uint32_t depth_;
};

std::uint64_t addressOf(const std::vector<float>& batch) {
  return reinterpret_cast<std::uintptr_t>(batch.data());
}

void prepareBatches(int worker, BatchQueue& queue) {
  lacunaThreadName(prof::name("worker " + std::to_string(worker)));
  for (int i = 0; i < kBatchesPerWorker; ++i) {
    std::vector<float> batch(kBatchBytes / sizeof(float));
    lacunaAllocate(addressOf(batch), kBatchBytes, prof::name("batch"),
                   static_cast<std::uint8_t>(prof::MemoryRole::Input));
    {
      LACUNA_RANGE("decode", "example", "loader");
      for (std::size_t j = 0; j < batch.size(); ++j)
        batch[j] = static_cast<float>((j * 2654435761u) >> 8);
      std::this_thread::sleep_for(std::chrono::microseconds(500));
    }
    queue.put(std::move(batch));
  }
}

float train(BatchQueue& queue) {
  lacunaThreadName(prof::name("trainer"));
  float loss = 0;
  for (int step = 0; step < kWorkers * kBatchesPerWorker; ++step) {
    const prof::ScopedRange range("step " + std::to_string(step));
    const std::vector<float> batch = queue.take();
    {
      LACUNA_RANGE("forward and backward", "example", "compute");
      for (const float value : batch) loss = loss * 0.999F + value * 1e-9F;
    }
    lacunaFree(addressOf(batch));
  }
  LACUNA_MARK("trained");
  return loss;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: example_threads FILE.lcn\n");
    return 2;
  }
  auto session = prof::Session::start(argv[1]);
  if (!session.ok()) {
    std::fprintf(stderr, "example_threads: %s\n", session.error().message.c_str());
    return 1;
  }
  BatchQueue queue;
  std::vector<std::thread> workers;
  for (int i = 0; i < kWorkers; ++i) workers.emplace_back(prepareBatches, i, std::ref(queue));
  const float loss = train(queue);
  for (std::thread& worker : workers) worker.join();
  if (const prof::Status stopped = session->stop(); !stopped.ok()) {
    std::fprintf(stderr, "example_threads: %s\n", stopped.error().message.c_str());
    return 1;
  }
  const prof::DrainStats stats = session->stats();
  std::printf("%d batches by %d workers, loss %g; %llu rows in %s, %llu events dropped\n",
              kWorkers * kBatchesPerWorker, kWorkers, static_cast<double>(loss),
              static_cast<unsigned long long>(stats.rows), argv[1],
              static_cast<unsigned long long>(stats.dropped));
  return 0;
}
