// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "lacuna/runtime/autograd.h"
#include "lacuna/runtime/memory.h"
#include "lacuna/runtime/ops.h"
#include "lacuna/runtime/ops_image.h"
#include "lacuna/runtime/random.h"

/// Products, convolutions and attention in bf16 and f16 next to f32, in sizes that are cut into
/// blocks, and with values that are no numbers.
namespace lacuna::rt {
namespace {

struct Short {
  DType type;
  double rounding;  ///< half a step of the type, relative
};
constexpr Short kShortTypes[] = {{DType::BF16, 0x1p-8}, {DType::F16, 0x1p-11}};

class InShortTypes : public testing::TestWithParam<Short> {
 protected:
  void SetUp() override { manualSeed(11); }
  [[nodiscard]] Tensor random(const Shape& shape) const { return randn(shape).to(GetParam().type); }
  /// The result of the same values in f32, rounded once, is as near as the type allows. Sums of
  /// many products differ in f32 too, by some 1e-5 of the largest.
  void expectRoundedOnce(const Tensor& got, const Tensor& exact, const char* what) const {
    ASSERT_EQ(got.dtype(), GetParam().type) << what;
    ASSERT_EQ(got.shape(), exact.shape()) << what;
    if (exact.numel() == 0) return;
    const Tensor error = abs(got.detach().to(DType::F32) - exact.detach());
    const Tensor allowed =
        abs(exact.detach()) * GetParam().rounding + max(abs(exact.detach())) * 2e-5;
    EXPECT_LE(max(error - allowed).item(), 0) << what;
  }
  void expectProduct(const Tensor& a, const Tensor& b, const char* what) const {
    expectRoundedOnce(matmul(a, b), matmul(a.to(DType::F32), b.to(DType::F32)), what);
  }
};

TEST_P(InShortTypes, ProductsAreRoundedOnceHoweverTheyAreCut) {
  expectProduct(random({300, 1100}), random({1100, 600}), "several blocks each way");
  expectProduct(random({1100, 300}).t(), random({600, 1100}).t(), "transposed");
  expectProduct(random({2, 3, 270, 40}), random({2, 3, 40, 30}), "matrices larger than a block");
  expectProduct(random({700, 20, 30}), random({700, 30, 20}), "more matrices than fit a block");
  expectProduct(random({700, 20, 30}), random({1, 30, 20}).expand({700, 30, 20}),
                "one matrix for many");
  expectProduct(random({2, 1, 20, 30}), random({5, 30, 20}), "stretched over two dimensions");
  expectProduct(random({6, 2200}).slice(1, 0, 2200, 2), random({1100, 5}), "every second");
  expectProduct(random({1, 1}).expand({6, 1100}), random({1100, 5}), "one value");
  expectProduct(random({1, 3}), random({3, 1}), "one element");
  expectProduct(random({0, 3}), random({3, 4}), "no rows");
  expectProduct(random({4, 0}), random({0, 3}), "no depth");
}

TEST_P(InShortTypes, LinearAddsItsBiasBeforeItRounds) {
  const Tensor x = random({3, 100, 1100});
  const Tensor weight = random({600, 1100});
  const Tensor bias = random({600});
  const auto wide = [](const Tensor& from) { return from.to(DType::F32); };
  expectRoundedOnce(linear(x, weight, bias), linear(wide(x), wide(weight), wide(bias)), "linear");
}

/// Gradients of the inputs in the short type and in f32, of the same values.
void expectGradients(const std::vector<Tensor>& inputs,
                     const std::function<Tensor(const std::vector<Tensor>&)>& run,
                     double tolerance) {
  const auto gradients = [&](DType type) {
    std::vector<Tensor> leaves;
    for (const Tensor& input : inputs) leaves.push_back(input.to(type).clone().setRequiresGrad());
    const Tensor y = run(leaves);
    y.backward(
        cos(arange(y.numel()).to(DType::F32)).view(y.shape()).to(inputs[0].dtype()).to(type));
    return leaves;
  };
  const std::vector<Tensor> got = gradients(inputs[0].dtype());
  const std::vector<Tensor> exact = gradients(DType::F32);
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i].grad().dtype(), inputs[0].dtype());
    const double error = max(abs(got[i].grad().to(DType::F32) - exact[i].grad())).item();
    EXPECT_LE(error, tolerance * max(abs(exact[i].grad())).item()) << "input " << i;
  }
}

TEST_P(InShortTypes, GradientsOfProductsAreThoseOfF32) {
  expectGradients(
      {random({300, 70}), random({70, 20})}, [](const auto& in) { return matmul(in[0], in[1]); },
      2 * GetParam().rounding);
  expectGradients(
      {random({4, 300, 70}), random({20, 70}), random({20})},
      [](const auto& in) { return linear(in[0], in[1], in[2]); }, 2 * GetParam().rounding);
}

struct ShortConvolution {
  const char* what;
  Shape x, weight;
  Conv2dOptions options;
};

/// The first is cut into parts: its pictures and results have more than 2 Mi elements.
const ShortConvolution kShortConvolutions[] = {
    {"in parts", {7, 16, 96, 96}, {24, 16, 3, 3}, {.padding = 1}},
    {"with groups", {3, 8, 9, 7}, {12, 4, 3, 2}, {.stride = 2, .groups = 2}},
    {"of one pixel", {2, 3, 1, 1}, {5, 3, 1, 1}, {}},
    {"with dilation", {2, 4, 10, 10}, {4, 4, 3, 3}, {.padding = 2, .dilation = 2}}};

TEST_P(InShortTypes, ConvolutionsAreRoundedOnce) {
  for (const auto& [what, shape, weights, options] : kShortConvolutions) {
    const Tensor x = random(shape);
    const Tensor weight = random(weights);
    const Tensor bias = random({weights[0]});
    const auto wide = [](const Tensor& from) { return from.to(DType::F32); };
    expectRoundedOnce(conv2d(x, weight, bias, options),
                      conv2d(wide(x), wide(weight), wide(bias), options), what);
  }
}

TEST_P(InShortTypes, GradientsOfConvolutionsAreThoseOfF32) {
  for (const auto& [what, shape, weights, options] : kShortConvolutions) {
    SCOPED_TRACE(what);
    expectGradients(
        {random(shape), random(weights), random({weights[0]})},
        [options = options](const auto& in) { return conv2d(in[0], in[1], in[2], options); },
        2 * GetParam().rounding);
  }
}

TEST_P(InShortTypes, AttentionIsThatOfF32) {
  const std::vector<Tensor> inputs{random({2, 3, 150, 16}), random({2, 3, 150, 16}),
                                   random({2, 3, 150, 16})};
  for (const bool causal : {false, true}) {
    const auto run = [causal](const std::vector<Tensor>& in) {
      return attention(in[0], in[1], in[2], {}, causal);
    };
    std::vector<Tensor> wide;
    for (const Tensor& input : inputs) wide.push_back(input.to(DType::F32));
    expectRoundedOnce(run(inputs), run(wide), "attention");
    expectGradients(inputs, run, 8 * GetParam().rounding);
  }
}

TEST_P(InShortTypes, ValuesThatAreNoNumbersStaySo) {
  const float infinity = std::numeric_limits<float>::infinity();
  Tensor a = random({300, 1100});
  a.select(0, 7).select(0, 3).fill_(std::nan(""));
  a.select(0, 280).select(0, 1090).fill_(infinity);
  const Tensor product = matmul(a, ones({1100, 2}, {GetParam().type}));
  const auto values = product.toVector<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i / 2 == 7) {
      EXPECT_TRUE(std::isnan(values[i]));
    } else if (i / 2 == 280) {
      EXPECT_EQ(values[i], infinity);
    } else {
      EXPECT_TRUE(std::isfinite(values[i])) << i;
    }
  }
  Tensor picture = random({1, 4, 6, 6});
  picture.select(1, 2).select(1, 3).select(1, 3).fill_(infinity);
  const Tensor y = conv2d(picture, ones({1, 4, 1, 1}, {GetParam().type}));
  EXPECT_EQ(y.select(0, 0).select(0, 0).select(0, 3).select(0, 3).item(), infinity);
  EXPECT_EQ(sum(logicalNot(isFinite(y)).to(DType::I64)).item(), 1);
}

TEST(F16, ProductsBeyondItsRangeAreInfiniteAndSmallOnesZero) {
  const Tensor large = full({1, 1}, 60000, {DType::F16});
  EXPECT_EQ(matmul(large, full({1, 1}, 2, {DType::F16})).item(),
            std::numeric_limits<double>::infinity());
  EXPECT_EQ(
      matmul(full({1, 2}, 60000, {DType::F16}), fromVector<float>({2, -2}, {2, 1}).to(DType::F16))
          .item(),
      0)
      << "sums are f32";
  const Tensor small = full({1, 1}, 1e-4, {DType::F16});
  EXPECT_EQ(matmul(small, small).item(), 0);
}

/// A product that is widened as a whole would need some 26 MiB.
TEST(F16, ProductsNeedAFewBlocksOfMemory) {
  const Tensor a = ones({2048, 2048}, {DType::F16});
  const Tensor b = ones({2048, 1024}, {DType::F16});
  synchronize();
  resetPeakMemory();
  const std::size_t before = memoryStats().active;
  const Tensor y = matmul(a, b);
  synchronize();
  EXPECT_LT(memoryStats().peakActive - before, y.sizeBytes() + (std::size_t{6} << 20));
  EXPECT_EQ(y.select(0, 2047).select(0, 1023).item(), 2048);
}

TEST(F16, ConvolutionsNeedMemoryForSomePicturesAtATime) {
  const auto workspaceOf = [](std::int64_t pictures) {
    const Tensor x = ones({pictures, 16, 64, 64}, {DType::F16});
    const Tensor weight = ones({16, 16, 3, 3}, {DType::F16});
    synchronize();
    resetPeakMemory();
    (void)conv2d(x, weight, {}, {.padding = 1});
    synchronize();
    return memoryStats().peakByRole[static_cast<std::size_t>(Role::Workspace)];
  };
  EXPECT_LT(workspaceOf(128), workspaceOf(32) + (std::size_t{1} << 20));
}

INSTANTIATE_TEST_SUITE_P(Types, InShortTypes, testing::ValuesIn(kShortTypes),
                         [](const auto& info) { return std::string(name(info.param.type)); });

}  // namespace
}  // namespace lacuna::rt
