// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "cupti/buffer_pool.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <set>
#include <thread>
#include <vector>

namespace lacuna::collector::cupti {
namespace {

constexpr std::size_t kBytes = 64 << 10;

bool hasPages(std::byte* buffer) {
  std::vector<unsigned char> there(kBytes / static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)));
  EXPECT_EQ(::mincore(buffer, kBytes, there.data()), 0);
  return std::ranges::all_of(there, [](unsigned char page) { return (page & 1) != 0; });
}

TEST(BufferPool, HandsOutEachBufferOnceAndThenNone) {
  BufferPool pool(kBytes, 2, 20);
  std::set<std::byte*> given;
  for (int i = 0; i < 20; ++i) {
    std::byte* buffer = pool.request();
    ASSERT_NE(buffer, nullptr);
    std::memset(buffer, i, kBytes);
    EXPECT_TRUE(given.insert(buffer).second);
  }
  EXPECT_EQ(pool.request(), nullptr);
  EXPECT_EQ(pool.refused(), 1u);
  std::byte* first = *given.begin();
  pool.complete(first, 7);
  ASSERT_EQ(pool.take(1)->bytes, 7u);
  pool.recycle(first);
  EXPECT_EQ(pool.request(), first);
}

TEST(BufferPool, LeavesMemoryAloneThatIsNotItsOwn) {
  BufferPool pool(kBytes, 1, 2), other(kBytes, 1, 2);
  pool.complete(other.request(), 5);
  EXPECT_FALSE(pool.take(0));
}

TEST(BufferPool, TheMemoryOfTheNextBuffersIsThereBeforeTheyAreAskedFor) {
  BufferPool pool(kBytes, 4, 64);
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 4; ++i) EXPECT_TRUE(hasPages(pool.request())) << "round " << round;
    pool.prepare();
  }
}

TEST(BufferPool, AsksForMoreWhenFewAreReady) {
  BufferPool pool(kBytes, 4, 64);
  std::jthread threads([&] {
    for (int i = 0; i < 3; ++i) (void)pool.request();
  });
  constexpr double kLongS = 60;
  const auto began = std::chrono::steady_clock::now();
  EXPECT_FALSE(pool.take(kLongS));
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(30));
}

// A sanitizer needs addresses of its own.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/// In a callback of CUPTI nothing may wait for the system, nor fail for it.
TEST(BufferPool, TakesNoAddressesLater) {
  BufferPool pool(kBytes, 1, 100);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_AS, &before), 0);
  const rlimit none{1 << 20, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &none), 0);
  int given = 0;
  while (pool.request() != nullptr) ++given;
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &before), 0);
  EXPECT_EQ(given, 100);
}

TEST(BufferPool, IsSmallerWhereTheSystemRefusesTheAddresses) {
  BufferPool pool(std::size_t{1} << 40, 0, 256);  // 256 TiB, more than there are addresses
  EXPECT_NE(pool.request(), nullptr);
}
#endif

}  // namespace
}  // namespace lacuna::collector::cupti
