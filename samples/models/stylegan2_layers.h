// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "lacuna/runtime/nn_image.h"
#include "models/stylegan2.h"

/// Layers that both networks of StyleGAN2 use. Weights have a deviation of 1 and are scaled in the
/// forward, so that all of them learn at one rate.
namespace lacuna::samples::stylegan2 {

inline constexpr double kSlope = 0.2;
inline constexpr double kGain = 1.41421356237309504880;  ///< of an activation: keeps the deviation
inline const std::vector<double> kBlur{0.125, 0.375, 0.375, 0.125};
inline const std::vector<double> kBlurUp{0.25, 0.75, 0.75,
                                         0.25};  ///< zeros between the pixels halve the sum

inline rt::Tensor activate(rt::Tensor x) {
  return rt::leakyRelu(std::move(x), kSlope, kGain);
}

/// A parameter with normal values.
rt::Tensor normalWeight(rt::Shape shape, rt::Options options);
/// Channels of the stage of that size.
std::int64_t channelsOf(const StyleGan2Options& options, std::int64_t size);
/// Throws rt::Error for a size that is no power of two, or too small.
void checkSize(const char* network, const StyleGan2Options& options);

class Dense : public rt::nn::Module {
 public:
  Dense(std::int64_t in, std::int64_t out, bool activated, double bias, rt::Options options,
        double rate = 1);
  [[nodiscard]] const char* kind() const override { return "Dense"; }

 protected:
  rt::Tensor forward(const rt::Tensor& x) override;

 private:
  rt::Tensor weight_, bias_;
  double scale_, rate_;
  bool activated_;
};

/// A convolution that keeps the size, or with `down` blurs and halves it.
class Conv : public rt::nn::Module {
 public:
  struct Config {
    std::int64_t window = 3;
    bool down = false, activated = true, bias = true;
    double gain = 1;  ///< of the result
  };
  Conv(std::int64_t in, std::int64_t out, Config config, rt::Options options);
  [[nodiscard]] const char* kind() const override { return "Conv"; }

 protected:
  rt::Tensor forward(const rt::Tensor& x) override;

 private:
  Config config_;
  rt::Tensor weight_, bias_;
  double scale_;
};

}  // namespace lacuna::samples::stylegan2
