// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "lacuna/runtime/random.h"
#include "models/stylegan2_layers.h"

namespace lacuna::samples {

using rt::Tensor;
using stylegan2::Dense;

namespace {

Tensor asChannels(const Tensor& values) {
  return values.view({values.size(0), values.size(1), 1, 1});
}

/// A convolution whose weights are scaled per picture by a style, and normalised. The scales are
/// moved to its input and its output, so that one convolution serves the whole batch.
class ModulatedConv : public rt::nn::Module {
 public:
  struct Config {
    std::int64_t window = 3;
    bool up = false;     ///< doubles the size
    bool finish = true;  ///< normalisation, noise and activation; else only a bias (to colours)
  };
  ModulatedConv(std::int64_t in, std::int64_t out, std::int64_t latent, Config config,
                rt::Options options)
      : config_(config),
        scale_(1 / std::sqrt(static_cast<double>(in * config.window * config.window))) {
    style_ = addModule("style", std::make_shared<Dense>(latent, in, false, 1, options));
    weight_ = addParameter(
        "weight", stylegan2::normalWeight({out, in, config.window, config.window}, options));
    bias_ = addParameter("bias", rt::zeros({out}, options));
    if (config.finish) noise_ = addParameter("noise", rt::zeros({1}, options));
  }
  [[nodiscard]] const char* kind() const override { return "ModulatedConv"; }
  void setLatent(const Tensor& w) { latent_ = w; }

 protected:
  Tensor forward(const Tensor& x) override {
    const Tensor style = (*style_)(latent_);
    latent_ = {};
    const Tensor weight = weight_ * scale_;
    Tensor y = convolve(rt::mul(x, asChannels(style)), weight);
    if (!config_.finish) return y + bias_.view({1, -1, 1, 1});
    const Tensor power = rt::matmul(rt::square(style), rt::sum(rt::square(weight), {2, 3}).t());
    y = rt::mul(y, asChannels(rt::rsqrt(power + 1e-8)));
    const Tensor noise = rt::randn({y.size(0), 1, y.size(2), y.size(3)}, {y.dtype(), y.device()});
    y = rt::add(rt::add(y, rt::mul(noise, noise_)), bias_.view({1, -1, 1, 1}));
    return stylegan2::activate(std::move(y));
  }

 private:
  Tensor convolve(const Tensor& x, const Tensor& weight) const {
    if (!config_.up) return rt::conv2d(x, weight, {}, {.padding = config_.window / 2});
    const Tensor wide = rt::convTranspose2d(x, weight.transpose(0, 1), {}, {.stride = 2});
    return rt::upFirDn2d(wide, stylegan2::kBlurUp, {.before = 1, .after = 1});
  }

  Config config_;
  double scale_;
  std::shared_ptr<Dense> style_;
  Tensor weight_, bias_, noise_, latent_;
};

/// One size: doubles what came before, convolves again, and adds to the picture.
class Stage : public rt::nn::Module {
 public:
  Stage(std::int64_t in, std::int64_t out, bool first, const StyleGan2Options& o) {
    using Config = ModulatedConv::Config;
    if (!first) {
      up_ = addModule(
          "up", std::make_shared<ModulatedConv>(in, out, o.latent, Config{.up = true}, o.options));
    }
    conv_ =
        addModule("conv", std::make_shared<ModulatedConv>(out, out, o.latent, Config{}, o.options));
    colour_ =
        addModule("colour", std::make_shared<ModulatedConv>(
                                out, 3, o.latent, Config{.window = 1, .finish = false}, o.options));
  }
  [[nodiscard]] const char* kind() const override { return "Stage"; }
  struct State {
    Tensor latent, picture;
  };
  void setState(State state) { state_ = std::move(state); }
  Tensor takePicture() { return std::exchange(state_.picture, {}); }

 protected:
  Tensor forward(const Tensor& x) override {
    const Tensor y = styled(*conv_, up_ ? styled(*up_, x) : x);
    const Tensor colours = styled(*colour_, y);
    const Tensor before = state_.picture;
    state_.picture = before.defined()
                         ? rt::add(colours, rt::upFirDn2d(before, stylegan2::kBlurUp,
                                                          {.up = 2, .before = 2, .after = 1}))
                         : colours;
    return y;
  }

 private:
  Tensor styled(ModulatedConv& conv, const Tensor& x) {
    conv.setLatent(state_.latent);
    return conv(x);
  }
  std::shared_ptr<ModulatedConv> up_, conv_, colour_;
  State state_;
};

class Generator : public rt::nn::Module {
 public:
  explicit Generator(const StyleGan2Options& o) {
    stylegan2::checkSize("StyleGan2Generator", o);
    for (int i = 0; i < o.mappingLayers; ++i) {
      mapping_.push_back(
          addModule("mapping" + std::to_string(i),
                    std::make_shared<Dense>(o.latent, o.latent, true, 0, o.options, 0.01)));
    }
    std::int64_t channels = stylegan2::channelsOf(o, 4);
    constant_ = addParameter("constant", stylegan2::normalWeight({1, channels, 4, 4}, o.options));
    for (std::int64_t size = 4; size <= o.size; size *= 2) {
      const std::int64_t out = stylegan2::channelsOf(o, size);
      stages_.push_back(addModule("stage" + std::to_string(size),
                                  std::make_shared<Stage>(channels, out, size == 4, o)));
      channels = out;
    }
  }
  [[nodiscard]] const char* kind() const override { return "StyleGan2Generator"; }

 protected:
  Tensor forward(const Tensor& z) override {
    Tensor w = rt::mul(z, rt::rsqrt(rt::mean(rt::square(z), {1}, true) + 1e-8));
    for (const auto& layer : mapping_) w = (*layer)(w);
    Tensor x = constant_.expand({z.size(0), -1, -1, -1});
    Tensor picture;
    for (const auto& stage : stages_) {
      stage->setState({w, picture});
      x = (*stage)(x);
      picture = stage->takePicture();
      stage->setState({});
    }
    return picture;
  }

 private:
  std::vector<std::shared_ptr<Dense>> mapping_;
  std::vector<std::shared_ptr<Stage>> stages_;
  Tensor constant_;
};

}  // namespace

std::shared_ptr<rt::nn::Module> makeStyleGan2Generator(const StyleGan2Options& options) {
  return std::make_shared<Generator>(options);
}

}  // namespace lacuna::samples
