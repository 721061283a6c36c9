// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

namespace bench {

/// A training step of one of the networks of trainers.h in libtorch, as its users write it:
/// in-place ReLU, gradients set to none, plain SGD.
std::function<void()> makeTorchStep(const std::string& name);
/// Most bytes that tensors held at once since the program's start.
double torchPeakBytes();
/// Counts what libtorch's CPU allocator hands out; call before the first tensor.
void countTorchMemory();

}  // namespace bench
