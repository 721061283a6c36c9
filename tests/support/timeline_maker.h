// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "lacuna/analyzer/ledger.h"

namespace lacuna::test {

/// Writes timelines by hand. Queues 1…4 are filled by process 1: queues 1 and 2 on device 1, queues
/// 3 and 4 on device 2; threads 1…8 belong to process 1. A name is its number.
class TimelineMaker {
 public:
  TimelineMaker() {
    for (std::uint32_t i = 1; i <= 8; ++i)
      made.topology.processOfThread[prof::ThreadId(i)] = prof::ProcessId(1);
    for (std::uint32_t i = 1; i <= 4; ++i) {
      made.topology.processOfQueue[prof::QueueId(i)] = prof::ProcessId(1);
      made.topology.deviceOfQueue[prof::QueueId(i)] = prof::DeviceId(i <= 2 ? 1 : 2);
    }
  }

  TimelineMaker& host(std::uint32_t thread, prof::TimeNs from, prof::TimeNs to,
                      analyzer::Activity activity, std::uint32_t name = 0,
                      std::uint64_t correlation = 0) {
    made.host.push_back({.startNs = from,
                         .endNs = to,
                         .correlation = correlation,
                         .thread = prof::ThreadId(thread),
                         .name = prof::StringId(name),
                         .wokenBy = {},
                         .activity = activity,
                         .launches = correlation != 0});
    return *this;
  }
  TimelineMaker& launch(std::uint32_t thread, prof::TimeNs from, prof::TimeNs to,
                        std::uint64_t correlation) {
    return host(thread, from, to, analyzer::Activity::Launch, 0, correlation);
  }
  TimelineMaker& asleep(std::uint32_t thread, prof::TimeNs from, prof::TimeNs to,
                        std::uint32_t wokenBy = 0) {
    host(thread, from, to, analyzer::Activity::OffCpu);
    made.host.back().wokenBy = prof::ThreadId(wokenBy);
    return *this;
  }
  TimelineMaker& runs(std::uint32_t queue, prof::TimeNs from, prof::TimeNs to,
                      std::uint64_t correlation = 0,
                      analyzer::Work work = analyzer::Work::Compute) {
    const auto byStart = [](prof::TimeNs t, const analyzer::DeviceSpan& span) {
      return t < span.startNs;
    };
    const auto at = std::upper_bound(made.device.begin(), made.device.end(), from, byStart);
    made.device.insert(at, {.startNs = from,
                            .endNs = to,
                            .correlation = correlation,
                            .queue = prof::QueueId(queue),
                            .name = {},
                            .work = work,
                            .kind = analyzer::DeviceSpanKind::Kernel});
    return *this;
  }
  TimelineMaker& waits(std::uint32_t queue, prof::TimeNs from, prof::TimeNs to) {
    made.waits.push_back({from, to, prof::QueueId(queue)});
    return *this;
  }

  analyzer::Timeline made;
};

inline constexpr analyzer::LedgerScope kDevice1{prof::DeviceId(1), {}};
inline constexpr analyzer::LedgerScope kQueue1{prof::DeviceId(1), prof::QueueId(1)};

}  // namespace lacuna::test
