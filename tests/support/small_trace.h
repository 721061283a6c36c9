// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string_view>
#include <utility>

#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/store.h"
#include "lacuna/prof/events.h"

namespace lacuna::test {

/// Writes a trace of a few events by hand, with times in microseconds. Thread 1 (101) of process 1
/// (100) fills queue 1
/// ("stream 7") of device 1 (cuda:0, a "Testcard").
class SmallTrace {
 public:
  SmallTrace() {
    builder.setPath("run.lcn");
    builder.append(prof::Process{.id = kProcess, .osPid = 100, .rank = -1});
    builder.append(prof::Thread{.id = kThread, .process = kProcess, .osTid = 101});
    builder.append(prof::Device{.id = kDevice,
                                .kind = prof::DeviceKind::Cuda,
                                .index = 0,
                                .name = builder.intern("Testcard")});
    builder.append(prof::Queue{
        .id = kQueue, .device = kDevice, .process = kProcess, .name = builder.intern("stream 7")});
  }

  /// Something that the thread is in.
  SmallTrace& range(std::int64_t fromUs, std::int64_t untilUs, std::string_view name,
                    std::string_view category = "", std::string_view text = "") {
    builder.append(prof::Range{.startNs = 1000 * fromUs,
                               .durNs = 1000 * (untilUs - fromUs),
                               .thread = kThread,
                               .category = builder.intern(category),
                               .name = builder.intern(name),
                               .text = builder.intern(text)});
    return *this;
  }
  SmallTrace& step(std::int64_t fromUs, std::int64_t untilUs) {
    return range(fromUs, untilUs, "step", "step");
  }
  SmallTrace& call(std::int64_t fromUs, std::int64_t untilUs, std::string_view name,
                   std::uint64_t correlation = 0) {
    builder.append(prof::ApiCall{.startNs = 1000 * fromUs,
                                 .durNs = 1000 * (untilUs - fromUs),
                                 .thread = kThread,
                                 .name = builder.intern(name),
                                 .correlation = correlation});
    return *this;
  }
  /// Work of the device whose launch is not in the trace.
  SmallTrace& kernel(std::int64_t fromUs, std::int64_t untilUs, std::string_view name,
                     std::uint64_t correlation = 0) {
    builder.append(prof::Kernel{.startNs = 1000 * fromUs,
                                .durNs = 1000 * (untilUs - fromUs),
                                .queue = kQueue,
                                .device = kDevice,
                                .correlation = correlation,
                                .name = builder.intern(name)});
    return *this;
  }
  /// A launch call, and the kernel that it launches.
  SmallTrace& launched(std::int64_t callFromUs, std::int64_t callUntilUs, std::int64_t fromUs,
                       std::int64_t untilUs, std::string_view name) {
    ++correlation_;
    return call(callFromUs, callUntilUs, "cudaLaunchKernel", correlation_)
        .kernel(fromUs, untilUs, name, correlation_);
  }
  SmallTrace& copy(std::int64_t fromUs, std::int64_t untilUs, std::uint64_t bytes,
                   prof::CopyKind kind, prof::MemoryKind source = prof::MemoryKind::Pinned) {
    builder.append(prof::Memcpy{.startNs = 1000 * fromUs,
                                .durNs = 1000 * (untilUs - fromUs),
                                .queue = kQueue,
                                .device = kDevice,
                                .bytes = bytes,
                                .copyKind = kind,
                                .sourceKind = source});
    return *this;
  }
  SmallTrace& memory(std::int64_t atUs, prof::MemoryAction action, std::uint64_t address,
                     std::uint64_t bytes, prof::MemoryRole role = prof::MemoryRole::Other,
                     std::string_view op = "") {
    builder.append(prof::Allocation{.timeNs = 1000 * atUs,
                                    .thread = kThread,
                                    .device = kDevice,
                                    .queue = kQueue,
                                    .action = action,
                                    .role = role,
                                    .address = address,
                                    .bytes = bytes,
                                    .op = builder.intern(op)});
    return *this;
  }

  /// The trace is empty afterwards.
  analyzer::Analysis analysed(const analyzer::AnalysisOptions& options = {}) {
    auto analysis = analyzer::analyse(builder.build(), options);
    EXPECT_TRUE(analysis) << analysis.error().message;
    return std::move(*analysis);
  }

  static constexpr prof::ProcessId kProcess{1};
  static constexpr prof::ThreadId kThread{1};
  static constexpr prof::DeviceId kDevice{1};
  static constexpr prof::QueueId kQueue{1};

  analyzer::StoreBuilder builder;

 private:
  std::uint64_t correlation_ = 0;
};

}  // namespace lacuna::test
