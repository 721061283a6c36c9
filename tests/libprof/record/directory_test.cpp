// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "record/directory.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <optional>
#include <thread>
#include <vector>

#include "libprof/record/recorded.h"

namespace lacuna::prof::recording {
namespace {

namespace fs = std::filesystem;

class RecordingFolderTest : public RecordingTest {
 protected:
  void SetUp() override {
    RecordingTest::SetUp();
    fs::create_directories(home_ / "shared");
    fs::create_directories(home_ / "recording");
    fs::create_directory_symlink(home_ / "shared", home_ / "recording" / kSharedLink);
    folder_.emplace(home_ / "recording");
  }
  void makeOld() {
    const auto longAgo = fs::file_time_type::clock::now() - std::chrono::hours(1);
    fs::last_write_time(home_ / "shared", longAgo);
    fs::last_write_time(home_ / "recording", longAgo);
  }
  static void make(const fs::path& path) { std::ofstream(path) << "x"; }

  std::optional<RecordingFolder> folder_;
};

TEST_F(RecordingFolderTest, IsListedOnceWhileNothingComes) {
  makeOld();
  EXPECT_TRUE(folder_->mayHaveChanged());
  folder_->noteListing();
  EXPECT_FALSE(folder_->mayHaveChanged());
}

TEST_F(RecordingFolderTest, IsListedAgainWhenAFileComesToEitherFolder) {
  for (const char* folder : {"shared", "recording"}) {
    makeOld();
    folder_->noteListing();
    make(home_ / folder / "new");
    EXPECT_TRUE(folder_->mayHaveChanged()) << folder;
  }
}

TEST_F(RecordingFolderTest, MissesNoFileThatComesRightAfterAListing) {
  for (int i = 0; i < 500; ++i) {
    make(home_ / "shared" / std::to_string(2 * i));
    folder_->noteListing();
    make(home_ / "shared" / std::to_string(2 * i + 1));
    ASSERT_TRUE(folder_->mayHaveChanged()) << i;
  }
}

TEST_F(RecordingFolderTest, IsListedWhereAFolderIsYoungerThanTheClock) {
  fs::last_write_time(home_ / "shared", fs::file_time_type::clock::now() + std::chrono::hours(1));
  folder_->noteListing();
  EXPECT_TRUE(folder_->mayHaveChanged());
}

using CreateRecordingTest = RecordingTest;

TEST_F(CreateRecordingTest, ASecondOneFailsAndLeavesTheFirstIntact) {
  ASSERT_OK(createRecording(recordingDir()));
  const fs::path shared = segmentFolder(recordingDir());
  EXPECT_FALSE(createRecording(recordingDir()).ok());
  EXPECT_EQ(segmentFolder(recordingDir()), shared);
  EXPECT_TRUE(fs::is_directory(shared));
  EXPECT_TRUE(readSettings(recordingDir()).ok());
}

TEST_F(CreateRecordingTest, OfManyAtOnceOneSucceeds) {
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> won = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] { won += createRecording(recordingDir()).ok() ? 1 : 0; });
    }
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(won, 1) << round;
    ASSERT_TRUE(fs::is_directory(segmentFolder(recordingDir())));
    ASSERT_OK(removeRecording(recordingDir()));
  }
}

TEST_F(CreateRecordingTest, AFailureLeavesWhatWasThere) {
  fs::create_directories(recordingDir() / "mine");
  EXPECT_FALSE(createRecording(recordingDir()).ok());
  EXPECT_TRUE(fs::is_empty(recordingDir() / "mine"));
  EXPECT_EQ(std::distance(fs::directory_iterator(recordingDir()), fs::directory_iterator()), 1);
  fs::remove_all(recordingDir());
}

TEST_F(CreateRecordingTest, AnEmptyFolderWillDo) {
  fs::create_directories(recordingDir());
  ASSERT_OK(createRecording(recordingDir()));
}

TEST_F(CreateRecordingTest, OneOfAnOlderVersionIsNamedAsThatAlsoWhereItsSettingsAreShorter) {
  RecordingOptions options;
  options.sharedMemory = false;
  ASSERT_OK(createRecording(recordingDir(), options));
  const fs::path file = recordingDir() / kSettingsFile;
  std::fstream(file, std::ios::in | std::ios::out | std::ios::binary).seekp(8).put('\x05');
  fs::resize_file(file, 32);
  const auto settings = readSettings(recordingDir());
  ASSERT_FALSE(settings.ok());
  EXPECT_NE(settings.error().message.find("a recording of version 5"), std::string::npos)
      << settings.error().message;
  fs::remove_all(recordingDir());
}

using DrainerTest = RecordingTest;

TEST_F(DrainerTest, OneThatCannotBeginLeavesTheTraceThatIsThere) {
  ASSERT_OK(createRecording(recordingDir()));
  std::ofstream(trace()) << "precious";
  const fs::path obstacle = outputNotePath(recordingDir()).string() + ".tmp";
  fs::create_directory(obstacle);
  EXPECT_FALSE(Drainer::create(recordingDir(), trace()).ok());
  const auto kept = readFile(trace());
  ASSERT_OK(kept);
  EXPECT_EQ(*kept, "precious");
  fs::remove(obstacle);
}

TEST_F(DrainerTest, AStateThatCouldNotBeSavedOnceIsNoFailureAtTheEnd) {
  ASSERT_OK(createRecording(recordingDir()));
  DrainOptions options;
  options.flushEvery = std::chrono::milliseconds(0);
  auto drainer = Drainer::create(recordingDir(), trace(), options);
  ASSERT_OK(drainer);
  const std::uint64_t empty = drainer->stats().fileBytes;
  const fs::path obstacle = checkpointPath(recordingDir()).string() + ".tmp";
  fs::create_directory(obstacle);
  drainer->start();
  // The state is to be saved in the same pass, after what was read.
  while (drainer->stats().fileBytes == empty) std::this_thread::yield();
  fs::remove(obstacle);
  ASSERT_OK(drainer->finish());
  Trace written(trace());
  int warnings = 0;
  for (const LogLine& line : written.rows<LogLine>()) {
    warnings += written.text(line.text).find("could not be saved") != std::string::npos ? 1 : 0;
  }
  EXPECT_EQ(warnings, 1);
}

TEST_F(DrainerTest, AStateThatCannotBeSavedIsNotTriedWithEveryPass) {
  ASSERT_OK(createRecording(recordingDir()));
  DrainOptions options;
  options.flushEvery = std::chrono::milliseconds(0);
  auto drainer = Drainer::create(recordingDir(), trace(), options);
  ASSERT_OK(drainer);
  const fs::path obstacle = checkpointPath(recordingDir()).string() + ".tmp";
  fs::create_directory(obstacle);
  constexpr int kPasses = 1000;
  int failed = 0;
  for (int i = 0; i < kPasses; ++i) failed += drainer->drain().ok() ? 0 : 1;
  EXPECT_GT(failed, 0);
  EXPECT_LT(failed, kPasses);
  fs::remove(obstacle);
}

/// With shared memory, and where there is none.
class DeletedFolderTest : public RecordingTest, public testing::WithParamInterface<bool> {
 protected:
  void makeRecording() {
    RecordingOptions options;
    options.sharedMemory = GetParam();
    ASSERT_OK(createRecording(recordingDir(), options));
  }
  /// Somebody deletes the recording, and another one is made in its place.
  void replaceRecording() {
    fs::remove_all(recordingDir());
    makeRecording();
  }
  void markInTheNext() {
    EXPECT_EQ(inChild([&] {
                lacunaAttach(recordingDir().c_str());
                lacunaMark(lacunaName("of the next"));
              }),
              0);
  }
};

TEST_P(DeletedFolderTest, ADrainerLeavesTheNextRecordingThereAlone) {
  makeRecording();
  const fs::path segments = segmentFolder(recordingDir());
  if (GetParam() && segments == recordingDir()) GTEST_SKIP() << "/dev/shm has no room";
  auto drainer = Drainer::create(recordingDir(), trace());
  ASSERT_OK(drainer);
  replaceRecording();
  markInTheNext();
  ASSERT_OK(drainer->flush());
  EXPECT_FALSE(fs::exists(checkpointPath(recordingDir())));
  EXPECT_FALSE(drainer->finish().ok());
  if (GetParam()) {
    EXPECT_FALSE(fs::exists(segments));
  }
  EXPECT_TRUE(Trace(trace()).rows<Mark>().empty());
  ASSERT_OK(recover(recordingDir(), home_ / "next.lcn"));
  EXPECT_EQ(Trace(home_ / "next.lcn").rows<Mark>().size(), 1u);
}

TEST_P(DeletedFolderTest, AFlightRecorderLeavesTheNextRecordingThereAlone) {
  makeRecording();
  const fs::path segments = segmentFolder(recordingDir());
  FlightTrimmer trimmer(recordingDir());
  SnapshotOptions options;
  options.key = recordingKey(recordingDir());
  ASSERT_NE(options.key, 0u);
  replaceRecording();
  markInTheNext();
  markInTheNext();
  EXPECT_FALSE(snapshot(recordingDir(), trace(), options).ok());
  EXPECT_FALSE(fs::exists(trace()));
  EXPECT_EQ(trimmer.trim(0), 0u);
  EXPECT_FALSE(removeRecording(recordingDir(), segments, options.key).ok());
  ASSERT_OK(recover(recordingDir(), home_ / "next.lcn"));
  EXPECT_EQ(Trace(home_ / "next.lcn").rows<Mark>().size(), 2u);
}

INSTANTIATE_TEST_SUITE_P(SharedMemory, DeletedFolderTest, testing::Bool());

using FailureNoteTest = RecordingTest;

TEST_F(FailureNoteTest, IsReadOnceItIsComplete) {
  ASSERT_OK(createRecording(recordingDir()));
  auto drainer = Drainer::create(recordingDir(), trace());
  ASSERT_OK(drainer);
  std::ofstream note(recordingDir() / "7.failed");
  for (const char* part : {"", "process 7 could not", " record\n", ""}) {
    note << part << std::flush;
    ASSERT_OK(drainer->flush());
  }
  ASSERT_OK(drainer->finish());
  Trace written(trace());
  std::vector<std::string> errors;
  for (const LogLine& line : written.rows<LogLine>()) {
    if (line.level == LogLevel::Error) errors.push_back(written.text(line.text));
  }
  EXPECT_EQ(errors, std::vector<std::string>{"process 7 could not record\n"});
}

}  // namespace
}  // namespace lacuna::prof::recording
