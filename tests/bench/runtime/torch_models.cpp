// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "torch_models.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/adaptive_avg_pool2d.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/full.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/zeros.h>
#include <c10/core/CPUAllocator.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <unordered_map>
#include <vector>

namespace bench {

namespace {

using at::Tensor;

struct Parameters {
  std::vector<Tensor> all;
  Tensor add(Tensor value) {
    all.push_back(value.requires_grad_());
    return all.back();
  }
  Tensor weights(std::vector<std::int64_t> shape, double deviation) {
    return add(at::randn(shape) * deviation);
  }
  Tensor ones(std::int64_t count) { return add(at::ones({count})); }
  Tensor zeros(std::int64_t count) { return add(at::zeros({count})); }
};

struct Linear {
  Tensor weight, bias;
  Linear(Parameters& p, std::int64_t in, std::int64_t out)
      : weight(p.weights({out, in}, 1 / std::sqrt(static_cast<double>(in)))), bias(p.zeros(out)) {}
  [[nodiscard]] Tensor operator()(const Tensor& x) const { return at::linear(x, weight, bias); }
};

struct ConvNorm {
  Tensor weight, gain, shift;
  mutable Tensor mean, variance;
  std::int64_t stride, padding;
  ConvNorm(Parameters& p, std::int64_t in, std::int64_t out, std::int64_t window, std::int64_t step)
      : weight(p.weights({out, in, window, window},
                         std::sqrt(2.0 / static_cast<double>(in * window * window)))),
        gain(p.ones(out)),
        shift(p.zeros(out)),
        mean(at::zeros({out})),
        variance(at::ones({out})),
        stride(step),
        padding(window / 2) {}
  [[nodiscard]] Tensor operator()(const Tensor& x) const {
    return at::batch_norm(at::conv2d(x, weight, {}, stride, padding), gain, shift, mean, variance,
                          true, 0.1, 1e-5, false);
  }
};

using Forward = std::function<Tensor(const Tensor&)>;

Forward mlp(Parameters& p) {
  const Linear a(p, 784, 512);
  const Linear b(p, 512, 512);
  const Linear c(p, 512, 10);
  return [=](const Tensor& x) { return c(b(a(x).relu_()).relu_()); };
}

Forward residual(Parameters& p, std::int64_t in, std::int64_t out, std::int64_t stride) {
  const ConvNorm a(p, in, out, 3, stride);
  const ConvNorm b(p, out, out, 3, 1);
  std::shared_ptr<ConvNorm> shortcut;
  if (stride != 1 || in != out) shortcut = std::make_shared<ConvNorm>(p, in, out, 1, stride);
  return [=](const Tensor& x) {
    Tensor y = b(a(x).relu_());
    y += shortcut ? (*shortcut)(x) : x;
    return y.relu_();
  };
}

Forward resnet18(Parameters& p) {
  const ConvNorm stem(p, 3, 64, 3, 1);
  std::vector<Forward> blocks;
  std::int64_t channels = 64;
  for (int stage = 0; stage < 4; ++stage) {
    const std::int64_t width = std::int64_t{64} << stage;
    blocks.push_back(residual(p, channels, width, stage == 0 ? 1 : 2));
    blocks.push_back(residual(p, width, width, 1));
    channels = width;
  }
  const Linear head(p, channels, 10);
  return [=](const Tensor& x) {
    Tensor y = stem(x).relu_();
    for (const Forward& block : blocks) y = block(y);
    return head(at::adaptive_avg_pool2d(y, {1, 1}).flatten(1));
  };
}

constexpr std::int64_t kFeatures = 256;
constexpr std::int64_t kHeads = 4;
constexpr std::int64_t kTime = 128;
constexpr std::int64_t kVocabulary = 96;

struct Norm {
  Tensor gain, shift;
  explicit Norm(Parameters& p) : gain(p.ones(kFeatures)), shift(p.zeros(kFeatures)) {}
  [[nodiscard]] Tensor operator()(const Tensor& x) const {
    return at::layer_norm(x, {kFeatures}, gain, shift);
  }
};

Forward transformerBlock(Parameters& p, const Tensor& mask) {
  const Norm norm1(p);
  const Norm norm2(p);
  const Linear in(p, kFeatures, 3 * kFeatures);
  const Linear out(p, kFeatures, kFeatures);
  const Linear up(p, kFeatures, 4 * kFeatures);
  const Linear down(p, 4 * kFeatures, kFeatures);
  return [=](const Tensor& x) {
    const std::int64_t n = x.size(0);
    const auto parts = in(norm1(x))
                           .view({n, kTime, 3, kHeads, kFeatures / kHeads})
                           .permute({2, 0, 3, 1, 4})
                           .unbind(0);
    const double scale = 1 / std::sqrt(static_cast<double>(kFeatures / kHeads));
    Tensor scores = at::matmul(parts[0] * scale, parts[1].transpose(-2, -1));
    scores += mask;
    const Tensor mixed = at::matmul(at::softmax(scores, -1), parts[2]);
    const Tensor y = x + out(mixed.transpose(1, 2).reshape({n, kTime, kFeatures}));
    return y + down(at::gelu(up(norm2(y))));
  };
}

Forward transformer(Parameters& p) {
  const Tensor tokens = p.weights({kVocabulary, kFeatures}, 0.02);
  const Tensor places = p.weights({kTime, kFeatures}, 0.02);
  const Tensor mask =
      at::full({kTime, kTime}, -std::numeric_limits<double>::infinity(), at::kFloat).triu(1);
  std::vector<Forward> blocks;
  for (int i = 0; i < 4; ++i) blocks.push_back(transformerBlock(p, mask));
  const Norm norm(p);
  const Linear head(p, kFeatures, kVocabulary);
  return [=](const Tensor& x) {
    Tensor y = at::embedding(tokens, x) + at::embedding(places, at::arange(kTime, at::kLong));
    for (const Forward& block : blocks) y = block(y);
    return head(norm(y)).view({-1, kVocabulary});
  };
}

/// aligned_alloc under a counter. libtorch wants to free by the address alone, so the sizes are
/// kept aside.
class CountingAllocator : public c10::Allocator {
 public:
  static CountingAllocator& instance() {
    static auto* one = new CountingAllocator;
    return *one;
  }
  // Newer versions of libtorch declare the second and the third of these, older ones the first.
  [[nodiscard]] c10::DataPtr allocate(std::size_t bytes) const { return make(bytes); }
  [[nodiscard]] c10::DataPtr allocate(std::size_t bytes) { return make(bytes); }
  void copy_data(void* to, const void* from, std::size_t bytes) const {
    std::memcpy(to, from, bytes);
  }
  [[nodiscard]] c10::DeleterFnPtr raw_deleter() const override { return &release; }
  [[nodiscard]] std::size_t peak() {
    const std::lock_guard lock(mutex_);
    return peak_;
  }

 private:
  static c10::DataPtr make(std::size_t bytes) {
    void* data = bytes == 0 ? nullptr : std::aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (data != nullptr) instance().count(data, bytes);
    return {data, data, &release, c10::Device(c10::DeviceType::CPU)};
  }
  void count(void* data, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    sizes_[data] = bytes;
    active_ += bytes;
    peak_ = std::max(peak_, active_);
  }
  static void release(void* data) {
    CountingAllocator& own = instance();
    const std::lock_guard lock(own.mutex_);
    const auto found = own.sizes_.find(data);
    if (found == own.sizes_.end())
      return std::free(data);  // from before the count began, or nothing
    own.active_ -= found->second;
    own.sizes_.erase(found);
    std::free(data);
  }

  std::mutex mutex_;
  std::unordered_map<void*, std::size_t> sizes_;
  std::size_t active_ = 0;
  std::size_t peak_ = 0;
};

}  // namespace

void countTorchMemory() {
  c10::SetCPUAllocator(&CountingAllocator::instance(), 1);
}

double torchPeakBytes() {
  return static_cast<double>(CountingAllocator::instance().peak());
}

std::function<void()> makeTorchStep(const std::string& name) {
  const auto parameters = std::make_shared<Parameters>();
  Forward forward;
  Tensor x;
  if (name == "mlp") {
    forward = mlp(*parameters);
    x = at::randn({128, 784});
  } else if (name == "resnet18") {
    forward = resnet18(*parameters);
    x = at::randn({64, 3, 32, 32});
  } else if (name == "transformer") {
    forward = transformer(*parameters);
    x = at::randint(10, {16, kTime}, at::kLong);
  } else {
    throw std::runtime_error("no network '" + name + "'");
  }
  const Tensor labels =
      at::randint(10, {name == "transformer" ? 16 * kTime : x.size(0)}, at::kLong);
  return [=] {
    at::cross_entropy_loss(forward(x), labels).backward();
    const at::NoGradGuard guard;
    for (Tensor& parameter : parameters->all) {
      parameter.add_(parameter.grad(), -0.01);
      parameter.mutable_grad() = Tensor();
    }
  };
}

}  // namespace bench
