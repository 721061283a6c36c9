// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>

#include "lacuna/prof/mapping_guard.h"
#include "libprof/record/recorded.h"
#include "record/directory.h"

namespace lacuna::prof {
namespace {

namespace fs = std::filesystem;

/// A mapped file of two pages.
class MappingGuardTest : public testing::Test {
 protected:
  void SetUp() override {
    file_ = memfd_create("lacuna-guard", MFD_CLOEXEC);
    ASSERT_EQ(ftruncate(file_, 2 * kPage), 0);
    at_ = static_cast<volatile char*>(
        mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0));
    ASSERT_NE(at_, MAP_FAILED);
    at_[0] = 'x';
    at_[kPage] = 'x';
  }
  void TearDown() override {
    munmap(const_cast<char*>(at_), 2 * kPage);
    close(file_);
  }
  void shorten() const { ASSERT_EQ(ftruncate(file_, kPage), 0); }
  [[nodiscard]] MappingGuard guard() const { return {const_cast<char*>(at_), 2 * kPage}; }

  static constexpr std::size_t kPage = 4096;
  int file_ = -1;
  volatile char* at_ = nullptr;
};

TEST_F(MappingGuardTest, ReadsZeroBehindTheEndAndTheRestAsItWas) {
  const MappingGuard guarded = guard();
  EXPECT_FALSE(guarded.broken());
  shorten();
  EXPECT_EQ(at_[kPage], 0);
  at_[kPage + 1] = 'y';
  EXPECT_EQ(at_[0], 'x');
  EXPECT_TRUE(guarded.broken());
}

TEST_F(MappingGuardTest, GuardsAThreadThatHasTheSignalBlocked) {
  EXPECT_EQ(inChild([&] {
              sigset_t all;
              sigfillset(&all);
              pthread_sigmask(SIG_SETMASK, &all, nullptr);
              const MappingGuard guarded = guard();
              const MappingGuard::Scope scope;
              if (ftruncate(file_, 0) != 0 || at_[0] != 0) _exit(2);
            }),
            0);
}

TEST_F(MappingGuardTest, OtherFaultsEndTheProcessAsEver) {
  for (const bool after : {false, true}) {
    EXPECT_EQ(inChild([&] {
                signal(SIGBUS, SIG_DFL);  // a sanitizer's is not what is tested
                const MappingGuard other(&file_, sizeof file_);
                if (after) (void)guard();
                if (ftruncate(file_, 0) == 0) _exit(at_[0]);
              }),
              128 + SIGBUS);
  }
}

TEST_F(MappingGuardTest, ASentSignalEndsTheProcessAsEver) {
  EXPECT_EQ(inChild([&] {
              signal(SIGBUS, SIG_DFL);
              const MappingGuard guarded = guard();
              raise(SIGBUS);
            }),
            128 + SIGBUS);
}

TEST_F(MappingGuardTest, PassesOtherFaultsToTheHandlerThatWasThere) {
  struct sigaction now {};
  sigaction(SIGBUS, nullptr, &now);
  if (now.sa_handler != SIG_DFL)
    GTEST_SKIP() << "another test of this process has installed a guard";
  EXPECT_EQ(inChild([&] {
              signal(SIGBUS, [](int) { _exit(9); });
              char other = 0;
              const MappingGuard guarded(&other, 1);
              shorten();
              _exit(at_[kPage]);
            }),
            9);
}

/// Programs that shorten the file of their events while they record.
class TruncatedFileTest : public RecordingTest {
 protected:
  /// Every file of events, as far as it may go.
  void shortenAll(off_t bytes) const {
    for (const fs::path& path : recording::listRecording(recordingDir()).recorders) {
      if (truncate(path.c_str(), bytes) != 0) _exit(3);
    }
  }
  /// Records, waits until the drainer has mapped the file, and shortens it.
  void recordAndShorten(off_t bytes) {
    lacunaAttach(recordingDir().c_str());
    for (int i = 0; i < 1000; ++i) lacunaMark(lacunaName("before"));
    send('m');
    hear();
    for (int i = 0; i < 1000; ++i) lacunaMark(lacunaName("between"));
    shortenAll(bytes);
    send('t');
    pause();
  }
  void SetUp() override {
    RecordingTest::SetUp();
    ASSERT_EQ(pipe(toTest_), 0);
    ASSERT_EQ(pipe(toChild_), 0);
  }
  void send(char word) const { ASSERT_EQ(write(toTest_[1], &word, 1), 1); }
  void hear() const {
    char word = 0;
    ASSERT_EQ(read(toChild_[0], &word, 1), 1);
  }
  void await(char wanted) const {
    char word = 0;
    ASSERT_EQ(read(toTest_[0], &word, 1), 1);
    ASSERT_EQ(word, wanted);
  }
  /// The drainer is a process of its own, so that its death is a failure and not the end of all
  /// tests.
  int drainAProgramThatShortens(off_t bytes) {
    return inChild([&] {
      auto drainer = Drainer::create(recordingDir(), trace());
      if (!drainer.ok()) _exit(4);
      const pid_t program = forkChild([&] { recordAndShorten(bytes); });
      await('m');
      if (!drainer->flush().ok()) _exit(5);
      if (write(toChild_[1], "g", 1) != 1) _exit(6);
      await('t');
      (void)drainer->flush();
      const bool finished = drainer->finish().ok();
      kill(program, SIGKILL);
      waitpid(program, nullptr, 0);
      _exit(finished && drainer->stats().truncated == 1 ? 0 : 7);
    });
  }
  int toTest_[2] = {-1, -1};
  int toChild_[2] = {-1, -1};
};

TEST_F(TruncatedFileTest, TheDrainerOutlivesItAndKeepsWhatItHadRead) {
  for (const off_t bytes : {0, 4096, 65536, 16 << 20}) {
    ASSERT_OK(createRecording(recordingDir()));
    ASSERT_EQ(drainAProgramThatShortens(bytes), 0) << bytes;
    Trace written(trace());
    EXPECT_GE(written.rows<Mark>().size(), 1000u) << bytes;
    int errors = 0;
    for (const LogLine& line : written.rows<LogLine>()) {
      errors += written.text(line.text).find("was shortened while it was read") != std::string::npos
                    ? 1
                    : 0;
    }
    EXPECT_EQ(errors, 1) << bytes;
  }
}

TEST_F(TruncatedFileTest, OneProcessDoesNotTakeAnothersEvents) {
  ASSERT_OK(createRecording(recordingDir()));
  EXPECT_EQ(inChild([&] {
              lacunaAttach(recordingDir().c_str());
              for (int i = 0; i < 500; ++i) lacunaMark(lacunaName("of the other"));
            }),
            0);
  const auto full = recording::listRecording(recordingDir()).recorders;
  ASSERT_EQ(full.size(), 1u);
  const fs::path kept = home_ / "kept.lcr";
  fs::copy(full[0], kept);  // out of the way of the program that shortens all
  fs::remove(full[0]);
  EXPECT_EQ(inChild([&] {
              auto drainer = Drainer::create(recordingDir(), trace());
              const pid_t program = forkChild([&] { recordAndShorten(0); });
              await('m');
              if (!drainer->flush().ok() || write(toChild_[1], "g", 1) != 1) _exit(5);
              await('t');
              fs::copy(kept, recordingDir() / full[0].filename());
              const bool finished = drainer->finish().ok();
              kill(program, SIGKILL);
              waitpid(program, nullptr, 0);
              _exit(finished ? 0 : 7);
            }),
            0);
  Trace written(trace());
  const auto marks = written.rows<Mark>();
  EXPECT_EQ(
      std::count_if(marks.begin(), marks.end(),
                    [&](const Mark& mark) { return written.text(mark.name) == "of the other"; }),
      500);
}

}  // namespace
}  // namespace lacuna::prof
