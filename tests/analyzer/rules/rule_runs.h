// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "lacuna/analyzer/analyse.h"
#include "lacuna/analyzer/findings.h"
#include "lacuna/analyzer/store_builder.h"
#include "support/analysed_run.h"
#include "support/finding_text.h"

/// Made-up runs and the findings in them, for the tests of each rule.
namespace lacuna::analyzer {

inline std::vector<FindingId> faults(const RunPlan& plan, const AnalysisOptions& options = {}) {
  std::vector<FindingId> ids;
  const Analysis analysis = analysed(plan, options);
  for (const Finding& finding : analysis.findings) {
    if (finding.kind == FindingKind::Fault) ids.push_back(finding.id);
  }
  return ids;
}

inline const Finding* find(const Analysis& analysis, FindingId id) {
  for (const Finding& finding : analysis.findings) {
    if (finding.id == id) return &finding;
  }
  return nullptr;
}

inline std::vector<FindingId> opportunities(const RunPlan& plan) {
  std::vector<FindingId> ids;
  for (const Finding& finding : analysed(plan).findings) {
    if (finding.kind == FindingKind::Opportunity) ids.push_back(finding.id);
  }
  return ids;
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

/// An allocator with two segments of 64 bytes, 40 of each in use, that then takes another of 48 for a tensor; or fails.
inline Analysis allocated(std::uint64_t secondInUse, bool fails) {
  StoreBuilder builder;
  builder.append(prof::Device{.id = prof::DeviceId(1), .kind = prof::DeviceKind::Cuda});
  prof::TimeNs at = 0;
  const auto add = [&](prof::MemoryAction action, std::uint64_t address, std::uint64_t bytes) {
    builder.append(prof::Allocation{
        .timeNs = ++at, .device = prof::DeviceId(1), .action = action, .address = address, .bytes = bytes});
  };
  for (const auto& [address, inUse] : {std::pair<std::uint64_t, std::uint64_t>{1000, 40}, {2000, secondInUse}}) {
    add(prof::MemoryAction::Reserve, address, 64);
    if (inUse > 0) add(prof::MemoryAction::Allocate, address, inUse);
  }
  if (fails) {
    builder.append(
        prof::LogLine{.timeNs = ++at,
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
