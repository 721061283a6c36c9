// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/collector/trial.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
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

}  // namespace
}  // namespace lacuna::collector
