// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lacuna/prof/writer.h"

namespace lacuna::gui::testing {

/// A .lcn file that is being written, step by step: steps of 10 ms that wait for `loaders` loader
/// threads, launch eight kernels each and allocate memory.
class Recording {
 public:
  static constexpr prof::TimeNs kBegin = 1'000'000'000;
  static constexpr prof::TimeNs kStepNs = 10'000'000;

  explicit Recording(const std::string& path, std::uint32_t loaders = 0) : loaders_(loaders) {
    if (auto writer = prof::Writer::create(path)) writer_.emplace(*std::move(writer));
    if (!writer_) return;
    using namespace prof;  // NOLINT: rows of every table
    append(Process{.id = ProcessId(1), .osPid = 42, .name = text("python"), .rank = -1});
    append(Thread{.id = ThreadId(1), .process = ProcessId(1), .osTid = 42, .name = text("main")});
    for (std::uint32_t n = 0; n < loaders_; ++n) {
      append(Thread{.id = ThreadId(100 + n),
                    .process = ProcessId(1),
                    .osTid = 100 + n,
                    .name = text("loader")});
    }
    append(Device{
        .id = DeviceId(1), .kind = DeviceKind::Cuda, .index = 0, .name = text("Test Device")});
    append(Queue{.id = QueueId(1), .device = DeviceId(1), .process = ProcessId(1), .nativeId = 7});
  }

  /// Writes the next steps out.
  void steps(int count) {
    for (int i = 0; i < count; ++i) step();
    (void)writer_->flush();
  }
  void finish() { (void)writer_->finish(); }

 private:
  template <class Row>
  void append(const Row& row) {
    writer_->append(row);
  }
  prof::StringId text(std::string_view s) { return writer_->intern(s); }
  void range(std::uint32_t thread, prof::TimeNs start, prof::TimeNs length, std::string_view name,
             std::string_view category = {}) {
    append(prof::Range{.startNs = start,
                       .durNs = length,
                       .thread = prof::ThreadId(thread),
                       .category = text(category),
                       .name = text(name)});
  }

  void step() {
    using namespace prof;  // NOLINT: rows of every table
    const TimeNs t = kBegin + done_ * kStepNs;
    range(1, t, kStepNs, "step " + std::to_string(done_));
    ++done_;
    range(1, t, 3'000'000, "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__");
    for (std::uint32_t n = 0; n < loaders_; ++n)
      range(100 + n, t + 1, 9'000'000, "fetch", "loader");
    const std::uint64_t first = correlation_ + 1;
    for (int k = 0; k < 8; ++k) {
      const TimeNs at = t + 3'100'000 + k * 760'000;
      const std::string_view op = k % 2 ? "relu" : "conv2d";
      ++correlation_;
      range(1, at, 400'000, op);
      append(ApiCall{.startNs = at + 150'000,
                     .durNs = 20'000,
                     .thread = ThreadId(1),
                     .name = text("cudaLaunchKernel"),
                     .correlation = correlation_});
      append(Kernel{.startNs = at + 210'000,
                    .durNs = 500'000 - k % 2 * 100'000,
                    .queue = QueueId(1),
                    .device = DeviceId(1),
                    .correlation = correlation_,
                    .name = text(k % 2 ? "relu_kernel" : "gemm_kernel"),
                    .gridX = 128,
                    .blockX = 256});
      memory(at, MemoryAction::Allocate, correlation_, op);
    }
    for (int k = 0; k < 8; ++k)
      memory(t + 9'300'000 + k, MemoryAction::Free, first + static_cast<std::uint64_t>(k), {});
  }
  void memory(prof::TimeNs at, prof::MemoryAction action, std::uint64_t address,
              std::string_view op) {
    append(prof::Allocation{.timeNs = at,
                            .thread = prof::ThreadId(1),
                            .device = prof::DeviceId(1),
                            .queue = prof::QueueId(1),
                            .action = action,
                            .role = prof::MemoryRole::Activation,
                            .address = 1000 + address,
                            .bytes = 4 << 20,
                            .op = text(op)});
  }

  std::optional<prof::Writer> writer_;
  std::uint32_t loaders_ = 0;
  int done_ = 0;
  std::uint64_t correlation_ = 0;
};

}  // namespace lacuna::gui::testing
