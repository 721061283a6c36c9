// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "lacuna/runtime/autograd.h"
#include "lacuna/runtime/memory.h"
#include "lacuna/runtime/ops.h"
#include "lacuna/runtime/ops_image.h"
#include "lacuna/runtime/random.h"
#include "support/sanitizer.h"

/// The library's convolutions against the plain f64 loops, whose gradients gradcheck covers.
namespace lacuna::rt {
namespace {

using testing::HasSubstr;

struct ConvCase {
  const char* name;
  Shape x, weight;
  Conv2dOptions options;
  double tolerance = 2e-6;  ///< in f32; Winograd's algorithm loses a digit
  bool bias = true;
};
void PrintTo(const ConvCase& test, std::ostream* out) {
  *out << test.name;
}

/// The result and the gradients of input, weight and bias (where there is one), in `type`, as f64.
std::vector<Tensor> results(const ConvCase& test, DType type) {
  manualSeed(5);
  const auto make = [&](Shape shape) {
    Tensor value = empty(shape, {DType::F64});
    uniform_(value, -1, 1);
    return value.to(DType::BF16).to(type).setRequiresGrad();  // the same numbers for every type
  };
  const Tensor x = make(test.x);
  const Tensor weight = make(test.weight);
  const Tensor bias = make({test.weight[0] + 1});  // less its first, it begins at no line of memory
  const Tensor y =
      conv2d(x, weight, test.bias ? bias.slice(0, 1, test.weight[0] + 1) : Tensor(), test.options);
  const Tensor g = make(y.shape()).detach();
  y.backward(g);
  std::vector<Tensor> out{y, x.grad(), weight.grad()};
  if (test.bias) out.push_back(bias.grad());
  for (Tensor& t : out) t = t.detach().to(DType::F64);
  return out;
}

double farthest(const Tensor& a, const Tensor& b) {
  const double scale = max(abs(b)).item();
  return max(abs(a - b)).item() / std::max(scale, 1.0);
}

class Convolution : public testing::TestWithParam<ConvCase> {};

TEST_P(Convolution, InSinglePrecisionEqualsThePlainLoops) {
  const auto want = results(GetParam(), DType::F64);
  const auto got = results(GetParam(), DType::F32);
  for (std::size_t i = 0; i < want.size(); ++i)
    EXPECT_LT(farthest(got[i], want[i]), GetParam().tolerance) << "result " << i;
}

TEST_P(Convolution, InBFloat16IsCloseToThePlainLoops) {
  const auto want = results(GetParam(), DType::F64);
  const auto got = results(GetParam(), DType::BF16);
  for (std::size_t i = 0; i < want.size(); ++i)
    EXPECT_LT(farthest(got[i], want[i]), 1e-2) << "result " << i;
}

const ConvCase kConvCases[] = {
    {"plain", {2, 3, 8, 9}, {16, 3, 3, 3}, {.padding = 1}},
    {"strided", {2, 16, 9, 8}, {32, 16, 3, 3}, {.stride = 2, .padding = 1}},
    {"one_by_one", {3, 32, 4, 4}, {16, 32, 1, 1}, {.stride = 2}},
    {"uneven", {1, 5, 7, 6}, {7, 5, 2, 3}, {.stride = {1, 2}, .padding = {1, 0}}},
    {"dilated", {2, 4, 9, 9}, {6, 4, 3, 3}, {.padding = 2, .dilation = 2}},
    {"groups", {2, 8, 6, 6}, {12, 4, 3, 3}, {.padding = 1, .groups = 2}},
    {"depthwise", {2, 16, 6, 6}, {16, 1, 3, 3}, {.padding = 1, .groups = 16}},
    {"whole_picture", {2, 3, 4, 4}, {5, 3, 4, 4}, {}},
    {"many_tiles", {4, 32, 15, 14}, {48, 32, 3, 3}, {.padding = 1}, 1e-5},
    {"many_tiles_inside", {4, 48, 17, 16}, {32, 48, 3, 3}, {}, 1e-5},
    {"many_small_tiles", {64, 32, 4, 4}, {32, 32, 3, 3}, {.padding = {1, 0}}, 1e-5},
    {"parts_of_the_pictures", {20, 32, 32, 32}, {32, 32, 3, 3}, {.padding = 1}, 1e-5, false},
};
// Under the thread sanitizer the large ones would take most of the time, and they start no more
// threads than the others.
constexpr std::ptrdiff_t kLarge = 4;
INSTANTIATE_TEST_SUITE_P(Shapes, Convolution,
                         testing::ValuesIn(std::begin(kConvCases),
                                           std::end(kConvCases) -
                                               (test::kThreadSanitized ? kLarge : 0)),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Conv2d, GivesChannelsLastMemoryThatReadsLikeAnyOther) {
  manualSeed(1);
  const Tensor y = conv2d(randn({1, 2, 3, 3}), randn({4, 2, 1, 1}));
  EXPECT_EQ(y.strides(), (Shape{36, 1, 12, 4}));
  EXPECT_FALSE(y.isContiguous());
  EXPECT_EQ(y.toVector<float>(), y.contiguous().toVector<float>());
  EXPECT_EQ(relu(y).strides(), y.strides());
  EXPECT_EQ((y + y).strides(), y.strides());
}

TEST(Conv2d, AChoiceBetweenNumbersLiesAsItsConditionDoes) {
  const Tensor y = conv2d(randn({1, 2, 3, 3}), randn({4, 2, 1, 1}));
  EXPECT_EQ(where(greater(y, scalar(0)), scalar(1), scalar(2)).strides(), y.strides());
}

TEST(Conv2d, ResultsStayChannelsLastWhenTheyAreJoined) {
  manualSeed(2);
  const Tensor a = conv2d(randn({2, 2, 3, 3}), randn({4, 2, 1, 1}));
  const Tensor b = conv2d(randn({2, 2, 3, 3}), randn({3, 2, 1, 1}));
  const Tensor joined = concat({a, b}, 1);
  EXPECT_EQ(joined.strides(), (Shape{63, 1, 21, 7}));
  EXPECT_EQ(joined.toVector<float>(),
            concat({a.contiguous(), b.contiguous()}, 1).toVector<float>());
  EXPECT_EQ(concat({a, b.contiguous()}, 1).toVector<float>(), joined.toVector<float>());
  EXPECT_EQ(concat({a, a}, 0).toVector<float>(),
            concat({a.contiguous(), a.contiguous()}, 0).toVector<float>());
}

TEST(Conv2d, HasShapesOnMeta) {
  const Options meta{DType::F32, kMeta};
  const Tensor x = empty({2, 3, 9, 9}, meta).setRequiresGrad();
  const Tensor weight = empty({4, 3, 3, 3}, meta).setRequiresGrad();
  const Tensor y = conv2d(x, weight, {}, {.stride = 2});
  EXPECT_EQ(y.shape(), (Shape{2, 4, 4, 4}));
  sum(y).backward();
  EXPECT_EQ(x.grad().shape(), x.shape());
  EXPECT_EQ(weight.grad().shape(), weight.shape());
  EXPECT_EQ(convTranspose2d(y, empty({4, 5, 3, 3}, meta), {}, {.stride = 2}).shape(),
            (Shape{2, 5, 9, 9}));
}

template <class F>
std::string messageOf(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Conv2d, NamesItselfAndTheShapesThatDoNotFit) {
  const Tensor x = zeros({1, 3, 4, 4});
  EXPECT_EQ(
      messageOf([&] {
        (void)conv2d(x, zeros({2, 4, 3, 3}));
      }),
      "conv2d: input [1,3,4,4] does not fit weight [2,4,3,3] [out,in/groups,kh,kw] with 1 groups");
  EXPECT_THAT(messageOf([&] {
                (void)conv2d(x, zeros({2, 3, 5, 3}));
              }),
              HasSubstr("larger than the padded input"));
  EXPECT_THAT(messageOf([&] {
                (void)conv2d(x, zeros({2, 3, 3, 3}), zeros({3}));
              }),
              HasSubstr("bias [3] for the 2 output channels"));
  EXPECT_THAT(messageOf([&] {
                (void)conv2d(x, zeros({2, 3, 3, 3}, {DType::BF16}));
              }),
              HasSubstr("input is f32, weight bf16"));
  EXPECT_THAT(messageOf([&] {
                (void)conv2d(x, zeros({2, 3, 3, 3}, {DType::F32, kMeta}));
              }),
              HasSubstr("input is on cpu, weight on meta"));
  EXPECT_THAT(messageOf([&] {
                (void)conv2d(x, zeros({2, 3, 3, 3}), {}, {.stride = 0});
              }),
              HasSubstr("the stride 0×0"));
  EXPECT_THAT(messageOf([&] {
                (void)conv2d(x.select(0, 0), zeros({2, 3, 3, 3}));
              }),
              HasSubstr("must both have four dimensions"));
}

TEST(Conv2d, OfNoChannelsIsItsBias) {
  for (const DType type : {DType::F64, DType::F32, DType::BF16, DType::F16}) {
    const Tensor x = zeros({2, 0, 4, 4}, {type}).setRequiresGrad();
    const Tensor weight = zeros({3, 0, 3, 3}, {type}).setRequiresGrad();
    const Tensor bias = arange(3).to(type).setRequiresGrad();
    const Tensor y = conv2d(x, weight, bias);
    ASSERT_EQ(y.shape(), (Shape{2, 3, 2, 2})) << name(type);
    EXPECT_EQ(y.select(1, 2).toVector<double>(), std::vector<double>(8, 2)) << name(type);
    sum(y).backward();
    EXPECT_EQ(bias.grad().toVector<double>(), std::vector<double>(3, 8)) << name(type);
    EXPECT_EQ(x.grad().shape(), x.shape()) << name(type);
  }
}

TEST(Conv2d, ToNoChannelsHasNoGradient) {
  for (const DType type : {DType::F64, DType::F32, DType::BF16}) {
    const Tensor x = ones({1, 2, 3, 3}, {type}).setRequiresGrad();
    const Tensor y = conv2d(x, zeros({0, 2, 2, 2}, {type}));
    ASSERT_EQ(y.shape(), (Shape{1, 0, 2, 2})) << name(type);
    sum(y).backward();
    EXPECT_EQ(x.grad().toVector<double>(), std::vector<double>(18)) << name(type);
  }
}

TEST(Conv2d, RefusesAWeightThatChangedSinceTheForward) {
  const Tensor x = randn({1, 1, 3, 3}).setRequiresGrad();
  Tensor weight = randn({1, 1, 2, 2}).setRequiresGrad();
  const Tensor loss = sum(conv2d(x, weight));
  {
    const NoGrad guard;
    weight.mul_(2);
  }
  EXPECT_THAT(messageOf([&] { loss.backward(); }),
              HasSubstr("conv2d: a tensor that its gradient needs"));
}

TEST(Conv2d, SavesOnlyWhatTheWantedGradientsNeed) {
  const Tensor x = randn({1, 1, 3, 3});
  Tensor weight = randn({1, 1, 2, 2}).setRequiresGrad();
  const Tensor loss = sum(conv2d(x, weight));
  {
    const NoGrad guard;
    weight.mul_(2);  // only the gradient of x would need it
  }
  EXPECT_NO_THROW(loss.backward());
}

TEST(ConvTranspose, AddsItsBiasWithoutASecondResult) {
  const Options meta{DType::F32, kMeta};
  const Tensor x = empty({1, 8, 64, 64}, meta);
  const Tensor weight = empty({8, 8, 2, 2}, meta).setRequiresGrad();
  const Tensor bias = empty({8}, meta).setRequiresGrad();
  const std::size_t before = memoryStats(kMeta).active;
  resetPeakMemory(kMeta);
  const Tensor y = convTranspose2d(x, weight, bias, {.stride = 2});
  EXPECT_LT(memoryStats(kMeta).peakActive - before, 2 * y.sizeBytes());
}

TEST(ConvTranspose, OutputPaddingOfAStrideOrMoreAddsRowsOfTheBias) {
  manualSeed(4);
  const Tensor x = randn({2, 4, 5, 6}, {DType::F64});
  const Tensor weight = randn({4, 3, 3, 3}, {DType::F64});
  const Tensor bias = randn({6}, {DType::F64});
  const ConvTranspose2dOptions options{.stride = 1, .outputPadding = 2, .dilation = 3, .groups = 2};
  ConvTranspose2dOptions padded = options;
  padded.padding = 1;
  ConvTranspose2dOptions without = options;
  without.outputPadding = 0;
  const Tensor y =
      convTranspose2d(x.to(DType::F32), weight.to(DType::F32), bias.to(DType::F32), options);
  const Tensor core = convTranspose2d(x, weight, bias, without);
  ASSERT_EQ(y.shape(), (Shape{2, 6, 13, 14}));
  EXPECT_LT(max(abs(y.slice(2, 0, 11).slice(3, 0, 12).to(DType::F64) - core)).item(), 1e-4);
  const Tensor added = y.slice(2, 11, 13).to(DType::F64) - bias.view({1, 6, 1, 1});
  EXPECT_LT(max(abs(added)).item(), 1e-6);
  const Tensor cut =
      convTranspose2d(x.to(DType::F32), weight.to(DType::F32), bias.to(DType::F32), padded);
  ASSERT_EQ(cut.shape(), (Shape{2, 6, 11, 12}));
  EXPECT_LT(max(abs(cut.slice(2, 0, 10).slice(3, 0, 11).to(DType::F64) -
                    core.slice(2, 1, 11).slice(3, 1, 12)))
                .item(),
            1e-4);
  std::vector<Tensor> inputs{randn({1, 2, 2, 2}, {DType::F64}), randn({2, 1, 2, 2}, {DType::F64})};
  for (Tensor& input : inputs) input.setRequiresGrad();
  const auto run = [](const std::vector<Tensor>& in) {
    return std::vector<Tensor>{
        square(convTranspose2d(in[0], in[1], {}, {.outputPadding = 1, .dilation = 2}))};
  };
  EXPECT_EQ(gradcheck(run, inputs), "");
}

/// A convolution whose weights the library wants in an order of its own, as a module has them.
struct Inference : testing::Test {
  Tensor x = noise({2, 16, 12, 12}, Role::Input);
  Tensor weight = noise({32, 16, 3, 3}, Role::Parameter).setRequiresGrad();

  static Tensor noise(Shape shape, Role role) {
    Tensor out = empty(shape, {DType::F32, kCpu, role});
    return normal_(out, 0, 1);
  }

  [[nodiscard]] Tensor run() const {
    const NoGrad guard;
    return conv2d(x, weight, {}, {.padding = {1, 1}});
  }
  /// From weights that have no kept copies, for they are nobody's parameter.
  [[nodiscard]] Tensor fresh() const {
    const NoGrad guard;
    return conv2d(x, weight.clone().setRole(Role::Other), {}, {.padding = {1, 1}});
  }
  [[nodiscard]] static std::size_t heldForWork() {
    synchronize();
    return memoryStats(kCpu).activeByRole[static_cast<std::size_t>(Role::Workspace)];
  }
  void expectSameAsFresh() const { EXPECT_EQ(run().toVector<float>(), fresh().toVector<float>()); }
};

TEST_F(Inference, KeepsTheWeightsInTheLibrarysOrderUntilTheyGo) {
  const std::size_t before = heldForWork();
  expectSameAsFresh();
  const std::size_t kept = heldForWork();
  EXPECT_GE(kept, before + weight.sizeBytes());
  for (int i = 0; i < 3; ++i) expectSameAsFresh();
  EXPECT_EQ(heldForWork(), kept);
  weight = {};
  EXPECT_EQ(heldForWork(), before);
}

TEST_F(Inference, SeesWeightsThatChanged) {
  expectSameAsFresh();
  {
    const NoGrad guard;
    weight.mul_(2);
  }
  expectSameAsFresh();
  weight.host<float>()[5] = 100;
  expectSameAsFresh();
  weight.host<float>()[5] = -100;
  expectSameAsFresh();
}

TEST_F(Inference, ServesPicturesOfEverySize) {
  for (const std::int64_t side : {12, 5, 12, 40}) {
    x = noise({side % 3 + 1, 16, side, side}, Role::Input);
    expectSameAsFresh();
  }
}

TEST_F(Inference, LeavesNothingBehindForTraining) {
  const std::size_t before = heldForWork();
  (void)run();
  conv2d(x, weight, {}, {.padding = {1, 1}}).backward(ones({2, 32, 12, 12}));
  EXPECT_EQ(heldForWork(), before);
  {
    const NoGrad guard;
    weight.add_(weight.grad());
  }
  expectSameAsFresh();
}

TEST_F(Inference, OfSeveralThreadsSharesTheWeights) {
  const std::vector<float> want = fresh().toVector<float>();
  std::vector<std::thread> threads;
  std::atomic<int> equal{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) equal += run().toVector<float>() == want;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(equal, 80);
}

}  // namespace
}  // namespace lacuna::rt
