// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/devices.h"
#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {

/// Devices, queues and their work, row by row.
class DeviceTrace {
 public:
  DeviceTrace() { out_.setPath("t.lcn"); }

  DeviceTrace& process(std::uint32_t id, std::uint32_t osPid, std::int32_t rank = -1) {
    out_.append(prof::Process{.id = prof::ProcessId(id), .osPid = osPid, .rank = rank});
    return *this;
  }
  DeviceTrace& device(std::uint32_t id, std::uint32_t index,
                      prof::DeviceKind kind = prof::DeviceKind::Cuda) {
    out_.append(prof::Device{.id = prof::DeviceId(id), .kind = kind, .index = index});
    return *this;
  }
  DeviceTrace& queue(std::uint32_t id, std::uint32_t device, std::uint32_t process = 0,
                     std::string_view name = "") {
    out_.append(prof::Queue{.id = prof::QueueId(id),
                            .device = prof::DeviceId(device),
                            .process = prof::ProcessId(process),
                            .nativeId = 10 + id,
                            .name = out_.intern(name)});
    return *this;
  }
  DeviceTrace& kernel(std::uint32_t queue, prof::TimeNs start, std::int64_t dur,
                      std::string_view name = "gemm") {
    out_.append(prof::Kernel{
        .startNs = start, .durNs = dur, .queue = prof::QueueId(queue), .name = out_.intern(name)});
    return *this;
  }
  DeviceTrace& copy(std::uint32_t queue, prof::TimeNs start, std::int64_t dur) {
    out_.append(prof::Memcpy{.startNs = start, .durNs = dur, .queue = prof::QueueId(queue)});
    return *this;
  }
  DeviceTrace& set(std::uint32_t queue, prof::TimeNs start, std::int64_t dur) {
    out_.append(prof::Memset{.startNs = start, .durNs = dur, .queue = prof::QueueId(queue)});
    return *this;
  }
  std::shared_ptr<const Store> build() { return out_.build(); }

  std::vector<DeviceAccount> list(prof::TimeWindow window = {},
                                  const AnalysisOptions& options = {}) {
    auto devices = listDevices(*build(), window, options);
    EXPECT_TRUE(devices) << devices.error().message;
    return *std::move(devices);
  }

 private:
  StoreBuilder out_;
};

/// Ranks 0 and 1 with a device each that works, and an idle CPU device.
inline void twoRanks(DeviceTrace& trace) {
  trace.process(1, 100, 0).process(2, 200, 1).device(1, 0).device(2, 1).device(
      3, 0, prof::DeviceKind::Cpu);
  trace.queue(1, 1, 1).queue(2, 2, 2).queue(3, 3, 2).kernel(1, 0, 1).kernel(2, 0, 1);
}

}  // namespace lacuna::analyzer
