// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/collector/recover.h"

#include <sys/stat.h>

#include <fstream>

#include "libprof/record/recorded.h"
#include "sampler/journal.h"

namespace lacuna::collector {
namespace {

namespace fs = std::filesystem;

/// A recording that was left, with something in the place of the journal of frames.
class RecoverTest : public prof::RecordingTest {
 protected:
  void SetUp() override {
    prof::RecordingTest::SetUp();
    ASSERT_OK(prof::createRecording(recordingDir(), {.sharedMemory = false}));
    ASSERT_EQ(lacunaAttach(recordingDir().c_str()), 0);
    lacunaMark(lacunaName("a mark"));
    lacunaDetach();
  }
  [[nodiscard]] fs::path journal() const { return sampler::Journal::framesOf(recordingDir()); }
  /// All but the frames is there, and the trace records that these are not.
  void expectNoFrames() const {
    ASSERT_OK(recover(recordingDir(), trace(), true));
    prof::Trace file(trace());
    EXPECT_EQ(file.rows<prof::Mark>().size(), 1u);
    const auto drops = file.rows<prof::Drop>();
    ASSERT_EQ(drops.size(), 1u);
    EXPECT_EQ(file.text(drops[0].reason), "the stack frames beside the recording are damaged");
    fs::remove(journal());
  }
};

TEST_F(RecoverTest, AJournalThatIsAPipeIsNotWaitedFor) {
  ASSERT_EQ(::mkfifo(journal().c_str(), 0600), 0);
  expectNoFrames();
}

TEST_F(RecoverTest, AJournalThatIsALinkIsNotFollowed) {
  std::ofstream(home_ / "elsewhere") << "of somebody else";
  fs::create_symlink(home_ / "elsewhere", journal());
  expectNoFrames();
}

TEST_F(RecoverTest, AJournalThatIsMostlyAHoleTakesNoMemory) {
  std::ofstream(journal()) << "x";
  fs::resize_file(journal(), std::uintmax_t{1} << 40);
  expectNoFrames();
}

}  // namespace
}  // namespace lacuna::collector
