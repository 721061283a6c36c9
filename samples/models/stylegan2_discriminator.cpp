// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "models/stylegan2_layers.h"

namespace lacuna::samples {

using rt::Tensor;
using stylegan2::Conv;
using stylegan2::Dense;

namespace {

class Block : public rt::nn::Module {
 public:
  Block(std::int64_t in, std::int64_t out, rt::Options options)
      : first_(addModule("first", std::make_shared<Conv>(in, in, Conv::Config{}, options))),
        second_(addModule(
            "second", std::make_shared<Conv>(
                          in, out, Conv::Config{.down = true, .gain = std::sqrt(0.5)}, options))),
        skip_(addModule("skip", std::make_shared<Conv>(in, out,
                                                       Conv::Config{.window = 1,
                                                                    .down = true,
                                                                    .activated = false,
                                                                    .bias = false,
                                                                    .gain = std::sqrt(0.5)},
                                                       options))) {}
  [[nodiscard]] const char* kind() const override { return "Block"; }

 protected:
  Tensor forward(const Tensor& x) override {
    // A compiler may evaluate arguments in either order, and the order decides how much memory the
    // backward takes.
    const Tensor skipped = (*skip_)(x);
    return rt::add((*second_)((*first_)(x)), skipped);
  }

 private:
  std::shared_ptr<Conv> first_, second_, skip_;
};

/// One more channel: the deviation of each value over a group of pictures, averaged.
Tensor withDeviation(const Tensor& x, std::int64_t groupSize) {
  const std::int64_t group = std::min(groupSize, x.size(0));
  if (x.size(0) % group != 0) {
    rt::fail("StyleGan2Discriminator", "a batch of " + std::to_string(x.size(0)) +
                                           " cannot be cut into groups of " +
                                           std::to_string(group));
  }
  const Tensor groups = x.reshape({group, x.size(0) / group, x.size(1), x.size(2), x.size(3)});
  const Tensor variance = rt::mean(rt::square(groups - rt::mean(groups, {0}, true)), {0});
  const Tensor deviation = rt::mean(rt::sqrt(variance + 1e-8), {1, 2, 3});
  const Tensor plane =
      deviation.view({1, x.size(0) / group, 1, 1, 1}).expand({group, -1, 1, x.size(2), x.size(3)});
  return rt::concat({x, plane.reshape({x.size(0), 1, x.size(2), x.size(3)})}, 1);
}

class Discriminator : public rt::nn::Module {
 public:
  explicit Discriminator(const StyleGan2Options& o) : size_(o.size), groupSize_(o.groupSize) {
    stylegan2::checkSize("StyleGan2Discriminator", o);
    fromRgb_ = addModule("from_rgb", std::make_shared<Conv>(3, stylegan2::channelsOf(o, o.size),
                                                            Conv::Config{.window = 1}, o.options));
    for (std::int64_t size = o.size; size > 4; size /= 2) {
      blocks_.push_back(
          addModule("block" + std::to_string(size),
                    std::make_shared<Block>(stylegan2::channelsOf(o, size),
                                            stylegan2::channelsOf(o, size / 2), o.options)));
      blocks_.back()->setCheckpoint(o.checkpoint);
    }
    const std::int64_t channels = stylegan2::channelsOf(o, 4);
    last_ = addModule("last",
                      std::make_shared<Conv>(channels + 1, channels, Conv::Config{}, o.options));
    dense_ =
        addModule("dense", std::make_shared<Dense>(channels * 16, channels, true, 0, o.options));
    score_ = addModule("score", std::make_shared<Dense>(channels, 1, false, 0, o.options));
  }
  [[nodiscard]] const char* kind() const override { return "StyleGan2Discriminator"; }

 protected:
  Tensor forward(const Tensor& x) override {
    if (x.rank() != 4 || x.size(2) != size_ || x.size(3) != size_) {
      rt::fail(kind(), "input " + x.shape().toString() + " must be [n,3," + std::to_string(size_) +
                           "," + std::to_string(size_) + "]");
    }
    Tensor y = (*fromRgb_)(x);
    for (const auto& block : blocks_) y = (*block)(y);
    y = (*last_)(withDeviation(y, groupSize_));
    return (*score_)((*dense_)(y.flatten(1)));
  }

 private:
  std::int64_t size_, groupSize_;
  std::shared_ptr<Conv> fromRgb_;
  std::vector<std::shared_ptr<Block>> blocks_;
  std::shared_ptr<Conv> last_;
  std::shared_ptr<Dense> dense_, score_;
};

}  // namespace

std::shared_ptr<rt::nn::Module> makeStyleGan2Discriminator(const StyleGan2Options& options) {
  return std::make_shared<Discriminator>(options);
}

}  // namespace lacuna::samples
