// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "models/transformer.h"

#include <string>
#include <vector>

#include "lacuna/runtime/autograd.h"
#include "lacuna/runtime/nn_sequence.h"
#include "lacuna/runtime/random.h"

namespace lacuna::samples {

namespace {

using rt::Tensor;
using rt::nn::LayerNorm;
using rt::nn::Linear;
using rt::nn::Module;

class Block : public Module {
 public:
  explicit Block(const TransformerOptions& o)
      : dropout_(o.dropout),
        norm1_(addModule("norm1",
                         std::make_shared<LayerNorm>(rt::Shape{o.features}, 1e-5, o.options))),
        attention_(addModule("attention", std::make_shared<rt::nn::MultiheadAttention>(
                                              o.features, o.heads, true, o.options))),
        norm2_(addModule("norm2",
                         std::make_shared<LayerNorm>(rt::Shape{o.features}, 1e-5, o.options))),
        up_(addModule("up", std::make_shared<Linear>(o.features, 4 * o.features, true, o.options))),
        down_(addModule("down",
                        std::make_shared<Linear>(4 * o.features, o.features, true, o.options))) {}
  [[nodiscard]] const char* kind() const override { return "Block"; }

 protected:
  Tensor forward(const Tensor& x) override {
    const Tensor y = rt::add(x, rt::dropout((*attention_)((*norm1_)(x)), dropout_, training()));
    return rt::add(y, rt::dropout((*down_)(rt::gelu((*up_)((*norm2_)(y)))), dropout_, training()));
  }

 private:
  double dropout_;
  std::shared_ptr<LayerNorm> norm1_;
  std::shared_ptr<rt::nn::MultiheadAttention> attention_;
  std::shared_ptr<LayerNorm> norm2_;
  std::shared_ptr<Linear> up_, down_;
};

class Transformer : public Module {
 public:
  explicit Transformer(const TransformerOptions& o)
      : context_(o.context),
        tokens_(addModule(
            "tokens", std::make_shared<rt::nn::Embedding>(o.vocabulary, o.features, o.options))),
        places_(addModule("places",
                          std::make_shared<rt::nn::Embedding>(o.context, o.features, o.options))) {
    for (int i = 0; i < o.layers; ++i) {
      blocks_.push_back(addModule("block" + std::to_string(i), std::make_shared<Block>(o)));
      blocks_.back()->setCheckpoint(o.checkpoint);
    }
    norm_ = addModule("norm", std::make_shared<LayerNorm>(rt::Shape{o.features}, 1e-5, o.options));
    head_ = addModule("head", std::make_shared<Linear>(o.features, o.vocabulary, true, o.options));
    // Small embeddings: with a deviation of 1 they would drown what the blocks add.
    const rt::NoGrad guard;
    rt::normal_(tokens_->weight, 0, 0.02);
    rt::normal_(places_->weight, 0, 0.02);
  }
  [[nodiscard]] const char* kind() const override { return "Transformer"; }

 protected:
  Tensor forward(const Tensor& tokens) override {
    if (tokens.rank() != 2 || tokens.size(1) > context_) {
      rt::fail("Transformer", "tokens " + tokens.shape().toString() +
                                  " must be [n,time], time at most " + std::to_string(context_));
    }
    Tensor x = rt::add((*tokens_)(tokens),
                       (*places_)(rt::arange(tokens.size(1), {rt::DType::I64, tokens.device()})));
    for (const auto& block : blocks_) x = (*block)(x);
    return (*head_)((*norm_)(x));
  }

 private:
  std::int64_t context_;
  std::shared_ptr<rt::nn::Embedding> tokens_, places_;
  std::vector<std::shared_ptr<Block>> blocks_;
  std::shared_ptr<LayerNorm> norm_;
  std::shared_ptr<Linear> head_;
};

}  // namespace

std::shared_ptr<rt::nn::Module> makeTransformer(const TransformerOptions& options) {
  return std::make_shared<Transformer>(options);
}

}  // namespace lacuna::samples
