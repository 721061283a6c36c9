// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <unordered_map>

#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/scope.h"

namespace lacuna::analyzer {

/// The devices of the trace that did anything in the window and that the options ask for, with
/// everything but ledgers.
prof::Result<std::vector<DeviceAccount>> listDevices(const Store& store, prof::TimeWindow window,
                                                     const AnalysisOptions& options);

/// The names of a queue and its device; empty where the analysis lacks it.
struct QueuePlace {
  std::string_view device;
  std::string_view queue;
};
QueuePlace placeOf(const Analysis& analysis, prof::QueueId queue);

/// The labels of the trace's devices (deviceLabel).
class DeviceLabels {
 public:
  /// `store` is null for an analysis without a trace: no device has a label then.
  explicit DeviceLabels(const Store* store);
  /// Empty where the trace has no device of that id.
  [[nodiscard]] std::string of(prof::DeviceId id) const;

 private:
  std::unordered_map<prof::DeviceId, std::string> labels_;
};
/// The same, in words for people: memory of no device is the host's, and a device of several ranks'
/// has its rank.
std::string whoseMemory(const Analysis& analysis, const DeviceLabels& labels, prof::DeviceId id);
std::string_view deviceKindName(prof::DeviceKind kind);

}  // namespace lacuna::analyzer
