// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyses/work/efficiency.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <map>
#include <numeric>
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

using Shape = std::vector<double>;

struct Input {
  Number number = Number::Unknown;
  double bytes = 0;  ///< of one value; 0: not known
  Shape shape;
  [[nodiscard]] double values() const {
    return std::accumulate(shape.begin(), shape.end(), 1.0, [](double a, double b) { return a * b; });
  }
};

struct TypeName {
  std::string_view text;
  Number number;
  double bytes;
};
constexpr TypeName kTypes[] = {{"f64", Number::F64, 8},   {"f32", Number::F32, 4},     {"f16", Number::F16, 2},
                               {"bf16", Number::Bf16, 2}, {"i64", Number::Unknown, 8}, {"i32", Number::Unknown, 4},
                               {"i8", Number::I8, 1},     {"u8", Number::Unknown, 1},  {"bool", Number::Unknown, 1}};

Shape numbersIn(std::string_view text) {
  Shape shape;
  for (std::size_t at = 0; at < text.size();) {
    if (std::isdigit(static_cast<unsigned char>(text[at])) == 0) {
      ++at;
      continue;
    }
    double value = 0;
    const auto end = std::from_chars(text.data() + at, text.data() + text.size(), value).ptr;
    shape.push_back(value);
    at = static_cast<std::size_t>(end - text.data());
  }
  return shape;
}

/// "f32[8,4] f32[2,4]" or "[[8, 4], [2, 4], []]". Kineto writes a scalar or a missing tensor as [].
std::vector<Input> inputsOf(std::string_view shapes) {
  const bool listed = shapes.starts_with("[[");
  if (listed) shapes.remove_prefix(1);
  std::vector<Input> inputs;
  std::size_t from = 0;
  for (std::size_t open = shapes.find('['); open != std::string_view::npos; open = shapes.find('[', from)) {
    const std::size_t close = std::min(shapes.find(']', open), shapes.size());
    Input input{.shape = numbersIn(shapes.substr(open + 1, close - open - 1))};
    std::string_view type = shapes.substr(from, open - from);
    while (!type.empty() && (type.front() == ' ' || type.front() == ',')) type.remove_prefix(1);
    for (const TypeName& known : kTypes) {
      if (type != known.text) continue;
      input.number = known.number;
      input.bytes = known.bytes;
    }
    if (!listed || !input.shape.empty()) inputs.push_back(std::move(input));
    from = std::min(close + 1, shapes.size());
  }
  return inputs;
}

std::string_view bareName(std::string_view name) {
  if (name.starts_with("aten::")) name.remove_prefix(6);
  return name;
}

/// Multiply-adds of two matrices (or stacks of them): [..., m, k] × [..., k, n].
struct Product {
  double stack = 1, m = 0, k = 0, n = 0;
};
std::optional<Product> productOf(const Shape& a, const Shape& b, bool transposed) {
  if (a.size() < 2 || b.size() < 2) return std::nullopt;
  const double inner = transposed ? b[b.size() - 1] : b[b.size() - 2];
  if (a.back() != inner) return std::nullopt;
  Product product{1, a[a.size() - 2], a.back(), transposed ? b[b.size() - 2] : b.back()};
  for (std::size_t i = 0; i + 2 < a.size(); ++i) product.stack *= a[i];
  return product;
}

Demand productDemand(const Product& p, double bytes, bool sharedSecond) {
  Demand demand;
  demand.flops = 2 * p.stack * p.m * p.k * p.n;
  demand.bytes = bytes * (p.stack * p.m * p.k + (sharedSecond ? 1 : p.stack) * p.k * p.n + p.stack * p.m * p.n);
  return demand;
}

/// Output [n, o, …] and weight [o, c, k…] of a convolution give all of it.
Demand convolutionDemand(const Shape& output, const Shape& weight, double inputValues, double bytes) {
  const double outputs = std::accumulate(output.begin(), output.end(), 1.0, std::multiplies<>());
  const double weights = std::accumulate(weight.begin(), weight.end(), 1.0, std::multiplies<>());
  Demand demand;
  demand.flops = 2 * outputs * weights / weight[0];
  demand.bytes = bytes * (outputs + weights + inputValues);
  return demand;
}

Demand elementwiseDemand(const std::vector<Input>& inputs, double defaultBytes) {
  Demand demand;
  double most = 0;
  for (const Input& input : inputs) {
    const double bytes = input.values() * (input.bytes > 0 ? input.bytes : defaultBytes);
    demand.bytes += bytes;
    most = std::max(most, bytes);
  }
  demand.bytes += most;
  return demand;
}

bool isElementwise(std::string_view name) {
  static constexpr std::string_view kNames[] = {"add",
                                                "add_",
                                                "sub",
                                                "sub_",
                                                "mul",
                                                "mul_",
                                                "div",
                                                "div_",
                                                "relu",
                                                "relu_",
                                                "gelu",
                                                "tanh",
                                                "sigmoid",
                                                "exp",
                                                "sqrt",
                                                "neg",
                                                "threshold_backward",
                                                "gelu_backward",
                                                "sigmoid_backward",
                                                "tanh_backward",
                                                "elementwise_grad",
                                                "add_scalar",
                                                "mul_scalar",
                                                "div_scalar",
                                                "clamp_min"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

/// Limits of a block and of a thread on every device that has the limits below.
constexpr std::uint64_t kMostThreads = 1024;
constexpr std::uint32_t kMostRegisters = 255;

struct GpuLimits {
  std::uint32_t warps, blocks, sharedBytes, blockOverhead, sharedUnit;
};
/// Limits of a multiprocessor, by compute capability: the CUDA programming guide's table of technical specifications.
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
  for (std::size_t at = device.find(known); at != std::string_view::npos; at = device.find(known, at + 1)) {
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
prof::Status addOccupancy(const Store& store, prof::TimeWindow window, const Selection& only, EfficiencyStats& stats) {
  using prof::Kernel;
  std::map<prof::DeviceId, prof::Device> devices;
  for (std::uint64_t i = 0; i < store.rows<prof::Device>(); ++i) {
    const auto device = store.row<prof::Device>(i);
    if (device.kind == prof::DeviceKind::Cuda && only.holds(device.id)) devices[device.id] = device;
  }
  if (devices.empty()) return {};
  double sum = 0;
  const auto status = store.scan<&Kernel::startNs, &Kernel::durNs, &Kernel::device, &Kernel::gridX, &Kernel::gridY,
                                 &Kernel::gridZ, &Kernel::blockX, &Kernel::blockY, &Kernel::blockZ,
                                 &Kernel::registersPerThread, &Kernel::staticSharedBytes, &Kernel::dynamicSharedBytes>(
      window, [&](std::uint64_t, auto start, auto dur, auto id, auto gx, auto gy, auto gz, auto bx, auto by, auto bz,
                  auto registers, auto fixed, auto dynamic) {
        for (std::size_t i = 0; i < start.size(); ++i) {
          const auto device = devices.find(id[i]);
          if (device == devices.end() || bx[i] == 0 || start[i] < window.startNs || start[i] >= window.endNs) continue;
          const LaunchShape launch{volumeOf(gx[i], gy[i], gz[i]), volumeOf(bx[i], by[i], bz[i]), registers[i],
                                   std::uint64_t{fixed[i]} + dynamic[i]};
          const prof::Device& limits = device->second;
          const double share = occupancyOf(launch, limits.computeMajor, limits.computeMinor, limits.multiprocessors);
          if (share < 0) continue;
          sum += share * static_cast<double>(dur[i]);
          prof::addTo(stats.occupancyNs, dur[i]);
        }
      });
  if (stats.occupancyNs > 0) stats.occupancy = sum / static_cast<double>(stats.occupancyNs);
  return status;
}

}  // namespace

std::string_view numberName(Number number) {
  static constexpr std::string_view kNames[kNumberCount] = {"unknown", "f64", "f32", "tf32", "f16", "bf16", "i8", "f8"};
  return kNames[static_cast<std::size_t>(number)];
}

Number numberOfKernel(std::string_view name) {
  const std::string text = lowered(name);
  const auto has = [&](auto... parts) { return (contains(text, parts) || ...); };
  if (has("e4m3", "e5m2", "fp8")) return Number::F8;
  if (has("bf16", "bfloat16")) return Number::Bf16;
  if (has("nvjet")) {
    // cuBLAS writes a letter a matrix: q for 8 bits, t for bf16, h for f16.
    return has("_qq") ? Number::F8 : has("_tst_") ? Number::Bf16 : has("_hsh_") ? Number::F16 : Number::Unknown;
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
  if (has("h884", "h1688", "h16816", "s884", "s16816", "hgemm", "f16", "fp16", "half")) return Number::F16;
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
    const double tera[kNumberCount] = {0,          known.f64,  known.f32, known.tf32 > 0 ? known.tf32 : known.f32,
                                       known.half, known.half, known.i8,  known.f8};
    for (std::size_t i = 0; i < kNumberCount; ++i) peaks.flops[i] = tera[i] * 1e12;
    peaks.bytesPerSecond = known.gigabytes * 1e9;
    peaks.source = known.name;
    break;
  }
  if (memoryBandwidth > 0) peaks.bytesPerSecond = static_cast<double>(memoryBandwidth);
  return peaks;
}

double occupancyOf(const LaunchShape& launch, std::uint32_t computeMajor, std::uint32_t computeMinor,
                   std::uint32_t multiprocessors) {
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
    const std::uint64_t each = (launch.sharedBytes + limits->blockOverhead + unit - 1) / unit * unit;
    blocks = std::min(blocks, limits->sharedBytes / each);
  }
  auto resident = static_cast<double>(blocks);
  if (multiprocessors > 0) resident = std::min(resident, double(launch.blocks) / double(multiprocessors));
  return std::min(1.0, resident * static_cast<double>(warps) / limits->warps);
}

Demand demandOf(std::string_view fullName, std::string_view shapes, double defaultBytes) {
  const std::string_view name = bareName(fullName);
  const std::vector<Input> inputs = inputsOf(shapes);
  if (inputs.empty()) return {};
  const double bytes = inputs[0].bytes > 0 ? inputs[0].bytes : defaultBytes;
  Demand demand;
  const std::size_t first = name == "addmm" || name == "baddbmm" ? 1 : 0;
  const bool linear = name == "linear";
  if (linear || name == "matmul" || name == "mm" || name == "bmm" || name == "addmm" || name == "baddbmm") {
    if (inputs.size() < first + 2) return {};
    const Shape& b = inputs[first + 1].shape;
    if (const auto product = productOf(inputs[first].shape, b, linear))
      demand = productDemand(*product, bytes, b.size() == 2);
  } else if (name == "conv2d_grad_input" && inputs.size() >= 2 && inputs[1].shape.size() > 2) {
    demand = convolutionDemand(inputs[0].shape, inputs[1].shape, 0, bytes);
  } else if (name == "convolution_backward" && inputs.size() >= 3 && inputs[2].shape.size() > 2) {
    demand = convolutionDemand(inputs[0].shape, inputs[2].shape, inputs[1].values(), bytes);
    demand.flops *= 2;  // the gradients of input and weight
  } else if (isElementwise(name)) {
    demand = elementwiseDemand(inputs, defaultBytes);
  }
  demand.number = inputs[first < inputs.size() ? first : 0].number;
  return demand;
}

prof::Result<EfficiencyStats> efficiencyStats(const Store& store, prof::TimeWindow window,
                                              std::span<const DeviceAccount> devices,
                                              std::span<const OperatorRow> operators,
                                              std::span<const KernelRow> kernels, const Selection& only) {
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
  const auto usual = *most == 0 ? Number::Unknown : static_cast<Number>(most - stats.nsByNumber.begin());
  const double usualBytes = usual == Number::F16 || usual == Number::Bf16 ? 2 : 4;
  double possible = 0;
  for (const OperatorRow& op : operators) {
    if (op.deviceNs <= 0 || op.shapes.empty()) continue;
    Demand demand = demandOf(op.name, op.shapes, usualBytes);
    if (demand.bytes <= 0) continue;
    const auto times = static_cast<double>(op.count);
    demand.flops *= times;
    demand.bytes *= times;
    if (demand.number == Number::Unknown || (demand.number == Number::F32 && usual == Number::Tf32))
      demand.number = usual;
    RooflineRow row{op.name, op.shapes, op.count, op.deviceNs, demand};
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
  const double seconds = static_cast<double>(window.endNs - window.startNs) / 1e9 * static_cast<double>(devices.size());
  if (possible > 0 && seconds > 0) stats.mfu = possible / seconds;
  if (auto status = addOccupancy(store, window, only, stats); !status) return status.error();
  return stats;
}

namespace of_efficiency {
namespace {

constexpr std::array kInputs{&parts::operators, &parts::kernels};

prof::Status compute(Analysis& analysis) {
  return keep(analysis,
              efficiencyStats(*analysis.store, analysis.window, analysis.devices,
                              analysis.of<OperatorTables>().byShapes, analysis.of<KernelTable>(), analysis.scope.only));
}

}  // namespace
}  // namespace of_efficiency

constinit const AnalysisPart parts::efficiency{
    .name = "efficiency",
    .inputs = of_efficiency::kInputs,
    .compute = of_efficiency::compute,
};

}  // namespace lacuna::analyzer
