// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/runtime/data_folder.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

namespace lacuna::rt {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

class Folder : public testing::Test {
 protected:
  Folder() {
    std::string folder = std::filesystem::temp_directory_path() / "lacuna-folder-XXXXXX";
    folder_ = ::mkdtemp(folder.data());
  }
  ~Folder() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((folder_ / path).parent_path());
    std::ofstream(folder_ / path) << text;
  }
  /// Examples are {number of bytes, label}.
  [[nodiscard]] FolderDataset open() const {
    return {folder_,
            {".txt"},
            [](const FolderItem& item, std::span<const std::uint8_t> bytes, WorkerContext&) {
              const std::int64_t values[] = {static_cast<std::int64_t>(bytes.size()), item.label};
              Tensor out = emptyHost({2}, DType::I64);
              std::memcpy(out.data(), values, sizeof values);
              return Example{out};
            }};
  }

  std::filesystem::path folder_;
};

TEST_F(Folder, GivesFilesByClassInTheOrderOfTheirNames) {
  write("dog/b.txt", "two");
  write("dog/a.TXT", "f");
  write("cat/x.txt", "");
  write("cat/notes.md", "skipped");
  write("cat/.hidden.txt", "skipped");
  write("stray.txt", "belongs to no class");
  const auto dataset = std::make_shared<FolderDataset>(open());
  EXPECT_THAT(dataset->classes(), ElementsAre("cat", "dog"));
  LoaderOptions options;
  options.batch = 3;
  options.workers = 2;
  DataLoader loader(dataset, options);
  loader.start();
  EXPECT_THAT((*loader.next())[0].toVector<std::int64_t>(), ElementsAre(0, 0, 1, 1, 3, 1));
}

TEST_F(Folder, NamesTheMissingPart) {
  EXPECT_THAT([&] { (void)open(); }, ThrowsMessage<Error>(HasSubstr("has no folders")));
  write("cat/notes.md", "");
  EXPECT_THAT([&] { (void)open(); },
              ThrowsMessage<Error>(HasSubstr("cat has no files of the kinds .txt")));
  std::filesystem::remove_all(folder_);
  EXPECT_THAT([&] { (void)open(); }, ThrowsMessage<Error>(HasSubstr("cannot list")));
}

TEST_F(Folder, NamesAnExampleThatItDoesNotHave) {
  write("cat/a.txt", "a");
  const FolderDataset dataset = open();
  WorkerContext context(0, -1, 0, 1, nullptr);
  EXPECT_THAT([&] { (void)dataset.get(1, context); },
              ThrowsMessage<Error>(HasSubstr("no example 1 among 1")));
}

TEST_F(Folder, NamesAFileThatIsGone) {
  write("cat/a.txt", "a");
  const FolderDataset dataset = open();
  std::filesystem::remove(folder_ / "cat/a.txt");
  WorkerContext context(0, -1, 0, 1, nullptr);
  EXPECT_THAT([&] { (void)dataset.get(0, context); }, ThrowsMessage<Error>(HasSubstr("cat/a.txt")));
}

TEST_F(Folder, SkipsFoldersWithinAClassWhateverTheyAreCalled) {
  write("cat/a.txt", "a");
  write("cat/b.txt/c.txt", "deeper");
  std::filesystem::create_symlink(folder_ / "cat/a.txt", folder_ / "cat/link.txt");
  const FolderDataset dataset = open();
  EXPECT_EQ(dataset.size(), 2U);
  EXPECT_EQ(dataset.items()[1].path.filename(), "link.txt");
}

TEST_F(Folder, NamesWhatCannotBeReadAsAFile) {
  write("cat/a.txt", "a");
  const auto path = folder_ / "cat/b.txt";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_THAT([&] { (void)open(); },
              ThrowsMessage<Error>(HasSubstr("cat/b.txt is neither a file nor a folder")));
  std::filesystem::remove(path);
  std::filesystem::create_symlink("nowhere", path);
  EXPECT_THAT([&] { (void)open(); },
              ThrowsMessage<Error>(HasSubstr("cat/b.txt is a link that leads nowhere")));
  std::filesystem::remove(path);
  std::filesystem::create_symlink("dog", folder_ / "dog");
  EXPECT_THAT([&] { (void)open(); },
              ThrowsMessage<Error>(HasSubstr("/dog: Too many levels of symbolic links")));
}

TEST_F(Folder, NamesAFileThatBecameSomethingElse) {
  write("cat/a.txt", "a");
  const FolderDataset dataset = open();
  const auto path = folder_ / "cat/a.txt";
  WorkerContext context(0, -1, 0, 1, nullptr);
  const auto get = [&] { (void)dataset.get(0, context); };
  std::filesystem::remove(path);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_THAT(get, ThrowsMessage<Error>(HasSubstr("cat/a.txt: it is not a file")));
  std::filesystem::remove(path);
  std::filesystem::create_directory(path);
  EXPECT_THAT(get, ThrowsMessage<Error>(HasSubstr("cat/a.txt: it is not a file")));
}

}  // namespace
}  // namespace lacuna::rt
