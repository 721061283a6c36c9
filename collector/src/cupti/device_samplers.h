// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "cupti/clock_reader.h"
#include "cupti/decoder.h"
#include "cupti/library.h"
#include "cupti/pm_sampler.h"

namespace lacuna::collector::cupti {

/// Samples the hardware counters of each device that the process uses. Not thread-safe, and never
/// called from CUPTI's callbacks.
class DeviceSamplers {
 public:
  DeviceSamplers(const Library& library, const ClockReader& clocks)
      : library_(library), clocks_(clocks) {}

  /// Begins with those of the devices that are not sampled yet. Answers why one cannot be; empty
  /// where all can.
  std::string start(std::span<const std::uint32_t> devices, std::chrono::nanoseconds interval);
  /// Takes what the hardware has gathered since the last call.
  void poll(Decoder& into);
  /// Answers how often a buffer of the hardware overflowed before it was read.
  std::uint64_t stop();

 private:
  const Library& library_;
  const ClockReader& clocks_;
  std::map<std::uint32_t, std::unique_ptr<PmSampler>> samplers_;
};

}  // namespace lacuna::collector::cupti
