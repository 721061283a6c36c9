// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyses/work/efficiency.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "analyses/parts.h"
#include "analyses/work/kernels.h"
#include "analyses/work/lowered.h"
#include "lacuna/analyzer/ledger.h"
#include "lacuna/analyzer/operators.h"
#include "lacuna/analyzer/text.h"
#include "lacuna/prof/bounds.h"

namespace lacuna::analyzer {
namespace {

/// Limits of a block and of a thread on every device that has the limits below.
constexpr std::uint64_t kMostThreads = 1024;
constexpr std::uint32_t kMostRegisters = 255;

struct GpuLimits {
  std::uint32_t warps, blocks, sharedBytes, blockOverhead, sharedUnit;
};
/// Limits of a multiprocessor, by compute capability: the CUDA programming guide's table of
/// technical specifications.
std::optional<GpuLimits> limitsOf(std::uint32_t major, std::uint32_t minor) {
  const std::uint32_t kKi = 1024;
  switch (major * 10 + minor) {
    case 70:
      return GpuLimits{64, 32, 96 * kKi, 0, 256};
    case 75:
      return GpuLimits{32, 16, 64 * kKi, 0, 256};
    case 80:
      return GpuLimits{64, 32, 164 * kKi, 1024, 128};
    case 86:
      return GpuLimits{48, 16, 100 * kKi, 1024, 128};
    case 87:
      return GpuLimits{48, 16, 164 * kKi, 1024, 128};
    case 89:
      return GpuLimits{48, 24, 100 * kKi, 1024, 128};
    case 90:
    case 100:
      return GpuLimits{64, 32, 228 * kKi, 1024, 128};
    case 120:
      return GpuLimits{48, 24, 100 * kKi, 1024, 128};
    default:
      return std::nullopt;
  }
}

struct KnownDevice {
  std::string_view name;                ///< part of the device's name; the first match counts
  double f64, f32, tf32, half, i8, f8;  ///< tera-operations per second, dense
  double gigabytes;                     ///< per second
};
/// Published by the makers; boost clocks, without sparsity.
constexpr KnownDevice kDevices[] = {{"B200", 40, 80, 1100, 2250, 4500, 4500, 8000},
                                    {"GH200", 67, 67, 495, 989, 1979, 1979, 4000},
                                    {"H200", 67, 67, 495, 989, 1979, 1979, 4800},
                                    {"H100 NVL", 60, 60, 418, 835, 1671, 1671, 3900},
                                    {"H100 PCIe", 51, 51, 378, 756, 1513, 1513, 2000},
                                    {"H100", 67, 67, 495, 989, 1979, 1979, 3350},
                                    {"A100-SXM4-80GB", 19.5, 19.5, 156, 312, 624, 0, 2039},
                                    {"A100 80GB", 19.5, 19.5, 156, 312, 624, 0, 1935},
                                    {"A100", 19.5, 19.5, 156, 312, 624, 0, 1555},
                                    {"A40", 0.58, 37.4, 74.8, 149.7, 299, 0, 696},
                                    {"A30", 10.3, 10.3, 82, 165, 330, 0, 933},
                                    {"A10", 0.49, 31.2, 62.5, 125, 250, 0, 600},
                                    {"L40S", 1.4, 91.6, 183, 366, 733, 733, 864},
                                    {"L4", 0.49, 30.3, 60, 121, 242, 242, 300},
                                    {"V100", 7.8, 15.7, 0, 125, 0, 0, 900},
                                    {"T4", 0.25, 8.1, 0, 65, 130, 0, 320},
                                    {"RTX 4090", 1.3, 82.6, 82.6, 165, 661, 661, 1008},
                                    {"RTX 3090", 0.56, 35.6, 35.6, 71, 284, 0, 936},
                                    {"MI300X", 163, 163, 654, 1307, 2615, 2615, 5300},
                                    {"MI250X", 47.9, 95.7, 0, 383, 383, 0, 3277},
                                    {"MI250", 45.3, 90.5, 0, 362, 362, 0, 3277},
                                    {"MI100", 23.1, 46.1, 0, 184.6, 184.6, 0, 1229}};

/// Not as the beginning of a longer number: an RTX A1000 is no A100, an L40 no L4.
bool isNamed(std::string_view device, std::string_view known) {
  for (std::size_t at = device.find(known); at != std::string_view::npos;
       at = device.find(known, at + 1)) {
    const std::size_t end = at + known.size();
    if (end == device.size() || device[end] < '0' || device[end] > '9') return true;
  }
  return false;
}

/// The volume of a grid or a block. A side that the trace does not give counts as one.
std::uint64_t volumeOf(std::uint32_t x, std::uint32_t y, std::uint32_t z) {
  const std::uint64_t area = std::uint64_t{x} * std::max(1u, y);
  return prof::productOf(area, std::max(1u, z));
}

/// Occupancy of every kernel, weighed by its time.
prof::Status addOccupancy(const Store& store, prof::TimeWindow window, const Selection& only,
                          EfficiencyStats& stats) {
  using prof::Kernel;
  std::map<prof::DeviceId, prof::Device> devices;
  for (std::uint64_t i = 0; i < store.rows<prof::Device>(); ++i) {
    const auto device = store.row<prof::Device>(i);
    if (device.kind == prof::DeviceKind::Cuda && only.holds(device.id)) devices[device.id] = device;
  }
  if (devices.empty()) return {};
  double sum = 0;
  const auto status = store.scan<&Kernel::startNs, &Kernel::durNs, &Kernel::device, &Kernel::gridX,
                                 &Kernel::gridY, &Kernel::gridZ, &Kernel::blockX, &Kernel::blockY,
                                 &Kernel::blockZ, &Kernel::registersPerThread,
                                 &Kernel::staticSharedBytes, &Kernel::dynamicSharedBytes>(
      window, [&](std::uint64_t, auto start, auto dur, auto id, auto gx, auto gy, auto gz, auto bx,
                  auto by, auto bz, auto registers, auto fixed, auto dynamic) {
        for (std::size_t i = 0; i < start.size(); ++i) {
          const auto device = devices.find(id[i]);
          if (device == devices.end() || bx[i] == 0 || start[i] < window.startNs ||
              start[i] >= window.endNs)
            continue;
          const LaunchShape launch{volumeOf(gx[i], gy[i], gz[i]), volumeOf(bx[i], by[i], bz[i]),
                                   registers[i], std::uint64_t{fixed[i]} + dynamic[i]};
          const prof::Device& limits = device->second;
          const double share =
              occupancyOf(launch, limits.computeMajor, limits.computeMinor, limits.multiprocessors);
          if (share < 0) continue;
          sum += share * static_cast<double>(dur[i]);
          prof::addTo(stats.occupancyNs, dur[i]);
        }
      });
  if (stats.occupancyNs > 0) stats.occupancy = sum / static_cast<double>(stats.occupancyNs);
  return status;
}

}  // namespace

Number numberOfKernel(std::string_view name) {
  const std::string text = lowered(name);
  const auto has = [&](auto... parts) { return (contains(text, parts) || ...); };
  if (has("e4m3", "e5m2", "fp8")) return Number::F8;
  if (has("bf16", "bfloat16")) return Number::Bf16;
  if (has("nvjet")) {
    // cuBLAS writes a letter a matrix: q for 8 bits, t for bf16, h for f16.
    return has("_qq")     ? Number::F8
           : has("_tst_") ? Number::Bf16
           : has("_hsh_") ? Number::F16
                          : Number::Unknown;
  }
  if (has("cijk_")) {
    return has("_bbs_", "_bss_")           ? Number::Bf16
           : has("_hhs_", "_hss_", "_hb_") ? Number::F16
           : has("_sb_")                   ? Number::F32
           : has("_db_")                   ? Number::F64
                                           : Number::Unknown;
  }
  if (has("tf32")) return Number::Tf32;
  // Turing's s1688 multiplies halves and names them; Ampere's names no type and multiplies tf32.
  if (has("h884", "h1688", "h16816", "s884", "s16816", "hgemm", "f16", "fp16", "half"))
    return Number::F16;
  if (has("s1688gemm", "s1688cudnn", "s1688fprop", "s1688wgrad", "s1688dgrad")) return Number::Tf32;
  if (has("s1688")) return Number::F16;
  if (has("i8816", "imma", "int8", "igemm")) return Number::I8;
  if (has("dgemm", "f64", "double")) return Number::F64;
  if (has("sgemm", "f32", "fp32", "float", "ffma")) return Number::F32;
  return Number::Unknown;
}

DevicePeaks peaksOf(std::string_view deviceName, std::uint64_t memoryBandwidth) {
  DevicePeaks peaks;
  for (const KnownDevice& known : kDevices) {
    if (!isNamed(deviceName, known.name)) continue;
    const double tera[kNumberCount] = {
        0,          known.f64,  known.f32, known.tf32 > 0 ? known.tf32 : known.f32,
        known.half, known.half, known.i8,  known.f8};
    for (std::size_t i = 0; i < kNumberCount; ++i) peaks.flops[i] = tera[i] * 1e12;
    peaks.bytesPerSecond = known.gigabytes * 1e9;
    peaks.source = known.name;
    break;
  }
  if (memoryBandwidth > 0) peaks.bytesPerSecond = static_cast<double>(memoryBandwidth);
  return peaks;
}

double occupancyOf(const LaunchShape& launch, std::uint32_t computeMajor,
                   std::uint32_t computeMinor, std::uint32_t multiprocessors) {
  const auto limits = limitsOf(computeMajor, computeMinor);
  if (!limits || launch.threads == 0 || launch.blocks == 0) return -1;
  // No device has executed these: the trace is wrong about them.
  if (launch.threads > kMostThreads || launch.registersPerThread > kMostRegisters ||
      launch.sharedBytes > limits->sharedBytes) {
    return -1;
  }
  const std::uint64_t warps = (launch.threads + 31) / 32;
  std::uint64_t blocks = std::min<std::uint64_t>(limits->blocks, limits->warps / warps);
  if (launch.registersPerThread > 0) {
    // Registers are handed out in units of 256 a warp, of 65,536; warps in fours.
    const std::uint64_t perWarp = (std::uint64_t{launch.registersPerThread} * 32 + 255) / 256 * 256;
    blocks = std::min(blocks, 65'536 / perWarp / 4 * 4 / warps);
  }
  if (launch.sharedBytes > 0) {
    const std::uint64_t unit = limits->sharedUnit;
    const std::uint64_t each =
        (launch.sharedBytes + limits->blockOverhead + unit - 1) / unit * unit;
    blocks = std::min(blocks, limits->sharedBytes / each);
  }
  auto resident = static_cast<double>(blocks);
  if (multiprocessors > 0)
    resident = std::min(resident, double(launch.blocks) / double(multiprocessors));
  return std::min(1.0, resident * static_cast<double>(warps) / limits->warps);
}

prof::Result<EfficiencyStats> efficiencyStats(const Store& store, prof::TimeWindow window,
                                              std::span<const DeviceAccount> devices,
                                              std::span<const OperatorRow> operators,
                                              std::span<const KernelRow> kernels,
                                              const Selection& only) {
  EfficiencyStats stats;
  if (devices.empty()) return stats;
  stats.peaks = peaksOf(devices.front().name, devices.front().memoryBandwidth);
  for (const KernelRow& row : kernels) {
    if (!row.matrix || row.work == Work::Communication) continue;
    prof::addTo(stats.matrixNs, row.totalNs);
    if (row.tensorCore) prof::addTo(stats.tensorCoreNs, row.totalNs);
    prof::addTo(stats.nsByNumber[static_cast<std::size_t>(numberOfKernel(row.name))], row.totalNs);
  }
  // Where shapes do not show the type, the one that most of the matrix time multiplies.
  const auto most = std::max_element(stats.nsByNumber.begin(), stats.nsByNumber.end());
  const auto usual =
      *most == 0 ? Number::Unknown : static_cast<Number>(most - stats.nsByNumber.begin());
  const double usualBytes = usual == Number::F16 || usual == Number::Bf16 ? 2 : 4;
  double possible = 0;
  for (const OperatorRow& op : operators) {
    if (op.deviceNs <= 0) continue;
    Demand demand = demandOf(op.name, op.shapes, usualBytes);
    const auto times = static_cast<double>(op.deviceCalls);
    demand.flops *= times;
    demand.bytes *= times;
    if (!demand.known() && op.inside.flops > 0) demand = op.inside;
    if (!demand.known()) continue;
    if (demand.number == Number::Unknown || (demand.number == Number::F32 && usual == Number::Tf32))
      demand.number = usual;
    RooflineRow row{op.name, op.shapes, op.deviceCalls, op.deviceNs, demand};
    row.recordingNs = op.deviceRecordingNs;
    const double peak = stats.peaks.flops[static_cast<std::size_t>(demand.number)];
    const double bandwidth = stats.peaks.bytesPerSecond;
    if (bandwidth > 0 && (demand.flops == 0 || peak > 0)) {
      const double computeNs = demand.flops == 0 ? 0 : demand.flops / peak * 1e9;
      const double moveNs = demand.bytes / bandwidth * 1e9;
      row.memoryBound = moveNs > computeNs;
      row.ofRoof = std::max(computeNs, moveNs) / static_cast<double>(op.deviceNs);
    }
    stats.flops += demand.flops;
    if (peak > 0) possible += demand.flops / peak;
    stats.rows.push_back(std::move(row));
  }
  std::sort(stats.rows.begin(), stats.rows.end(), [](const RooflineRow& a, const RooflineRow& b) {
    return std::tie(b.deviceNs, a.name, a.shapes) < std::tie(a.deviceNs, b.name, b.shapes);
  });
  const double seconds = static_cast<double>(window.endNs - window.startNs) / 1e9 *
                         static_cast<double>(devices.size());
  if (possible > 0 && seconds > 0) stats.mfu = possible / seconds;
  if (auto status = addOccupancy(store, window, only, stats); !status) return status.error();
  return stats;
}

namespace of_efficiency {
namespace {

constexpr std::array kInputs{&parts::operators, &parts::kernels};

/// The part of the window whose operators are recorded: not that of plain steps.
double shareInDetail(const Analysis& analysis) {
  const auto wholeNs = static_cast<double>(analysis.window.endNs - analysis.window.startNs);
  std::int64_t plainNs = 0;
  for (const Step& step : analysis.steps.all) {
    if (step.isPlain && step.within(analysis.window)) prof::addTo(plainNs, step.durNs());
  }
  return wholeNs <= 0 ? 1 : 1 - static_cast<double>(plainNs) / wholeNs;
}

prof::Status compute(Analysis& analysis) {
  auto stats = efficiencyStats(*analysis.store, analysis.window, analysis.devices,
                               analysis.of<OperatorTables>().byShapes, analysis.of<KernelTable>(),
                               analysis.scope.only);
  const double share = shareInDetail(analysis);
  if (stats && stats->mfu > 0 && share > 0) stats->mfu /= share;
  return keep(analysis, std::move(stats));
}

}  // namespace
}  // namespace of_efficiency

constinit const AnalysisPart parts::efficiency{
    .name = "efficiency",
    .inputs = of_efficiency::kInputs,
    .compute = of_efficiency::compute,
};

}  // namespace lacuna::analyzer
