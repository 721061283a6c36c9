// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#include <fstream>

#include "libprof/record/recorded.h"
#include "record/directory.h"

namespace lacuna::prof::recording {
namespace {

namespace fs = std::filesystem;

/// Recordings that somebody else has prepared, and folders that must outlive them.
class RemovalTest : public RecordingTest {
 protected:
  void SetUp() override {
    RecordingTest::SetUp();
    fs::create_directories(victim());
    make(victim() / "precious");
    make(victim() / "1-0.lcr");
  }
  void TearDown() override {
    // Files that a test wants to stay, stay.
    (void)removeRecording(recordingDir());
    fs::remove_all(recordingDir());
    RecordingTest::TearDown();
  }
  [[nodiscard]] fs::path victim() const { return home_ / "victim"; }
  static void make(const fs::path& path) { std::ofstream(path) << "x"; }
  void makeRecording(bool shared = false) {
    RecordingOptions options;
    options.sharedMemory = shared;
    ASSERT_OK(createRecording(recordingDir(), options));
  }
  void linkSharedMemoryTo(const fs::path& target) {
    fs::remove(recordingDir() / kSharedLink);
    fs::create_directory_symlink(target, recordingDir() / kSharedLink);
  }
  /// A path that begins as those in shared memory do, and leads to the victim.
  [[nodiscard]] fs::path aroundTo(const fs::path& target) const {
    return "/dev/shm/lacuna-a/../../.." + target.string();
  }
  void expectVictimIsComplete() const {
    EXPECT_TRUE(fs::exists(victim() / "precious"));
    EXPECT_TRUE(fs::exists(victim() / "1-0.lcr"));
  }
  static mode_t modeOf(const fs::path& path) {
    struct stat there {};
    return lstat(path.c_str(), &there) == 0 ? there.st_mode & 07777 : 0;
  }
};

TEST_F(RemovalTest, DeletesNoFolderThatALinkReachesThroughAnother) {
  makeRecording();
  const fs::path stepping = "/dev/shm/lacuna-a";
  const bool made = fs::create_directory(stepping);
  linkSharedMemoryTo(aroundTo(victim()));
  ASSERT_TRUE(fs::exists(recordingDir() / kSharedLink / "precious")) << "the link leads there";
  const Status removed = removeRecording(recordingDir());
  if (made) fs::remove(stepping);
  expectVictimIsComplete();
  ASSERT_FALSE(removed.ok());
  EXPECT_NE(removed.error().message.find("stays"), std::string::npos) << removed.error().message;
  EXPECT_FALSE(fs::exists(recordingDir()));
}

TEST_F(RemovalTest, RecoveryRefusesALinkThatLeadsElsewhere) {
  makeRecording();
  linkSharedMemoryTo(victim());
  const auto recovered = recover(recordingDir(), trace());
  ASSERT_FALSE(recovered.ok());
  EXPECT_NE(recovered.error().message.find("delete the link"), std::string::npos)
      << recovered.error().message;
  EXPECT_FALSE(fs::exists(trace()));
  fs::remove(recordingDir() / kSharedLink);
  ASSERT_OK(recover(recordingDir(), trace()));
  expectVictimIsComplete();
}

TEST_F(RemovalTest, DeletesNoSegmentsOfAnotherRecording) {
  const fs::path other = home_ / "other.recording";
  ASSERT_OK(createRecording(other));
  const fs::path segments = segmentFolder(other);
  if (segments == other) GTEST_SKIP() << "/dev/shm has no room";
  makeRecording();
  linkSharedMemoryTo(segments);
  EXPECT_EQ(segmentFolder(recordingDir()), recordingDir());
  EXPECT_FALSE(removeRecording(recordingDir()).ok());
  EXPECT_TRUE(fs::is_directory(segments));
  EXPECT_FALSE(removeRecording(home_ / "gone", segments, 7).ok()) << "nor by a name that was noted";
  EXPECT_TRUE(fs::is_directory(segments));
  ASSERT_OK(removeRecording(other));
  EXPECT_FALSE(fs::exists(segments));
}

TEST_F(RemovalTest, LeavesWhatNoRecordingMakesAndNamesIt) {
  makeRecording(true);
  const fs::path segments = segmentFolder(recordingDir());
  make(recordingDir() / "notes.txt");
  fs::create_directories(recordingDir() / "deep" / "er");
  fs::create_symlink(victim() / "precious", recordingDir() / "checkpoint");
  make(recordingDir() / "7.failed");
  const Status removed = removeRecording(recordingDir());
  ASSERT_FALSE(removed.ok());
  for (const char* name : {"notes.txt", "deep", "checkpoint"}) {
    EXPECT_TRUE(fs::exists(recordingDir() / name)) << name;
    EXPECT_NE(removed.error().message.find(name), std::string::npos) << removed.error().message;
  }
  EXPECT_FALSE(fs::exists(recordingDir() / "7.failed"));
  EXPECT_FALSE(readSettings(recordingDir()).ok());
  EXPECT_TRUE(segments == recordingDir() || !fs::exists(segments));
  expectVictimIsComplete();
}

/// The names of what is deleted in some folders, in order.
class Deletions {
 public:
  explicit Deletions(const std::vector<fs::path>& folders) : fd_(inotify_init1(IN_NONBLOCK)) {
    for (const fs::path& folder : folders)
      EXPECT_GE(inotify_add_watch(fd_, folder.c_str(), IN_DELETE), 0);
  }
  Deletions(const Deletions&) = delete;
  Deletions& operator=(const Deletions&) = delete;
  ~Deletions() { close(fd_); }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    alignas(inotify_event) char buffer[1 << 14];
    const ssize_t got = read(fd_, buffer, sizeof buffer);
    for (ssize_t at = 0; at < got;) {
      const auto* event = reinterpret_cast<const inotify_event*>(buffer + at);
      if (event->len > 0) names.emplace_back(event->name);
      at += static_cast<ssize_t>(sizeof *event + event->len);
    }
    return names;
  }

 private:
  int fd_;
};

TEST_F(RemovalTest, SettingsGoFirstAndTheNoteOfTheOwnerGoesLast) {
  makeRecording(true);
  const fs::path segments = segmentFolder(recordingDir());
  if (segments == recordingDir()) GTEST_SKIP() << "/dev/shm has no room";
  for (const fs::path& file :
       {segments / "1-0.lcr", segments / "stacks-1", recordingDir() / kSnapshotDraft})
    make(file);
  const Deletions deletions({recordingDir(), segments});
  ASSERT_OK(removeRecording(recordingDir()));
  const std::vector<std::string> wanted = {kSettingsFile, "1-0.lcr",   "stacks-1",
                                           kOwnerFile,    kSharedLink, kSnapshotDraft};
  EXPECT_EQ(deletions.names(), wanted);
}

TEST_F(RemovalTest, WhatAnInterruptedRemovalLeavesIsNoRecordingAndItsTraceIsNamed) {
  makeRecording();
  auto drainer = Drainer::create(recordingDir(), trace());
  ASSERT_OK(drainer);
  ASSERT_OK(drainer->flush());
  const fs::path rest = home_ / "rest.recording";
  fs::copy(recordingDir(), rest);
  fs::remove(rest / kSettingsFile);
  const auto early = recover(rest, home_ / "recovered.lcn");
  ASSERT_FALSE(early.ok());
  EXPECT_NE(early.error().message.find("not a recording"), std::string::npos)
      << early.error().message;
  ASSERT_OK(drainer->finish());
  const auto late = recover(rest, home_ / "recovered.lcn");
  ASSERT_FALSE(late.ok());
  EXPECT_NE(late.error().message.find("its trace is whole: " + trace().string()), std::string::npos)
      << late.error().message;
  EXPECT_FALSE(fs::exists(home_ / "recovered.lcn"));
}

TEST_F(RemovalTest, ACompleteTraceIsNoFailureWhereOthersPutFilesBesideIt) {
  makeRecording();
  auto drainer = Drainer::create(recordingDir(), trace());
  ASSERT_OK(drainer);
  make(recordingDir() / "notes.txt");
  ASSERT_OK(drainer->finish());
  EXPECT_NE(drainer->stats().left.find("notes.txt"), std::string::npos);
  EXPECT_TRUE(fs::exists(recordingDir() / "notes.txt"));
}

TEST_F(RemovalTest, FoldersAndFilesAreForTheirOwnerAlone) {
  const mode_t before = umask(0);
  makeRecording(true);
  auto drainer = Drainer::create(recordingDir(), trace());
  ASSERT_OK(drainer);
  ASSERT_EQ(lacunaAttach(recordingDir().c_str()), 0);
  ASSERT_OK(drainer->flush());
  umask(before);
  const fs::path segments = segmentFolder(recordingDir());
  for (const fs::path& folder : {recordingDir(), segments}) {
    EXPECT_EQ(modeOf(folder), 0700u) << folder;
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (entry.is_symlink()) continue;
      EXPECT_EQ(modeOf(entry.path()), 0600u) << entry.path();
    }
  }
  lacunaDetach();
  ASSERT_OK(drainer->finish());
}

TEST_F(RemovalTest, NoRecordingIsMadeWhereOthersMayWrite) {
  fs::create_directories(recordingDir());
  fs::permissions(recordingDir(), fs::perms::all);
  const Status made = createRecording(recordingDir());
  ASSERT_FALSE(made.ok());
  EXPECT_NE(made.error().message.find("others may write"), std::string::npos)
      << made.error().message;
  EXPECT_TRUE(fs::is_empty(recordingDir()));
}

TEST_F(RemovalTest, NoRecordingIsMadeBehindALink) {
  fs::create_directories(home_ / "empty");
  fs::create_directory_symlink(home_ / "empty", recordingDir());
  EXPECT_FALSE(createRecording(recordingDir()).ok());
  EXPECT_TRUE(fs::is_empty(home_ / "empty"));
  fs::remove(recordingDir());
}

TEST_F(RemovalTest, AStateIsNotWrittenThroughALink) {
  makeRecording();
  const fs::path draft = checkpointPath(recordingDir()).string() + ".tmp";
  fs::create_symlink(victim() / "precious", draft);
  ASSERT_OK(replaceFile(checkpointPath(recordingDir()), "state"));
  const auto kept = readFile(victim() / "precious");
  ASSERT_OK(kept);
  EXPECT_EQ(*kept, "x");
}

TEST_F(RemovalTest, AFileOfARecordingThatIsAPipeDoesNotHoldAnybodyUp) {
  makeRecording();
  for (const char* name : {"output", "9-9.lcr", "9.failed"}) {
    ASSERT_EQ(mkfifo((recordingDir() / name).c_str(), 0600), 0);
  }
  ASSERT_OK(recover(recordingDir(), trace(), true));
}

}  // namespace
}  // namespace lacuna::prof::recording
