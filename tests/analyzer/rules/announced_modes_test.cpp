// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/findings.h"
#include "lacuna/analyzer/store.h"
#include "support/synthetic_run.h"

namespace lacuna::analyzer {
namespace {

/// The finding in a run that reports a knob and waits for the device each step.
std::string titleOf(FindingId id, const test::RunPlan& plan) {
  const auto analysis = analyse(test::makeRun(plan));
  EXPECT_TRUE(analysis);
  const auto found = std::ranges::find(analysis->of<Findings>(), id, &Finding::id);
  return found == analysis->of<Findings>().end() ? "none" : found->title;
}

TEST(AnnouncedModes, AModeThatIsNamedIsTheFinding) {
  const auto title = [](const char* value) {
    return titleOf(FindingId::DebugMode,
                   {.syncEveryOperators = 8, .knob = "debug", .knobValue = value});
  };
  EXPECT_THAT(title("anomaly detection"),
              testing::StartsWith("a debug mode is switched on (anomaly detection)"));
  EXPECT_THAT(title("blocking launches"),
              testing::StartsWith("a debug mode is switched on (blocking launches)"));
  EXPECT_THAT(title("on"), testing::MatchesRegex("a debug mode is switched on: .*"));
  for (const char* value : {"off", "0", "false", "no"}) EXPECT_EQ(title(value), "none") << value;
}

TEST(AnnouncedModes, TheSearchIsOfferedWhereItIsAnnouncedAsOff) {
  const auto title = [](const char* value) {
    return titleOf(FindingId::Autotune, {.kernelName = "implicit_convolve_sgemm",
                                         .syncEachStep = true,
                                         .knob = "autotune",
                                         .knobValue = value});
  };
  EXPECT_NE(title("off"), "none");
  EXPECT_EQ(title("on"), "none");
}

TEST(AnnouncedModes, TheLastAnnouncementCounts) {
  StoreBuilder builder;
  builder.append(prof::Thread{.id = prof::ThreadId(1)});
  builder.append(prof::Range{
      .startNs = 1, .durNs = 5, .thread = prof::ThreadId(1), .name = builder.intern("step")});
  for (const char* value : {"off", "anomaly detection", ""}) {
    builder.append(
        prof::Environment{.key = builder.intern("knob.debug"), .value = builder.intern(value)});
  }
  const auto analysis = analyse(builder.build());
  ASSERT_TRUE(analysis);
  EXPECT_THAT(analysis->of<ProgramFacts>().knobs,
              testing::ElementsAre(testing::Pair("debug", "anomaly detection")));
}

}  // namespace
}  // namespace lacuna::analyzer
