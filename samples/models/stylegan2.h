// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "lacuna/runtime/nn.h"

/// StyleGAN2 (Karras et al., 2019): the residual discriminator, and the generator with modulated
/// convolutions.
namespace lacuna::samples {

struct StyleGan2Options {
  std::int64_t size = 256;  ///< of the square pictures; a power of two, at least 8
  std::int64_t channelBase =
      16384;  ///< channels of a stage: channelBase / size, at most channelMax
  std::int64_t channelMax = 512;
  std::int64_t latent = 512;  ///< generator: features of z and w
  int mappingLayers = 8;      ///< generator
  bool checkpoint =
      false;  ///< discriminator: of each block, the input alone is kept for the backward
  std::int64_t groupSize = 4;  ///< discriminator: pictures whose deviation the last stage sees
  rt::Options options = {};
};

/// Pictures [n, 3, size, size] to scores [n, 1].
std::shared_ptr<rt::nn::Module> makeStyleGan2Discriminator(const StyleGan2Options& options);
/// z [n, latent] to pictures [n, 3, size, size].
std::shared_ptr<rt::nn::Module> makeStyleGan2Generator(const StyleGan2Options& options);

}  // namespace lacuna::samples
