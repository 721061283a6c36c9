// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyses/parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string_view>
#include <type_traits>
#include <utility>

#include "analyses/work/calls.h"
#include "analyses/work/kernels.h"

namespace lacuna::analyzer {
namespace {

using testing::ElementsAre;

TEST(AnalysisParts, HaveANameOfTheirOwnAndSomethingToDo) {
  std::set<std::string_view> names;
  for (const AnalysisPart* part : allParts()) {
    EXPECT_FALSE(part->name.empty());
    EXPECT_TRUE(names.insert(part->name).second) << part->name;
    EXPECT_TRUE(part->add != nullptr || part->compute != nullptr) << part->name;
    EXPECT_TRUE(part->finish == nullptr || part->add != nullptr)
        << part->name << " has no sums to bring into order";
  }
}

TEST(AnalysisParts, RunBehindTheirInputs) {
  EXPECT_EQ(allParts().size(), listedParts().size())
      << "some wait for each other, or for one that is not listed";
  std::set<const AnalysisPart*> done;
  for (const AnalysisPart* part : allParts()) {
    for (const AnalysisPart* input : part->inputs) EXPECT_TRUE(done.contains(input)) << part->name;
    done.insert(part);
  }
}

TEST(AnalysisParts, KeepTheOrderOfTheListWhereInputsAllowIt) {
  const AnalysisPart free{.name = "free"}, needed{.name = "needed"};
  const std::array inputs{&needed};
  const AnalysisPart needs{.name = "needs", .inputs = inputs};
  EXPECT_THAT(inputsFirst(std::array{&needs, &free, &needed}), ElementsAre(&free, &needed, &needs));
  EXPECT_THAT(inputsFirst(std::array{&needed, &needs, &free}), ElementsAre(&needed, &needs, &free));
}

TEST(AnalysisParts, ThatWaitForEachOtherAreLeftOut) {
  std::array<const AnalysisPart*, 1> one{}, other{};
  const AnalysisPart first{.name = "first", .inputs = one},
      second{.name = "second", .inputs = other};
  const AnalysisPart free{.name = "free"};
  one = {&second};
  other = {&first};
  EXPECT_THAT(inputsFirst(std::array{&first, &second, &free}), ElementsAre(&free));
}

TEST(Results, AreEmptyUntilAnAnalysisKeepsOne) {
  const Analysis nothing;
  EXPECT_TRUE(nothing.of<KernelTable>().empty());
  Analysis analysis;
  EXPECT_TRUE(keep(analysis, prof::Result<KernelTable>(KernelTable(2))));
  EXPECT_EQ(analysis.of<KernelTable>().size(), 2U);
  EXPECT_TRUE(analysis.of<CallTable>().empty());
  EXPECT_EQ(std::as_const(analysis).of<KernelTable>().size(), 2U);
}

TEST(Results, OfACopyAreItsOwn) {
  Analysis first;
  first.of<KernelTable>().resize(1);
  Analysis second = first;
  second.of<KernelTable>().resize(3);
  EXPECT_EQ(first.of<KernelTable>().size(), 1U);
  EXPECT_EQ(second.of<KernelTable>().size(), 3U);
}

TEST(Results, OfAnAnalysisThatGoesAreValues) {
  static_assert(std::is_same_v<decltype(std::declval<Analysis>().of<KernelTable>()), KernelTable>);
  const auto made = [] {
    Analysis analysis;
    analysis.of<KernelTable>().push_back({.name = "gemm"});
    return analysis;
  };
  for (const KernelRow& row : made().of<KernelTable>()) EXPECT_EQ(row.name, "gemm");
}

TEST(Results, AnErrorKeepsNothing) {
  Analysis analysis;
  const auto status = keep(analysis, prof::Result<KernelTable>(prof::Error{"no"}));
  EXPECT_FALSE(status);
  EXPECT_EQ(status.error().message, "no");
  EXPECT_TRUE(analysis.of<KernelTable>().empty());
}

}  // namespace
}  // namespace lacuna::analyzer
