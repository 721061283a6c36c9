// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "models/resnet.h"

#include <array>
#include <string>

#include "lacuna/runtime/nn_image.h"

namespace lacuna::samples {

namespace {

using rt::Tensor;
using rt::nn::BatchNorm2d;
using rt::nn::Conv2d;
using rt::nn::Module;

struct Shared {
  bool bias;
  rt::Options options;
};

/// A convolution and its normalisation.
class ConvNorm : public Module {
 public:
  ConvNorm(std::int64_t in, std::int64_t out, std::int64_t window, std::int64_t stride,
           const Shared& shared)
      : conv_(addModule(
            "conv", std::make_shared<Conv2d>(
                        in, out, window, rt::Conv2dOptions{.stride = stride, .padding = window / 2},
                        shared.bias, shared.options))),
        norm_(addModule("norm", std::make_shared<BatchNorm2d>(out, rt::nn::BatchNormOptions{},
                                                              shared.options))) {}
  [[nodiscard]] const char* kind() const override { return "ConvNorm"; }

 protected:
  Tensor forward(const Tensor& x) override { return (*norm_)((*conv_)(x)); }

 private:
  std::shared_ptr<Conv2d> conv_;
  std::shared_ptr<BatchNorm2d> norm_;
};

class Block : public Module {
 public:
  Block(std::int64_t in, std::int64_t width, std::int64_t stride, bool bottleneck,
        const Shared& shared) {
    const std::int64_t out = bottleneck ? width * 4 : width;
    if (bottleneck) {
      add("a", in, width, 1, 1, shared);
      add("b", width, width, 3, stride, shared);
      add("c", width, out, 1, 1, shared);
    } else {
      add("a", in, width, 3, stride, shared);
      add("b", width, width, 3, 1, shared);
    }
    if (stride != 1 || in != out)
      shortcut_ = addModule("shortcut", std::make_shared<ConvNorm>(in, out, 1, stride, shared));
  }
  [[nodiscard]] const char* kind() const override { return "Block"; }

 protected:
  Tensor forward(const Tensor& x) override {
    Tensor y = x;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      y = (*parts_[i])(y);
      if (i + 1 < parts_.size()) y = rt::relu(std::move(y));
    }
    return rt::relu(rt::add(y, shortcut_ ? (*shortcut_)(x) : x));
  }

 private:
  void add(const char* name, std::int64_t in, std::int64_t out, std::int64_t window,
           std::int64_t stride, const Shared& shared) {
    parts_.push_back(addModule(name, std::make_shared<ConvNorm>(in, out, window, stride, shared)));
  }
  std::vector<std::shared_ptr<ConvNorm>> parts_;
  std::shared_ptr<ConvNorm> shortcut_;
};

struct Plan {
  std::array<int, 4> blocks;
  bool bottleneck;
};

Plan planOf(int depth) {
  switch (depth) {
    case 18:
      return {{2, 2, 2, 2}, false};
    case 34:
      return {{3, 4, 6, 3}, false};
    case 50:
      return {{3, 4, 6, 3}, true};
    case 101:
      return {{3, 4, 23, 3}, true};
    default:
      rt::fail("ResNet",
               "no plan for a depth of " + std::to_string(depth) + "; choose 18, 34, 50 or 101");
  }
}

class ResNet : public Module {
 public:
  explicit ResNet(const ResNetOptions& options) : pools_(!options.smallPictures) {
    const Plan plan = planOf(options.depth);
    const Shared shared{options.convBias, options.options};
    std::int64_t width = options.width;
    std::int64_t channels = width;
    stem_ = addModule("stem",
                      std::make_shared<ConvNorm>(3, width, pools_ ? 7 : 3, pools_ ? 2 : 1, shared));
    for (std::size_t stage = 0; stage < plan.blocks.size(); ++stage) {
      for (int i = 0; i < plan.blocks[stage]; ++i) {
        const std::int64_t stride = i == 0 && stage > 0 ? 2 : 1;
        blocks_.push_back(
            addModule("stage" + std::to_string(stage + 1) + "." + std::to_string(i),
                      std::make_shared<Block>(channels, width, stride, plan.bottleneck, shared)));
        blocks_.back()->setCheckpoint(options.checkpoint);
        channels = plan.bottleneck ? width * 4 : width;
      }
      width *= 2;
    }
    head_ = addModule(
        "head", std::make_shared<rt::nn::Linear>(channels, options.classes, true, options.options));
  }
  [[nodiscard]] const char* kind() const override { return "ResNet"; }

 protected:
  Tensor forward(const Tensor& x) override {
    Tensor y = rt::relu((*stem_)(x));
    if (pools_) y = rt::maxPool2d(y, {.window = 3, .stride = 2, .padding = 1});
    for (const auto& block : blocks_) y = (*block)(y);
    return (*head_)(rt::adaptiveAvgPool2d(y).flatten(1));
  }

 private:
  bool pools_;
  std::shared_ptr<ConvNorm> stem_;
  std::vector<std::shared_ptr<Block>> blocks_;
  std::shared_ptr<rt::nn::Linear> head_;
};

}  // namespace

std::shared_ptr<rt::nn::Module> makeResNet(const ResNetOptions& options) {
  return std::make_shared<ResNet>(options);
}

}  // namespace lacuna::samples
