// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "cupti/device_samplers.h"

#include <optional>

namespace lacuna::collector::cupti {

std::string DeviceSamplers::start(std::span<const std::uint32_t> devices,
                                  std::chrono::nanoseconds interval) {
  std::string why;
  for (const std::uint32_t device : devices) {
    auto& sampler = samplers_[device];
    if (sampler != nullptr) continue;
    sampler = std::make_unique<PmSampler>(library_);
    if (!sampler->start(device, static_cast<std::uint64_t>(interval.count())) && why.empty())
      why = sampler->why();
  }
  return why;
}

void DeviceSamplers::poll(Decoder& into) {
  for (const auto& [device, sampler] : samplers_) {
    const std::optional<std::int64_t> now = clocks_.stamp();
    if (!now) continue;
    sampler->poll(
        static_cast<std::uint64_t>(*now),
        [&, number = device](const HardwareMetric& metric, std::uint64_t endNs, double value) {
          into.counter(number, metric.title, metric.unit, endNs, value);
        });
  }
}

std::uint64_t DeviceSamplers::stop() {
  std::uint64_t overflows = 0;
  for (const auto& [device, sampler] : samplers_) {
    sampler->stop();
    overflows += sampler->overflows();
  }
  samplers_.clear();
  return overflows;
}

}  // namespace lacuna::collector::cupti
