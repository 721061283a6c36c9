// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/findings.h"
#include "lacuna/analyzer/store.h"
#include "rules/registry.h"
#include "support/analysed_run.h"
#include "support/finding_text.h"

/// Made-up runs and the findings in them, for the tests of each rule.
namespace lacuna::analyzer {

inline std::vector<FindingId> faults(const RunPlan& plan, const AnalysisOptions& options = {}) {
  std::vector<FindingId> ids;
  const Analysis analysis = analysed(plan, options);
  for (const Finding& finding : analysis.of<Findings>()) {
    if (finding.kind == FindingKind::Fault) ids.push_back(finding.id);
  }
  return ids;
}

inline const Finding* find(const Analysis& analysis, FindingId id) {
  for (const Finding& finding : analysis.of<Findings>()) {
    if (finding.id == id) return &finding;
  }
  return nullptr;
}

inline std::vector<FindingId> opportunities(const RunPlan& plan) {
  std::vector<FindingId> ids;
  for (const Finding& finding : analysed(plan).of<Findings>()) {
    if (finding.kind == FindingKind::Opportunity) ids.push_back(finding.id);
  }
  return ids;
}

/// A number of a rule, by its name in the rule's table.
inline double thresholdOf(FindingId id, std::string_view name) {
  for (const Threshold& threshold : ruleOf(id).thresholds) {
    if (threshold.name == name) return threshold.value;
  }
  ADD_FAILURE() << findingKey(id) << " has no number called " << name;
  return 0;
}

/// Narrows down which number of a plan a finding begins at: the first with it, 0.2 % from the last
/// without it.
inline std::int64_t edgeOf(FindingId id, auto planOf, std::int64_t without, std::int64_t with) {
  EXPECT_EQ(find(analysed(planOf(without)), id), nullptr) << without;
  EXPECT_NE(find(analysed(planOf(with)), id), nullptr) << with;
  while (std::abs(with - without) > std::max<std::int64_t>(1, with / 500)) {
    const std::int64_t middle = without + (with - without) / 2;
    (find(analysed(planOf(middle)), id) == nullptr ? without : with) = middle;
  }
  return with;
}

/// Expects a finding to begin where this share of a step reaches the rule's number.
inline void expectBegins(FindingId id, std::string_view threshold, double share) {
  const double least = thresholdOf(id, threshold);
  EXPECT_NEAR(share, least, 0.01 * least) << findingKey(id) << ": " << threshold;
}

/// The share that a time has of a step.
inline double partOfStep(const Analysis& analysis, std::int64_t nsPerStep) {
  return static_cast<double>(nsPerStep) / static_cast<double>(analysis.meanStepNs());
}

/// Steps of a hundred kernels of one length. So many have this name; others are rows of a softmax
/// and an update.
inline RunPlan hundredKernels(const char* name, int count) {
  return {.operators = count,
          .kernelName = name,
          .syncEachStep = true,
          .optimizerKernels = 99 - count,
          .optimizerKernel = "softmax_row"};
}

/// Twenty steps of 1 ms of a device alone. A kernel of 0.8 ms begins each step, and the copies are
/// on a queue of their own. The copies' times count from the start of their step.
inline Analysis copiedInEachStep(const std::vector<prof::Memcpy>& copies) {
  StoreBuilder builder;
  builder.append(prof::Device{.id = prof::DeviceId(1), .kind = prof::DeviceKind::Cuda});
  builder.append(prof::Process{.id = prof::ProcessId(1)});
  builder.append(prof::Thread{.id = prof::ThreadId(1), .process = prof::ProcessId(1)});
  for (const std::uint32_t id : {1U, 2U})
    builder.append(prof::Queue{
        .id = prof::QueueId(id), .device = prof::DeviceId(1), .process = prof::ProcessId(1)});
  for (prof::TimeNs at = 0; at < 20'000'000; at += 1'000'000) {
    builder.append(prof::Range{.startNs = at,
                               .durNs = 1'000'000,
                               .thread = prof::ThreadId(1),
                               .category = builder.intern("step"),
                               .name = builder.intern("step")});
    builder.append(prof::Kernel{.startNs = at,
                                .durNs = 800'000,
                                .queue = prof::QueueId(1),
                                .device = prof::DeviceId(1),
                                .name = builder.intern("softmax_row")});
    for (prof::Memcpy copy : copies) {
      copy.startNs += at;
      copy.queue = prof::QueueId(2);
      copy.device = prof::DeviceId(1);
      builder.append(copy);
    }
  }
  auto analysis = analyse(builder.build());
  EXPECT_TRUE(analysis) << analysis.error().message;
  return std::move(*analysis);
}

/// Work of a device every millisecond, and nothing of the host that gave it.
inline Analysis deviceAlone(std::int64_t busyNs) {
  StoreBuilder builder;
  builder.append(prof::Device{.id = prof::DeviceId(1), .kind = prof::DeviceKind::Cuda});
  builder.append(prof::Queue{.id = prof::QueueId(1), .device = prof::DeviceId(1)});
  for (prof::TimeNs at = 0; at < 200'000'000; at += 1'000'000) {
    builder.append(prof::Kernel{.startNs = at,
                                .durNs = busyNs,
                                .queue = prof::QueueId(1),
                                .device = prof::DeviceId(1),
                                .name = builder.intern("k")});
  }
  auto analysis = analyse(builder.build());
  EXPECT_TRUE(analysis) << analysis.error().message;
  return std::move(*analysis);
}

/// An allocator with two segments of 64 bytes, 40 of each in use, that then takes another of 48 for
/// a tensor; or fails.
inline Analysis allocated(std::uint64_t secondInUse, bool fails) {
  StoreBuilder builder;
  builder.append(prof::Device{.id = prof::DeviceId(1), .kind = prof::DeviceKind::Cuda});
  prof::TimeNs at = 0;
  const auto add = [&](prof::MemoryAction action, std::uint64_t address, std::uint64_t bytes) {
    builder.append(prof::Allocation{.timeNs = ++at,
                                    .device = prof::DeviceId(1),
                                    .action = action,
                                    .address = address,
                                    .bytes = bytes});
  };
  for (const auto& [address, inUse] :
       {std::pair<std::uint64_t, std::uint64_t>{1000, 40}, {2000, secondInUse}}) {
    add(prof::MemoryAction::Reserve, address, 64);
    if (inUse > 0) add(prof::MemoryAction::Allocate, address, inUse);
  }
  if (fails) {
    builder.append(prof::LogLine{
        .timeNs = ++at,
        .level = prof::LogLevel::Error,
        .text = builder.intern("out of memory on cuda:0: 48 bytes wanted, 8 free on the device")});
  } else {
    add(prof::MemoryAction::Reserve, 3000, 48);
    add(prof::MemoryAction::Allocate, 3000, 48);
  }
  auto analysis = analyse(builder.build());
  EXPECT_TRUE(analysis) << analysis.error().message;
  return std::move(*analysis);
}

}  // namespace lacuna::analyzer
