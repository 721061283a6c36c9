// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/runtime/backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>

#include "lacuna/runtime/ops.h"
#include "lacuna/runtime/ops_image.h"
#include "lacuna/runtime/random.h"
#include "support/message_of.h"

/// The results of oneDNN next to those of the plain loops.
namespace lacuna::rt {
namespace {

using Inputs = std::vector<Tensor>;
struct Computed {
  const char* what;
  std::vector<Shape> inputs;
  std::function<Tensor(const Inputs&)> call;
};
void PrintTo(const Computed& test, std::ostream* out) {
  *out << test.what;
}

const Computed kComputed[] = {
    {"matmul", {{33, 20}, {20, 17}}, [](const Inputs& in) { return matmul(in[0], in[1]); }},
    {"matmul_of_many",
     {{2, 3, 9, 20}, {3, 20, 7}},
     [](const Inputs& in) { return matmul(in[0], in[1]); }},
    {"linear",
     {{5, 4, 20}, {17, 20}, {17}},
     [](const Inputs& in) { return linear(in[0], in[1], in[2]); }},
    {"conv2d",
     {{2, 6, 9, 8}, {8, 6, 3, 3}, {8}},
     [](const Inputs& in) {
       return conv2d(in[0], in[1], in[2], {.stride = {2, 1}, .padding = 1});
     }},
    {"conv2d_of_groups",
     {{2, 6, 9, 8}, {4, 3, 3, 3}},
     [](const Inputs& in) { return conv2d(in[0], in[1], {}, {.dilation = 2, .groups = 2}); }},
    {"conv2d_of_few_pixels",
     {{2, 64, 2, 2}, {64, 64, 3, 3}},
     [](const Inputs& in) { return conv2d(in[0], in[1], {}, {.padding = 1}); }},
    {"conv_transpose2d",
     {{2, 6, 5, 4}, {6, 4, 3, 3}, {4}},
     [](const Inputs& in) { return convTranspose2d(in[0], in[1], in[2], {.stride = 2}); }},
    {"attention",
     {{2, 3, 70, 8}, {2, 3, 66, 8}, {2, 3, 66, 5}},
     [](const Inputs& in) { return attention(in[0], in[1], in[2], {}, true); }},
};

/// The result and the gradients of all inputs, one after the other.
std::vector<std::vector<float>> computedBy(Backend which, const Computed& computed, DType type) {
  setBackend(which);
  manualSeed(7);
  Inputs inputs;
  for (const Shape& shape : computed.inputs)
    inputs.push_back(randn(shape).to(type).setRequiresGrad());
  const Tensor y = computed.call(inputs);
  y.backward(randn(y.shape()).to(type));
  std::vector<std::vector<float>> all{y.toVector<float>()};
  for (const Tensor& input : inputs) all.push_back(input.grad().toVector<float>());
  setBackend(Backend::Tuned);
  return all;
}

class BothBackends : public testing::TestWithParam<Computed> {};

TEST_P(BothBackends, GiveTheSameResultsAndGradients) {
  for (const auto& [type, tolerance] : {std::pair(DType::F32, 1e-5F), {DType::BF16, 0.02F}}) {
    const auto tuned = computedBy(Backend::Tuned, GetParam(), type);
    const auto plain = computedBy(Backend::Reference, GetParam(), type);
    ASSERT_EQ(tuned.size(), plain.size());
    for (std::size_t part = 0; part < tuned.size(); ++part) {
      ASSERT_EQ(tuned[part].size(), plain[part].size());
      float largest = 0;
      for (const float value : plain[part]) largest = std::max(largest, std::abs(value));
      for (std::size_t i = 0; i < plain[part].size(); ++i)
        ASSERT_NEAR(tuned[part][i], plain[part][i], tolerance * largest)
            << name(type) << ", part " << part;
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Operators, BothBackends, testing::ValuesIn(kComputed),
                         [](const auto& info) { return std::string(info.param.what); });

/// Products whose order of additions shows who made them.
std::vector<float> sumOfMany() {
  manualSeed(3);
  return matmul(randn({16, 1000}), randn({1000, 16})).toVector<float>();
}

TEST(Backend, IsTheProgramsChoiceAndKeepsWhatWasEnqueuedBefore) {
  setBackend(Backend::Tuned);
  const std::vector<float> tuned = sumOfMany();
  setBackend(Backend::Reference);
  EXPECT_EQ(backend(), Backend::Reference);
  const std::vector<float> plain = sumOfMany();
  EXPECT_NE(plain, tuned) << "the loops add one product after the other";
  manualSeed(3);
  const Tensor enqueued = matmul(randn({16, 1000}), randn({1000, 16}));
  setBackend(Backend::Tuned);
  EXPECT_EQ(enqueued.toVector<float>(), plain);
  EXPECT_EQ(sumOfMany(), tuned);
}

TEST(Backend, MultipliesF16EitherWay) {
  for (const Backend which : {Backend::Tuned, Backend::Reference}) {
    setBackend(which);
    const Tensor x = full({2, 2}, 3, {DType::F16});
    EXPECT_EQ(matmul(x, x).toVector<float>(), std::vector<float>(4, 18));
  }
  setBackend(Backend::Tuned);
}

}  // namespace
}  // namespace lacuna::rt
