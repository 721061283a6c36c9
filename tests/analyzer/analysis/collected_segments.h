// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/segment_collector.h"
#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {

/// Segments of made-up devices and steps, and the analysis that they make.
class Collected {
 public:
  explicit Collected(std::vector<prof::TimeWindow> steps,
                     std::vector<prof::TimeWindow> devices = {{0, 1000}}, bool warmUp = false) {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      made.steps.all.push_back({.index = i,
                                .name = "batch " + std::to_string(i),
                                .startNs = steps[i].startNs,
                                .endNs = steps[i].endNs,
                                .warmUp = warmUp && i == 0});
    }
    for (std::size_t i = 0; i < devices.size(); ++i) {
      DeviceAccount& device = made.devices.emplace_back();
      device.id = prof::DeviceId(static_cast<std::uint32_t>(i + 1));
      device.window = devices[i];
    }
  }

  Collected& add(prof::TimeNs from, prof::TimeNs to, Cause cause, std::string_view name = "",
                 std::int64_t bandNs = 0, std::size_t device = 0) {
    if (!collector_) collector_.emplace(made);
    collector_->add(made.devices[device], {from, to, cause, names_.intern(name), {}}, bandNs);
    return *this;
  }
  const Analysis& finish() {
    if (!collector_) collector_.emplace(made);
    made.store = names_.build();
    collector_->finish();
    return made;
  }

  Analysis made;

 private:
  StoreBuilder names_;
  std::optional<SegmentCollector> collector_;
};

}  // namespace lacuna::analyzer
