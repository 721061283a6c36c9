// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/runtime/memory.h"

#include <gmock/gmock.h>

#include <cstdio>
#include <filesystem>

#include "lacuna/runtime/ops.h"
#include "lacuna/runtime/ops_image.h"

namespace lacuna::rt {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::size_t kMiB = std::size_t{1} << 20;

Options onMeta(Role role = Role::Other) {
  return {DType::U8, kMeta, role};
}
Tensor megabytes(std::int64_t count, Role role = Role::Other) {
  return empty({count << 20}, onMeta(role));
}

TEST(Memory, CountsActivePeakAndRoles) {
  const std::size_t before = memoryStats(kMeta).active;
  resetPeakMemory(kMeta);
  {
    const Tensor parameter = megabytes(3, Role::Parameter);
    { const Tensor activation = megabytes(5); }
    const MemoryStats stats = memoryStats(kMeta);
    EXPECT_EQ(stats.active - before, 3 * kMiB);
    EXPECT_EQ(stats.peakActive - before, 8 * kMiB);
    EXPECT_EQ(stats.activeByRole[static_cast<std::size_t>(Role::Parameter)], 3 * kMiB);
    EXPECT_EQ(stats.atPeakByRole[static_cast<std::size_t>(Role::Activation)], 5 * kMiB);
  }
  EXPECT_EQ(memoryStats(kMeta).active, before);
}

TEST(Memory, CountsWhatTheLibraryWorksIn) {
  const auto workspace = static_cast<std::size_t>(Role::Workspace);
  const Tensor x = ones({2, 64, 8, 8});
  const Tensor weight = ones({64, 64, 3, 3});
  resetPeakMemory();
  const std::size_t before = memoryStats().activeByRole[workspace];
  EXPECT_EQ(sum(conv2d(x, weight, {}, {.padding = 1})).item(),
            2.0 * 64 * 64 * (6 * 6 * 9 + 4 * 6 * 6 + 4 * 4));
  const MemoryStats stats = memoryStats();
  EXPECT_GE(stats.peakByRole[workspace] - before, weight.sizeBytes())
      << "the weights in the library's own order";
  EXPECT_EQ(stats.activeByRole[workspace], before);
  const Tensor pixels = ones({2, 2048, 1, 1});
  const Tensor large = ones({2048, 2048, 1, 1});
  releaseCachedMemory();
  setMemoryLimit(memoryStats().reserved + kMiB);
  EXPECT_THAT([&] { (void)conv2d(pixels, large, {}); },
              testing::ThrowsMessage<OutOfMemory>(HasSubstr("conv2d: no memory for")));
  setMemoryLimit(0);
}

TEST(Memory, FreedBlocksMergeAndTheBestFitIsTaken) {
  releaseCachedMemory(kMeta);
  const std::size_t base = memoryStats(kMeta).reserved;
  Tensor a = megabytes(4);
  Tensor wall = megabytes(1);
  Tensor b = megabytes(2);
  Tensor end = megabytes(1);
  const std::size_t full = memoryStats(kMeta).reserved;
  void* const smaller = b.data();
  a = Tensor();
  b = Tensor();
  const Tensor fit = megabytes(2);
  EXPECT_EQ(fit.data(), smaller) << "the hole of 2 MiB fits better than the one of 4";
  wall = Tensor();
  const Tensor merged = megabytes(5);
  EXPECT_EQ(memoryStats(kMeta).reserved, full) << "4 + 1 MiB side by side serve 5";
  EXPECT_GE(full - base, 8 * kMiB - 1);
}

TEST(Memory, TheArenaGrowsBehindItsFreeEnd) {
  releaseCachedMemory(kMeta);
  Tensor tail = megabytes(64);
  const std::size_t full = memoryStats(kMeta).reserved;
  tail = Tensor();
  const Tensor longer = megabytes(96);
  EXPECT_LE(memoryStats(kMeta).reserved, full + 33 * kMiB);
}

TEST(Memory, TheLimitNamesTheLargestTensors) {
  releaseCachedMemory();
  const std::size_t reserved = memoryStats().reserved;
  setMemoryLimit(reserved + 8 * kMiB);
  Tensor big = empty({6, 1 << 20}, {DType::U8, kCpu, Role::Parameter});
  big.setName("net.weight");
  std::string message;
  try {
    (void)relu(empty({4, 1 << 20}, {DType::F32}));
  } catch (const OutOfMemory& error) {
    message = error.what();
  }
  setMemoryLimit(0);
  EXPECT_THAT(message, HasSubstr("no memory for"));
  EXPECT_THAT(message, HasSubstr("6291456 bytes, parameter, by empty, \"net.weight\""));
}

TEST(Memory, WhatIsLargerThanTheAddressRangeNamesTheLargestTensors) {
  Tensor big = megabytes(1 << 15, Role::Parameter);
  big.setName("table");
  for (const Device device : {kMeta, kCpu}) {
    std::string message;
    try {
      (void)empty({std::int64_t{1} << 42}, {DType::U8, device});
    } catch (const OutOfMemory& error) {
      message = error.what();
    }
    EXPECT_THAT(message, AllOf(StartsWith("empty: no memory for"),
                               HasSubstr("(the device's address range of")));
    const char* largest =
        device == kMeta ? "34359738368 bytes, parameter, by empty, \"table\"" : "";
    EXPECT_THAT(message, HasSubstr(largest));
    EXPECT_EQ(sum(ones({4}, {DType::F32, kCpu})).item(), 4) << "what fits is still there";
  }
}

/// The output of this program when it runs one of its tests under such a limit.
std::string underTheLimit(const std::string& limit) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  FILE* pipe = ::popen(("LACUNA_MEMORY_LIMIT='" + limit + "' '" + self +
                        "' --gtest_filter=Memory.ADroppedTensorIsReusedInQueueOrder 2>&1")
                           .c_str(),
                       "r");
  std::string text;
  for (int c = 0; (c = std::fgetc(pipe)) != EOF;) text += static_cast<char>(c);
  ::pclose(pipe);
  return text;
}

TEST(Memory, RefusesLimitsThatAreNoSizes) {
  for (const char* wrong :
       {"nan", "inf", "-inf", "0.0001K", "0.5", "-1", "1e300", "12q", "G", "1e30G"}) {
    EXPECT_THAT(underTheLimit(wrong),
                HasSubstr("LACUNA_MEMORY_LIMIT: '" + std::string(wrong) + "' is no size"));
  }
  for (const char* right : {"", "0", "1G", "0.5G", "100000000"}) {
    EXPECT_THAT(underTheLimit(right), HasSubstr("[  PASSED  ] 1 test.")) << right;
  }
}

TEST(Memory, TheLimitFirstGivesBackWhatIsCached) {
  releaseCachedMemory();
  setMemoryLimit(memoryStats().reserved + 24 * kMiB);
  for (std::int64_t size = 1; size < 8;
       ++size) {  // 3 × (1 + … + 7) MiB would not fit without giving back
    const Tensor first = full({size << 20}, 1, {DType::U8});
    const Tensor second = full({size << 20}, 2, {DType::U8});
    EXPECT_EQ(sum((first + second).slice(0, 0, 4).to(DType::F64)).item(), 12) << size;
  }
  setMemoryLimit(0);
}

TEST(Memory, ADroppedTensorIsReusedInQueueOrder) {
  double total = 0;
  for (int i = 0; i < 200; ++i) {
    Tensor x = full({1 << 14}, i);
    Tensor y = x + 1.0;
    x = Tensor();
    const Tensor z = full({1 << 14}, -1);  // takes x's block while x + 1 may still wait
    total += mean(y).item() - (i + 1) + mean(z).item() + 1;
  }
  EXPECT_EQ(total, 0);
}

}  // namespace
}  // namespace lacuna::rt
