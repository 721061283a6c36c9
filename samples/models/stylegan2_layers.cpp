// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "models/stylegan2_layers.h"

#include <algorithm>
#include <cmath>

#include "lacuna/runtime/random.h"

namespace lacuna::samples::stylegan2 {

using rt::Tensor;

Tensor normalWeight(rt::Shape shape, rt::Options options) {
  options.role = rt::Role::Parameter;
  return rt::randn(shape, options);
}

std::int64_t channelsOf(const StyleGan2Options& options, std::int64_t size) {
  return std::clamp<std::int64_t>(options.channelBase / size, 1, options.channelMax);
}

void checkSize(const char* network, const StyleGan2Options& options) {
  const std::int64_t size = options.size;
  if (size < 8 || (size & (size - 1)) != 0)
    rt::fail(network, "the size " + std::to_string(size) + " must be a power of two, at least 8");
}

Dense::Dense(std::int64_t in, std::int64_t out, bool activated, double bias, rt::Options options,
             double rate)
    : scale_(rate / std::sqrt(static_cast<double>(in))), rate_(rate), activated_(activated) {
  weight_ = addParameter("weight", normalWeight({out, in}, options) * (1 / rate));
  bias_ = addParameter("bias", rt::full({out}, bias / rate, options));
}

Tensor Dense::forward(const Tensor& x) {
  Tensor y = rt::linear(x, weight_ * scale_, rate_ == 1 ? bias_ : bias_ * rate_);
  return activated_ ? activate(std::move(y)) : y;
}

Conv::Conv(std::int64_t in, std::int64_t out, Config config, rt::Options options)
    : config_(config),
      scale_(1 / std::sqrt(static_cast<double>(in * config.window * config.window))) {
  weight_ = addParameter("weight", normalWeight({out, in, config.window, config.window}, options));
  if (config.bias) bias_ = addParameter("bias", rt::zeros({out}, options));
}

// The activation and the gain are positive factors of one another, so the gain goes into whichever
// comes last.
Tensor Conv::forward(const Tensor& x) {
  const Tensor weight = weight_ * (config_.activated ? scale_ : scale_ * config_.gain);
  rt::Conv2dOptions convolution{.padding = config_.window / 2};
  Tensor in = x;
  if (config_.down) {
    const std::int64_t taps = static_cast<std::int64_t>(kBlur.size()) + config_.window - 2;
    rt::UpFirDnOptions blur{.before = taps / 2, .after = (taps - 1) / 2};
    convolution.padding = 0;
    convolution.stride = 2;
    if (config_.window == 1) {
      blur.down = 2;  // the pixels that a stride would skip need not be computed
      convolution.stride = 1;
    }
    in = rt::upFirDn2d(x, kBlur, blur);
  }
  Tensor y = rt::conv2d(in, weight, bias_, convolution);
  return config_.activated ? rt::leakyRelu(std::move(y), kSlope, kGain * config_.gain) : y;
}

}  // namespace lacuna::samples::stylegan2
