// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "common/digits.h"
#include "lacuna/runtime/tensor.h"

namespace lacuna::samples {

struct Batch {
  rt::Tensor pictures;  ///< f32 [batch, 64], 0 to 1
  rt::Tensor labels;    ///< i64 [batch]
};

struct BatchOptions {
  std::int64_t batch = 64;
  int workers = 0;   ///< 0: the consumer loads by itself
  int prefetch = 2;  ///< ready batches per worker
  std::uint64_t seed = 1;
  /// Called between fetching and collating, with the batch's number.
  std::function<void(std::uint64_t)> onDecode;
  std::function<void(std::uint64_t)> onFetch;  ///< called while a batch is fetched, with its number: a fault's hook
};

/// Endless shuffled batches of digits, in the same order for every number of workers. Workers are threads; all stages
/// are annotated.
class Batches {
 public:
  Batches(const Digits& digits, BatchOptions options);
  ~Batches();
  Batches(const Batches&) = delete;
  Batches& operator=(const Batches&) = delete;
  Batch next();

 private:
  Batch load(std::uint64_t number, int worker) const;
  void work(int worker);
  [[nodiscard]] std::vector<std::size_t> indicesOf(std::uint64_t number) const;

  const Digits& digits_;
  BatchOptions options_;
  std::uint32_t loader_;
  std::mutex mutex_;
  std::condition_variable roomOrStop_, ready_;
  std::map<std::uint64_t, Batch> done_;
  std::uint64_t nextToLoad_ = 0;
  std::uint64_t nextToGive_ = 0;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace lacuna::samples
