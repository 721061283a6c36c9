// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <fstream>

#include "backend/cpu/bounded_cache.h"
#include "lacuna/runtime/error.h"
#include "lacuna/runtime/ops.h"

/// The cache for shapes that were seen before is bounded.
namespace lacuna::rt {
namespace {

TEST(BoundedCache, KeepsWhatIsAskedForAndDropsWhatIsNot) {
  cpu::BoundedCache<int> cache(8);
  int made = 0;
  const auto find = [&](int key) -> int& {
    return cache.find(std::to_string(key), [&] { return ++made, key; });
  };
  int& always = find(0);
  for (int key = 1; key < 100; ++key) {
    EXPECT_EQ(find(key), key);
    EXPECT_EQ(&find(0), &always) << "it stays where it is";
    EXPECT_LE(cache.size(), 8U);
  }
  EXPECT_EQ(made, 100);
  EXPECT_EQ(find(99), 99);
  EXPECT_EQ(made, 100);
  EXPECT_EQ(find(1), 1);
  EXPECT_EQ(made, 101) << "the first was dropped long ago";
}

TEST(BoundedCache, KeepsWhatItNeedsToMakeAnother) {
  cpu::BoundedCache<int> cache(4);
  const auto zero = [] { return 0; };
  const int& made = cache.find("a", [&] { return cache.find("b", zero) + 1; });
  EXPECT_EQ(made, 1);
  EXPECT_EQ(cache.size(), 2U);
}

TEST(BoundedCache, ForgetsNothingThatFailed) {
  cpu::BoundedCache<int> cache(4);
  EXPECT_THROW((void)cache.find("a", []() -> int { throw Error("no"); }), Error);
  EXPECT_EQ(cache.size(), 0U);
}

// A sanitizer keeps what was freed.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/// Pages of memory that the program has after products of `count` shapes that were not seen before.
std::int64_t pagesAfter(std::int64_t count, std::int64_t& shape) {
  for (const std::int64_t end = shape + count; shape < end; ++shape) {
    const Tensor product = matmul(ones({2, 32}), ones({32, shape}));
    if (shape % 256 == 0) {
      EXPECT_EQ(product.select(0, 0).select(0, 0).item(), 32);
    }
  }
  synchronize();
  std::ifstream file("/proc/self/statm");
  std::int64_t all = 0;
  std::int64_t resident = 0;
  file >> all >> resident;
  return resident;
}

TEST(Plans, OfShapesThatNeverRepeatAreBounded) {
  std::int64_t shape = 1;
  const auto most = static_cast<std::int64_t>(cpu::kMostPlans);
  const std::int64_t before = pagesAfter(16, shape);
  const std::int64_t full = pagesAfter(2 * most, shape) - before;
  const std::int64_t later = pagesAfter(2 * most, shape) - before;
  EXPECT_LT(static_cast<double>(later), 1.5 * static_cast<double>(full))
      << "kept for good it would be twice as much";
  RecordProperty("full", std::to_string(full));
  RecordProperty("later", std::to_string(later));
}
#endif

}  // namespace
}  // namespace lacuna::rt
