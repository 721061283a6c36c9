// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/prof/place_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "support/temp_dir.h"

namespace lacuna::prof {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class PlaceFile : public testing::Test {
 protected:
  void put(const std::string& name, const std::string& text) { std::ofstream(dir_ / name) << text; }
  [[nodiscard]] std::string read(const std::string& name) const {
    std::ifstream file(dir_ / name);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  /// Writes "new" to `name`, and meanwhile somebody else writes there what `meanwhile` is.
  Status write(const std::string& name, Existing existing, const std::string& meanwhile = "") {
    const auto work = [&](const fs::path& part) -> Status {
      std::ofstream(part) << "new";
      if (!meanwhile.empty()) put(name, meanwhile);
      return {};
    };
    return writeAtomically(dir_ / name, work, existing);
  }
  [[nodiscard]] long files() const {
    return std::distance(fs::directory_iterator(dir_.path()), fs::directory_iterator());
  }

  test::TempDir dir_;
};

TEST_F(PlaceFile, AFileThatAppearsMeanwhileStays) {
  const Status status = write("a", Existing::Keep, "of somebody else");
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("a: is there already; give --force"));
  EXPECT_EQ(read("a"), "of somebody else");
  EXPECT_EQ(files(), 1) << "nothing unfinished is left";
}

TEST_F(PlaceFile, AFileIsReplacedWhereThatIsWanted) {
  ASSERT_TRUE(write("a", Existing::Replace, "of somebody else").ok());
  EXPECT_EQ(read("a"), "new");
  EXPECT_EQ(files(), 1);
}

TEST_F(PlaceFile, AFailureLeavesTheOlderFile) {
  put("a", "old");
  const auto fail = [](const fs::path& part) -> Status {
    std::ofstream(part) << "half";
    return Error{part.string() + ": the disk is full"};
  };
  const Status status = writeAtomically(dir_ / "a", fail, Existing::Replace);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, (dir_ / "a").string() + ": the disk is full")
      << "by the name that people know";
  EXPECT_EQ(read("a"), "old");
  EXPECT_EQ(files(), 1);
}

TEST_F(PlaceFile, AnOpenFileIsWrittenAsItStands) {
  put("open", "");
  std::ofstream file(dir_ / "open");
  const int fd = ::dup(STDOUT_FILENO);
  const fs::path name = "/proc/self/fd/" + std::to_string(fd);
  fs::create_symlink(name, dir_ / "link");
  EXPECT_TRUE(isOpenFile("/dev/stdout"));
  EXPECT_TRUE(isOpenFile(name));
  EXPECT_TRUE(isOpenFile(dir_ / "link"));
  EXPECT_FALSE(isOpenFile(dir_ / "open"));
  EXPECT_EQ(unfinishedName(name), name);
  ::close(fd);
}

TEST_F(PlaceFile, ALinkToNothingIsRefused) {
  fs::create_symlink("nothing", dir_ / "a");
  const Status status = write("a", Existing::Replace);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("it is a link to nothing"));
  EXPECT_TRUE(fs::is_symlink(dir_ / "a"));
}

}  // namespace
}  // namespace lacuna::prof
