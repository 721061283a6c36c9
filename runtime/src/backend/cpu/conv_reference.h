// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/nn_kernels.h"

/// Plain loops: in f64, which oneDNN lacks, for checking gradients, and in f32 next to the library.
/// Pictures may have any strides.
namespace lacuna::rt::cpu {

void referenceConvForward(const View& y, const View& x, const View& weight, const View& bias,
                          const kernel::ConvArguments& arguments);
void referenceConvBackwardData(const View& gradX, const View& gradY, const View& weight,
                               const kernel::ConvArguments& arguments);
void referenceConvBackwardWeights(const View& gradWeight, const View& gradBias, const View& x,
                                  const View& gradY, const kernel::ConvArguments& arguments);

}  // namespace lacuna::rt::cpu
