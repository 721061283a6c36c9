// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>

#include "libprof/record/drained.h"
#include "record/directory.h"

namespace lacuna::prof::recording {
namespace {

namespace fs = std::filesystem;

/// The state that a dead drainer left beside the segments, damaged or made by somebody else.
class DamagedStateTest : public DrainedTest {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(DrainedTest::SetUp());
    for (int i = 0; i < 3; ++i) {
      lacunaRangePush(lacunaName("open"));
      ASSERT_NO_FATAL_FAILURE(flush());
    }
    lacunaDetach();
    drainer_.reset();
  }
  [[nodiscard]] fs::path checkpoint() const { return checkpointPath(recordingDir()); }
  [[nodiscard]] fs::path log() const { return recordingDir() / "open-1"; }

  static std::string bytesOf(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void change(const fs::path& path, const std::function<void(std::string&)>& how) {
    std::string bytes = bytesOf(path);
    how(bytes);
    write(path, bytes);
  }
  static void write(const fs::path& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  }
  static rlim_t addressSpace() {
    rlim_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    return pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
  }
  /// Nothing is made of it, nothing goes, and the message has these words.
  void expectRefused(const std::string& words) const {
    const auto result = recover(recordingDir(), recovered());
    ASSERT_FALSE(result.ok());
    EXPECT_NE(result.error().message.find(words), std::string::npos) << result.error().message;
    EXPECT_FALSE(fs::exists(recovered()));
    EXPECT_TRUE(fs::exists(recordingDir() / kSettingsFile));
    EXPECT_FALSE(recordersIn(recordingDir()).empty());
  }
};

TEST_F(DamagedStateTest, SoundItIsTakenUp) {
  ASSERT_OK(recover(recordingDir(), recovered()));
  EXPECT_EQ(Trace(recovered()).rows<Range>().size(), 3u);
}

TEST_F(DamagedStateTest, WithoutRoomForARecordersFileNothingIsRemoved) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers take more of the address space than any limit";
#endif
  const auto file = recordersIn(recordingDir()).front();
  const pid_t child = fork();
  if (child == 0) {
    // Room for all but the file itself.
    const rlim_t most = addressSpace() + fs::file_size(file) / 2;
    const rlimit limit{most, most};
    setrlimit(RLIMIT_AS, &limit);
    expectRefused("cannot be mapped");
    _exit(HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  ASSERT_OK(recover(recordingDir(), recovered()));
  EXPECT_EQ(Trace(recovered()).rows<Range>().size(), 3u);
}

TEST_F(DamagedStateTest, ACheckpointOfAnotherKindIsRefusedAndTheRemedyWorks) {
  change(checkpoint(), [](std::string& bytes) { bytes[0] = 'x'; });
  expectRefused("checkpoint: damaged; delete it");
  fs::remove(checkpoint());
  ASSERT_OK(recover(recordingDir(), recovered()));
  EXPECT_EQ(Trace(recovered()).rows<Range>().size(), 3u);
}

TEST_F(DamagedStateTest, ACheckpointThatIsCutOrLongerIsRefused) {
  const std::string sound = bytesOf(checkpoint());
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{20}, sound.size() - 1, sound.size() + 1}) {
    change(checkpoint(), [&](std::string& bytes) { (bytes = sound).resize(size); });
    expectRefused("checkpoint: damaged");
  }
}

TEST_F(DamagedStateTest, ACheckpointThatIsAPipeIsRefusedWithoutWaiting) {
  fs::remove(checkpoint());
  ASSERT_EQ(::mkfifo(checkpoint().c_str(), 0600), 0);
  expectRefused("checkpoint: cannot be read");
  fs::remove(checkpoint());
}

TEST_F(DamagedStateTest, ACheckpointThatIsMostlyAHoleTakesNoMemory) {
  fs::resize_file(checkpoint(), std::uintmax_t{1} << 40);
  expectRefused("checkpoint: cannot be read");
}

TEST_F(DamagedStateTest, ALogShorterThanTheCheckpointStatesIsRefused) {
  change(log(), [](std::string& bytes) { bytes.pop_back(); });
  expectRefused("the open ranges of the recording are damaged");
}

TEST_F(DamagedStateTest, ALogOfEntriesThatAreHugeOrEmptyIsRefused) {
  const std::string sound = bytesOf(log());
  for (const std::uint64_t claimed : {std::uint64_t{0}, std::uint64_t{1} << 40}) {
    std::string bytes = sound;
    std::memcpy(bytes.data(), &claimed, sizeof claimed);
    write(log(), bytes);
    // As if it were all of the log.
    fs::resize_file(log(), std::uintmax_t{1} << 42);
    change(checkpoint(), [&](std::string& bytes) {
      const std::uint64_t size = std::uint64_t{1} << 42;
      std::memcpy(bytes.data() + 3 * sizeof size, &size, sizeof size);
    });
    expectRefused("the open ranges of the recording are damaged");
  }
}

}  // namespace
}  // namespace lacuna::prof::recording
