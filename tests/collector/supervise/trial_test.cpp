// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/collector/trial.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <csignal>
#include <fstream>
#include <string>

#include "support/temp_dir.h"

namespace lacuna::collector {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class Times : public testing::Test {
 protected:
  Trial read(const std::string& content) {
    std::ofstream(folder_ / "times", std::ios::binary) << content;
    Trial trial;
    readTimes(folder_ / "times", trial);
    return trial;
  }

  test::TempDir folder_;
};

TEST_F(Times, AreThoseOfTheProcessWithTheMostSteps) {
  const Trial trial = read(
      "7 step 0 1 10\n"
      "8 step 0 1 11\n8 step 1 12 20\n8 loss 0 2.5\n8 loss 1 nan\n8 memory 4096\n8 end steps\n");
  EXPECT_THAT(trial.stepEndsNs, ElementsAre(11, 20));
  EXPECT_EQ(trial.losses.at(0), 2.5);
  EXPECT_TRUE(std::isnan(trial.losses.at(1)));
  EXPECT_EQ(trial.deviceBytes, 4096u);
}

TEST_F(Times, LeaveOutWhatNoHookWrites) {
  const Trial trial = read(
      "\n7\n7 step\n7 step 0 1 x\n7 step 0 1 10\n7 step 1 1 9\n7 loss a b\n7 memory -1\n7 step 1 2 "
      "99999999999999999999\n");
  EXPECT_THAT(trial.stepEndsNs, ElementsAre(10)) << "time does not go back";
  EXPECT_THAT(trial.losses, IsEmpty());
  EXPECT_EQ(trial.deviceBytes, 0u);
}

class Trials : public testing::Test {
 protected:
  /// A shell script that writes what the hook would.
  Trial run(const std::string& script, std::uint32_t steps = 0) {
    options_.command = {"/bin/sh", "-c", script};
    options_.folder = folder_.path();
    options_.steps = steps;
    options_.graceNs = 500'000'000;
    auto trial = runTrial(options_);
    EXPECT_TRUE(trial.ok());
    return trial.ok() ? *std::move(trial) : Trial();
  }

  TrialOptions options_;
  test::TempDir folder_;
};

constexpr auto kTwoSteps =
    "echo \"1 step 0 1 10\n1 step 1 11 20\n1 end steps\" > $LACUNA_STEP_TIMES; ";

TEST_F(Trials, HaveTheStepsAndTheOutput) {
  const Trial trial =
      run(kTwoSteps + std::string("echo output; echo $LACUNA_STEPS $LACUNA_SET >&2"), 2);
  EXPECT_EQ(trial.end, Trial::End::Steps);
  EXPECT_THAT(trial.stepEndsNs, ElementsAre(10, 20));
  EXPECT_EQ(trial.lastOutput, "output\n2\n");
  EXPECT_GT(trial.hostBytes, 0u);
}

TEST_F(Trials, GiveTheProgramItsSettings) {
  options_.settings = {{"amp", "on"}, {"threads", "2"}};
  EXPECT_EQ(run("echo $LACUNA_SET; [ -d ${PYTHONPATH%%:*} ] && echo hooked").lastOutput,
            "amp=on,threads=2\nhooked\n");
}

TEST_F(Trials, EndAsTheProgramDoes) {
  EXPECT_EQ(run("exit 0", 2).end, Trial::End::Program);
  const Trial failed = run("echo oh no; exit 3", 2);
  EXPECT_EQ(failed.end, Trial::End::Failed);
  EXPECT_EQ(failed.exitCode, 3);
  EXPECT_EQ(run("kill -9 $$").exitSignal, 9);
}

TEST_F(Trials, OfTheStepsThatWereWantedAreDoneHoweverTheProgramEnds) {
  EXPECT_EQ(run(kTwoSteps + std::string("exit 1"), 2).end, Trial::End::Steps);
  EXPECT_EQ(run(kTwoSteps + std::string("trap '' TERM; sleep 60 & wait; sleep 60"), 2).end,
            Trial::End::Steps)
      << "it does not end by itself";
}

TEST_F(Trials, LeaveNothingBehind) {
  const Trial trial = run("sleep 61.5 & echo $!");
  const int left = std::stoi(trial.lastOutput);
  EXPECT_NE(kill(left, 0), 0);
}

TEST_F(Trials, AreEndedAfterTheirTimeOrByWish) {
  options_.limitNs = 200'000'000;
  EXPECT_EQ(run("sleep 60").end, Trial::End::Limit);
  options_.limitNs = 0;
  options_.goesOn = [] { return false; };
  EXPECT_EQ(run("trap '' TERM; sleep 60; sleep 60").end, Trial::End::Stopped);
}

TEST_F(Trials, OfNoProgramFail) {
  options_.command = {"no-such-program"};
  options_.folder = folder_.path();
  const auto trial = runTrial(options_);
  ASSERT_FALSE(trial.ok());
  EXPECT_NE(trial.error().message.find("no-such-program"), std::string::npos);
}

}  // namespace
}  // namespace lacuna::collector
