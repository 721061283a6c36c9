// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "python/targets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "image.h"
#include "support/temp_dir.h"

namespace lacuna::collector::python {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

namespace fs = std::filesystem;

/// A folder in which processes announce themselves.
class AnnouncementsTest : public testing::Test {
 protected:
  static std::string announcement(int pid) {
    std::ifstream file(fs::path(LACUNA_IMAGES) / "python3.11.txt", std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    std::string lines = Image::parse(text).announcement;
    const auto at = lines.find("pid ");
    lines.replace(at, lines.find('\n', at) - at, "pid " + std::to_string(pid));
    // Without the line of this namespace.
    const auto its = lines.find("namespace ");
    return lines.erase(its, lines.find('\n', its) - its + 1);
  }
  void write(const std::string& name, std::string_view text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }

  test::TempDir folder_;
  Announcements announcements_{folder_.path()};
};

TEST_F(AnnouncementsTest, AreTakenOnce) {
  write("python-1-5", announcement(getpid()));
  const auto found = announcements_.take();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].pid, static_cast<std::uint32_t>(getpid()));
  EXPECT_FALSE(found[0].foreign);
  EXPECT_THAT(announcements_.take(), IsEmpty());
  EXPECT_FALSE(fs::exists(folder_ / "python-1-5"));
}

TEST_F(AnnouncementsTest, ComeInTheOrderInWhichTheyWereMade) {
  write("python-1-1000", announcement(getpid()));
  write("python-2-90", announcement(getppid()));
  const auto found = announcements_.take();
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].pid, static_cast<std::uint32_t>(getppid()));
  EXPECT_EQ(found[1].pid, static_cast<std::uint32_t>(getpid()));
}

TEST_F(AnnouncementsTest, OnesThatAreBeingWrittenAreTakenLater) {
  const std::string full = announcement(getpid());
  write("python-1-5", full.substr(0, full.size() / 2));
  EXPECT_THAT(announcements_.take(), IsEmpty());
  write("python-1-5", full);
  EXPECT_THAT(announcements_.take(), SizeIs(1));
}

TEST_F(AnnouncementsTest, OnesThatAreNeverCompletedAreDeletedInTheEnd) {
  write("python-1-5", "pid 1\n");
  for (int round = 0; round < 100 && fs::exists(folder_ / "python-1-5"); ++round)
    EXPECT_THAT(announcements_.take(), IsEmpty());
  EXPECT_FALSE(fs::exists(folder_ / "python-1-5"));
}

TEST_F(AnnouncementsTest, LinksAndOtherFilesAreLeftAlone) {
  write("elsewhere", announcement(getpid()));
  fs::create_symlink(folder_ / "elsewhere", folder_ / "python-1-5");
  fs::create_directory(folder_ / "python-2-6");
  EXPECT_THAT(announcements_.take(), IsEmpty());
  EXPECT_TRUE(fs::exists(folder_ / "elsewhere"));
}

TEST_F(AnnouncementsTest, NobodyIsReadOnAnothersBehalf) {
  if (geteuid() != 0) GTEST_SKIP() << "only root may give files away";
  write("python-1-5", announcement(getpid()));
  ASSERT_EQ(chown((folder_ / "python-1-5").c_str(), 65534, 65534), 0);
  EXPECT_THAT(announcements_.take(), IsEmpty());
}

TEST_F(AnnouncementsTest, AFolderThatIsNotThereHasNone) {
  Announcements none(folder_ / "gone");
  EXPECT_THAT(none.take(), IsEmpty());
}

}  // namespace
}  // namespace lacuna::collector::python
