// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <malloc.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "lacuna/runtime/memory.h"
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

const GradientCase kSequenceCases[] = {
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
    {"attention_five_dimensions",
     {{1, 2, 1, 2, 2}},
     [](const Inputs& in) { return attention(in[0], in[0], in[0]); }},
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
    {"lstm_reverse",
     {{2, 3, 2}, {8, 2}, {8, 2}},
     [](const Inputs& in) {
       const RecurrentResult r = lstm(in[0], {in[1], in[2], {}, {}}, {}, {}, true);
       return sum(square(r.output)) + sum(r.hidden);
     }},
    {"gru_both_directions",
     {{1, 3, 2}, {6, 2}, {6, 2}},
     [](const Inputs& in) {
       const RecurrentWeights w{in[1], in[2], {}, {}};
       return square(concat({gru(in[0], w).output, gru(in[0], w, {}, true).output}, 2));
     }},
    {"gru",
     {{2, 3, 2}, {6, 2}, {6, 2}, {6}, {6}, {2, 2}},
     [](const Inputs& in) {
       return square(gru(in[0], {in[1], in[2], in[3], in[4]}, in[5]).output);
     }},
};

INSTANTIATE_TEST_SUITE_P(Operators, SequenceGradient, testing::ValuesIn(kSequenceCases), caseName);

/// The same by building the matrix of scores.
Tensor plainAttention(const Tensor& q, const Tensor& k, const Tensor& v) {
  return matmul(softmax(matmul(q, k.t()) * (1 / std::sqrt(static_cast<double>(q.size(-1)))), -1),
                v);
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

std::size_t heapBytes() {
  const struct mallinfo2 heap = ::mallinfo2();
  return heap.uordblks + heap.hblkhd;
}

/// The memory that it works in counts for limits, statistics and tools, and goes with the
/// execution.
TEST(Attention, WorksInMemoryOfTheAllocator) {
  constexpr std::int64_t kKeys = 4096;
  constexpr std::size_t kScores = 64 * kKeys * sizeof(float);
  const Tensor x = randn({2, kKeys, 16}).setRequiresGrad();
  const auto workspace = [](const auto& stats) {
    return stats[static_cast<std::size_t>(Role::Workspace)];
  };
  synchronize();
  const std::size_t heap = heapBytes();
  resetPeakMemory();
  const std::size_t held = workspace(memoryStats().activeByRole);
  const Tensor y = attention(x, x, x);
  synchronize();
  EXPECT_GT(workspace(memoryStats().peakByRole), held + kScores);
  resetPeakMemory();
  y.backward(ones({2, kKeys, 16}));
  synchronize();
  EXPECT_GT(workspace(memoryStats().peakByRole), held + 2 * kScores)
      << "the scores and their gradients";
  EXPECT_EQ(workspace(memoryStats().activeByRole), held);
  EXPECT_LT(heapBytes(), heap + kScores / 2) << "and nothing beside it";
}

TEST(Attention, WhereEverythingIsHiddenGivesZeros) {
  const Tensor mask = full({1, 2}, -std::numeric_limits<double>::infinity());
  EXPECT_THAT(attention(ones({1, 2}), ones({2, 2}), ones({2, 1}), mask).toVector<float>(),
              testing::ElementsAre(0));
}

/// A case of masks: what hides, and whether later keys are hidden too.
struct MaskCase {
  const char* name;
  std::vector<float> mask;
  Shape shape;
  bool causal;
};

/// The gradients of attention by its kernel, or by the operators that are recorded for gradients of
/// gradients.
std::vector<std::vector<float>> maskedGradients(const MaskCase& test, bool recorded) {
  manualSeed(2);
  std::vector<Tensor> inputs;
  for (const std::int64_t width : {3, 3, 2})
    inputs.push_back(randn({2, 4, width}).setRequiresGrad());
  const Tensor weights = randn({2, 4, 2});
  const Tensor y =
      attention(inputs[0], inputs[1], inputs[2], fromVector(test.mask, test.shape), test.causal);
  std::vector<std::vector<float>> gradients;
  for (const Tensor& gradient : grad({y}, inputs, {weights}, {false, recorded, false}))
    gradients.push_back(gradient.toVector<float>());
  return gradients;
}

TEST(Attention, TheRecordedGradientEqualsTheOtherUnderEveryMask) {
  const float hidden = -std::numeric_limits<float>::infinity();
  const float lowest = std::numeric_limits<float>::lowest();
  std::vector<MaskCase> cases;
  for (const bool causal : {false, true}) {
    cases.push_back({"left padding", {hidden, 0, 0, 0}, {1, 4}, causal});
    cases.push_back({"left padding by the lowest number", {lowest, 0, 0, 0}, {1, 4}, causal});
    cases.push_back({"everything hidden", {hidden}, {1, 1}, causal});
    cases.push_back({"everything at the lowest number", {lowest}, {1, 1}, causal});
    cases.push_back({"everything at -1e9", {-1e9F}, {1, 1}, causal});
    cases.push_back({"one query hidden", {0, hidden, 0, 0}, {4, 1}, causal});
  }
  for (const MaskCase& test : cases) {
    const auto plain = maskedGradients(test, false);
    const auto recorded = maskedGradients(test, true);
    for (std::size_t i = 0; i < plain.size(); ++i) {
      for (std::size_t k = 0; k < plain[i].size(); ++k)
        EXPECT_NEAR(plain[i][k], recorded[i][k], 1e-5)
            << test.name << ", causal " << test.causal << ", input " << i;
    }
  }
}

TEST(Attention, HasTheSameGradientInBFloat16WhenItIsRecorded) {
  manualSeed(4);
  std::vector<Tensor> inputs;
  for (const double size : {8.0, 8.0, 1.0})
    inputs.push_back((randn({4, 16, 16}) * size).to(DType::BF16).setRequiresGrad());
  const Tensor slope = randn({4, 16, 16}).to(DType::BF16);
  const auto gradients = [&](bool recorded) {
    return grad({attention(inputs[0], inputs[1], inputs[2])}, inputs, {slope},
                {.createGraph = recorded});
  };
  const std::vector<Tensor> plain = gradients(false);
  const std::vector<Tensor> recorded = gradients(true);
  for (const Tensor& gradient : recorded) EXPECT_EQ(gradient.dtype(), DType::BF16);
  const double unit = max(abs(plain[2])).item() / 128;  // at least the last digit of any
  EXPECT_LT(max(abs(recorded[2].detach() - plain[2])).item(), 1.1 * unit);
}

/// The gradients of some inputs of one attention; the other inputs need none, or are not asked for.
std::vector<std::vector<float>> someGradients(const std::vector<std::size_t>& asked,
                                              bool othersNeed, bool recorded) {
  manualSeed(9);
  std::vector<Tensor> inputs;
  for (const Shape& shape : {Shape{1, 2, 70, 3}, Shape{1, 2, 5, 3}, Shape{1, 2, 5, 4}})
    inputs.push_back(randn(shape));
  const Tensor slope = randn({1, 2, 70, 4});
  std::vector<Tensor> wanted;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const bool isAsked = std::find(asked.begin(), asked.end(), i) != asked.end();
    if (isAsked || othersNeed) inputs[i].setRequiresGrad();
    if (isAsked) wanted.push_back(inputs[i]);
  }
  const Tensor y = attention(inputs[0], inputs[1], inputs[2], full({5}, 0.5), true);
  std::vector<std::vector<float>> gradients;
  for (const Tensor& gradient : grad({y}, wanted, {slope}, {.createGraph = recorded}))
    gradients.push_back(gradient.toVector<float>());
  return gradients;
}

TEST(Attention, GivesAnySelectionOfItsGradients) {
  for (const bool recorded : {false, true}) {
    const auto all = someGradients({0, 1, 2}, true, recorded);
    for (const std::vector<std::size_t>& asked :
         std::vector<std::vector<std::size_t>>{{0}, {1}, {2}, {0, 1}, {0, 2}, {1, 2}}) {
      for (const bool othersNeed : {false, true}) {
        const auto some = someGradients(asked, othersNeed, recorded);
        for (std::size_t i = 0; i < asked.size(); ++i)
          EXPECT_THAT(some[i], testing::Pointwise(testing::FloatNear(1e-5F), all[asked[i]]))
              << "input " << asked[i] << " of " << asked.size() << ", recorded " << recorded;
      }
    }
  }
}

TEST(Attention, KeepsTheValueOnlyForTheGradientsOfQueryAndKey) {
  Tensor value = fromVector<float>({3, 4}, {2, 1}).setRequiresGrad() * 1.0;
  const Tensor y = attention(zeros({1, 2}), zeros({2, 2}), value);
  value.mul_(2.0);
  const Tensor out = sum(value) + sum(y);
  EXPECT_EQ(out.item(), 17.5);
  EXPECT_NO_THROW(out.backward());
  const Tensor query = zeros({1, 2}).setRequiresGrad();
  value = ones({2, 1});
  const Tensor other = attention(query, zeros({2, 2}), value);
  value.mul_(2.0);
  EXPECT_THAT([&] { other.backward(); },
              testing::ThrowsMessage<Error>(HasSubstr("changed in place")));
}

TEST(Attention, ScoresOfAnyMagnitudeHaveProbabilitiesThatSumToOne) {
  for (const double mask : {-1e9, 0.0}) {
    const Tensor value = ones({1, 8, 1}).setRequiresGrad();
    sum(attention(full({1, 2, 4}, 200), full({1, 8, 4}, 200), value, full({2, 8}, mask)))
        .backward();
    EXPECT_THAT(value.grad().toVector<float>(), testing::Each(testing::FloatNear(0.25F, 1e-6F)));
  }
}

TEST(Attention, OfAQueryThatIsNotANumberIsNotANumber) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const bool causal : {false, true}) {
    const Tensor query = fromVector<float>({nan, 1}, {2, 1}).setRequiresGrad();
    const Tensor key = fromVector<float>({1, 2}, {2, 1}).setRequiresGrad();
    const Tensor out = attention(query, key, fromVector<float>({3, 4}, {2, 1}), {}, causal);
    EXPECT_TRUE(std::isnan(out.select(0, 0).item())) << causal;
    EXPECT_FALSE(std::isnan(out.select(0, 1).item())) << causal;
    sum(out).backward();
    EXPECT_TRUE(std::isnan(query.grad().select(0, 0).item())) << causal;
    EXPECT_FALSE(std::isnan(query.grad().select(0, 1).item())) << causal;
  }
}

TEST(Attention, AMaskOfBoolHidesWhereItIsFalse) {
  const Tensor value = fromVector<float>({1, 2, 4}, {3, 1});
  const auto seen = [&](std::vector<bool> mask) {
    return attention(zeros({1, 2}), zeros({3, 2}), value, fromVector(mask, {1, 3})).item();
  };
  EXPECT_FLOAT_EQ(static_cast<float>(seen({true, true, false})), 1.5F);
  EXPECT_EQ(seen({false, false, true}), 4);
  EXPECT_EQ(seen({false, false, false}), 0);
}

TEST(Attention, OfNoKeysIsZero) {
  const Tensor query = ones({1, 2, 3}).setRequiresGrad();
  (void)attention(query.detach(), ones({1, 4, 3}), ones({1, 4, 2}))
      .toVector<float>();  // memory that was used before
  const Tensor y = attention(query, ones({1, 0, 3}), ones({1, 0, 2}));
  EXPECT_THAT(y.toVector<float>(), testing::ElementsAre(0, 0, 0, 0));
  for (const bool recorded : {false, true}) {
    const Tensor gradient = grad({sum(y)}, {query}, {}, {true, recorded, false})[0];
    EXPECT_THAT(gradient.toVector<float>(), testing::Each(0));
  }
  EXPECT_THAT(
      attention(ones({1, 0}), ones({2, 0}), fromVector<float>({1, 3}, {2, 1})).toVector<float>(),
      testing::ElementsAre(2))
      << "without features all keys count alike";
}

TEST(Attention, RefusesAMaskOfNumbersThatAreNoScores) {
  EXPECT_THAT(
      [] {
        (void)attention(ones({1, 2}), ones({3, 2}), ones({3, 2}), zeros({1, 3}, {DType::I64}));
      },
      testing::ThrowsMessage<Error>(HasSubstr("the mask is i64")));
  EXPECT_THAT(
      [] {
        (void)attention(ones({1, 2}), ones({3, 2}), ones({3, 2}),
                        zeros({1, 3}, {DType::F32, kMeta}));
      },
      testing::ThrowsMessage<Error>(HasSubstr("the mask on meta")));
}

TEST(Attention, NamesAMaskThatDoesNotFit) {
  const Tensor q = ones({2, 3, 4});
  for (const Shape& shape : {Shape{3, 4}, Shape{2, 2, 3, 3}, Shape{0, 3}}) {
    EXPECT_THAT(
        [&] { (void)attention(q, q, q, zeros(shape)); },
        testing::ThrowsMessage<Error>(HasSubstr("attention: the mask " + shape.toString() +
                                                " does not stretch to the scores [2,3,3]")));
  }
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
      testing::ThrowsMessage<Error>(
          HasSubstr("attention: query [2,3], key [2,4], value [2,3] do not fit")));
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
  EXPECT_THAT(
      [&] {
        (void)net(randn({2, 4, 2}));
      },
      testing::ThrowsMessage<Error>(HasSubstr("lstm: input [2,4,2]")));
}

/// The steps of a sequence the other way round.
Tensor flipped(const Tensor& x) {
  std::vector<Tensor> steps = unbind(x, 1);
  std::reverse(steps.begin(), steps.end());
  return stack(steps, 1);
}

double distance(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.shape(), b.shape());
  return max(abs(a - b)).item();
}

TEST(Recurrent, OfBothDirectionsEqualsRunsOverTheSequenceAndItsFlip) {
  manualSeed(5);
  nn::Lstm net(3, 4, {.layers = 2, .bidirectional = true}, {DType::F64});
  const Tensor x = randn({2, 5, 3}, {DType::F64});
  const Tensor h = randn({4, 2, 4}, {DType::F64});
  const Tensor c = randn({4, 2, 4}, {DType::F64});
  const RecurrentResult got = net.run(x, h, c);
  Tensor value = x;
  std::vector<Tensor> hiddens;
  std::vector<Tensor> cells;
  for (std::size_t layer = 0; layer < 2; ++layer) {
    const auto at = static_cast<std::int64_t>(2 * layer);
    const RecurrentResult there =
        lstm(value, net.weights()[2 * layer], h.select(0, at), c.select(0, at));
    const RecurrentResult back = lstm(flipped(value), net.weights()[2 * layer + 1],
                                      h.select(0, at + 1), c.select(0, at + 1));
    value = concat({there.output, flipped(back.output)}, 2);
    for (const RecurrentResult* one : {&there, &back}) {
      hiddens.push_back(one->hidden);
      cells.push_back(one->cell);
    }
  }
  EXPECT_LT(distance(got.output, value), 1e-12);
  EXPECT_LT(distance(got.hidden, stack(hiddens, 0)), 1e-12);
  EXPECT_LT(distance(got.cell, stack(cells, 0)), 1e-12);
  EXPECT_LT(distance(net(x), net.run(x).output), 1e-12);
}

TEST(Recurrent, OfAGruInBothDirectionsEqualsRunsOverTheSequenceAndItsFlip) {
  manualSeed(6);
  nn::Gru net(3, 4, {.layers = 1, .bidirectional = true}, {DType::F64});
  const Tensor x = randn({2, 5, 3}, {DType::F64});
  const RecurrentResult there = gru(x, net.weights()[0]);
  const RecurrentResult back = gru(flipped(x), net.weights()[1]);
  const RecurrentResult got = net.run(x);
  EXPECT_LT(distance(got.output, concat({there.output, flipped(back.output)}, 2)), 1e-12);
  EXPECT_LT(distance(got.hidden, stack({there.hidden, back.hidden}, 0)), 1e-12);
  EXPECT_FALSE(got.cell.defined());
}

TEST(Recurrent, NamesTheParametersOfBothDirectionsInTheirOrder) {
  nn::Lstm net(3, 4, {.layers = 2, .bidirectional = true});
  std::vector<std::string> names;
  for (const nn::Module::Named& named : net.namedState()) names.push_back(named.name);
  EXPECT_THAT(
      names, testing::ElementsAre(
                 "weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0", "weight_ih_l0_reverse",
                 "weight_hh_l0_reverse", "bias_ih_l0_reverse", "bias_hh_l0_reverse", "weight_ih_l1",
                 "weight_hh_l1", "bias_ih_l1", "bias_hh_l1", "weight_ih_l1_reverse",
                 "weight_hh_l1_reverse", "bias_ih_l1_reverse", "bias_hh_l1_reverse"));
  EXPECT_EQ(net.weights()[2].input.shape(), (Shape{16, 8}));
  EXPECT_EQ(net(zeros({1, 0, 3})).shape(), (Shape{1, 0, 8}));
}

TEST(Recurrent, RefusesStatesThatDoNotFit) {
  nn::Gru net(3, 4, {.layers = 1, .bidirectional = true});
  EXPECT_THAT(
      [&] {
        (void)net.run(zeros({2, 5, 3}), zeros({1, 2, 4}));
      },
      testing::ThrowsMessage<Error>(HasSubstr("Gru: hidden states [1,2,4] for input [2,5,3]")));
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
