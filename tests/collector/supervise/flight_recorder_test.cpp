// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "supervise/flight_recorder.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "lacuna/prof/reader.h"

namespace lacuna::collector {
namespace {

namespace fs = std::filesystem;

/// A ring that holds nothing, to be written into a folder that may go away.
class FlightRecorderTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(traces());
    prof::RecordingOptions how;
    how.flightRecorder = true;
    ASSERT_TRUE(prof::createRecording(folder_ / "recording", how).ok());
    flight_.emplace(folder_ / "recording", traces() / "out.lcn", options_);
  }
  void TearDown() override {
    flight_.reset();
    EXPECT_TRUE(prof::removeRecording(folder_ / "recording").ok());
    fs::remove_all(folder_);
  }
  [[nodiscard]] fs::path traces() const { return folder_ / "traces"; }
  void dumpAndWait(const std::string& reason) {
    const std::size_t before = flight_->dumpCount();
    flight_->dump(reason);
    while (flight_->dumpCount() == before) usleep(1000);
  }

  fs::path folder_ = fs::temp_directory_path() / ("lacuna-flight-test-" + std::to_string(getpid()));
  RunOptions options_;
  std::optional<FlightRecorder> flight_;
};

TEST_F(FlightRecorderTest, WhatWasWrittenIsNamedAlsoWhereALaterDumpFails) {
  dumpAndWait("first");
  fs::rename(traces(), folder_ / "elsewhere");
  flight_->dump("second");
  const auto dumps = flight_->finish();
  ASSERT_EQ(dumps.size(), 1u);
  EXPECT_EQ(dumps[0].file, traces() / "out.dump-1.lcn");
  EXPECT_EQ(dumps[0].reason, "first");
  ASSERT_FALSE(flight_->failure().ok());
  EXPECT_NE(flight_->failure().error().message.find("out.dump-2.lcn"), std::string::npos);
  EXPECT_TRUE(prof::Reader::open(folder_ / "elsewhere/out.dump-1.lcn").ok());
}

TEST_F(FlightRecorderTest, WithoutAFailureThereIsNone) {
  dumpAndWait("first");
  dumpAndWait("second");
  EXPECT_EQ(flight_->finish().size(), 2u);
  EXPECT_TRUE(flight_->failure().ok());
}

}  // namespace
}  // namespace lacuna::collector
