// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "analyzer/whatif/play.h"
#include "lacuna/analyzer/whatif.h"

namespace lacuna::analyzer {
namespace {

using testing::HasSubstr;

/// A text of that change which parseChange() reads.
std::string exampleOf(const ChangeInfo& info) {
  const std::string name(info.name);
  switch (info.argument) {
    case ChangeArgument::Word:
      return std::string(info.form);
    case ChangeArgument::Number:
      return fmt::format("{}={}", name, info.most);
    case ChangeArgument::Factor:
      return name + (info.names == ChangeNames::Needed ? ":a*0.5" : "*0.5");
    case ChangeArgument::None:
      break;
  }
  return name + "=1";
}

TEST(Changes, EachIsCompleteAndFoundByItsName) {
  std::set<std::string_view> names;
  for (const ChangeInfo* info : listChanges()) {
    EXPECT_TRUE(names.insert(info->name).second) << info->name;
    EXPECT_EQ(findChange(info->name), info);
    const bool isPlayed = info->argument != ChangeArgument::None;
    EXPECT_EQ(info->form.starts_with(info->name), isPlayed) << info->name;
    EXPECT_EQ(isPlayed, !info->brief.empty() && !info->effect.empty()) << info->name;
    EXPECT_EQ(isPlayed, info->error.share > 0 && !info->error.from.empty()) << info->name;
    EXPECT_EQ(info->notReplayed.empty(), info->instead.empty()) << info->name;
    EXPECT_TRUE(isPlayed || !info->notReplayed.empty()) << info->name;
    EXPECT_EQ(info->argument == ChangeArgument::Word, !info->values.empty()) << info->name;
    EXPECT_EQ(info->argument == ChangeArgument::Number, info->most > 0) << info->name;
    EXPECT_EQ(info->control == ChangeControl::Slider, info->recorded != nullptr) << info->name;
    EXPECT_EQ(info->control == ChangeControl::None, info->label.empty()) << info->name;
  }
  EXPECT_EQ(findChange("colour"), nullptr);
}

TEST(Changes, EachIsReadOrRefusedWithTheReason) {
  for (const ChangeInfo* info : listChanges()) {
    const auto change = parseChange(exampleOf(*info));
    if (info->argument == ChangeArgument::None) {
      ASSERT_FALSE(change) << info->name;
      EXPECT_THAT(change.error().message, HasSubstr(std::string(info->notReplayed)));
      continue;
    }
    ASSERT_TRUE(change) << change.error().message;
    EXPECT_EQ(change->target, info->name);
    EXPECT_EQ(change->text(), exampleOf(*info));
  }
}

TEST(Changes, EachWordOfASwitchDoesTheSameAndItsOtherSideNothing) {
  const RunPlan plan{
      .steps = 30, .operatorNs = 60'000, .syncEveryOperators = 4, .biasBeforeNorm = true};
  const auto analysis = analyse(test::makeRun(plan));
  ASSERT_TRUE(analysis);
  const auto simulator = Simulator::create(*analysis);
  ASSERT_TRUE(simulator);
  const std::string asRecorded = "host*1";
  int switches = 0;
  for (const ChangeInfo* info : listChanges()) {
    if (!isOneOf(kOnWords.front(), info->values)) continue;
    ++switches;
    const bool actsWhenOff = info->form.ends_with("=off");
    for (const auto& [words, acts] :
         {std::pair(kOnWords, !actsWhenOff), std::pair(kOffWords, actsWhenOff)}) {
      const auto predicted = [&](std::string_view word) {
        return simulator->play(fmt::format("{}={}", info->name, word)).predictedNsPerStep;
      };
      for (const std::string_view word : words) {
        EXPECT_EQ(predicted(word), predicted(words.front())) << info->name << "=" << word;
        EXPECT_EQ(parseChange(fmt::format("{}={}", info->name, word))->value, words.front());
        if (acts) continue;
        EXPECT_EQ(predicted(word), simulator->play(asRecorded).predictedNsPerStep)
            << info->name << "=" << word;
        EXPECT_FALSE(simulator->play(fmt::format("{}={}", info->name, word)).touched)
            << info->name << "=" << word;
      }
    }
  }
  EXPECT_GE(switches, 10);
}

TEST(Changes, ErrorsListAllThatThereAre) {
  const std::string knobs = parseChange("colour=red").error().message;
  const std::string parts = parseChange("sky*0.5").error().message;
  for (const ChangeInfo* info : listChanges()) {
    const bool isPart = info->argument == ChangeArgument::Factor;
    if (info->argument == ChangeArgument::None) continue;
    EXPECT_THAT(isPart ? parts : knobs, HasSubstr(std::string(info->name)));
  }
}

TEST(Changes, EachPlaysOnARunThatHasSomethingOfAll) {
  const RunPlan plan{.steps = 12,
                     .ranks = 2,
                     .syncEachStep = true,
                     .pageableCopyNs = 500'000,
                     .zeroGradNs = 400'000,
                     .mallocNs = 200'000,
                     .asleepNs = 300'000,
                     .collectiveNs = 700'000,
                     .tinyRepeats = 20,
                     .biasBeforeNorm = true,
                     .roundTrips = 2,
                     .optimizerKernels = 4};
  const Analysis analysis = analysed(plan);
  const auto simulator = Simulator::create(analysis);
  ASSERT_TRUE(simulator);
  for (const ChangeInfo* info : listChanges()) {
    if (info->argument == ChangeArgument::None) continue;
    const Prediction prediction = simulator->play(exampleOf(*info));
    EXPECT_GT(prediction.predictedNsPerStep, 0) << info->name;
    EXPECT_LE(prediction.lowNsPerStep, prediction.predictedNsPerStep) << info->name;
    EXPECT_GE(prediction.highNsPerStep, prediction.predictedNsPerStep) << info->name;
    EXPECT_EQ(prediction.doubt.knownError, info->error.share) << info->name;
  }
}

TEST(Changes, OneThatNoParserMadeAndNobodyKnowsDoesNothing) {
  const Analysis analysis = analysed({});
  const auto simulator = Simulator::create(analysis);
  const Change unknown{.target = "colour", .value = "red", .pattern = {}};
  const Prediction prediction = simulator->play({&unknown, 1});
  EXPECT_FALSE(prediction.touched);
  EXPECT_EQ(prediction.gainNs(), 0);
}

TEST(Changes, TheListInTheDocumentIsTheirs) {
  std::ostringstream page;
  page << std::ifstream(LACUNA_DOCS "/analyses/whatif.md").rdbuf();
  const std::string text = page.str();
  const std::string head = "<!-- lacuna whatif --list --markdown -->\n", foot = "<!-- end -->\n";
  const std::size_t from = text.find(head), to = text.find(foot);
  ASSERT_TRUE(from != std::string::npos && to != std::string::npos);
  EXPECT_EQ(text.substr(from + head.size(), to - from - head.size()), changesMarkdown())
      << "put what `lacuna whatif --list --markdown` prints between the two comments";
}

}  // namespace
}  // namespace lacuna::analyzer
