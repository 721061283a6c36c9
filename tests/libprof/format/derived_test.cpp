// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "lacuna/prof/reader.h"
#include "lacuna/prof/recover.h"
#include "lacuna/prof/writer.h"
#include "support/temp_dir.h"

namespace lacuna::prof {
namespace {

std::span<const std::byte> bytesOf(std::string_view text) {
  return std::as_bytes(std::span(text));
}

class DerivedTest : public testing::Test {
 protected:
  DerivedTest() {
    auto writer = *Writer::create(path_);
    for (TimeNs t = 0; t < 1000; ++t) writer.append(Mark{.timeNs = t, .name = writer.intern("m")});
    EXPECT_TRUE(writer.finish());
    plainBytes_ = std::filesystem::file_size(path_);
    plainKey_ = Reader::open(path_)->contentKey();
  }
  void derive(std::string_view first, std::string_view second) {
    auto writer = *Writer::extend(path_);
    const std::span<const std::byte> sections[] = {bytesOf(first), bytesOf(second)};
    EXPECT_NE(writer.appendDerived("things", sections), 0u);
    EXPECT_TRUE(writer.finish());
  }
  test::TempDir dir_;
  std::filesystem::path path_ = dir_ / "t.lcn";
  std::uint64_t plainBytes_ = 0, plainKey_ = 0;
};

TEST_F(DerivedTest, SectionsComeBackAndRowsAreAsBefore) {
  derive("alpha", "");
  const auto reader = *Reader::open(path_);
  EXPECT_TRUE(reader.complete());
  EXPECT_TRUE(reader.damage().empty());
  EXPECT_EQ(reader.rows<Mark>(), 1000u);
  EXPECT_EQ(reader.contentKey(), plainKey_);
  ASSERT_EQ(reader.derivedBlocks().size(), 1u);
  EXPECT_FALSE(reader.derivedSections(reader.derivedBlocks()[0], "others"));
  const auto sections = *reader.derivedSections(reader.derivedBlocks()[0], "things");
  ASSERT_EQ(sections.size(), 2u);
  std::string text(sections[0].bytes, ' ');
  ASSERT_TRUE(reader.readSection(sections[0], std::as_writable_bytes(std::span(text))));
  EXPECT_EQ(text, "alpha");
  EXPECT_EQ(sections[1].bytes, 0u);
}

TEST_F(DerivedTest, ExtendingCutsThemOff) {
  derive("old", "old");
  derive("new", "new");
  EXPECT_EQ(Reader::open(path_)->derivedBlocks().size(), 1u);
  auto writer = *Writer::extend(path_);
  writer.append(Mark{.timeNs = 5000});
  ASSERT_TRUE(writer.finish());
  const auto reader = *Reader::open(path_);
  EXPECT_TRUE(reader.derivedBlocks().empty());
  EXPECT_NE(reader.contentKey(), plainKey_);
}

TEST_F(DerivedTest, WithdrawingThemLeavesTheFileAsItWas) {
  auto writer = *Writer::extend(path_);
  const std::span<const std::byte> section[] = {bytesOf("much")};
  writer.appendDerived("things", section);
  writer.appendDerived("things", section);
  ASSERT_TRUE(writer.withdrawDerived());
  ASSERT_TRUE(writer.finish());
  EXPECT_EQ(std::filesystem::file_size(path_), plainBytes_);
  EXPECT_EQ(Reader::open(path_)->contentKey(), plainKey_);
}

TEST_F(DerivedTest, RecoveringLeavesThemOut) {
  derive("a", "b");
  ASSERT_TRUE(recoverFile(path_, dir_ / "again.lcn"));
  const auto reader = *Reader::open(dir_ / "again.lcn");
  EXPECT_TRUE(reader.derivedBlocks().empty());
  EXPECT_EQ(reader.rows<Mark>(), 1000u);
}

}  // namespace
}  // namespace lacuna::prof
