// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/collector/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "support/temp_dir.h"

namespace lacuna::collector {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Kind = SettingOutcome::Kind;

const Setting kWorkers{"loader.workers", "4"};

SettingOutcome loader(Kind kind, std::uint64_t count, const std::string& site,
                      const std::string& about = "0") {
  SettingOutcome outcome{kind, kWorkers.text(), count, "DataLoader", "", site, ""};
  (kind == Kind::Refused ? outcome.why : outcome.was) = kind == Kind::Same ? "" : about;
  return outcome;
}

std::string outcomeText(std::vector<SettingOutcome> outcomes) {
  return describe(kWorkers, outcomes).text;
}

TEST(Settings, AreAListForTheHook) {
  const Setting settings[]{kWorkers, {"amp", "on"}};
  EXPECT_EQ(settingsText(settings), "loader.workers=4,amp=on");
}

TEST(Settings, ShowTheirPlacesAndTheValuesBefore) {
  EXPECT_EQ(outcomeText({loader(Kind::Applied, 1, "train.py:57")}),
            "loader.workers=4 (was 0) on 1 DataLoader (train.py:57)");
  EXPECT_EQ(outcomeText({loader(Kind::Applied, 1, "a.py:1"), loader(Kind::Applied, 2, "b.py:2")}),
            "loader.workers=4 (was 0) on 3 DataLoaders (a.py:1, b.py:2)");
}

TEST(Settings, OfManyPlacesNameSome) {
  std::vector<SettingOutcome> outcomes;
  for (int i = 1; i <= 5; ++i)
    outcomes.push_back(loader(Kind::Applied, 1, "a.py:" + std::to_string(i)));
  EXPECT_THAT(outcomeText(outcomes), HasSubstr("(a.py:1, a.py:2, a.py:3 and 2 more)"));
}

TEST(Settings, ReportSettingsLeftOutAndWhy) {
  const auto line = describe(
      kWorkers, std::vector{loader(Kind::Applied, 1, "a.py:1"), loader(Kind::Same, 1, "b.py:1"),
                            loader(Kind::Refused, 2, "c.py:1", "its data cannot be divided")});
  EXPECT_EQ(line.text,
            "loader.workers=4 (was 0) on 1 DataLoader (a.py:1); was so already on 1 DataLoader "
            "(b.py:1); left out for 2 DataLoaders (c.py:1): its data cannot be divided");
  EXPECT_FALSE(line.failed);
}

TEST(Settings, FailWhereTheyAreAppliedNowhere) {
  const auto refused = describe(kWorkers, std::vector{loader(Kind::Refused, 1, "c.py:1", "no")});
  EXPECT_TRUE(refused.failed);
  EXPECT_EQ(refused.text,
            "loader.workers=4 was not applied: left out for 1 DataLoader (c.py:1): no");
  const auto nothing = describe({"amp", "on"}, std::vector{loader(Kind::Applied, 1, "a.py:1")});
  EXPECT_TRUE(nothing.failed);
  EXPECT_EQ(
      nothing.text,
      "amp=on had no effect: no model was called in training mode with gradients switched on");
}

TEST(Settings, ThatWereSoAlreadyDoNotFail) {
  EXPECT_FALSE(describe(kWorkers, std::vector{loader(Kind::Same, 1, "a.py:1")}).failed);
}

class Outcomes : public testing::Test {
 protected:
  std::vector<SettingOutcome> read(const std::string& content) {
    const auto file = folder_.path() / "set";
    std::ofstream(file, std::ios::binary) << content;
    return readOutcomes(file);
  }

  test::TempDir folder_;
};

TEST_F(Outcomes, AreTheLastCountOfEachLine) {
  const auto outcomes = read(
      "7\tloader.workers=4\tapplied\t1\tDataLoader\t0\ta.py:1\t\n"
      "7\tloader.workers=4\tapplied\t2\tDataLoader\t0\ta.py:1\t\n"
      "8\tloader.workers=4\tapplied\t1\tDataLoader\t0\ta.py:1\t\n");
  ASSERT_THAT(outcomes, SizeIs(2));
  EXPECT_EQ(describe(kWorkers, outcomes).text,
            "loader.workers=4 (was 0) on 3 DataLoaders (a.py:1)");
}

TEST_F(Outcomes, LeaveOutWhatNoHookWrites) {
  EXPECT_THAT(
      read("\n\t\t\t\nnothing\n7\tx=1\tapplied\t-1\ta\tb\tc\td\n7\tx=1\tgrown\t1\ta\tb\tc\td\n"
           "7\tx=1\tapplied\t1\ta\tb\tc\td\te\n7\tx=1\tapplied\t99999999999\ta\tb\tc\td\n7\tx="
           "1\tapplied\t1\t" +
           std::string(10'000, 'a') + "\tb\tc\td\n"),
      IsEmpty());
  EXPECT_THAT(readOutcomes(folder_.path() / "nowhere"), IsEmpty());
}

}  // namespace
}  // namespace lacuna::collector
