// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "lacuna/runtime/autograd.h"
#include "lacuna/runtime/memory.h"
#include "lacuna/runtime/ops.h"
#include "lacuna/runtime/random.h"

namespace lacuna::rt {
namespace {

using Values = std::vector<float>;

constexpr std::int64_t kDepth =
    300;  ///< long enough that plain loops round elsewhere than the library

/// The library's result for the same numbers in whole rows.
Values plain(const Tensor& a, const Tensor& b) {
  return matmul(a.contiguous(), b.contiguous()).toVector<float>();
}

TEST(Matmul, OfManyMatricesWithOneIsOneProduct) {
  manualSeed(3);
  const Tensor a = randn({4, 5, kDepth});
  const Tensor b = randn({kDepth, 7});
  EXPECT_EQ(matmul(a, b).toVector<float>(), plain(a.view({20, kDepth}), b));
  EXPECT_EQ(matmul(a.transpose(0, 1), b).shape(), (Shape{5, 4, 7}));
  EXPECT_EQ(matmul(a.transpose(0, 1), b).toVector<float>(),
            plain(a.transpose(0, 1).reshape({20, kDepth}), b));
  EXPECT_EQ(matmul(zeros({2, 0, kDepth}), b).shape(), (Shape{2, 0, 7}));
  EXPECT_EQ(matmul(zeros({2, 3, 0}), zeros({0, 7})).toVector<float>(), Values(42));
}

TEST(Matmul, ReadsMatricesInWhateverOrderTheyLie) {
  manualSeed(4);
  const Tensor a = randn({6, 2 * kDepth}).slice(1, 0, 2 * kDepth, 2);
  const Tensor b = randn({kDepth, 10}).slice(1, 0, 10, 2);
  EXPECT_EQ(matmul(a, b).toVector<float>(), plain(a, b));
  const Tensor same = randn({1, 1}).expand({6, kDepth});
  EXPECT_EQ(matmul(same, b).toVector<float>(), plain(same, b));
  EXPECT_EQ(linear(same, b.t()).toVector<float>(), plain(same, b));
}

TEST(Matmul, StretchesEitherFactorOverManyMatrices) {
  manualSeed(5);
  const Tensor a = randn({3, 1, 4, kDepth});
  const Tensor b = randn({2, kDepth, 5});
  const auto got = matmul(a, b);
  ASSERT_EQ(got.shape(), (Shape{3, 2, 4, 5}));
  for (std::int64_t i = 0; i < 6; ++i) {
    const auto exact =
        matmul(a.select(0, i / 2).select(0, 0).to(DType::F64), b.select(0, i % 2).to(DType::F64));
    const auto error = max(abs(got.select(0, i / 2).select(0, i % 2).to(DType::F64) - exact));
    EXPECT_LT(error.item(), 1e-3) << i;
  }
  const Tensor both =
      matmul(a.select(0, 0).expand({2, 4, kDepth}), b.slice(0, 0, 1).expand({2, kDepth, 5}));
  EXPECT_EQ(both.select(0, 0).toVector<float>(), both.select(0, 1).toVector<float>());
  EXPECT_LT(max(abs(both.select(0, 0) - got.select(0, 0).select(0, 0))).item(), 1e-3);
}

/// The largest difference to the product of the same numbers in f32, over the largest of its
/// values.
double errorInBFloat16(const Tensor& a, const Tensor& b) {
  const Tensor exact = matmul(a.to(DType::F32), b.to(DType::F32));
  const Tensor got = matmul(a, b);
  EXPECT_EQ(got.dtype(), DType::BF16);
  EXPECT_EQ(got.shape(), exact.shape());
  return max(abs(got.to(DType::F32) - exact)).item() / max(abs(exact)).item();
}

TEST(Matmul, InBFloat16RoundsOnceHoweverTheMatricesLie) {
  manualSeed(7);
  constexpr double kRounding = 1.0 / 256;
  const auto random = [](const Shape& shape) { return randn(shape).to(DType::BF16); };
  const Tensor a = random({6, kDepth});
  const Tensor b = random({kDepth, 5});
  EXPECT_LE(errorInBFloat16(a, b), kRounding);
  EXPECT_LE(errorInBFloat16(b.t(), a.t()), kRounding);
  EXPECT_LE(errorInBFloat16(random({6, 2 * kDepth}).slice(1, 0, 2 * kDepth, 2), b), kRounding);
  EXPECT_LE(errorInBFloat16(random({1, 1}).expand({6, kDepth}), b), kRounding);
  EXPECT_LE(errorInBFloat16(random({3, 1, 4, kDepth}), random({2, kDepth, 5})), kRounding);
  EXPECT_LE(errorInBFloat16(random({1, 4, kDepth}).expand({2, 4, kDepth}),
                            random({1, kDepth, 5}).expand({2, kDepth, 5})),
            kRounding);
  const Tensor bias = random({5});
  const Tensor exact = matmul(a.to(DType::F32), b.to(DType::F32)) + bias.to(DType::F32);
  EXPECT_LE(max(abs(linear(a, b.t(), bias).to(DType::F32) - exact)).item() / max(abs(exact)).item(),
            kRounding);
}

TEST(Matmul, OfManyMatricesWithOneHasTheGradientOfOneProduct) {
  manualSeed(6);
  const Tensor a = randn({4, 5, 6}).setRequiresGrad();
  const Tensor b = randn({6, 7}).setRequiresGrad();
  const Tensor g = randn({4, 5, 7});
  matmul(a, b).backward(g);
  const Tensor rows = a.detach().view({20, 6});
  EXPECT_EQ(a.grad().toVector<float>(), plain(g.view({20, 7}), b.detach().t()));
  EXPECT_EQ(b.grad().toVector<float>(), matmul(rows.t(), g.view({20, 7})).toVector<float>());
}

TEST(Matmul, OfManyMatricesWithOneNeedsMemoryForOneGradient) {
  const Options meta{DType::F32, kMeta};
  const Tensor a = empty({64, 2, 256}, meta);
  const Tensor b = empty({256, 256}, meta).setRequiresGrad();
  const Tensor y = matmul(a, b);
  const std::size_t before = memoryStats(kMeta).active;
  resetPeakMemory(kMeta);
  y.backward(empty({64, 2, 256}, meta));
  EXPECT_LT(memoryStats(kMeta).peakActive - before, 4 * b.sizeBytes());
}

}  // namespace
}  // namespace lacuna::rt
