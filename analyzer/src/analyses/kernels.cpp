// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <string>
#include <unordered_map>

#include "analyses/lowered.h"
#include "analyses/recording_bands.h"
#include "lacuna/analyzer/self_overhead.h"
#include "lacuna/analyzer/tables.h"
#include "lacuna/analyzer/text_match.h"
#include "lacuna/prof/bounds.h"

namespace lacuna::analyzer {
namespace {

using prof::Kernel;

/// cuDNN's own convolutions: ampere_scudnn_128x64_relu_…, volta_fp16_s884cudnn_…, volta_fp32_icudnn_int8x4_….
bool isConvolutionOfCudnn(std::string_view lowerName) {
  constexpr std::string_view kLibrary = "cudnn_";
  for (std::size_t at = lowerName.find(kLibrary); at != std::string_view::npos; at = lowerName.find(kLibrary, at + 1)) {
    if (at > 0 && std::isalnum(static_cast<unsigned char>(lowerName[at - 1])) != 0) return true;
  }
  return false;
}

/// Pointwise work and reductions that are called after all that was fused, and what was in front of it:
/// triton_poi_fused_convolution_relu_3 adds the bias alone. Matrix work of TorchInductor is called triton_tem_….
bool isFusedByInductor(std::string_view lowerName) {
  return lowerName.starts_with("triton_poi_") || lowerName.starts_with("triton_red_") ||
         lowerName.starts_with("triton_per_");
}

/// The executions of CPU devices among the kernels are recorded by those that run them, and take that much longer.
prof::Status addRecording(const Store& store, prof::TimeWindow window, const TableScope& scope,
                          std::unordered_map<prof::StringId, KernelRow>& byName) {
  const EventCosts costs = eventCosts(store);
  const auto cpus = cpuDevices(store);
  if ((!costs.known() && scope.taken.empty()) || cpus.empty()) return {};
  std::unordered_map<prof::StringId, RecordedTime> recorded;
  if (scope.taken.empty() && cpus.size() == store.rows<prof::Device>()) {
    for (auto& [name, row] : byName) recorded[name].ranges = row.count;
  } else {
    const auto status = store.scan<&Kernel::startNs, &Kernel::durNs, &Kernel::queue, &Kernel::device, &Kernel::name>(
        window, [&](std::uint64_t, auto start, auto dur, auto queue, auto device, auto name) {
          for (std::size_t i = 0; i < start.size(); ++i) {
            const bool inside = start[i] >= window.startNs && start[i] < window.endNs && scope.only.holds(queue[i]);
            if (!inside || !cpus.contains(device[i])) continue;
            RecordedTime& sum = recorded[name[i]];
            ++sum.ranges;
            sum.takenNs += scope.taken.between(start[i], start[i] + dur[i]);
          }
        });
    if (!status) return status;
  }
  for (const auto& [name, sum] : recorded) {
    KernelRow& row = byName[name];
    row.recordingNs = sum.of(row.totalNs, costs);
  }
  return {};
}

}  // namespace

bool usesTensorCores(std::string_view name) {
  return containsAny(
      lowered(name),
      {"tensorop",      "s884",  "h884",      "s1688",     "h1688",      "s16816",        "h16816",     "i8816",
       "hmma",          "imma",  "wgmma",     "tf32",      "_bf16_bf16", "bf16bf16_bf16", "f16f16_f16", "tensor16x8",
       "warpgroupsize", "nvjet", "flash_fwd", "flash_bwd", "fmha",       "mfma",          "_mi16",      "_mi32"});
}

bool isMatrixWork(std::string_view name) {
  // FBGEMM is a library: most of what it launches looks up rows of embeddings.
  std::string text = lowered(name);
  constexpr std::string_view kLibrary = "fbgemm";
  for (std::size_t at = text.find(kLibrary); at != std::string::npos; at = text.find(kLibrary, at))
    text.erase(at, kLibrary.size());
  if (isFusedByInductor(text)) return false;
  const bool isNamed =
      containsAny(text, {"gemm", "gemv", "conv2d", "convolution", "convolve", "cudnn::cnn", "winograd", "matmul",
                         "linear", "addmm", "wgrad", "dgrad", "cutlass", "attention", "xmma", "bmm", "nvjet", "cijk_"});
  return (isNamed || isConvolutionOfCudnn(text)) && !containsAny(text, {"optimizer", "linearize", "upsample"});
}

bool checksNumbers(std::string_view name) {
  return containsAny(lowered(name), {"finite", "isnan", "is_nan", "isinf"});
}

bool fillsMemory(std::string_view name) {
  // multi_tensor_apply_kernel<…, ZeroFunctor<…>> of _foreach_zero_
  return containsAny(lowered(name), {"fill", "zerofunctor"});
}

bool isPointwiseWork(std::string_view name) {
  const std::string text = lowered(name);
  return containsAny(text,
                     {"elementwise", "vectorized_", "unrolled_", "pointwise", "add", "mul", "relu", "gelu", "sigmoid",
                      "tanh", "copy_kernel", "fill", "dropout", "sub", "div", "exp", "sqrt", "scale", "cast"}) &&
         !isMatrixWork(text) &&
         !containsAny(text, {"nccl", "reduce", "norm", "softmax", "adam", "adagrad", "sgd", "loss", "embedding",
                             "fixeddivisor"});
}

prof::Result<std::vector<KernelRow>> kernelTable(const Store& store, prof::TimeWindow window, const TableScope& scope,
                                                 const StepWork& work) {
  std::unordered_map<prof::StringId, KernelRow> byName;
  const auto status = store.scan<&Kernel::startNs, &Kernel::durNs, &Kernel::queue, &Kernel::name>(
      window, [&](std::uint64_t, auto start, auto dur, auto queue, auto name) {
        for (std::size_t i = 0; i < start.size(); ++i) {
          if (start[i] < window.startNs || start[i] >= window.endNs || !scope.only.holds(queue[i])) continue;
          KernelRow& row = byName[name[i]];
          row.minNs = row.count == 0 ? dur[i] : std::min(row.minNs, dur[i]);
          row.maxNs = std::max(row.maxNs, dur[i]);
          prof::addTo(row.totalNs, dur[i]);
          ++row.count;
        }
      });
  if (!status) return status.error();
  if (const auto added = addRecording(store, window, scope, byName); !added) return added.error();
  std::vector<KernelRow> rows;
  for (auto& [id, row] : byName) {
    row.name = store.text(id);
    const auto inSteps = work.kernels.find(id);
    if (inSteps != work.kernels.end()) {
      row.stepCount = inSteps->second.count;
      row.stepNs = inSteps->second.ns;
    } else if (scope.steps.everything()) {
      row.stepCount = row.count;
      row.stepNs = row.totalNs;
    }
    row.work = classifyKernel(row.name);
    row.tensorCore = usesTensorCores(row.name);
    row.matrix = isMatrixWork(row.name);
    row.pointwise = isPointwiseWork(row.name);
    rows.push_back(std::move(row));
  }
  std::sort(rows.begin(), rows.end(), [](const KernelRow& a, const KernelRow& b) {
    return a.totalNs != b.totalNs ? a.totalNs > b.totalNs : a.name < b.name;
  });
  return rows;
}

}  // namespace lacuna::analyzer
