// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "lacuna/runtime/autograd.h"
#include "lacuna/runtime/ops.h"
#include "lacuna/runtime/random.h"

/// Each operator's gradient and the gradient's gradient against finite differences in f64.
namespace lacuna::rt {
namespace {

using Inputs = std::vector<Tensor>;

struct Case {
  const char* name;
  std::vector<Shape> shapes;
  std::function<Tensor(const Inputs&)> function;
  double low = -1.5;
  double high = 1.5;
};

void PrintTo(const Case& test, std::ostream* out) {
  *out << test.name;
}

class Gradient : public testing::TestWithParam<Case> {};

TEST_P(Gradient, EqualsTheFiniteDifference) {
  const Case& test = GetParam();
  manualSeed(11);
  Inputs inputs;
  for (const Shape& shape : test.shapes) {
    Tensor input = empty(shape, {DType::F64});
    inputs.push_back(uniform_(input, test.low, test.high).setRequiresGrad());
  }
  GradCheckOptions options;
  options.second = true;
  options.absolute = 2e-5;
  EXPECT_EQ(gradcheck([&](const Inputs& in) { return Inputs{test.function(in)}; }, inputs, options),
            "");
}

Tensor labels() {
  return fromVector<std::int64_t>({2, -100, 0, 1}, {4});
}
Tensor classWeights() {
  return fromVector<double>({0.5, 2, 0.25}, {3});
}
Tensor picks() {
  return fromVector<std::int64_t>({1, 0, 1, 2}, {4});
}

const Case kCases[] = {
    {"add_broadcast", {{3, 1}, {1, 4}}, [](const Inputs& in) { return in[0] + in[1]; }},
    {"add_alpha", {{3}, {3}}, [](const Inputs& in) { return add(in[0], in[1], -2.5); }},
    {"sub", {{2, 3}, {3}}, [](const Inputs& in) { return in[0] - in[1]; }},
    {"mul_same", {{5}}, [](const Inputs& in) { return in[0] * in[0]; }},
    {"mul_broadcast", {{2, 3, 4}, {3, 1}}, [](const Inputs& in) { return in[0] * in[1]; }},
    {"div", {{3, 4}, {4}}, [](const Inputs& in) { return in[0] / in[1]; }, 0.5, 2},
    {"pow", {{4}, {4}}, [](const Inputs& in) { return pow(in[0], in[1]); }, 0.5, 2},
    {"pow_scalar", {{4}}, [](const Inputs& in) { return pow(in[0], 2.5); }, 0.5, 2},
    {"div_scalar", {{4}}, [](const Inputs& in) { return square(in[0] / 1.5); }},
    {"maximum", {{6}, {6}}, [](const Inputs& in) { return maximum(in[0], in[1]); }},
    {"minimum", {{6}, {1}}, [](const Inputs& in) { return minimum(in[0], in[1]); }},
    {"where",
     {{2, 3}, {3}},
     [](const Inputs& in) { return where(greater(in[0], in[1]), in[0] * 2.0, in[1]); }},
    {"neg_abs", {{6}}, [](const Inputs& in) { return abs(neg(in[0])); }},
    {"exp", {{4}}, [](const Inputs& in) { return exp(in[0]); }},
    {"log", {{4}}, [](const Inputs& in) { return log(in[0]); }, 0.5, 2},
    {"log1p", {{4}}, [](const Inputs& in) { return log1p(in[0]); }, -0.5, 2},
    {"sqrt", {{4}}, [](const Inputs& in) { return sqrt(in[0]); }, 0.5, 2},
    {"rsqrt", {{4}}, [](const Inputs& in) { return rsqrt(in[0]); }, 0.5, 2},
    {"reciprocal", {{4}}, [](const Inputs& in) { return reciprocal(in[0]); }, 0.5, 2},
    {"sin_cos", {{4}}, [](const Inputs& in) { return sin(in[0]) * cos(in[0]); }},
    {"erf", {{4}}, [](const Inputs& in) { return erf(in[0]); }},
    {"tanh", {{4}}, [](const Inputs& in) { return tanh(in[0]); }},
    {"sigmoid", {{4}}, [](const Inputs& in) { return sigmoid(in[0]); }},
    {"relu", {{3, 4}}, [](const Inputs& in) { return relu(in[0] * 1.0); }},
    {"leaky_relu", {{6}}, [](const Inputs& in) { return leakyRelu(in[0], 0.2); }},
    {"elu", {{6}}, [](const Inputs& in) { return elu(in[0], 1.3); }},
    {"gelu", {{6}}, [](const Inputs& in) { return gelu(in[0]); }},
    {"gelu_tanh", {{6}}, [](const Inputs& in) { return gelu(in[0], true); }},
    {"silu", {{6}}, [](const Inputs& in) { return silu(in[0]); }},
    {"softplus", {{6}}, [](const Inputs& in) { return softplus(in[0]); }},
    {"sign_floor",
     {{6}},
     [](const Inputs& in) { return in[0] * sign(in[0]) + square(in[0]) * floor(in[0]); }},
    {"ceil_round",
     {{6}},
     [](const Inputs& in) { return in[0] * ceil(in[0]) + square(in[0]) * round(in[0]); }},
    {"dropout",
     {{12}},
     [](const Inputs& in) {
       manualSeed(5);
       return square(dropout(in[0], 0.4, true));
     }},
    {"clamp", {{8}}, [](const Inputs& in) { return clamp(in[0], -0.7, 0.6); }},
    {"sum",
     {{2, 3, 4}},
     [](const Inputs& in) {
       return square(sum(in[0], {0, 2}));
     }},
    {"mean", {{2, 3}}, [](const Inputs& in) { return square(mean(in[0], {1}, true)); }},
    {"max", {{3, 4}}, [](const Inputs& in) { return square(max(in[0], {1})); }},
    {"min", {{3, 4}}, [](const Inputs& in) { return min(in[0]); }},
    {"var", {{3, 4}}, [](const Inputs& in) { return var(in[0], {1}); }},
    {"matmul", {{3, 4}, {4, 2}}, [](const Inputs& in) { return matmul(in[0], in[1]); }},
    {"matmul_batch",
     {{2, 1, 3, 4}, {5, 4, 2}},
     [](const Inputs& in) { return matmul(in[0], in[1]); }},
    {"matmul_transposed",
     {{4, 3}, {2, 4}},
     [](const Inputs& in) { return matmul(in[0].t(), in[1].t()); }},
    {"matmul_vectors", {{4}, {4, 2}}, [](const Inputs& in) { return matmul(in[0], in[1]); }},
    {"linear",
     {{2, 3, 4}, {5, 4}, {5}},
     [](const Inputs& in) { return linear(in[0], in[1], in[2]); }},
    {"linear_strided", {{4, 3}, {5, 4}}, [](const Inputs& in) { return linear(in[0].t(), in[1]); }},
    {"softmax", {{3, 4}}, [](const Inputs& in) { return softmax(in[0], 0); }},
    {"log_softmax", {{3, 4}}, [](const Inputs& in) { return logSoftmax(in[0], 1); }},
    {"cross_entropy", {{4, 3}}, [](const Inputs& in) { return crossEntropy(in[0], labels()); }},
    {"cross_entropy_smooth",
     {{4, 3}},
     [](const Inputs& in) { return crossEntropy(in[0], labels(), Reduction::Sum, 0.1); }},
    {"cross_entropy_of_pictures",
     {{1, 3, 2, 2}},
     [](const Inputs& in) {
       return crossEntropy(in[0], labels().view({1, 2, 2}));
     }},
    {"cross_entropy_of_scores_computed",
     {{4, 2}, {3, 2}, {3}},
     [](const Inputs& in) { return square(crossEntropy(linear(in[0], in[1], in[2]), labels())); }},
    {"cross_entropy_weighted",
     {{4, 3}},
     [](const Inputs& in) {
       return crossEntropy(in[0], labels(), Reduction::Mean, 0.2, -100, classWeights());
     }},
    {"cross_entropy_weighted_sum",
     {{4, 3}},
     [](const Inputs& in) {
       return crossEntropy(in[0], labels(), Reduction::Sum, 0, -100, classWeights());
     }},
    {"nll_loss",
     {{1, 3, 2, 2}},
     [](const Inputs& in) {
       return square(
           nllLoss(in[0], labels().view({1, 2, 2}), Reduction::Mean, -100, classWeights()));
     }},
    {"bce_weighted",
     {{2, 3}, {3}},
     [](const Inputs& in) {
       return bceWithLogits(in[0], full({2, 3}, 0.3, {DType::F64}), Reduction::Mean, in[1]);
     }},
    {"mse", {{4}, {4}}, [](const Inputs& in) { return mseLoss(in[0], in[1]); }},
    {"l1", {{4}, {4}}, [](const Inputs& in) { return l1Loss(in[0], in[1], Reduction::Sum); }},
    {"bce",
     {{4}},
     [](const Inputs& in) { return bceWithLogits(in[0], full({4}, 0.3, {DType::F64})); }},
    {"embedding", {{3, 2}}, [](const Inputs& in) { return square(embedding(in[0], picks())); }},
    {"index_select",
     {{2, 3, 2}},
     [](const Inputs& in) { return square(indexSelect(in[0], 1, picks())); }},
    {"gather",
     {{4, 3}},
     [](const Inputs& in) {
       return square(gather(in[0], 1, picks().view({4, 1})));
     }},
    {"scatter",
     {{4, 3}, {4, 1}},
     [](const Inputs& in) {
       return square(scatter(in[0], 1, picks().view({4, 1}), in[1]));
     }},
    {"scatter_add",
     {{4, 3}, {4, 1}},
     [](const Inputs& in) {
       return square(scatterAdd(in[0], 1, picks().view({4, 1}), in[1]));
     }},
    {"concat",
     {{2, 1}, {2, 3}},
     [](const Inputs& in) {
       return square(concat({in[0], in[1]}, 1));
     }},
    {"stack_split",
     {{4}, {4}},
     [](const Inputs& in) {
       return square(split(stack({in[0], in[1]}, 0), 3, 1)[1]);
     }},
    {"views",
     {{2, 3, 4}},
     [](const Inputs& in) {
       return square(
           in[0].permute({2, 0, 1}).slice(0, 1, 4, 2).flatten(1).unsqueeze(0).expand({2, 2, 6}));
     }},
    {"attention",
     {{2, 3, 4}, {2, 3, 4}, {2, 3, 4}},
     [](const Inputs& in) { return attention(in[0], in[1], in[2], {}, true); }},
    {"layer_norm",
     {{3, 4}, {4}, {4}},
     [](const Inputs& in) { return layerNorm(in[0], {4}, in[1], in[2]); }},
    {"batch_norm",
     {{3, 2, 2}, {2}, {2}},
     [](const Inputs& in) { return batchNorm(in[0], in[1], in[2], {}, {}, true); }},
    {"group_norm",
     {{2, 4, 3}, {4}, {4}},
     [](const Inputs& in) { return groupNorm(in[0], 2, in[1], in[2]); }},
    {"empty", {{0, 3}, {3}}, [](const Inputs& in) { return in[0] * in[1] + sum(in[1]); }},
    {"one_element", {{1, 1}}, [](const Inputs& in) { return softmax(in[0], 1) * tanh(in[0]); }},
};

INSTANTIATE_TEST_SUITE_P(Operators, Gradient, testing::ValuesIn(kCases),
                         [](const testing::TestParamInfo<Case>& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace lacuna::rt
