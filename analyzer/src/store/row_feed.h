// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <tuple>
#include <vector>

#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {

/// A scan that is pulled instead of pushed, so that several tables can be walked side by side; a
/// thread of its own decodes a few blocks ahead. Use from one thread.
template <auto... Members>
class RowFeed {
 public:
  using Values = std::tuple<std::vector<prof::ValueOf<Members>>...>;
  struct Block {
    std::uint64_t firstRow = 0;
    std::size_t rows = 0;
    Values columns;
  };

  explicit RowFeed(const Store& store, prof::TimeWindow window = {})
      : thread_([this, &store, window] { produce(store, window); }) {}
  ~RowFeed() {
    {
      const std::scoped_lock lock(mutex_);
      stopped_ = true;
    }
    moved_.notify_all();
    thread_.join();
  }
  RowFeed(const RowFeed&) = delete;
  RowFeed& operator=(const RowFeed&) = delete;

  /// The row that the feed stands at, or false after the last one.
  bool valid() {
    while (at_ >= current_.rows) {
      if (!pull()) return false;
    }
    return true;
  }
  [[nodiscard]] std::uint64_t row() const { return current_.firstRow + at_; }
  template <std::size_t Column>
  [[nodiscard]] const auto& get() const {
    return std::get<Column>(current_.columns)[at_];
  }
  void step() { ++at_; }
  /// The status of reading; known once valid() is false.
  [[nodiscard]] const prof::Status& status() const { return status_; }

 private:
  static constexpr std::size_t kAhead = 3;

  void produce(const Store& store, prof::TimeWindow window) {
    const auto take = [&](std::uint64_t first, auto... spans) {
      Block block{first, std::get<0>(std::tuple(spans...)).size(),
                  Values{std::vector(spans.begin(), spans.end())...}};
      std::unique_lock lock(mutex_);
      moved_.wait(lock, [&] { return stopped_ || ready_.size() < kAhead; });
      if (stopped_) return false;
      ready_.push_back(std::move(block));
      moved_.notify_all();
      return true;
    };
    prof::Status status = store.scan<Members...>(window, take);
    const std::scoped_lock lock(mutex_);
    status_ = std::move(status);
    ended_ = true;
    moved_.notify_all();
  }

  bool pull() {
    std::unique_lock lock(mutex_);
    moved_.wait(lock, [&] { return ended_ || !ready_.empty(); });
    current_.rows = 0;
    if (ready_.empty()) return false;
    current_ = std::move(ready_.front());
    ready_.pop_front();
    at_ = 0;
    moved_.notify_all();
    return true;
  }

  std::mutex mutex_;
  std::condition_variable moved_;
  std::deque<Block> ready_;  // guarded by mutex_, like what follows
  bool stopped_ = false;
  bool ended_ = false;
  prof::Status status_;
  Block current_;  // of the pulling thread
  std::size_t at_ = 0;
  std::thread thread_;
};

}  // namespace lacuna::analyzer
