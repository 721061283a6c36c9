// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <limits>

#include "lacuna/runtime/autograd.h"
#include "lacuna/runtime/ops.h"
#include "lacuna/runtime/ops_image.h"
#include "lacuna/runtime/optim.h"
#include "lacuna/runtime/random.h"

namespace lacuna::rt {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

Tensor counting(Shape shape) {
  return arange(shape.numel(), {DType::F64}).view(shape);
}

TEST(Tensor, ViewsShareMemoryAndFollowStrides) {
  const Tensor x = counting({2, 3});
  EXPECT_TRUE(x.t().sharesMemoryWith(x));
  EXPECT_THAT(x.t().toVector<double>(), ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT(x.slice(1, 0, 3, 2).toVector<double>(), ElementsAre(0, 2, 3, 5));
  EXPECT_THAT(x.select(0, -1).toVector<double>(), ElementsAre(3, 4, 5));
  EXPECT_THAT(x.select(0, 0).expand({2, 3}).toVector<double>(), ElementsAre(0, 1, 2, 0, 1, 2));
  EXPECT_THAT(x.t().reshape({6}).toVector<double>(), ElementsAre(0, 3, 1, 4, 2, 5));
}

TEST(Tensor, AViewThatNeedsACopyIsRefused) {
  EXPECT_THAT(
      [] {
        (void)counting({2, 3}).t().view({6});
      },
      ThrowsMessage<Error>(HasSubstr("use reshape()")));
  EXPECT_THAT(
      [] {
        (void)counting({2, 3}).view({4});
      },
      ThrowsMessage<Error>(HasSubstr("[2,3] cannot be seen as [4]")));
}

TEST(Tensor, SizesThatMeanNothingAreRefused) {
  const Tensor x = counting({2, 3, 4});
  EXPECT_THAT([&] { (void)x.view({-1, -1}); }, ThrowsMessage<Error>(HasSubstr("one may be -1")));
  EXPECT_THAT(
      [&] {
        (void)x.reshape({2, -1, -1});
      },
      ThrowsMessage<Error>(HasSubstr("one may be -1")));
  EXPECT_THAT(
      [&] {
        (void)x.reshape({-2, -12});
      },
      ThrowsMessage<Error>(HasSubstr("none negative")));
  EXPECT_THAT([] { (void)ones({1}).expand({-5}); },
              ThrowsMessage<Error>(HasSubstr("does not stretch")));
  EXPECT_THAT([&] { (void)x.flatten(2, 1); },
              ThrowsMessage<Error>(HasSubstr("dimension 2 comes after dimension 1")));
}

TEST(Tensor, CountsBelowZeroAreRefusedByTheirOperator) {
  EXPECT_THAT([] { (void)randperm(-1); },
              ThrowsMessage<Error>(HasSubstr("randperm: of -1 numbers")));
  EXPECT_THAT([] { (void)arange(-1); }, ThrowsMessage<Error>(HasSubstr("arange: of -1 numbers")));
  EXPECT_EQ(randperm(0).numel(), 0);
  EXPECT_THAT(randperm(4).toVector<std::int64_t>(), testing::UnorderedElementsAre(0, 1, 2, 3));
}

TEST(Tensor, ASliceStepsAsFarAsANumberReaches) {
  const Tensor x = counting({2, 3}).setRequiresGrad();
  const Tensor first = x.slice(1, 0, 3, INT64_MAX);
  EXPECT_THAT(first.toVector<double>(), ElementsAre(0, 3));
  EXPECT_EQ(x.slice(1, 3, 3, INT64_MAX).shape(), Shape({2, 0}));
  sum(first).backward();
  EXPECT_THAT(x.grad().toVector<double>(), ElementsAre(1, 0, 0, 1, 0, 0));
}

TEST(Tensor, GoesToMetaOnlyWithoutAHistory) {
  const Tensor x = ones({2}).setRequiresGrad();
  EXPECT_THAT([&] { (void)(x * 2.0).to(kMeta); },
              ThrowsMessage<Error>(HasSubstr("to: no gradient comes back")));
  EXPECT_EQ(x.detach().to(kMeta).shape(), Shape({2}));
  const NoGrad guard;
  EXPECT_TRUE(x.to(kMeta).isMeta());
}

TEST(Tensor, SizesBeyondAnyMemoryAreRefused) {
  const std::int64_t half = std::int64_t{1} << 32;
  const auto tooLarge = [](const auto& use) {
    EXPECT_THAT(use, ThrowsMessage<Error>(HasSubstr("is too large")));
  };
  tooLarge([&] { (void)empty({half << 30, 64}); });
  tooLarge([&] { (void)empty({half, half}, {DType::U8, kMeta}); });
  tooLarge([&] { (void)empty({half << 29}); });
  tooLarge([&] { (void)empty({half, half, 0}); });
  tooLarge([&] { (void)emptyHost({half, half}, DType::U8); });
  tooLarge([&] { (void)fromVector<float>({}, {half, half}); });
  tooLarge([&] { (void)zeros({0}).view({half, half}); });
  tooLarge([&] { (void)zeros({0}).reshape({half, half, -1}); });
  tooLarge([&] { (void)ones({1}).expand({half, half}); });
  EXPECT_EQ(ones({1}, {DType::U8}).expand({half, half / 4}).numel(), half / 4 * half);
}

TEST(Tensor, ViewsNeedNoCopyWhereDimensionsLieTogether) {
  const Tensor column = counting({4, 8}).slice(1, 3, 4);
  EXPECT_THAT(column.view({4}).toVector<double>(), ElementsAre(3, 11, 19, 27));
  EXPECT_THAT(column.view({2, 1, 2}).toVector<double>(), ElementsAre(3, 11, 19, 27));
  EXPECT_TRUE(column.reshape({4}).sharesMemoryWith(column));
  const Tensor middle = counting({2, 4, 6}).slice(2, 0, 3);
  EXPECT_EQ(middle.view({8, 1, 3}).toVector<double>(), middle.toVector<double>());
  EXPECT_EQ(middle.view({2, 2, 2, 3, 1}).toVector<double>(), middle.toVector<double>());
  EXPECT_THAT([&] { (void)middle.view({24}); }, ThrowsMessage<Error>(HasSubstr("use reshape()")));
  EXPECT_THAT([&] { (void)middle.view({6, 4}); }, ThrowsMessage<Error>(HasSubstr("use reshape()")));
  EXPECT_THAT(scalar(2).expand({2, 3}).view({6}).toVector<float>(), testing::Each(2));
}

TEST(Tensor, InPlaceOperatorsReadWhatTheyOverwriteFirst) {
  Tensor square = counting({2, 2});
  square.add_(square.t());
  EXPECT_THAT(square.toVector<double>(), ElementsAre(0, 3, 3, 6));
  Tensor row = counting({5});
  row.slice(0, 1, 5).copy_(row.slice(0, 0, 4));
  EXPECT_THAT(row.toVector<double>(), ElementsAre(0, 0, 1, 2, 3));
  Tensor scaled = counting({4});
  scaled.mul_(scaled.slice(0, 2, 3));
  EXPECT_THAT(scaled.toVector<double>(), ElementsAre(0, 2, 4, 6));
  const auto refused = [](const auto& change) {
    EXPECT_THAT(change, ThrowsMessage<Error>(HasSubstr("share memory")));
  };
  refused([] { zeros({1}).expand({4}).add_(ones({4})); });
  refused([] { zeros({1}).expand({4}).copy_(ones({4})); });
  refused([] { ones({1}).expand({4}).mul_(2.0); });
}

TEST(Tensor, BroadcastsAndPromotes) {
  const Tensor a = fromVector<std::int32_t>({1, 2, 3}, {3, 1});
  const Tensor b = fromVector<float>({0.5F, 1.5F}, {2});
  const Tensor sum = a + b;
  EXPECT_EQ(sum.dtype(), DType::F32);
  EXPECT_THAT(sum.toVector<double>(), ElementsAre(1.5, 2.5, 2.5, 3.5, 3.5, 4.5));
  EXPECT_EQ(promote(DType::BF16, DType::F16), DType::F32);
  EXPECT_EQ(promote(DType::I64, DType::F16), DType::F16);
  EXPECT_EQ(promote(DType::Bool, DType::U8), DType::U8);
  EXPECT_EQ(div(a, a).dtype(), DType::F32);
}

TEST(Tensor, EmptyAndScalarTensorsWork) {
  const Tensor none = zeros({0, 3});
  EXPECT_EQ((none + ones({3})).shape(), (Shape{0, 3}));
  EXPECT_EQ(sum(none).item(), 0);
  EXPECT_THAT(sum(none, {0}).toVector<float>(), ElementsAre(0, 0, 0));
  EXPECT_EQ(matmul(zeros({2, 0}), zeros({0, 2})).toVector<float>(), std::vector<float>(4, 0));
  EXPECT_EQ(mul(scalar(3), scalar(4)).item(), 12);
}

TEST(Tensor, ConvertsHalfTypes) {
  for (int i = 0; i < 0x10000; ++i) {
    Float16 half;
    half.bits = static_cast<std::uint16_t>(i);
    BFloat16 brain;
    brain.bits = static_cast<std::uint16_t>(i);
    if (const auto wide = static_cast<float>(half); !std::isnan(wide)) {
      ASSERT_EQ(Float16(wide).bits, i);
    }
    if (const auto wide = static_cast<float>(brain); !std::isnan(wide)) {
      ASSERT_EQ(BFloat16(wide).bits, i);
    }
  }
  EXPECT_EQ(static_cast<float>(Float16(65520.0F)), INFINITY);
  EXPECT_EQ(static_cast<float>(Float16(1.0F + 0x1p-11F)), 1.0F) << "ties go to even";
}

/// The value of a half by its definition.
double valueOf(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const double digits = bits & 1023;
  const double magnitude =
      exponent == 0 ? std::ldexp(digits, -24) : std::ldexp(1024 + digits, exponent - 25);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

TEST(Tensor, RoundsToTheNearestHalf) {
  for (std::uint32_t i = 0; i < 0x7c00; ++i) {
    Float16 half;
    half.bits = static_cast<std::uint16_t>(i);
    const double value = valueOf(half.bits);
    ASSERT_EQ(static_cast<float>(half), value) << i;
    const double next = i + 1 == 0x7c00 ? 65536 : valueOf(static_cast<std::uint16_t>(i + 1));
    const auto middle = static_cast<float>((value + next) / 2);  // exact
    ASSERT_EQ(Float16(std::nextafter(middle, 0.0F)).bits, i);
    ASSERT_EQ(Float16(middle).bits, i % 2 == 0 ? i : i + 1) << "the even one";
    ASSERT_EQ(Float16(std::nextafter(middle, 1e9F)).bits, i + 1);
    ASSERT_EQ(Float16(-middle).bits, Float16(middle).bits | 0x8000);
  }
  EXPECT_EQ(Float16(INFINITY).bits, 0x7c00);
  EXPECT_TRUE(std::isnan(static_cast<float>(Float16(NAN))));
  EXPECT_EQ(Float16(std::numeric_limits<float>::denorm_min()).bits, 0);
}

TEST(Tensor, MisuseNamesTheOperatorAndTheShapes) {
  EXPECT_THAT(
      [] {
        (void)(zeros({2, 3}) + zeros({4}));
      },
      ThrowsMessage<Error>(HasSubstr("add: shapes [2,3] and [4] cannot be broadcast")));
  EXPECT_THAT(
      [] {
        (void)matmul(zeros({2, 3}), zeros({2, 3}));
      },
      ThrowsMessage<Error>(HasSubstr("matmul: inner sizes differ: [2,3] × [2,3]")));
  EXPECT_THAT(
      [] {
        (void)(zeros({2}) + zeros({2}, {DType::F32, kMeta}));
      },
      ThrowsMessage<Error>(HasSubstr("add: one tensor is on cpu, the other on meta")));
  EXPECT_THAT([] { (void)exp(arange(3)); },
              ThrowsMessage<Error>(HasSubstr("exp: needs a floating type, not i64")));
  EXPECT_THAT([] { (void)Tensor().shape(); }, ThrowsMessage<Error>(HasSubstr("not defined")));
  EXPECT_THAT([] { (void)zeros({2}).item(); },
              ThrowsMessage<Error>(HasSubstr("item: the tensor [2]")));
}

TEST(Tensor, WithoutDimensionsHasNoSizeOfOne) {
  EXPECT_THAT([] { (void)scalar(1).size(0); },
              ThrowsMessage<Error>(HasSubstr("size: dimension 0 of [], which has none")));
  EXPECT_THAT([] { (void)scalar(1).select(-1, 0); },
              ThrowsMessage<Error>(HasSubstr("select: a tensor without")));
  EXPECT_THROW((void)split(scalar(1), 1, 0), Error);
}

TEST(Tensor, EveryUseOfAnUndefinedOneThrows) {
  const Tensor none = ones({2}).setRequiresGrad().grad();
  Tensor changed;
  const std::function<void()> uses[] = {[&] { (void)none.toVector<float>(); },
                                        [&] { (void)none.grad(); },
                                        [&] { (void)none.detach(); },
                                        [&] { (void)none.isLeaf(); },
                                        [&] { none.setGrad({}); },
                                        [&] { none.registerHook({}); },
                                        [&] { (void)none.clone(); },
                                        [&] { (void)(none + ones({2})); },
                                        [&] {
                                          (void)concat({ones({2}), none}, 0);
                                        },
                                        [&] { changed.zero_(); },
                                        [&] { changed.mul_(2.0); },
                                        [&] { optim::Sgd({none}, {}); },
                                        [&] { (void)optim::clipGradNorm({none}, 1); }};
  for (const auto& use : uses) EXPECT_THAT(use, ThrowsMessage<Error>(HasSubstr("not defined")));
}

TEST(Tensor, DevicesAreNotMixed) {
  const Options meta{DType::F32, kMeta};
  const Tensor x = ones({2, 2});
  const Tensor far = ones({2, 2}, meta);
  const Tensor index = zeros({2, 2}, {DType::I64});
  const Tensor farIndex = zeros({2, 2}, {DType::I64, kMeta});
  const Tensor yes = equal(x, x);
  Tensor changed = ones({2, 2});
  const std::function<void()> uses[] = {[&] {
                                          (void)concat({x, far}, 0);
                                        },
                                        [&] { (void)where(yes, x, far); },
                                        [&] { (void)where(equal(far, far), x, x); },
                                        [&] { changed.add_(far); },
                                        [&] { changed.mul_(far); },
                                        [&] { changed.copy_(far); },
                                        [&] { (void)embedding(x, farIndex); },
                                        [&] { (void)gather(x, 0, farIndex); },
                                        [&] { (void)scatter(x, 0, farIndex, x); },
                                        [&] { (void)scatterAdd(x, 0, index, far); },
                                        [&] { (void)crossEntropy(x, farIndex.select(0, 0)); },
                                        [&] { (void)linear(x, x, far.select(0, 0)); },
                                        [&] { x.setGrad(far); },
                                        [&] {
                                          ones({2, 2}).setRequiresGrad().backward(far);
                                        }};
  for (const auto& use : uses)
    EXPECT_THAT(use, ThrowsMessage<Error>(
                         testing::AllOf(HasSubstr("is on "), HasSubstr("meta"), HasSubstr("cpu"))));
}

TEST(Tensor, RandomNumbersFollowTheSeedAlone) {
  manualSeed(3);
  const auto first = randn({1000}).toVector<float>();
  const auto second = randn({1000}).toVector<float>();
  manualSeed(3);
  EXPECT_EQ(randn({1000}).toVector<float>(), first);
  EXPECT_NE(first, second);
  // Element i depends on seed, draw and i, so a prefix of a longer draw (cut among threads) is the
  // same.
  manualSeed(3);
  const auto longer = randn({50000}).toVector<float>();
  EXPECT_TRUE(std::equal(first.begin(), first.end(), longer.begin()));
  EXPECT_NEAR(mean(fromVector(longer, {50000})).item(), 0, 0.02);
  EXPECT_NEAR(var(fromVector(longer, {50000})).item(), 1, 0.03);
}

/// Depends on each value and its place.
template <class T>
std::uint64_t mixed(const Tensor& tensor) {
  std::uint64_t sum = 0, place = 0;
  for (const T value : tensor.toVector<T>())
    sum += static_cast<std::uint64_t>(static_cast<double>(value) * 0x1p32) * (2 * ++place + 1);
  return sum;
}

// Long enough to be cut among threads; these tests also run with two of them.
TEST(Tensor, RandomNumbersOfASeedAreTheSameWithEveryNumberOfThreads) {
  manualSeed(11);
  EXPECT_EQ(mixed<float>(rand({300'000})), 8818767536042094848U);
  EXPECT_EQ(mixed<std::int64_t>(randint(0, 1000, {300'000})), 18163186961278304256U);
  EXPECT_EQ(mixed<float>(dropout(ones({300'000}), 0.25, true)), 17743405161884063232U);
}

TEST(Tensor, RandomNumbersStayBelowOneInEveryType) {
  for (const DType type : {DType::F64, DType::F32, DType::F16, DType::BF16}) {
    const Tensor x = rand({100000}, {type});
    EXPECT_LT(max(x).item(), 1) << name(type);
    EXPECT_EQ(min(x).item() >= 0, true) << name(type);
    EXPECT_NEAR(mean(x.to(DType::F64)).item(), 0.5, 0.01) << name(type);
  }
}

TEST(Tensor, NanIsTheExtremeOfArgmaxToo) {
  const Tensor x = fromVector<double>({1, NAN, 3, NAN}, {4});
  EXPECT_EQ(argmax(x, 0).item(), 1);
  EXPECT_EQ(argmin(x, 0).item(), 1);
  EXPECT_TRUE(std::isnan(max(x).item()));
}

TEST(Tensor, ReductionsOfAnyDimensions) {
  const Tensor x = counting({2, 3, 4});
  EXPECT_THAT(sum(x, {0, 2}).toVector<double>(), ElementsAre(60, 92, 124));
  EXPECT_THAT(max(x.permute({2, 0, 1}), {0, 1}).toVector<double>(), ElementsAre(15, 19, 23));
  EXPECT_EQ(mean(x, {1}, true).shape(), (Shape{2, 1, 4}));
  EXPECT_THAT(argmax(x, 1).toVector<std::int64_t>(), ElementsAre(2, 2, 2, 2, 2, 2, 2, 2));
  EXPECT_THAT([] { (void)max(zeros({0})); },
              ThrowsMessage<Error>(HasSubstr("max: of no elements")));
}

TEST(Tensor, WithoutDimensionsHasNoneToIndex) {
  const Tensor x = scalar(3);
  const Tensor first = scalar(0, {DType::I64});
  const std::function<void()> uses[] = {[&] { (void)gather(x, 0, first); },
                                        [&] { (void)scatter(x, 0, first, x); },
                                        [&] { (void)scatterAdd(x, 0, first, x); },
                                        [&] { (void)indexSelect(x, 0, first.view({1})); },
                                        [&] { (void)argmax(x, 0); },
                                        [&] { (void)split(x, 1, 0); }};
  for (const auto& use : uses)
    EXPECT_THAT(use, ThrowsMessage<Error>(HasSubstr("a tensor without dimensions")));
  EXPECT_THAT(
      [&] {
        (void)concat({x, x}, 0);
      },
      ThrowsMessage<Error>(HasSubstr("concat: tensors without dimensions")));
}

TEST(Tensor, PicksAndPlaces) {
  const Tensor x = counting({3, 2});
  const Tensor rows = fromVector<std::int64_t>({2, 0, 2}, {3});
  EXPECT_THAT(indexSelect(x, 0, rows).toVector<double>(), ElementsAre(4, 5, 0, 1, 4, 5));
  const Tensor at = fromVector<std::int64_t>({1, 0, 1}, {3, 1});
  EXPECT_THAT(gather(x, 1, at).toVector<double>(), ElementsAre(1, 2, 5));
  EXPECT_THAT(scatterAdd(zerosLike(x), 1, at, ones({3, 1}, {DType::F64})).toVector<double>(),
              ElementsAre(0, 1, 1, 0, 0, 1));
  EXPECT_THAT(concat({x, x.slice(1, 0, 1)}, 1).toVector<double>(),
              ElementsAre(0, 1, 0, 2, 3, 2, 4, 5, 4));
}

}  // namespace
}  // namespace lacuna::rt
