// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyses/work/demand.h"
#include "analyses/work/kernels.h"
#include "lacuna/analyzer/operators.h"

/// The use that the device's work made of the device: arithmetic and bytes per second beside what
/// it can do at most, tensor cores, number types, occupancy. Formulas, tables and limits:
/// docs/analyses/efficiency.md.
namespace lacuna::analyzer {

struct DeviceAccount;

/// By a kernel's name; Unknown where it does not show it.
Number numberOfKernel(std::string_view name);

/// The most that a device can do; zeros where that is not known.
struct DevicePeaks {
  std::array<double, kNumberCount> flops{};  ///< per second, dense, by what is multiplied
  double bytesPerSecond = 0;
  std::string source;  ///< which entry of the table, or what was derived
};
DevicePeaks peaksOf(std::string_view deviceName, std::uint64_t memoryBandwidth);

/// The resources that one launch of a kernel asks for.
struct LaunchShape {
  std::uint64_t blocks = 0;
  std::uint64_t threads = 0;  ///< of a block
  std::uint32_t registersPerThread = 0;
  std::uint64_t sharedBytes = 0;  ///< of a block
};
/// The share of a multiprocessor's warps that can be in use at once, 0 … 1; -1 where the device's
/// limits are not known, or the shape is beyond them. `blocks` spread over `multiprocessors` bound
/// it too: a launch of few blocks leaves most of the device empty.
double occupancyOf(const LaunchShape& launch, std::uint32_t computeMajor,
                   std::uint32_t computeMinor, std::uint32_t multiprocessors);

struct RooflineRow {
  std::string name;
  std::string shapes;
  std::uint64_t count = 0;
  std::int64_t deviceNs = 0;
  Demand demand;       ///< of all calls together
  double ofRoof = -1;  ///< 0 … 1 of what the device could do at this ratio of arithmetic to bytes;
                       ///< -1: not known
  bool memoryBound = false;
  std::int64_t recordingNs = 0;  ///< of deviceNs, what recording may have added

  [[nodiscard]] double flopsPerSecond() const { return perSecond(demand.flops); }
  [[nodiscard]] double bytesPerSecond() const { return perSecond(demand.bytes); }

 private:
  [[nodiscard]] double perSecond(double value) const {
    return deviceNs <= 0 ? 0 : value * 1e9 / static_cast<double>(deviceNs);
  }
};

struct EfficiencyStats {
  std::vector<RooflineRow> rows;  ///< longest on the device first
  std::int64_t matrixNs = 0;      ///< kernels that matrix units could do
  std::int64_t tensorCoreNs = 0;  ///< of these, those that did
  double tensorCoreNsOfMatrix() const {
    return matrixNs == 0 ? 0 : double(tensorCoreNs) / double(matrixNs);
  }
  std::array<std::int64_t, kNumberCount> nsByNumber{};  ///< of the matrix kernels
  double occupancy = -1;         ///< mean over kernel time; -1: not derivable
  std::int64_t occupancyNs = 0;  ///< kernel time that it speaks for
  double flops = 0;              ///< known to have been done, in the window
  double mfu = -1;               ///< flops over what the devices could have done in the window
  DevicePeaks peaks;             ///< of the first device
};

/// `operators` is the table by shapes; `window` what the devices are held against.
prof::Result<EfficiencyStats> efficiencyStats(const Store& store, prof::TimeWindow window,
                                              std::span<const DeviceAccount> devices,
                                              std::span<const OperatorRow> operators,
                                              std::span<const KernelRow> kernels,
                                              const Selection& only = {});

}  // namespace lacuna::analyzer
