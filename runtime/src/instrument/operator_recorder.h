// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "instrument/observer.h"

/// Calls from the operators and allocators to the recorder of recordOperators(). Called only while
/// a sink is on.
namespace lacuna::rt {
struct Block;
}

namespace lacuna::rt::instrument {

inline constexpr std::uint32_t kRecorderSink = 4;
inline bool recordingOperators() {
  return (sinks() & kRecorderSink) != 0;
}

void recordOperator(const OpContext& op, std::span<const Tensor* const> inputs);
/// The operator in progress reads or writes the tensor.
void recordUse(const Tensor& tensor);
/// The operator in progress gives its result the memory of `tensor`.
void recordTakeOver(const Tensor& tensor);
void recordAllocation(const Block& block, DeviceType device);
void recordFree(const Block& block, DeviceType device);

}  // namespace lacuna::rt::instrument
