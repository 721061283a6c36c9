// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "record/drain/range_stacks.h"

#include <gtest/gtest.h>

#include <vector>

namespace lacuna::prof::recording {
namespace {

/// Ends up to `most` of the innermost ranges that stand together, and answers how many.
std::uint64_t popped(OpenStack& stack, OpenBudget& budget, std::uint64_t most = 1) {
  OpenRange range;
  return stack.pop(range, budget, most) ? range.times : 0;
}

OpenRange unseen(std::uint32_t times) {
  OpenRange range;
  range.times = times;
  return range;
}

// With a search for each it would not end in time.
TEST(RangeStacks, ManyDomainsAreFoundWithoutASearch) {
  RangeStacks stacks;
  OpenBudget budget;
  constexpr std::uint32_t kDomains = 400'000;
  for (std::uint32_t domain = 0; domain < kDomains; ++domain) {
    OpenRange range;
    range.name = domain;
    ASSERT_TRUE(stacks.of(domain, budget).push(range, budget));
  }
  for (std::uint32_t domain = 0; domain < kDomains; ++domain) {
    OpenRange range;
    ASSERT_TRUE(stacks.find(domain)->pop(range, budget));
    ASSERT_EQ(range.name, domain);
  }
}

TEST(RangeStacks, DomainsWithoutRoomCountTheirRangesTogether) {
  RangeStacks stacks;
  OpenBudget budget;
  std::uint32_t domain = 1;
  while (stacks.of(domain, budget).domain() == domain) ++domain;
  EXPECT_LE(budget.bytes(), OpenBudget::kMost + 1024);
  EXPECT_EQ(stacks.find(domain), nullptr) << "no range has begun there";
  EXPECT_FALSE(stacks.of(domain, budget).push(OpenRange(), budget));
  EXPECT_FALSE(stacks.of(domain + 1, budget).push(unseen(5), budget));
  ASSERT_NE(stacks.find(domain), nullptr);
  EXPECT_EQ(stacks.find(domain)->size(), 6u);
  EXPECT_EQ(stacks.find(domain), stacks.find(domain + 1));
  stacks.closeAll([](OpenStack& stack) { stack.endSkipped(stack.size()); });
  EXPECT_EQ(stacks.find(domain), nullptr);
  stacks.giveBack(budget);
  EXPECT_EQ(budget.bytes(), 0u);
}

TEST(RangeStacks, OnlyThoseInWhichRangesHaveBegunAreClosed) {
  RangeStacks stacks;
  OpenBudget budget;
  const auto closed = [&] {
    std::vector<std::uint32_t> domains;
    stacks.closeAll([&](OpenStack& stack) { domains.push_back(stack.domain()); });
    return domains;
  };
  for (const std::uint32_t domain : {7u, 0u, 9u, 7u}) stacks.of(domain, budget);
  EXPECT_EQ(closed(), (std::vector<std::uint32_t>{7, 0, 9}));
  stacks.of(9, budget);
  EXPECT_EQ(closed(), (std::vector<std::uint32_t>{9}));
  EXPECT_EQ(closed(), std::vector<std::uint32_t>());
}

TEST(OpenStack, RangesThatBeganUnseenStandTogether) {
  OpenStack stack(0);
  OpenBudget budget;
  constexpr std::uint32_t kClaimed = 4'000'000'000;
  ASSERT_TRUE(stack.push(unseen(kClaimed), budget));
  EXPECT_LE(budget.bytes(), 64u) << "for all of them";
  EXPECT_EQ(stack.size(), kClaimed);
  EXPECT_EQ(popped(stack, budget), 1u);
  EXPECT_EQ(popped(stack, budget, 100), 100u);
  EXPECT_EQ(popped(stack, budget, OpenStack::kAll), kClaimed - 101);
  EXPECT_TRUE(stack.empty());
  EXPECT_EQ(budget.bytes(), 0u);
}

TEST(OpenStack, RangesOnTopOfUnseenOnesKeepTheirNames) {
  OpenStack stack(0);
  OpenBudget budget;
  ASSERT_TRUE(stack.push(unseen(3), budget));
  OpenRange named;
  named.name = 7;
  ASSERT_TRUE(stack.push(named, budget));
  OpenRange range;
  ASSERT_TRUE(stack.pop(range, budget, OpenStack::kAll));
  EXPECT_EQ(range.name, 7u);
  EXPECT_EQ(range.times, 1u);
  ASSERT_TRUE(stack.pop(range, budget));
  EXPECT_EQ(range.name, 0u);
  EXPECT_EQ(stack.size(), 2u);
}

}  // namespace
}  // namespace lacuna::prof::recording
