// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "networks.h"

#include <array>
#include <utility>
#include <vector>

#include "lacuna/runtime/nn_image.h"
#include "lacuna/runtime/nn_sequence.h"
#include "lacuna/runtime/ops.h"
#include "samples/models/transformer.h"
#include "work.h"

namespace lacuna::drawn {
namespace {

using rt::Shape;
using rt::Tensor;
using rt::nn::Sequential;

constexpr std::int64_t kColours = 3;

std::shared_ptr<Sequential> denseStack(const Plan& plan, std::int64_t in, std::int64_t out) {
  auto net = std::make_shared<Sequential>();
  const bool bias = plan.has("useless-bias");
  for (std::int64_t layer = 0; layer < plan.depth; ++layer) {
    net->add<rt::nn::Linear>(in, plan.width, bias);
    net->add<rt::nn::BatchNorm1d>(plan.width);
    net->add<rt::nn::Relu>();
    in = plan.width;
  }
  net->add<rt::nn::Linear>(in, out);
  return net;
}

std::shared_ptr<Sequential> pictureStack(const Plan& plan) {
  auto net = std::make_shared<Sequential>();
  const bool bias = plan.has("useless-bias");
  std::int64_t in = kColours;
  for (std::int64_t layer = 0; layer < plan.depth; ++layer) {
    net->add<rt::nn::Conv2d>(in, plan.width, 3, rt::Conv2dOptions{.stride = 1, .padding = 1}, bias);
    net->add<rt::nn::BatchNorm2d>(plan.width);
    net->add<rt::nn::Relu>();
    in = plan.width;
  }
  net->add<rt::nn::AdaptiveAvgPool2d>(1);
  net->add<rt::nn::Flatten>();
  net->add<rt::nn::Linear>(in, kClasses);
  return net;
}

/// Halves pictures, and doubles them again.
std::shared_ptr<Sequential> hourglass(const Plan& plan) {
  auto net = std::make_shared<Sequential>();
  const bool bias = plan.has("useless-bias");
  net->add<rt::nn::Conv2d>(kColours, plan.width, 4, rt::Conv2dOptions{.stride = 2, .padding = 1},
                           bias);
  net->add<rt::nn::BatchNorm2d>(plan.width);
  net->add<rt::nn::Relu>();
  for (std::int64_t layer = 1; layer < plan.depth; ++layer) {
    net->add<rt::nn::Conv2d>(plan.width, plan.width, 3,
                             rt::Conv2dOptions{.stride = 1, .padding = 1}, bias);
    net->add<rt::nn::BatchNorm2d>(plan.width);
    net->add<rt::nn::Relu>();
  }
  net->add<rt::nn::ConvTranspose2d>(plan.width, kColours, 4,
                                    rt::ConvTranspose2dOptions{.stride = 2, .padding = 1});
  return net;
}

/// Looks up a row of each table, and judges them together.
class Recommender : public rt::nn::Module {
 public:
  explicit Recommender(const Plan& plan) {
    constexpr std::int64_t kFeatures = 16;
    for (std::int64_t table = 0; table < plan.length; ++table) {
      tables_.push_back(addModule("table" + std::to_string(table),
                                  std::make_shared<rt::nn::Embedding>(kRows, kFeatures)));
    }
    head_ = addModule("head", denseStack(plan, plan.length * kFeatures, kClasses));
  }
  [[nodiscard]] const char* kind() const override { return "Recommender"; }

 protected:
  Tensor forward(const Tensor& x) override {
    std::vector<Tensor> rows;
    for (std::size_t table = 0; table < tables_.size(); ++table)
      rows.push_back((*tables_[table])(x.select(1, static_cast<std::int64_t>(table))));
    return (*head_)(rt::concat(rows, 1));
  }

 private:
  std::vector<std::shared_ptr<rt::nn::Embedding>> tables_;
  std::shared_ptr<Sequential> head_;
};

class Reader : public rt::nn::Module {
 public:
  explicit Reader(const Plan& plan)
      : units_(addModule("units", std::make_shared<rt::nn::Gru>(kFeatures, plan.width))),
        head_(addModule("head", std::make_shared<rt::nn::Linear>(plan.width, kClasses))) {}
  [[nodiscard]] const char* kind() const override { return "Reader"; }
  static constexpr std::int64_t kFeatures = 32;

 protected:
  Tensor forward(const Tensor& x) override {
    const Tensor all = (*units_)(x);
    return (*head_)(all.select(1, all.size(1) - 1));
  }

 private:
  std::shared_ptr<rt::nn::Gru> units_;
  std::shared_ptr<rt::nn::Linear> head_;
};

Shape inputShape(const Plan& plan, std::int64_t count) {
  if (plan.family == "cnn" || plan.family == "autoencoder")
    return {count, kColours, plan.side, plan.side};
  if (plan.family == "rnn") return {count, plan.length, Reader::kFeatures};
  if (plan.family == "transformer" || plan.family == "recommender") return {count, plan.length};
  return {count, plan.width};
}

bool takesTokens(const Plan& plan) {
  return plan.family == "transformer" || plan.family == "recommender";
}

}  // namespace

std::shared_ptr<rt::nn::Module> makeNetwork(const Plan& plan) {
  if (plan.family == "cnn") return pictureStack(plan);
  if (plan.family == "autoencoder") return hourglass(plan);
  if (plan.family == "recommender") return std::make_shared<Recommender>(plan);
  if (plan.family == "rnn") return std::make_shared<Reader>(plan);
  if (plan.family == "transformer") {
    return samples::makeTransformer({.vocabulary = kVocabulary,
                                     .context = plan.length,
                                     .features = plan.width,
                                     .heads = 4,
                                     .layers = static_cast<int>(plan.depth)});
  }
  return denseStack(plan, plan.width, kClasses);
}

Tensor lossOf(const Plan& plan, rt::nn::Module& network, const Tensor& inputs,
              const Tensor& targets) {
  const Tensor out = network(inputs);
  if (plan.family == "autoencoder") return rt::mseLoss(out, inputs);
  if (plan.family != "transformer") return rt::crossEntropy(out, targets);
  return rt::crossEntropy(out.reshape({-1, kVocabulary}), targets.reshape({-1}));
}

rt::Batch Batches::make(std::int64_t count, std::uint64_t seed) const {
  rt::SampleRandom random(seed);
  const bool tokens = takesTokens(plan_);
  const auto most = static_cast<std::uint64_t>(plan_.family == "recommender" ? kRows : kVocabulary);
  const Tensor inputs =
      rt::emptyHost(inputShape(plan_, count), tokens ? rt::DType::I64 : rt::DType::F32);
  for (std::int64_t i = 0; i < inputs.numel(); ++i) {
    if (tokens) {
      static_cast<std::int64_t*>(inputs.data())[i] = static_cast<std::int64_t>(random.below(most));
    } else {
      static_cast<float*>(inputs.data())[i] = static_cast<float>(random.uniform());
    }
  }
  const bool eachToken = plan_.family == "transformer";
  const Tensor targets =
      rt::emptyHost(eachToken ? Shape{count, plan_.length} : Shape{count}, rt::DType::I64);
  const auto classes = static_cast<std::uint64_t>(eachToken ? kVocabulary : kClasses);
  for (std::int64_t i = 0; i < targets.numel(); ++i)
    static_cast<std::int64_t*>(targets.data())[i] =
        static_cast<std::int64_t>(random.below(classes));
  return {inputs, targets};
}

rt::Example Batches::get(std::size_t index, rt::WorkerContext& context) const {
  const std::array<std::size_t, 1> one{index};
  rt::Batch batch = *getBatch(one, context);
  return {batch[0].select(0, 0), batch[1].select(0, 0)};
}

std::optional<rt::Batch> Batches::getBatch(std::span<const std::size_t> indices,
                                           rt::WorkerContext& context) const {
  if (plan_.has("slow-storage")) sleepFor(plan_.faultUs);
  {
    const rt::LoaderScope decode = context.stage(rt::LoaderStage::Decode);
    compute(plan_.has("heavy-decode") || plan_.has("no-workers") ? plan_.faultUs : plan_.prepareUs);
  }
  const rt::LoaderScope collate = context.stage(rt::LoaderStage::Collate);
  if (plan_.has("slow-collate")) sleepFor(plan_.faultUs);
  return make(static_cast<std::int64_t>(indices.size()), indices.front());
}

}  // namespace lacuna::drawn
