// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/account.h"
#include "lacuna/analyzer/diff.h"
#include "lacuna/analyzer/store.h"

/// Small runs to be compared, written by hand.
namespace lacuna::analyzer {

inline constexpr prof::TimeNs kStepNs = 100'000;
/// A five-hundredth of a step.
inline constexpr std::int64_t kFloorNs = 200;

/// Steps of kStepNs, one after the other, that thread 1 marks; the same happens in each of them.
class TreeRun {
 public:
  explicit TreeRun(int steps = 6, bool marked = true) : steps_(steps) {
    out_.append(prof::Process{.id = prof::ProcessId(1)});
    for (const std::uint32_t thread : {1U, 2U})
      out_.append(prof::Thread{.id = prof::ThreadId(thread), .process = prof::ProcessId(1)});
    out_.append(prof::Device{.id = prof::DeviceId(1), .kind = prof::DeviceKind::Cuda});
    out_.append(prof::Queue{
        .id = prof::QueueId(1), .device = prof::DeviceId(1), .process = prof::ProcessId(1)});
    for (prof::TimeNs step = 0; step < steps && marked; ++step)
      range(step * kStepNs, kStepNs, "step", "step", 1);
  }
  TreeRun& op(prof::TimeNs from, prof::TimeNs to, std::string_view name, std::uint32_t thread = 1) {
    for (prof::TimeNs step = 0; step < steps_; ++step)
      range(step * kStepNs + from, to - from, "cpu_op", name, thread);
    return *this;
  }
  TreeRun& opIn(prof::TimeNs step, prof::TimeNs from, prof::TimeNs to, std::string_view name) {
    range(step * kStepNs + from, to - from, "cpu_op", name, 1);
    return *this;
  }
  /// A call of 100 ns, and its work.
  TreeRun& launch(prof::TimeNs at, prof::TimeNs from, prof::TimeNs to) {
    for (prof::TimeNs step = 0; step < steps_; ++step) launchIn(step, at, from, to);
    return *this;
  }
  TreeRun& launchIn(prof::TimeNs step, prof::TimeNs at, prof::TimeNs from, prof::TimeNs to) {
    out_.append(prof::ApiCall{.startNs = step * kStepNs + at,
                              .durNs = 100,
                              .thread = prof::ThreadId(1),
                              .name = out_.intern("cudaLaunchKernel"),
                              .correlation = ++correlation_});
    // Work of different names repeats nowhere.
    out_.append(prof::Kernel{.startNs = step * kStepNs + from,
                             .durNs = to - from,
                             .queue = prof::QueueId(1),
                             .device = prof::DeviceId(1),
                             .correlation = correlation_,
                             .name = out_.intern("kernel " + std::to_string(correlation_))});
    return *this;
  }
  /// Nothing is added after the first call.
  Analysis analysed(const AnalysisOptions& options = {}) {
    if (!store_) store_ = out_.build();
    Analysis made;
    made.store = store_;
    made.options = options;
    WorkProgress progress({});
    EXPECT_TRUE(account(made, progress));
    return made;
  }

 private:
  void range(prof::TimeNs start, prof::TimeNs dur, std::string_view category, std::string_view name,
             std::uint32_t thread) {
    out_.append(prof::Range{.startNs = start,
                            .durNs = dur,
                            .thread = prof::ThreadId(thread),
                            .category = out_.intern(category),
                            .name = out_.intern(name)});
  }

  StoreBuilder out_;
  std::shared_ptr<const Store> store_;
  int steps_;
  std::uint64_t correlation_ = 0;
};

inline RunDiff diffOf(TreeRun& before, TreeRun& after) {
  const auto diff = diffRuns(before.analysed(), after.analysed());
  EXPECT_TRUE(diff);
  return *diff;
}

/// "verdict path change", in order.
inline std::vector<std::string> linesOf(const RunDiff& diff) {
  std::vector<std::string> out;
  for (const Difference& row : diff.tree)
    out.push_back(std::string(diffVerdictName(row.verdict)) + " " + row.path + " " +
                  std::to_string(row.changeNs));
  return out;
}

}  // namespace lacuna::analyzer
