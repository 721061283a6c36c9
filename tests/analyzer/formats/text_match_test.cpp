// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>

#include "formats/kernel_name.h"
#include "lacuna/analyzer/text.h"

namespace lacuna::analyzer {
namespace {

/// True when the whole text is of the pattern, by trying every length for each star. All in small
/// letters.
bool isWholly(std::string_view text, std::string_view pattern) {
  if (pattern.empty()) return text.empty();
  if (pattern[0] == '*') {
    for (std::size_t length = 0; length <= text.size(); ++length) {
      if (isWholly(text.substr(length), pattern.substr(1))) return true;
    }
    return false;
  }
  return !text.empty() && text[0] == pattern[0] && isWholly(text.substr(1), pattern.substr(1));
}

std::string randomOf(std::mt19937& random, std::string_view letters, std::size_t most) {
  std::string out;
  for (std::size_t i = random() % (most + 1); i > 0; --i) out += letters[random() % letters.size()];
  return out;
}

TEST(TextMatch, PartsAreFoundInEitherCaseFromAPlaceOn) {
  EXPECT_EQ(findAnyCase("aten::MM mm", "mm"), 6U);
  EXPECT_EQ(findAnyCase("aten::MM mm", "mM", 7), 9U);
  EXPECT_EQ(findAnyCase("aten::MM mm", "mm", 10), std::string_view::npos);
  EXPECT_EQ(findAnyCase("short", "shorter"), std::string_view::npos);
  EXPECT_EQ(findAnyCase("abc", "", 2), 2U);
  EXPECT_EQ(findAnyCase("abc", "", 3), 3U) << "nothing is found at the very end";
  EXPECT_EQ(findAnyCase("", ""), 0U);
  EXPECT_EQ(findAnyCase("\xc9t\xe9", "\xc9T"), 0U) << "bytes beyond ASCII are themselves";
}

TEST(TextMatch, APatternsPartsStandInOrderAndDoNotOverlap) {
  EXPECT_TRUE(matchesPattern("volta_sgemm_128x64_nn", "SGEMM"));
  EXPECT_TRUE(matchesPattern("volta_sgemm_128x64_nn", "sgemm*nn"));
  EXPECT_FALSE(matchesPattern("volta_sgemm_128x64_nn", "nn*sgemm"));
  EXPECT_FALSE(matchesPattern("aba", "ab*ba")) << "the b is needed twice";
  EXPECT_TRUE(matchesPattern("", ""));
  EXPECT_TRUE(matchesPattern("", "**"));
  EXPECT_FALSE(matchesPattern("", "a"));
}

TEST(TextMatch, PatternsMatchAsTryingEveryLengthDoes) {
  std::mt19937 random(1);
  int matches = 0;
  constexpr int kRounds = 4000;
  for (int round = 0; round < kRounds; ++round) {
    const std::string text = randomOf(random, "ab", 7);
    const std::string pattern = randomOf(random, "ab*", 5);
    const bool expected = isWholly(text, "*" + pattern + "*");
    ASSERT_EQ(matchesPattern(text, pattern), expected) << text << " by " << pattern;
    matches += expected ? 1 : 0;
  }
  EXPECT_GT(matches, kRounds / 10);
  EXPECT_LT(matches, kRounds * 9 / 10);
}

TEST(CommunicationName, LibrariesAreKnownAnywhereAndOperationsAtTheBegin) {
  for (const char* name :
       {"ncclDevKernel_AllReduce_Sum_f32_RING_LL", "void vllm::cross_device_reduce_1stage<half>",
        "gloo:all_reduce", "RCCL_kernel", "AllReduce", "all_gather_into_tensor", "alltoallv",
        "comm.step", "multimem_all_reduce"}) {
    EXPECT_TRUE(isCommunicationKernel(name)) << name;
  }
  for (const char* name : {"", "ampere_sgemm_128x64", "my_allreduce", "reduce_kernel<512>", "comm",
                           "scatter_add", "allreduc"}) {
    EXPECT_FALSE(isCommunicationKernel(name)) << name;
  }
}

TEST(CommunicationName, AKernelLosesItsLibrarysPrefixOnce) {
  EXPECT_EQ(withoutLibrary("ncclDevKernel_AllGather_RING_LL"), "AllGather_RING_LL");
  EXPECT_EQ(withoutLibrary("ncclKernel_AllReduce_TREE"), "AllReduce_TREE");
  EXPECT_EQ(withoutLibrary("ncclKernel_ncclKernel_x"), "ncclKernel_x");
  EXPECT_EQ(withoutLibrary("ncclDevKernel_"), "");
  for (const char* name : {"", "ncclDevKernel", "my_ncclKernel_x", "gemm"})
    EXPECT_EQ(withoutLibrary(name), name);
}

TEST(CommunicationName, CallsThatBeginCommunicationAreKnownByTheirExactNames) {
  for (const char* name :
       {"c10d::allreduce_", "ncclAllGather", "record_param_comms nccl:all_reduce", "allreduce"})
    EXPECT_TRUE(beginsCommunication(name)) << name;
  for (const char* name : {"", "aten::mm", "AllReduce", "c10d"})
    EXPECT_FALSE(beginsCommunication(name)) << name;
}

}  // namespace
}  // namespace lacuna::analyzer
