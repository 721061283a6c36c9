// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "rules/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <random>
#include <set>

#include "lacuna/analyzer/analysis.h"
#include "rules/engine.h"
#include "rules/places.h"
#include "rules/title.h"
#include "support/finding_text.h"
#include "support/planted_runs.h"

namespace lacuna::analyzer {
namespace {

TEST(Registry, EveryRuleStandsInItsPlaceAndHasAKeyOfItsOwn) {
  std::set<std::string_view> keys;
  for (std::size_t i = 0; i < allRules().size(); ++i) {
    const FindingRule& rule = *allRules()[i];
    EXPECT_EQ(static_cast<std::size_t>(rule.id), i) << rule.key;
    EXPECT_TRUE(keys.insert(rule.key).second) << rule.key;
    EXPECT_THAT(std::string(rule.key), testing::MatchesRegex("[a-z]+(-[a-z]+)*"));
    EXPECT_EQ(findFindingId(rule.key), rule.id);
  }
  EXPECT_EQ(findFindingId("no-such-finding"), std::nullopt);
}

TEST(Registry, EveryRuleIsDocumented) {
  for (const FindingRule* rule : allRules()) {
    SCOPED_TRACE(rule->key);
    for (const std::string_view text : {rule->meaning, rule->when, rule->fix, rule->refutedBy})
      EXPECT_NE(text, "");
    EXPECT_FALSE(rule->confidences.empty());
    for (const Confidence& confidence : rule->confidences) {
      EXPECT_NE(confidence.why, "");
      EXPECT_GT(confidence.value, 0);
      EXPECT_LE(confidence.value, 1);
      EXPECT_EQ(confidence.when.empty(), rule->confidences.size() == 1);
    }
    for (const Threshold& threshold : rule->thresholds)
      EXPECT_NE(threshold.why, "") << threshold.name;
    for (const Explained& explained : rule->explains)
      EXPECT_EQ(explained.when == nullptr, explained.condition.empty()) << explained.what;
  }
}

TEST(Registry, TheFormulaOfARuleHasEachOfItsThresholdsAndNoOthers) {
  for (const FindingRule* rule : allRules()) {
    std::set<std::string_view> shown;
    for (const std::string_view text : {rule->when, rule->fix})
      (void)filled(text, [&](std::string_view name) { return shown.insert(name), std::string(); });
    std::set<std::string_view> known;
    for (const Threshold& threshold : rule->thresholds) known.insert(threshold.name);
    EXPECT_EQ(shown, known) << rule->key;
  }
}

TEST(Registry, EveryCauseIsPricedOrLeftOutForAReason) {
  std::set<Cause> claimed, left;
  for (const FindingRule* rule : allRules()) {
    claimed.insert(rule->prices.begin(), rule->prices.end());
    claimed.insert(rule->names.begin(), rule->names.end());
  }
  for (const UnclaimedCause& unclaimed : unclaimedCauses()) {
    EXPECT_NE(unclaimed.why, "");
    EXPECT_TRUE(left.insert(unclaimed.cause).second) << causeKey(unclaimed.cause);
  }
  for (std::size_t i = 0; i < kCauseCount; ++i) {
    const auto cause = static_cast<Cause>(i);
    EXPECT_NE(claimed.contains(cause), left.contains(cause)) << causeKey(cause);
  }
}

TEST(Registry, ARuleNamesIdleCausesOnlyAndTakesOnlyLeftoversThatItPrices) {
  for (const FindingRule* rule : allRules()) {
    for (const Cause cause : rule->names) EXPECT_FALSE(isBusy(cause)) << rule->key;
    EXPECT_FALSE(rule->takesLeftover && rule->prices.empty()) << rule->key;
    EXPECT_FALSE(!rule->claims.empty() && rule->skipsClaimed) << rule->key << " waits for itself";
  }
}

std::size_t placeOf(const std::vector<const FindingRule*>& order, FindingId id) {
  return static_cast<std::size_t>(std::ranges::find(order, id, &FindingRule::id) - order.begin());
}

TEST(RunOrder, RulesComeBehindThoseThatTheyDependOnHoweverTheyAreGiven) {
  std::vector<const FindingRule*> given(allRules().begin(), allRules().end());
  std::mt19937 random(1);
  for (int i = 0; i < 50; ++i) {
    std::ranges::shuffle(given, random);
    const auto order = runOrder(given);
    ASSERT_TRUE(order) << order.error().message;
    ASSERT_EQ(order->size(), given.size());
    for (std::size_t first = 0; first < order->size(); ++first) {
      for (std::size_t second = 0; second < first; ++second)
        EXPECT_FALSE(comesBefore(*(*order)[first], *(*order)[second]))
            << (*order)[first]->key << " before " << (*order)[second]->key;
    }
    EXPECT_LT(placeOf(*order, FindingId::AllocationChurn), placeOf(*order, FindingId::DriverCalls));
    EXPECT_LT(placeOf(*order, FindingId::BlockingCopy), placeOf(*order, FindingId::SyncInStep));
    EXPECT_LT(placeOf(*order, FindingId::DebugMode), placeOf(*order, FindingId::LaunchBound));
    EXPECT_EQ(order->back()->id, FindingId::UnderUtilised);
  }
}

TEST(RunOrder, ACircleIsNamed) {
  static constexpr std::array kByFirst{Explained{FindingId::Fuse}};
  static constexpr std::array kBySecond{Explained{FindingId::Amp}};
  const FindingRule first{.id = FindingId::Amp, .key = "first", .explains = kByFirst};
  const FindingRule second{.id = FindingId::Fuse, .key = "second", .explains = kBySecond};
  const FindingRule other{.id = FindingId::ZeroGrad, .key = "other"};
  const std::array<const FindingRule*, 3> rules{&other, &first, &second};
  const auto order = runOrder(rules);
  ASSERT_FALSE(order);
  EXPECT_THAT(order.error().message, testing::EndsWith(": first, second"));
}

TEST(RunOrder, WhatIsFoundDoesNotDependOnTheOrderInWhichRulesAreGiven) {
  std::vector<const FindingRule*> given(allRules().begin(), allRules().end());
  std::mt19937 random(2);
  for (std::uint32_t seed = 0; seed < 6; ++seed) {
    const auto analysis = analyse(test::makeRun(test::anyPlan(seed)));
    ASSERT_TRUE(analysis);
    const auto simulator = Simulator::create(*analysis);
    std::ranges::shuffle(given, random);
    const auto found = findFindings(*analysis, simulator ? &*simulator : nullptr, given);
    ASSERT_EQ(found.size(), analysis->of<Findings>().size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].id, analysis->of<Findings>()[i].id);
      EXPECT_EQ(found[i].title, analysis->of<Findings>()[i].title);
      EXPECT_EQ(found[i].predictedGainNsPerStep,
                analysis->of<Findings>()[i].predictedGainNsPerStep);
    }
  }
}

TEST(Engine, AFindingThatIsInTheReportKeepsThoseOutThatItExplains) {
  const auto analysis = analyse(test::makeRun({.operatorNs = 60'000, .syncEveryOperators = 1}));
  ASSERT_TRUE(analysis);
  const auto has = [](const std::vector<Finding>& findings, FindingId id) {
    return std::ranges::find(findings, id, &Finding::id) != findings.end();
  };
  EXPECT_TRUE(has(analysis->of<Findings>(), FindingId::DebugMode));
  EXPECT_FALSE(has(analysis->of<Findings>(), FindingId::SyncInStep));
  // Without the rule that explains them they are findings of their own.
  std::vector<const FindingRule*> without;
  std::ranges::copy_if(allRules(), std::back_inserter(without),
                       [](const FindingRule* rule) { return rule->id != FindingId::DebugMode; });
  const auto simulator = Simulator::create(*analysis);
  ASSERT_TRUE(simulator);
  EXPECT_TRUE(has(findFindings(*analysis, &*simulator, without), FindingId::SyncInStep));
}

Finding priced(std::string_view words) {
  Finding finding;
  finding.words = words;
  finding.costNsPerStep = 1'500'000;
  finding.fullStepNs = 3'000'000;
  return finding;
}

TEST(Title, HasQuantitiesInTheirPlaces) {
  Finding finding = priced(
      "{calls} of {name} {a step} hold {share of it}, {size}, {half}, {rate}{: cost a step}");
  finding.quantities = {Quantity::counted("calls", 1, "copy", "copies"),
                        Quantity::called("name", "a {cost} name"), Quantity::bytes("size", 2048),
                        Quantity::share("half", 0.5), Quantity::number("rate", 2.25, 1)};
  EXPECT_EQ(
      titleOf(finding, true),
      "1 copy of a {cost} name a step hold 50.0 % of it, 2.00 KiB, 50.0 %, 2.2: 1.50 ms a step");
}

TEST(Title, CountsInAllWhereThereAreNoSteps) {
  EXPECT_EQ(titleOf(priced("waits {cost} {a step}{: cost a step}"), false),
            "waits 1.50 ms in all: 1.50 ms in all");
}

TEST(Title, NamesNoCostOfAFindingWithoutOne) {
  Finding finding = priced("a mode is on{: cost a step}");
  finding.costNsPerStep = 0;
  EXPECT_EQ(titleOf(finding, true), "a mode is on");
}

TEST(Title, NamesTheBasisOfAShareThatCoversMoreThanTheStep) {
  Finding finding = priced("waits {cost} {a step} ({share of it})");
  finding.coversGaps = true;
  EXPECT_EQ(titleOf(finding, true),
            "waits 1.50 ms a step (50.0 % of the 3.00 ms from one step to the next)");
}

}  // namespace
}  // namespace lacuna::analyzer
