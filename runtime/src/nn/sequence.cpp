// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/runtime/nn_sequence.h"

#include <cmath>

#include "nn/init.h"

namespace lacuna::rt::nn {

MultiheadAttention::MultiheadAttention(std::int64_t features, std::int64_t heads, bool causal,
                                       Options options)
    : heads_(heads), causal_(causal) {
  if (heads < 1 || features % heads != 0)
    fail("MultiheadAttention",
         std::to_string(features) + " features for " + std::to_string(heads) + " heads");
  const double bound = 1 / std::sqrt(static_cast<double>(features));
  inWeight = addParameter("in_weight",
                          uniformParameter("in_weight", {3 * features, features}, bound, options));
  inBias = addParameter("in_bias", filledParameter("in_bias", {3 * features}, 0, options));
  outWeight = addParameter("out_weight",
                           uniformParameter("out_weight", {features, features}, bound, options));
  outBias = addParameter("out_bias", filledParameter("out_bias", {features}, 0, options));
}

Tensor MultiheadAttention::forward(const Tensor& x) {
  if (x.rank() != 3) fail(kind(), "input " + x.shape().toString() + " must be [n,time,features]");
  const std::int64_t features = outWeight.size(0);
  const std::vector<Tensor> parts = unbind(
      linear(x, inWeight, inBias).view({x.size(0), x.size(1), 3, heads_, features / heads_}), 2);
  const auto byHead = [&parts](std::size_t i) { return parts[i].transpose(1, 2); };
  const Tensor mixed = attention(byHead(0), byHead(1), byHead(2), {}, causal_);
  return linear(mixed.transpose(1, 2).reshape(x.shape()), outWeight, outBias);
}

}  // namespace lacuna::rt::nn
