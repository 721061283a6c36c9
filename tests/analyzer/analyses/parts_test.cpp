// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyses/parts.h"

#include <gtest/gtest.h>

#include <set>
#include <string_view>
#include <type_traits>
#include <utility>

#include "analyses/work/calls.h"
#include "analyses/work/kernels.h"

namespace lacuna::analyzer {
namespace {

TEST(AnalysisParts, HaveANameOfTheirOwnAndSomethingToDo) {
  std::set<std::string_view> names;
  for (const AnalysisPart* part : allParts()) {
    EXPECT_FALSE(part->name.empty());
    EXPECT_TRUE(names.insert(part->name).second) << part->name;
    EXPECT_TRUE(part->add != nullptr || part->compute != nullptr) << part->name;
    EXPECT_TRUE(part->finish == nullptr || part->add != nullptr) << part->name << " has no sums to bring into order";
  }
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
