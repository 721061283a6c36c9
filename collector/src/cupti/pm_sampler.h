// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>

#include "cupti/library.h"

namespace lacuna::collector::cupti {

/// One hardware counter: CUPTI's name for it, ours, and its unit.
struct HardwareMetric {
  const char* metric;
  const char* title;
  const char* unit;
};
/// Those that are sampled; all fit into one pass of the hardware.
std::span<const HardwareMetric> hardwareMetrics();

/// The hardware counters of one GPU over time, by CUPTI's PM sampling: SM and tensor pipe activity,
/// memory, PCIe and NVLink traffic. Not thread-safe, and never called from CUPTI's callbacks.
class PmSampler {
 public:
  /// A value that holds until `endNs`, in the clock of records.
  using Emit = std::function<void(const HardwareMetric& metric, std::uint64_t endNs, double value)>;

  explicit PmSampler(const Library& library) : library_(library) {}
  PmSampler(const PmSampler&) = delete;
  PmSampler& operator=(const PmSampler&) = delete;
  ~PmSampler() { stop(); }

  /// Begins to sample a device that this process uses. False when that cannot be; why() then has
  /// the reason and remedy.
  bool start(std::uint32_t device, std::uint64_t intervalNs);
  [[nodiscard]] const std::string& why() const { return why_; }
  /// Takes what the hardware has gathered since the last call; the first sample, which covers the
  /// time before, is left out. `nowNs` ties the GPU's clock to ours: to within the time that a poll
  /// takes.
  void poll(std::uint64_t nowNs, const Emit& emit);
  void stop();
  /// Times that the hardware's buffer overflowed before it was read.
  [[nodiscard]] std::uint64_t overflows() const { return overflows_; }

  /// The configuration of a chip with all these metrics, as CUPTI makes it on any machine; empty
  /// when the chip does not have them all. In `passes` how often the hardware would have to run for
  /// them.
  static std::vector<std::uint8_t> configure(const Library& library, const char* chip,
                                             std::span<const HardwareMetric> metrics,
                                             std::size_t& passes);

 private:
  struct Calls;
  bool fail(const char* what, CUptiResult result);
  bool initialiseImage();
  bool decodeOnce(std::uint64_t nowNs, const Emit& emit);
  void emitSample(std::size_t index, std::uint64_t endNs, const Emit& emit);

  const Library& library_;
  std::shared_ptr<Calls> calls_;
  std::string why_;
  CUpti_PmSampling_Object* sampling_ = nullptr;
  CUpti_Profiler_Host_Object* host_ = nullptr;
  std::vector<std::uint8_t>
      config_;  ///< CUPTI reads it until sampling is disabled: it keeps the pointer
  std::vector<std::uint8_t> availability_;
  std::vector<std::uint8_t> image_;
  std::vector<const char*> names_;
  std::int64_t clockOffsetNs_ = INT64_MAX;
  bool first_ = true;
  std::uint64_t overflows_ = 0;
};

}  // namespace lacuna::collector::cupti
