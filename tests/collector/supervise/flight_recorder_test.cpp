// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "supervise/flight_recorder.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <set>
#include <string>
#include <thread>

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
  void dumpAndWait(const std::string& reason) { dumpAndWait(*flight_, reason); }
  static void dumpAndWait(FlightRecorder& recorder, const std::string& reason) {
    const std::size_t before = recorder.dumpCount();
    recorder.dump(reason);
    for (int i = 0; i < 10'000 && recorder.dumpCount() == before; ++i) usleep(1000);
  }
  /// As the trace has it.
  static std::string reasonOf(const fs::path& dump) {
    const auto file = prof::Reader::open(dump);
    if (!file.ok()) return file.error().message;
    const auto keys = file->column<&prof::Environment::key>();
    const auto values = file->column<&prof::Environment::value>();
    for (std::size_t i = 0; keys.ok() && values.ok() && i < keys->size(); ++i) {
      if (file->text((*keys)[i]) == "dump.reason") return std::string(file->text((*values)[i]));
    }
    return "none";
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

TEST_F(FlightRecorderTest, TwoThatWriteBesideOneAnotherReplaceNoDump) {
  constexpr std::size_t kDumps = 20;
  prof::RecordingOptions how;
  how.flightRecorder = true;
  ASSERT_TRUE(prof::createRecording(folder_ / "other", how).ok());
  FlightRecorder other(folder_ / "other", traces() / "out.lcn", options_);
  std::thread beside([&] {
    for (std::size_t i = 0; i < kDumps; ++i) dumpAndWait(other, "other");
  });
  for (std::size_t i = 0; i < kDumps; ++i) dumpAndWait("own");
  beside.join();
  std::set<fs::path> files;
  for (FlightRecorder* recorder : {&*flight_, &other}) {
    EXPECT_EQ(recorder->finish().size(), kDumps);
    EXPECT_TRUE(recorder->failure().ok());
    for (const auto& dump : recorder->finish()) {
      EXPECT_TRUE(files.insert(dump.file).second) << dump.file << " was given twice";
      EXPECT_EQ(reasonOf(dump.file), dump.reason);
    }
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(traces()), {}), 2 * kDumps)
      << "nothing else is left";
  EXPECT_TRUE(prof::removeRecording(folder_ / "other").ok());
}

TEST_F(FlightRecorderTest, WithoutAFailureThereIsNone) {
  dumpAndWait("first");
  dumpAndWait("second");
  EXPECT_EQ(flight_->finish().size(), 2u);
  EXPECT_TRUE(flight_->failure().ok());
}

}  // namespace
}  // namespace lacuna::collector
