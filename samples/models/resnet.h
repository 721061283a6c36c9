// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "lacuna/runtime/nn.h"

/// Residual networks (He et al., 2015).
namespace lacuna::samples {

struct ResNetOptions {
  int depth = 18;  ///< 18, 34 (two convolutions a block), 50, 101 (three, the middle one narrow)
  std::int64_t classes = 10;
  std::int64_t width = 64;    ///< channels of the first stage
  bool smallPictures = true;  ///< a 3×3 first convolution and no pooling after it, for 32×32; else
                              ///< 7×7, stride 2, pooling
  bool convBias = false;     ///< a bias before each normalisation, which has no effect but its cost
  bool checkpoint = false;   ///< of each block, the input alone is kept for the backward
  rt::Options options = {};  ///< type and device of the parameters
};

/// [n, 3, h, w] to scores [n, classes]. Throws rt::Error for a depth that it does not know.
std::shared_ptr<rt::nn::Module> makeResNet(const ResNetOptions& options);

}  // namespace lacuna::samples
