// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lacuna/analyzer/scope.h"

/// Shows how the ranks of a job keep step, in a trace that holds several of them (`lacuna merge`).
/// A collective lasts from its first rank's entry to the end. Nothing can be transferred until the
/// last rank has entered. So an earlier rank's time until then is waiting (arrival skew), and the
/// rest is transfer. See docs/analyses/communication.md.
namespace lacuna::analyzer {

struct DeviceAccount;

/// One rank's part in one collective.
struct CollectiveCall {
  prof::TimeNs startNs = 0;
  prof::TimeNs endNs = 0;
  std::int32_t rank = -1;
  std::string_view
      group;  ///< kernel, process group and communicator: calls of one are matched by their order
  bool inSteps = true;
  prof::DeviceId device{};
  prof::QueueId queue{};
};

struct RankRow {
  std::int32_t rank = -1;
  std::string device;
  std::uint64_t collectives = 0;  ///< that could be matched
  std::int64_t waitNs = 0;        ///< in collectives, for ranks that entered later
  std::int64_t transferNs = 0;    ///< in collectives, after the last entry
  std::uint64_t last = 0;         ///< how often it entered last
  std::int64_t heldUpNs =
      0;  ///< how long the middle rank then waited for it, in one collective or several at once
  std::int64_t computeNs = 0;     ///< of its device, in the window
  std::int64_t stepWaitNs = 0;    ///< how long it waited in any collective, in the steps
  std::int64_t stepHeldUpNs = 0;  ///< of heldUpNs, likewise
  std::int64_t stepAloneNs =
      0;  ///< how long the next-latest rank waited for it: what all would gain without it
  /// Time that recording may have added: to waitNs by what it cost the rank that it waited for, to
  /// the others by what it cost this one.
  std::int64_t waitRecordingNs = 0;
  std::int64_t transferRecordingNs = 0;
  std::int64_t heldUpRecordingNs = 0;
  std::int64_t computeRecordingNs = 0;
};

struct LateEntry {
  prof::TimeNs fromNs = 0;  ///< the middle rank's entry
  prof::TimeNs toNs = 0;    ///< the last one's, or where the middle rank left before it
  std::int32_t rank = -1;
  prof::DeviceId device{};  ///< where the last one entered
  prof::QueueId queue{};
};

struct RankStats {
  std::vector<RankRow> rows;  ///< by rank; empty where fewer than two ranks are in the trace
  std::uint64_t matched = 0;
  std::uint64_t unmatched = 0;             ///< calls of groups that not every rank made as often
  std::vector<LateEntry> latest;           ///< the worst few, worst first
  double imbalance = 0;                    ///< most compute of a rank over the mean, less one
  [[nodiscard]] double waitShare() const;  ///< of the time in collectives
};

/// Only calls with a rank count.
RankStats rankStats(std::vector<CollectiveCall> calls);
prof::Result<RankStats> rankStats(const Store& store, prof::TimeWindow window,
                                  std::span<const DeviceAccount> devices,
                                  const StepSpans& steps = {});

}  // namespace lacuna::analyzer
