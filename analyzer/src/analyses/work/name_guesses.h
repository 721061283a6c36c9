// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

/// Guesses from the names of kernels, operators and ranges. docs/analyses/names.md.
namespace lacuna::analyzer {

/// Kernels and operators.
bool isMatrixWork(std::string_view name);
bool isPointwiseWork(std::string_view name);
bool usesTensorCores(std::string_view name);
/// Looks for infinite values and those that are no number.
bool checksNumbers(std::string_view name);
/// Writes one number all over its output.
bool fillsMemory(std::string_view name);

/// Kernels.
bool isBiasKernel(std::string_view name);
/// Sums over a dimension.
bool isReductionKernel(std::string_view name);
bool isBatchNormKernel(std::string_view name);
/// Part of the backward pass.
bool isBackwardKernel(std::string_view name);
/// Updates parameters.
bool isOptimizerKernel(std::string_view name);
/// True when matrix work is a convolution.
bool isConvolutionKernel(std::string_view name);
/// A copy from or to memory of the host that is not pinned.
bool isPageableCopy(std::string_view name);
/// A library that moves data from device to device: NCCL or RCCL; of operators and kernels.
bool isOfDeviceLibrary(std::string_view name);

/// Operators.
bool takesBias(std::string_view op);
bool isBatchNormOperator(std::string_view op);
bool convertsType(std::string_view op);
/// Fills in place. The runtime's zero_ is a fill_; PyTorch's fill_ by itself writes any number.
bool writesZeros(std::string_view op);

/// Does for a list of tensors what others do for one.
bool worksOnList(std::string_view kernel);

/// Ranges of the host.
bool clearsGradients(std::string_view range);
bool belongsToOptimizer(std::string_view range);
/// The runtime's names of an optimizer's own operators.
bool isOptimizerOperator(std::string_view range);
bool accumulatesGradient(std::string_view range);
/// Copies the model to several devices, or gathers what they computed.
bool replicatesModel(std::string_view range);
/// A collective of a library that works in the host's memory.
bool communicatesThroughHost(std::string_view range);
/// PyTorch's wait for a batch of a loader without workers, in which the batch is prepared.
bool preparesInWait(std::string_view range);

/// A call that takes a device's memory from the system or gives it back: cudaMalloc, cudaFree,
/// cuMemMap, hipFree, …, or an allocator's own range. Not a call that pins memory of the host, nor
/// one of the driver's own pools in queue order.
bool goesToSystem(std::string_view call);

}  // namespace lacuna::analyzer
