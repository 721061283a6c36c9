// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/prof/leftovers.h"

#include <gtest/gtest.h>
#include <sys/file.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <optional>

#include "libprof/record/recorded.h"

namespace lacuna::prof {
namespace {

namespace fs = std::filesystem;
using State = Leftover::State;

/// Recordings in shared memory whose makers are gone, or not.
class LeftoversTest : public RecordingTest {
 protected:
  void SetUp() override {
    RecordingTest::SetUp();
    ASSERT_OK(createRecording(recordingDir()));
    segments_ = segmentFolder(recordingDir());
    if (segments_ == recordingDir()) GTEST_SKIP() << "/dev/shm has no room";
  }
  void TearDown() override {
    RecordingTest::TearDown();
    fs::remove_all(segments_);
  }
  static std::optional<Leftover> find(const fs::path& folder) {
    for (const Leftover& leftover : findLeftovers()) {
      if (leftover.folder == folder) return leftover;
    }
    return std::nullopt;
  }
  /// A process that records until it is killed.
  pid_t startRecorder() const {
    int ready[2];
    EXPECT_EQ(pipe(ready), 0);
    const pid_t child = forkChild([&] {
      lacunaAttach(recordingDir().c_str());
      lacunaMark(lacunaName("mark"));
      if (write(ready[1], "r", 1) == 1) pause();
    });
    char word = 0;
    EXPECT_EQ(read(ready[0], &word, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return child;
  }
  static void killAndWait(pid_t child) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  fs::path segments_;
};

TEST_F(LeftoversTest, ARecordingThatCanBeRecoveredIsNamedAndStays) {
  killAndWait(startRecorder());
  const auto found = find(segments_);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->state, State::Recoverable);
  EXPECT_EQ(found->recording, recordingDir());
  EXPECT_GT(found->bytes, 256u << 10);
  EXPECT_FALSE(removeLeftover(*found).ok());
  EXPECT_EQ(recover(recordingDir(), trace())->processes, 1u);
  EXPECT_FALSE(find(segments_).has_value());
}

TEST_F(LeftoversTest, SegmentsOfADeletedRecordingAreAnOrphan) {
  killAndWait(startRecorder());
  fs::remove_all(recordingDir());
  const auto found = find(segments_);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->state, State::Orphan);
  ASSERT_OK(removeLeftover(*found));
  EXPECT_FALSE(fs::exists(segments_));
}

TEST_F(LeftoversTest, SegmentsThatALivingProcessWritesAreNone) {
  const pid_t recorder = startRecorder();
  EXPECT_FALSE(find(segments_).has_value());
  fs::remove_all(recordingDir());
  EXPECT_FALSE(find(segments_).has_value());
  killAndWait(recorder);
  EXPECT_TRUE(find(segments_).has_value());
}

TEST_F(LeftoversTest, SegmentsThatSomebodyDrainsAreNoneWhereverTheRecordingIs) {
  auto drainer = Drainer::create(recordingDir(), trace());
  ASSERT_OK(drainer);
  fs::rename(recordingDir(), home_ / "moved.recording");
  EXPECT_FALSE(find(segments_).has_value());
  fs::rename(home_ / "moved.recording", recordingDir());
  ASSERT_OK(drainer->finish());
}

TEST_F(LeftoversTest, AnOrphanThatHoldsOtherThingsKeepsThem) {
  fs::remove_all(recordingDir());
  std::ofstream(segments_ / "notes.txt") << "mine";
  const auto found = find(segments_);
  ASSERT_TRUE(found.has_value());
  EXPECT_FALSE(removeLeftover(*found).ok());
  EXPECT_TRUE(fs::exists(segments_ / "notes.txt"));
}

TEST_F(LeftoversTest, AFolderOfMeasurementsIsAnOrphanUnlessItIsLocked) {
  std::string self = (fs::temp_directory_path() / (std::string(kSelfPrefix) + "XXXXXX")).string();
  ASSERT_NE(mkdtemp(self.data()), nullptr);
  ASSERT_OK(createRecording(self));
  const fs::path segments = segmentFolder(self);
  {
    const int fd = ::open(self.c_str(), O_RDONLY | O_DIRECTORY);
    ASSERT_EQ(flock(fd, LOCK_EX), 0);
    EXPECT_FALSE(find(self).has_value());
    EXPECT_FALSE(find(segments).has_value());
    ::close(fd);
  }
  for (const fs::path& folder : {segments, fs::path(self)}) {
    const auto found = find(folder);
    ASSERT_TRUE(found.has_value()) << folder;
    ASSERT_OK(removeLeftover(*found));
    EXPECT_FALSE(fs::exists(folder));
  }
}

}  // namespace
}  // namespace lacuna::prof
