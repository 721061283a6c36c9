// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyses/work/name_guesses.h"

#include <cctype>
#include <string>

#include "analyses/work/lowered.h"
#include "lacuna/analyzer/text.h"

namespace lacuna::analyzer {
namespace {

constexpr std::string_view kAten = "aten::";

/// cuDNN's own convolutions: ampere_scudnn_128x64_relu_…, volta_fp16_s884cudnn_…,
/// volta_fp32_icudnn_int8x4_….
bool isConvolutionOfCudnn(std::string_view lowerName) {
  constexpr std::string_view kLibrary = "cudnn_";
  for (std::size_t at = lowerName.find(kLibrary); at != std::string_view::npos;
       at = lowerName.find(kLibrary, at + 1)) {
    if (at > 0 && std::isalnum(static_cast<unsigned char>(lowerName[at - 1])) != 0) return true;
  }
  return false;
}

/// Pointwise work and reductions that are called after all that was fused, and what was in front of
/// it: triton_poi_fused_convolution_relu_3 adds the bias alone. Matrix work of TorchInductor is
/// called triton_tem_….
bool isFusedByInductor(std::string_view lowerName) {
  return lowerName.starts_with("triton_poi_") || lowerName.starts_with("triton_red_") ||
         lowerName.starts_with("triton_per_");
}

}  // namespace

bool usesTensorCores(std::string_view name) {
  return containsAny(
      lowered(name),
      {"tensorop",   "s884",          "h884",       "s1688",      "h1688",         "s16816",
       "h16816",     "i8816",         "hmma",       "imma",       "wgmma",         "tf32",
       "_bf16_bf16", "bf16bf16_bf16", "f16f16_f16", "tensor16x8", "warpgroupsize", "nvjet",
       "flash_fwd",  "flash_bwd",     "fmha",       "mfma",       "_mi16",         "_mi32"});
}

bool isMatrixWork(std::string_view name) {
  // FBGEMM is a library: most of what it launches looks up rows of embeddings.
  std::string text = lowered(name);
  constexpr std::string_view kLibrary = "fbgemm";
  for (std::size_t at = text.find(kLibrary); at != std::string::npos; at = text.find(kLibrary, at))
    text.erase(at, kLibrary.size());
  if (isFusedByInductor(text)) return false;
  const bool isNamed =
      containsAny(text, {"gemm", "gemv", "conv2d", "convolution", "convolve", "cudnn::cnn",
                         "winograd", "matmul", "linear", "addmm", "wgrad", "dgrad", "cutlass",
                         "attention", "xmma", "bmm", "nvjet", "cijk_"});
  return (isNamed || isConvolutionOfCudnn(text)) &&
         !containsAny(text, {"optimizer", "linearize", "upsample"});
}

bool checksNumbers(std::string_view name) {
  return containsAny(lowered(name), {"finite", "isnan", "is_nan", "isinf"});
}

bool fillsMemory(std::string_view name) {
  // multi_tensor_apply_kernel<…, ZeroFunctor<…>> of _foreach_zero_
  return containsAny(lowered(name), {"fill", "zerofunctor"}) || writesZeros(name);
}

bool isPointwiseWork(std::string_view name) {
  const std::string text = lowered(name);
  return containsAny(text, {"elementwise", "vectorized_", "unrolled_", "pointwise", "add", "mul",
                            "relu", "gelu", "sigmoid", "tanh", "copy_kernel", "fill", "dropout",
                            "sub", "div", "exp", "sqrt", "scale", "cast"}) &&
         !isMatrixWork(text) &&
         !containsAny(text, {"nccl", "reduce", "norm", "softmax", "adam", "adagrad", "sgd", "loss",
                             "embedding", "fixeddivisor"});
}

bool isReductionKernel(std::string_view name) {
  return name == "sum" || containsAnyCase(name, "reduce_kernel") || isBiasKernel(name);
}

bool isBiasKernel(std::string_view name) {
  return containsAnyCase(name, "bias");
}

bool isBatchNormKernel(std::string_view name) {
  return containsAnyCase(name, "batch_norm") || containsAnyCase(name, "batchnorm") ||
         containsAnyCase(name, "bn_");
}

bool isBackwardKernel(std::string_view name) {
  return containsAnyCase(name, "grad") || containsAnyCase(name, "backward") ||
         containsAnyCase(name, "_bw_");
}

bool isOptimizerKernel(std::string_view name) {
  return containsAnyCase(name, "optimizer") || containsAnyCase(name, "sgd") ||
         containsAnyCase(name, "adam");
}

bool isConvolutionKernel(std::string_view name) {
  return containsAny(lowered(name), {"conv", "cudnn", "winograd", "wgrad", "dgrad", "fprop"});
}

bool isPageableCopy(std::string_view name) {
  return containsAnyCase(name, "pageable");
}

bool isOfDeviceLibrary(std::string_view name) {
  return containsAnyCase(name, "nccl") || containsAnyCase(name, "rccl");
}

bool takesBias(std::string_view op) {
  if (op.starts_with(kAten)) op.remove_prefix(kAten.size());
  return op == "linear" || op == "conv1d" || op == "conv2d" || op == "conv3d" ||
         op == "convolution";
}

bool isBatchNormOperator(std::string_view op) {
  return containsAnyCase(op, "batch_norm") && !containsAnyCase(op, "backward");
}

bool convertsType(std::string_view op) {
  return op == "aten::to" || op == "convert" || op == "aten::_to_copy";
}

bool writesZeros(std::string_view op) {
  return op == "aten::zero_" || op == "aten::_foreach_zero_" || op == "zero_" || op == "fill_";
}

bool worksOnList(std::string_view kernel) {
  return containsAny(lowered(kernel), {"_foreach_", "multi_tensor"});
}

bool clearsGradients(std::string_view range) {
  return containsAnyCase(range, "zero_grad");
}

bool belongsToOptimizer(std::string_view range) {
  return !clearsGradients(range) && containsAnyCase(range, "optimizer");
}

bool isOptimizerOperator(std::string_view range) {
  return range == "sgd" || range == "adam";
}

bool accumulatesGradient(std::string_view range) {
  return containsAnyCase(range, "accumulategrad");
}

bool replicatesModel(std::string_view range) {
  return containsAnyCase(range, "broadcast_coalesced") ||
         containsAnyCase(range, "BroadcastBackward") ||
         containsAnyCase(range, "reduce_add_coalesced");
}

bool communicatesThroughHost(std::string_view range) {
  return containsAnyCase(range, "gloo") || contains(range, "mpi:");
}

bool preparesInWait(std::string_view range) {
  return containsAnyCase(range, "_singleprocessdataloaderiter");
}

bool goesToSystem(std::string_view call) {
  const std::string text = lowered(call);
  if (containsAny(text, {"host", "async"})) return false;
  return containsAny(text,
                     {"alloc", "dafree", "hipfree", "memfree", "memmap", "memunmap", "memcreate",
                      "memrelease", "memaddress", "memsetaccess", "empty_cache"});
}

}  // namespace lacuna::analyzer
