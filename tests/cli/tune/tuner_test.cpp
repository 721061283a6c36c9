// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "tune/tuner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>

#include "lacuna/collector/settings.h"
#include "tune/candidates.h"
#include "tune/page.h"

namespace lacuna::cli::tune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

collector::Setting setting(const std::string& text) {
  return {text.substr(0, text.find('=')), text.substr(text.find('=') + 1)};
}

/// A program whose step takes 100 ms, times a factor for each setting; a run takes ten seconds.
class FakeMachine : public Machine {
 public:
  struct Effect {
    double predicted = 0;  ///< share
    double factor = 1;
    double loss = 1;
    bool applied = true;
    std::string failure{};
  };

  std::optional<RunOutcome> run(std::span<const collector::Setting> settings,
                                std::string_view) override {
    runs.push_back(collector::settingsText(settings));
    if (runs.size() > interruptedAfter) return std::nullopt;
    left -= 10;
    RunOutcome out;
    Measured measured;
    measured.nsPerStep = 100e6 * (1 + noise * distribution(generator));
    measured.seconds = 10;
    double loss = 1;
    for (const auto& each : settings) {
      const Effect& effect = effects.at(each.text());
      if (!effect.failure.empty()) out.failure = effect.failure;
      measured.nsPerStep *= effect.factor;
      loss *= effect.loss;
      if (effect.applied) {
        out.outcomes.push_back(
            {collector::SettingOutcome::Kind::Applied, each.text(), 1, thing, "0", site, ""});
      }
    }
    if (settings.empty() && runs.size() > failsAfter) out.failure = failure;
    for (std::uint32_t i = 0; i < 8; ++i) measured.losses[i] = loss;
    if (out.failure.empty()) out.measured = measured;
    return out;
  }
  prof::Result<std::vector<Priced>> price(std::span<const collector::Setting> kept) override {
    std::vector<Priced> all;
    for (const auto& [text, effect] : effects) {
      if (std::ranges::find(kept, setting(text)) == kept.end())
        all.push_back({setting(text), effect.predicted});
    }
    return all;
  }
  double secondsLeft() override { return left; }
  void report(std::string_view) override {}

  std::map<std::string, Effect> effects;
  std::string thing = "DataLoader", site = "train.py:7";  ///< where settings are applied
  std::string failure;                                    ///< of the unchanged program
  std::size_t failsAfter = 0;
  double noise = 0.01;
  double left = 1e6;
  std::size_t interruptedAfter = SIZE_MAX;
  std::vector<std::string> runs;
  std::mt19937 generator{1};
  std::normal_distribution<double> distribution{0, 1};
};

Result tuned(FakeMachine& machine) {
  auto result = tune(machine, Limits(), 10);
  EXPECT_TRUE(result.ok());
  return *result;
}

std::vector<std::string> triesOf(const Result& result) {
  std::vector<std::string> all;
  for (const Try& each : result.tries)
    all.push_back(each.priced.setting.text() + ": " + std::string(wordFor(each.judgement.verdict)));
  return all;
}

TEST(Tuner, KeepsWhatHelpsAndGoesOnFromThere) {
  FakeMachine machine;
  machine.effects = {{"loader.workers=4", {0.5, 0.5}},
                     {"optimizer.fused=on", {0.1, 0.85}},
                     {"zero_grad=none", {0.005, 0.5}}};
  const Result result = tuned(machine);
  EXPECT_THAT(triesOf(result), ElementsAre("loader.workers=4: kept", "optimizer.fused=on: kept"));
  EXPECT_EQ(collector::settingsText(result.kept), "loader.workers=4,optimizer.fused=on");
  ASSERT_TRUE(result.overall.has_value());
  EXPECT_NEAR(result.overall->measured.share, 1 - 0.5 * 0.85, 0.03);
  EXPECT_NEAR(result.endNs / result.beginNs, 0.5 * 0.85, 0.03);
  EXPECT_EQ(result.ending, Ending::NothingLeft);
}

TEST(Tuner, RunsInInterleavedPairs) {
  FakeMachine machine;
  machine.effects = {{"amp=on", {0.5, 0.5}}};
  tuned(machine);
  machine.runs.resize(4);
  EXPECT_THAT(machine.runs, ElementsAre("", "amp=on", "amp=on", ""));
}

TEST(Tuner, RejectsWhatIsSlowerThanPredicted) {
  FakeMachine machine;
  machine.effects = {{"amp=on", {0.5, 1.4}}, {"fuse=on", {0.3, 0.7}}};
  const Result result = tuned(machine);
  EXPECT_THAT(triesOf(result), ElementsAre("amp=on: slower", "fuse=on: kept"));
  EXPECT_EQ(collector::settingsText(result.kept), "fuse=on");
}

TEST(Tuner, RejectsWhatLearnsSomethingElse) {
  FakeMachine machine;
  machine.effects = {{"amp=on", {0.5, 0.5, 2}}};
  const Result result = tuned(machine);
  EXPECT_THAT(triesOf(result), ElementsAre("amp=on: changes the loss"));
  EXPECT_THAT(result.kept, IsEmpty());
  EXPECT_FALSE(result.overall.has_value());
}

TEST(Tuner, StopsAtOnceWhereASettingIsNotApplied) {
  FakeMachine machine;
  machine.effects = {{"loader.pin=on", {0.5, 0.5, 1, false}}};
  EXPECT_THAT(triesOf(tuned(machine)), ElementsAre("loader.pin=on: not applied"));
  EXPECT_THAT(machine.runs, SizeIs(2));
}

TEST(Tuner, SurvivesAProgramThatFailsWithASetting) {
  FakeMachine machine;
  machine.effects = {{"fuse=on", {0.5, 0.5, 1, true, "ended with code 1: no compiler"}}};
  const Result result = tuned(machine);
  EXPECT_THAT(triesOf(result), ElementsAre("fuse=on: the program fails"));
  EXPECT_THAT(result.tries[0].judgement.why, HasSubstr("no compiler"));
}

TEST(Tuner, FailsWhereTheUnchangedProgramDoes) {
  FakeMachine machine;
  machine.failure = "ended with code 1: no data";
  machine.effects = {{"fuse=on", {0.5, 0.5}}};
  const auto result = tune(machine, Limits(), 10);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message, "ended with code 1: no data");
}

TEST(Tuner, KeepsWhatIsKnownWhereTheProgramFailsLater) {
  FakeMachine machine;
  machine.effects = {{"amp=on", {0.5, 0.5}}, {"fuse=on", {0.3, 0.9}}};
  machine.failure = "ended with code 1: the disk is full";
  machine.failsAfter = 4;  // in the last comparison
  const Result result = tuned(machine);
  EXPECT_THAT(triesOf(result), ElementsAre("amp=on: kept", "fuse=on: kept"));
  EXPECT_EQ(result.ending, Ending::Failed);
  EXPECT_THAT(result.kept, IsEmpty());
  EXPECT_THAT(textOf({{"python"}, 40, 8, 60}, result), HasSubstr("the disk is full"));
}

TEST(Tuner, KeepsTheBeginningWithoutProof) {
  FakeMachine machine;
  machine.effects = {{"amp=on", {0.5, 0.5}}};
  machine.effects["fuse=on"] = {0.3, 0.5};
  machine.interruptedAfter = 10;  // in the last comparison
  const Result result = tuned(machine);
  EXPECT_THAT(triesOf(result), ElementsAre("amp=on: kept", "fuse=on: kept"));
  EXPECT_THAT(result.kept, IsEmpty());
  EXPECT_EQ(collector::settingsText(result.unproven), "amp=on,fuse=on");
  EXPECT_THAT(textOf({{"python"}, 40, 8, 60}, result), HasSubstr("nothing is proven"));
}

TEST(Tuner, LeavesTimeForTheLastComparison) {
  FakeMachine machine;
  machine.effects = {{"amp=on", {0.5, 0.5}}, {"fuse=on", {0.3, 0.9}}};
  machine.left = 90;
  const Result result = tuned(machine);
  EXPECT_THAT(triesOf(result), ElementsAre("amp=on: kept"));
  EXPECT_THAT(machine.runs, SizeIs(8));
  EXPECT_EQ(result.ending, Ending::Budget);
  EXPECT_EQ(collector::settingsText(result.kept), "amp=on");
  ASSERT_THAT(result.left, SizeIs(1));
  EXPECT_THAT(textOf({{"python"}, 40, 8, 60}, result), HasSubstr("Not tried: fuse=on (30.0 %)"));
}

TEST(Tuner, ProvesNothingWithoutTheLastComparison) {
  FakeMachine machine;
  machine.effects = {{"amp=on", {0.5, 0.5}}};
  machine.left = 45;
  const Result result = tuned(machine);
  EXPECT_THAT(machine.runs, SizeIs(4));
  EXPECT_THAT(result.kept, IsEmpty());
  EXPECT_EQ(collector::settingsText(result.unproven), "amp=on");
}

TEST(Tuner, LeavesUndecidedWhatItHasNoTimeFor) {
  FakeMachine machine;
  machine.effects = {{"amp=on", {0.5, 0.98}}};
  machine.noise = 0.1;
  machine.left = 45;
  const Result result = tuned(machine);
  EXPECT_THAT(triesOf(result), ElementsAre("amp=on: not decided"));
  EXPECT_THAT(result.tries[0].judgement.why, HasSubstr("no time"));
}

TEST(Tuner, ReportsWhatIsKnownWhenItIsInterrupted) {
  FakeMachine machine;
  machine.effects = {{"amp=on", {0.5, 1.4}}, {"fuse=on", {0.3, 0.9}}};
  machine.interruptedAfter = 5;
  const Result result = tuned(machine);
  EXPECT_EQ(result.ending, Ending::Interrupted);
  EXPECT_THAT(triesOf(result), ElementsAre("amp=on: slower", "fuse=on: not decided"));
}

TEST(Tuner, NeverEndsSlowerThanItBegan) {
  for (unsigned seed = 1; seed <= 200; ++seed) {
    FakeMachine machine;
    machine.generator.seed(seed);
    machine.noise = 0.05;
    machine.effects = {{"amp=on", {0.4, 1.02}},
                       {"fuse=on", {0.3, 1}},
                       {"zero_grad=none", {0.2, 1.01}},
                       {"matmul=high", {0.1, 1}}};
    const Result result = tuned(machine);
    double factor = 1;
    for (const auto& each : result.kept) factor *= machine.effects.at(each.text()).factor;
    EXPECT_LE(factor, 1.0) << "seed " << seed << ": " << collector::settingsText(result.kept);
  }
}

TEST(WorthTrying, IsWhatIsPricedAboveTheNoiseOrAskedFor) {
  std::vector<Priced> priced{
      {setting("amp=on"), 0.02}, {setting("fuse=on"), 0.2}, {setting("debug=off"), 0.3}};
  priced.push_back({setting("gc=freeze"), 0, 0, 0, false, Asked::ByName});
  const auto got = worthTrying(priced, {}, 0.05);
  ASSERT_THAT(got, SizeIs(3));
  EXPECT_EQ(got[0].setting.text(), "debug=off");
  EXPECT_EQ(got[2].setting.text(), "gc=freeze");
}

TEST(WorthTrying, BeginsWithTheFixOfAFaultThatNothingPrices) {
  std::vector<Priced> priced{{setting("fuse=on"), 0.2}};
  priced.push_back({setting("debug=off"), 0, 0, 0, false, Asked::ByFault});
  EXPECT_EQ(worthTrying(priced, {}, 0.05).front().setting.text(), "debug=off");
  priced.back().predicted = true;
  EXPECT_EQ(worthTrying(priced, {}, 0.05).front().setting.text(), "fuse=on");
}

TEST(WorthTrying, IsNoKnobThatFailedTwice) {
  std::vector<Try> tried(2);
  tried[0].priced.setting = setting("loader.workers=8");
  tried[0].judgement.verdict = Verdict::Slower;
  tried[1].priced.setting = setting("loader.workers=4");
  tried[1].judgement.verdict = Verdict::NoGain;
  const std::vector<Priced> priced{{setting("loader.workers=2"), 0.3}, {setting("amp=on"), 0.1}};
  EXPECT_THAT(worthTrying(priced, tried, 0.01), SizeIs(1));
  tried.pop_back();
  EXPECT_THAT(worthTrying(priced, tried, 0.01), SizeIs(2));
}

std::vector<std::string> textsOf(const std::vector<Candidate>& all) {
  std::vector<std::string> texts;
  for (const Candidate& each : all) texts.push_back(each.setting.text());
  return texts;
}

TEST(Candidates, OfALoaderAreNumbersOfWorkersUpToTheCores) {
  const std::vector<std::string> names{"loader.workers", "loader.prefetch", "loader.persistent"};
  EXPECT_THAT(
      textsOf(candidates({.cores = 6, .workers = 0}, {}, names)),
      ElementsAre("loader.workers=1", "loader.workers=2", "loader.workers=4", "loader.workers=6"));
  const std::vector kept{setting("loader.workers=4")};
  EXPECT_THAT(textsOf(candidates({.cores = 6, .workers = 0, .prefetch = 2}, kept, names)),
              ElementsAre("loader.workers=1", "loader.workers=2", "loader.workers=6",
                          "loader.prefetch=4", "loader.prefetch=8", "loader.persistent=on"));
  EXPECT_THAT(candidates({.cores = 6}, {}, names), IsEmpty()) << "it has no loader";
}

TEST(Candidates, OfAGpuAreNoneWithoutOne) {
  const auto cpu = textsOf(candidates({.cores = 2}, {}, {}));
  for (const std::string name : {"static_graph=on", "autotune=on", "allocator=cached"}) {
    EXPECT_THAT(cpu, Not(testing::Contains(name)));
    EXPECT_THAT(textsOf(candidates({.cores = 2, .onGpu = true}, {}, {})), testing::Contains(name));
  }
}

TEST(Candidates, ThatNothingPricesHaveToBeAskedFor) {
  EXPECT_THAT(textsOf(candidates({.cores = 4}, {}, {})), Not(testing::Contains("matmul=high")));
  EXPECT_THAT(textsOf(candidates({.cores = 4}, {}, std::vector<std::string>{"matmul", "threads"})),
              ElementsAre("threads=4", "threads=2", "matmul=high"));
}

TEST(Page, HasTheTableAndTheLinesOfTheScript) {
  FakeMachine machine;
  machine.effects = {{"loader.workers=4", {0.5, 0.5}}, {"amp=on", {0.3, 1.3}}};
  const Result result = tuned(machine);
  const Session session{{"python", "my train.py"}, 40, 8, 60};
  const std::string text = textOf(session, result);
  EXPECT_THAT(text, HasSubstr("loader.workers=4  50.0 %"));
  EXPECT_THAT(text, HasSubstr("  train.py:7: DataLoader(…, num_workers=4)\n"));
  EXPECT_THAT(text, HasSubstr("lacuna run --set loader.workers=4 -- python 'my train.py'\n"));
  EXPECT_THAT(htmlOf(session, result),
              HasSubstr("<code>train.py:7: DataLoader(…, num_workers=4)</code>"));
  EXPECT_THAT(jsonOf(session, result), HasSubstr("\"kept\": [\"loader.workers=4\"]"));
}

TEST(Page, HasTheLinesOfAProgramOfTheRuntime) {
  FakeMachine machine;
  machine.thing = "rt::DataLoader";
  machine.site = "";
  machine.effects = {{"loader.workers=2", {.predicted = 0.4, .factor = 0.6}},
                     {"optimizer.fused=on", {.predicted = 0.3, .factor = 0.7}}};
  EXPECT_THAT(scriptLines(tuned(machine)),
              ElementsAre("LoaderOptions{.workers = 2}", "optimizer.setFused(true)"));
}

TEST(Page, CallsAnIntervalWiderThanTheStepUnsure) {
  Result result;
  const auto text = [&](double low, double high) {
    result.tries.resize(1);
    result.tries[0].judgement.measured = {
        .share = 0.2, .low = low, .high = high, .pairs = 2, .known = true};
    return textOf({{"a"}, 40, 8, 60}, result);
  };
  EXPECT_THAT(text(-0.3, 0.6), HasSubstr("20.0 % (-30.0 … 60.0)"));
  EXPECT_THAT(text(-0.5, 0.6), HasSubstr("20.0 % (unsure)"));
}

TEST(Page, ShowsWhatAProgramWritesAsText) {
  FakeMachine machine;
  machine.effects = {{"fuse=on", {0.5, 0.5, 1, true, "<script>\x1b[2J"}}};
  const Result result = tuned(machine);
  EXPECT_THAT(htmlOf({{"a<b"}, 40, 8, 60}, result),
              testing::AllOf(HasSubstr("&lt;script&gt;"), HasSubstr("a&lt;b")));
  EXPECT_THAT(textOf({{"a"}, 40, 8, 60}, result), Not(HasSubstr("\x1b")));
  EXPECT_THAT(jsonOf({{"a"}, 40, 8, 60}, result), Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace lacuna::cli::tune
