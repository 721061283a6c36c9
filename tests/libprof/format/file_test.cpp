// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "lacuna/prof/file_error.h"
#include "lacuna/prof/reader.h"
#include "lacuna/prof/writer.h"
#include "support/temp_dir.h"

namespace lacuna::prof {
namespace {

using testing::HasSubstr;

void appendMarks(Writer& writer, int from, int to) {
  for (int i = from; i < to; ++i)
    writer.append(Mark{.timeNs = i, .name = writer.intern("mark " + std::to_string(i))});
}

TEST(File, WithoutItsEndItOpensWithWhatWasFlushed) {
  const test::TempDir dir;
  auto writer = Writer::create(dir / "a.lcn");
  appendMarks(*writer, 0, 100);
  ASSERT_TRUE(writer->flush().ok());
  appendMarks(*writer, 100, 150);
  const auto reader = Reader::open(dir / "a.lcn");
  ASSERT_TRUE(reader.ok()) << reader.error().message;
  EXPECT_FALSE(reader->complete());
  ASSERT_EQ(reader->damage().size(), 1u);
  EXPECT_THAT(reader->damage()[0].what, HasSubstr("no end"));
  EXPECT_EQ(reader->rows<Mark>(), 100u);
  EXPECT_EQ(reader->text(reader->column<&Mark::name>()->at(99)), "mark 99");
}

TEST(File, AFollowingReaderSeesWhatIsNewAndTheEnd) {
  const test::TempDir dir;
  auto writer = Writer::create(dir / "a.lcn");
  auto reader = Reader::open(dir / "a.lcn");
  ASSERT_TRUE(reader.ok());
  EXPECT_FALSE(*reader->refresh());
  for (int i = 0; i < 10; ++i) {
    appendMarks(*writer, i * 10, i * 10 + 10);
    ASSERT_TRUE(writer->flush().ok());
    EXPECT_TRUE(*reader->refresh());
    EXPECT_EQ(reader->rows<Mark>(), std::size_t(i) * 10 + 10);
    EXPECT_EQ(reader->text(reader->column<&Mark::name>()->back()),
              "mark " + std::to_string(i * 10 + 9));
    EXPECT_EQ(reader->damage().size(), 1u);
  }
  ASSERT_TRUE(writer->finish().ok());
  EXPECT_TRUE(*reader->refresh());
  EXPECT_TRUE(reader->complete());
  EXPECT_TRUE(reader->damage().empty());
  EXPECT_FALSE(*reader->refresh());
}

TEST(File, ExtendingAddsBlocksAndKeepsTextIds) {
  const test::TempDir dir;
  auto writer = Writer::create(dir / "a.lcn");
  appendMarks(*writer, 0, 10);
  ASSERT_TRUE(writer->finish().ok());
  auto more = Writer::extend(dir / "a.lcn");
  ASSERT_TRUE(more.ok()) << more.error().message;
  appendMarks(*more, 5, 15);
  ASSERT_TRUE(more->finish().ok());
  const auto reader = Reader::open(dir / "a.lcn");
  ASSERT_TRUE(reader.ok());
  EXPECT_TRUE(reader->complete());
  EXPECT_TRUE(reader->damage().empty());
  EXPECT_EQ(reader->stringCount(), 16u);
  const auto names = reader->column<&Mark::name>();
  ASSERT_EQ(names->size(), 20u);
  EXPECT_EQ(names->at(5), names->at(10));
  EXPECT_EQ(reader->text(names->at(19)), "mark 14");
}

TEST(File, AnEmptyTraceIsATrace) {
  const test::TempDir dir;
  ASSERT_TRUE(Writer::create(dir / "a.lcn")->finish().ok());
  const auto reader = Reader::open(dir / "a.lcn");
  ASSERT_TRUE(reader.ok());
  EXPECT_TRUE(reader->complete());
  EXPECT_TRUE(reader->tables().empty());
  EXPECT_EQ(reader->span().endNs, 0);
}

TEST(File, AnotherKindOfFileIsNamedAsSuch) {
  const test::TempDir dir;
  std::ofstream(dir / "a.json") << "{\"traceEvents\": []}" << std::string(500, ' ');
  std::ofstream(dir / "empty.lcn").flush();
  EXPECT_THAT(Reader::open(dir / "a.json").error().message, HasSubstr("not a lacuna trace"));
  EXPECT_THAT(Reader::open(dir / "empty.lcn").error().message, HasSubstr("empty"));
  EXPECT_THAT(Reader::open(dir / "none.lcn").error().message, HasSubstr("No such file"));
  EXPECT_THAT(Reader::open(dir.path()).error().message, HasSubstr("not a regular file"));
  ASSERT_EQ(::mkfifo((dir / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(Reader::open(dir / "pipe").error().message, HasSubstr("not a regular file"));
}

TEST(File, WhereNothingCanBeWrittenCreateFails) {
  const test::TempDir dir;
  EXPECT_THAT(Writer::create(dir / "no/such/a.lcn").error().message, HasSubstr("cannot create"));
  auto full = Writer::create("/dev/full");
  EXPECT_FALSE(full.ok());
}

TEST(File, ATargetIsCheckedBeforeTheWork) {
  const test::TempDir dir;
  std::ofstream(dir / "there.lcn").flush();
  const auto why = [](const std::filesystem::path& path) {
    const Status status = checkTarget(path);
    return status.ok() ? std::string("none") : status.error().message;
  };
  for (const char* name : {"there.lcn", "new.lcn"}) EXPECT_EQ(why(dir / name), "none");
  EXPECT_EQ(why("/dev/null"), "none");
  EXPECT_THAT(why(dir.path()), HasSubstr("is a folder; name a file in it"));
  EXPECT_THAT(why(dir / "no" / "a.lcn"),
              HasSubstr("there is no folder " + (dir / "no").string() + "; create it"));
  EXPECT_THAT(why(dir / "there.lcn" / "a.lcn"), HasSubstr("there.lcn is no folder"));
  EXPECT_THAT(why(""), HasSubstr("name one"));
}

TEST(File, ASystemErrorOfAFileComesWithARemedy) {
  for (const int code : {ENOSPC, EDQUOT, EFBIG, EACCES, EPERM, EROFS, ENOENT, ENOTDIR, EISDIR,
                         ENAMETOOLONG, ELOOP, EMFILE})
    EXPECT_THAT(fileProblem(code), HasSubstr("; ")) << code;
  EXPECT_EQ(fileProblem(EIO), std::strerror(EIO));
}

TEST(File, ATruncationUnderAnOpenReaderIsAnError) {
  const test::TempDir dir;
  auto writer = Writer::create(dir / "a.lcn");
  appendMarks(*writer, 0, 1000);
  ASSERT_TRUE(writer->finish().ok());
  const auto reader = Reader::open(dir / "a.lcn");
  ASSERT_EQ(::truncate((dir / "a.lcn").c_str(), 100), 0);
  EXPECT_FALSE(reader->column<&Mark::timeNs>().ok());
}

}  // namespace
}  // namespace lacuna::prof
