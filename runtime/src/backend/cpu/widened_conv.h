// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/nn_kernels.h"

/// Convolutions of 16-bit types that the library does not make: some pictures at a time are widened
/// to f32, and the result is rounded once. So the workspace does not grow with the number of
/// pictures.
namespace lacuna::rt::cpu {

std::size_t widenedConvWorkspace(kernel::ConvPass pass, const View& x, const View& y,
                                 const View& weight, bool bias,
                                 const kernel::ConvArguments& arguments);
/// The operands of kernel::convForward() and its gradients, all with elements; `bias` may be empty.
void widenedConv(kernel::ConvPass pass, const View& x, const View& y, const View& weight,
                 const View& bias, const kernel::ConvArguments& arguments, const View& workspace);

}  // namespace lacuna::rt::cpu
