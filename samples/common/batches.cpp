// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "common/batches.h"

#include <random>
#include <string>

#include "lacuna/runtime/instrument.h"

namespace lacuna::samples {

using rt::LoaderScope;
using rt::LoaderStage;

Batches::Batches(const Digits& digits, BatchOptions options)
    : digits_(digits), options_(std::move(options)), loader_(rt::registerLoader()) {
  for (int i = 0; i < options_.workers; ++i) threads_.emplace_back([this, i] { work(i); });
}

Batches::~Batches() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  roomOrStop_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

std::vector<std::size_t> Batches::indicesOf(std::uint64_t number) const {
  std::mt19937_64 random(options_.seed * 0x9E3779B97F4A7C15U + number);
  std::vector<std::size_t> indices(static_cast<std::size_t>(options_.batch));
  for (std::size_t& index : indices) index = random() % digits_.size();
  return indices;
}

Batch Batches::load(std::uint64_t number, int worker) const {
  std::vector<std::size_t> indices;
  const auto bytes = static_cast<std::uint64_t>(options_.batch) * kDigitPixels * sizeof(float);
  {
    const LoaderScope fetch(LoaderStage::Fetch, loader_, worker, number, bytes);
    indices = indicesOf(number);
    if (options_.onFetch) options_.onFetch(number);
  }
  if (options_.onDecode) {
    const LoaderScope decode(LoaderStage::Decode, loader_, worker, number, bytes);
    options_.onDecode(number);
  }
  const LoaderScope collate(LoaderStage::Collate, loader_, worker, number, bytes);
  Batch out{rt::emptyHost({options_.batch, kDigitPixels}, rt::DType::F32),
            rt::emptyHost({options_.batch}, rt::DType::I64)};
  auto* pictures = static_cast<float*>(out.pictures.data());
  auto* labels = static_cast<std::int64_t*>(out.labels.data());
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const float* from = digits_.pixels.data() + indices[i] * kDigitPixels;
    for (std::size_t p = 0; p < kDigitPixels; ++p) pictures[i * kDigitPixels + p] = from[p] / 16.0F;
    labels[i] = digits_.labels[indices[i]];
  }
  return out;
}

void Batches::work(int worker) {
  rt::nameThread(("loader " + std::to_string(worker)).c_str());
  std::unique_lock lock(mutex_);
  while (!stop_) {
    const std::uint64_t number = nextToLoad_++;
    const auto limit = static_cast<std::uint64_t>(options_.workers) * static_cast<std::uint64_t>(options_.prefetch);
    if (number >= nextToGive_ + limit) {
      const LoaderScope put(LoaderStage::Put, loader_, worker, number);
      roomOrStop_.wait(lock, [&] { return stop_ || number < nextToGive_ + limit; });
      if (stop_) return;
    }
    lock.unlock();
    Batch batch = load(number, worker);
    lock.lock();
    done_.emplace(number, std::move(batch));
    rt::loaderQueueDepth(loader_, static_cast<std::int64_t>(done_.size()));
    ready_.notify_all();
  }
}

Batch Batches::next() {
  const LoaderScope wait(LoaderStage::Wait, loader_, -1, nextToGive_);
  if (options_.workers == 0) return load(nextToGive_++, -1);
  std::unique_lock lock(mutex_);
  ready_.wait(lock, [this] { return done_.contains(nextToGive_); });
  Batch batch = std::move(done_.extract(nextToGive_).mapped());
  ++nextToGive_;
  rt::loaderQueueDepth(loader_, static_cast<std::int64_t>(done_.size()));
  lock.unlock();
  roomOrStop_.notify_all();
  return batch;
}

}  // namespace lacuna::samples
