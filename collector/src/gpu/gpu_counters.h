// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>

#include "gpu/nvml.h"
#include "lacuna/prof/recording.h"

namespace lacuna::collector::gpu {

/// Counter tracks of the GPUs: power, memory in use, temperature, and how busy they are. A GPU that
/// the recorded program has not touched yet is read, but nothing of it is written.
class GpuCounters {
 public:
  explicit GpuCounters(const char* library = nullptr) : nvml_(library) {}
  [[nodiscard]] bool available() const { return !nvml_.gpus().empty(); }
  void sample(prof::TimeNs nowNs, prof::Drainer::Access& access);
  /// Recording has begun again: values are written whether they have changed or not.
  void restart();

 private:
  struct Track {
    prof::TrackId id;
    double value = -1;
  };
  Nvml nvml_;
  std::map<std::pair<unsigned, const char*>, Track> tracks_;
};

}  // namespace lacuna::collector::gpu
