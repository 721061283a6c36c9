// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cmath>

#include "lacuna/runtime/nn_sequence.h"
#include "runtime/ops/gradient_case.h"

namespace lacuna::rt {
namespace {

using testing::HasSubstr;

class SequenceGradient : public testing::TestWithParam<GradientCase> {};

TEST_P(SequenceGradient, EqualsTheFiniteDifference) {
  EXPECT_EQ(checkCase(GetParam()), "");
}

Tensor someMask() {
  return fromVector<double>({0, -1, 0.5, 0, -2, 1}, {2, 3});
}

const GradientCase kCases[] = {
    {"attention",
     {{2, 2, 3, 2}, {2, 2, 4, 2}, {2, 2, 4, 3}},
     [](const Inputs& in) { return attention(in[0], in[1], in[2]); }},
    {"attention_two_dimensions",
     {{2, 3}, {3, 3}, {3, 2}},
     [](const Inputs& in) { return attention(in[0], in[1], in[2], someMask(), false, 0.7); }},
    {"attention_causal",
     {{1, 3, 2}, {1, 3, 2}, {1, 3, 2}},
     [](const Inputs& in) { return attention(in[0], in[1], in[2], {}, true); }},
    {"attention_of_strided_heads",
     {{2, 3, 2, 2}},
     [](const Inputs& in) {
       const Tensor x = in[0].transpose(1, 2);
       return square(attention(x, x, x, {}, true).transpose(1, 2));
     }},
    {"attention_five_dimensions", {{1, 2, 1, 2, 2}}, [](const Inputs& in) { return attention(in[0], in[0], in[0]); }},
    {"unbind",
     {{2, 3, 2}},
     [](const Inputs& in) {
       const auto parts = unbind(in[0], 1);
       return square(parts[0]) * parts[2];
     }},
    {"lstm",
     {{2, 3, 2}, {8, 2}, {8, 2}, {8}, {8}, {2, 2}, {2, 2}},
     [](const Inputs& in) {
       const RecurrentResult r = lstm(in[0], {in[1], in[2], in[3], in[4]}, in[5], in[6]);
       return sum(r.output) + sum(square(r.cell));
     }},
    {"gru",
     {{2, 3, 2}, {6, 2}, {6, 2}, {6}, {6}, {2, 2}},
     [](const Inputs& in) {
       return square(gru(in[0], {in[1], in[2], in[3], in[4]}, in[5]).output);
     }},
};

INSTANTIATE_TEST_SUITE_P(Operators, SequenceGradient, testing::ValuesIn(kCases), caseName);

/// The same by building the matrix of scores.
Tensor plainAttention(const Tensor& q, const Tensor& k, const Tensor& v) {
  return matmul(softmax(matmul(q, k.t()) * (1 / std::sqrt(static_cast<double>(q.size(-1)))), -1), v);
}

TEST(Attention, OverManyBlocksEqualsThePlainFormula) {
  manualSeed(1);
  for (const DType type : {DType::F32, DType::BF16}) {
    const Tensor q = randn({2, 2, 150, 16}).to(type).setRequiresGrad();
    const Tensor k = randn({2, 2, 130, 16}).to(type).setRequiresGrad();
    const Tensor v = randn({2, 2, 130, 8}).to(type).setRequiresGrad();
    const Tensor g = randn({2, 2, 150, 8}).to(type);
    attention(q, k, v).backward(g);
    std::vector<Tensor> inputs;
    for (const Tensor& x : {q, k, v}) inputs.push_back(x.detach().to(DType::F32).setRequiresGrad());
    plainAttention(inputs[0], inputs[1], inputs[2]).backward(g.to(DType::F32));
    const double bound = type == DType::F32 ? 1e-5 : 2e-2;
    EXPECT_LT(max(abs(q.grad().to(DType::F32) - inputs[0].grad())).item(), bound);
    EXPECT_LT(max(abs(k.grad().to(DType::F32) - inputs[1].grad())).item(), bound * 2);
    EXPECT_LT(max(abs(v.grad().to(DType::F32) - inputs[2].grad())).item(), bound * 2);
  }
}

TEST(Attention, WhereEverythingIsHiddenGivesZeros) {
  const Tensor mask = full({1, 2}, -std::numeric_limits<double>::infinity());
  EXPECT_THAT(attention(ones({1, 2}), ones({2, 2}), ones({2, 1}), mask).toVector<float>(), testing::ElementsAre(0));
}

TEST(Attention, HasShapesOnMetaAndNamesWhatDoesNotFit) {
  const Options meta{DType::F32, kMeta};
  const Tensor q = empty({2, 4, 5, 8}, meta).setRequiresGrad();
  const Tensor y = attention(q, empty({2, 4, 7, 8}, meta), empty({2, 4, 7, 3}, meta));
  EXPECT_EQ(y.shape(), (Shape{2, 4, 5, 3}));
  sum(y).backward();
  EXPECT_EQ(q.grad().shape(), q.shape());
  EXPECT_THAT(
      [] {
        (void)attention(zeros({2, 3}), zeros({2, 4}), zeros({2, 3}));
      },
      testing::ThrowsMessage<Error>(HasSubstr("attention: query [2,3], key [2,4], value [2,3] do not fit")));
}

double sigmoidOf(double x) {
  return 1 / (1 + std::exp(-x));
}

TEST(Lstm, EqualsTheTextbookFormula) {
  const RecurrentWeights w{fromVector<float>({0.1F, 0.2F, 0.3F, 0.4F}, {4, 1}),
                           fromVector<float>({0.5F, -0.6F, 0.7F, 0.8F}, {4, 1}),
                           {},
                           {}};
  const RecurrentResult got = lstm(fromVector<float>({1, -2}, {1, 2, 1}), w);
  double h = 0;
  double c = 0;
  for (const double x : {1.0, -2.0}) {
    const double in = sigmoidOf(0.1 * x + 0.5 * h);
    const double forget = sigmoidOf(0.2 * x - 0.6 * h);
    const double fresh = std::tanh(0.3 * x + 0.7 * h);
    const double out = sigmoidOf(0.4 * x + 0.8 * h);
    c = forget * c + in * fresh;
    h = out * std::tanh(c);
  }
  EXPECT_NEAR(got.hidden.item(), h, 1e-6);
  EXPECT_NEAR(got.cell.item(), c, 1e-6);
  EXPECT_EQ(got.output.shape(), (Shape{1, 2, 1}));
}

TEST(Recurrent, ModulesStackLayersAndNameTheirParameters) {
  manualSeed(2);
  nn::Lstm net(3, 5, 2);
  EXPECT_EQ(net.namedParameters()[4].name, "weight_ih_l1");
  EXPECT_EQ(net(randn({2, 4, 3})).shape(), (Shape{2, 4, 5}));
  nn::Gru onMeta(3, 5, 1, {DType::F32, kMeta});
  EXPECT_EQ(onMeta(empty({2, 4, 3}, {DType::F32, kMeta})).shape(), (Shape{2, 4, 5}));
  EXPECT_THAT([&] { (void)net(randn({2, 4, 2})); }, testing::ThrowsMessage<Error>(HasSubstr("lstm: input [2,4,2]")));
}

TEST(MultiheadAttention, KeepsTheShapeAndCountsItsParameters) {
  manualSeed(3);
  nn::MultiheadAttention net(8, 2, true);
  const Tensor x = randn({2, 5, 8}).setRequiresGrad();
  const Tensor y = net(x);
  EXPECT_EQ(y.shape(), x.shape());
  sum(y).backward();
  EXPECT_EQ(net.inWeight.grad().shape(), (Shape{24, 8}));
}

}  // namespace
}  // namespace lacuna::rt
