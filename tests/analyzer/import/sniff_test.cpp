// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zstd.h>

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "import/importers.h"
#include "lacuna/analyzer/files.h"
#include "lacuna/analyzer/store.h"
#include "support/temp_dir.h"
#include "support/temp_file.h"

namespace lacuna::analyzer {
namespace {

using namespace std::string_literals;
using testing::HasSubstr;

std::string packedHead(std::string_view text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 1));
  return out;
}

std::string sniffError(std::string_view content) {
  const test::TempFile file(".any", content);
  const auto kind = sniff(file.path());
  return kind.ok() ? "" : kind.error().message;
}

struct Head {
  std::string bytes;
  SourceKind kind;
};

std::vector<Head> heads() {
  return {
      {"", SourceKind::Empty},
      {"SQLite format 3\0 and more"s, SourceKind::Sqlite},
      {"SQLite format 3", SourceKind::Unknown},
      {"{}", SourceKind::Json},
      {"[", SourceKind::Json},
      {" \t\r\n {\"a\": 1}", SourceKind::Json},
      {"\xef\xbb\xbf [{", SourceKind::Json},
      {"\n{\"a\": 1}", SourceKind::Json},
      {"\n\n [ ]", SourceKind::Json},
      {"\xef\xbb\xbf", SourceKind::Unknown},
      {"   ", SourceKind::Unknown},
      {"words", SourceKind::Unknown},
      {"\x80\x02}.", SourceKind::Pickle},
      {"\x80\x05}.", SourceKind::Pickle},
      {"\x80\x01}.", SourceKind::Unknown},
      {"\x80\x06}.", SourceKind::Unknown},
      {"\x80", SourceKind::Unknown},
      {"\x0a\x05\x08\x01"s, SourceKind::Perfetto},
      {"\x0a\x7b\x08\x01 and 119 more", SourceKind::Perfetto},  // a packet of 123 bytes; 123 is '{'
      {"\x0a\x5b\x40\x01 and 87 more", SourceKind::Perfetto},   // 91 is '['
      {"\x12\x05\x08\x01"s, SourceKind::Unknown},
  };
}

TEST(Sniff, KnowsAFileByItsFirstBytes) {
  for (const Head& head : heads()) {
    const test::TempFile file(".any", head.bytes);
    const auto kind = sniff(file.path());
    ASSERT_TRUE(kind.ok()) << head.bytes;
    EXPECT_EQ(*kind, head.kind) << testing::PrintToString(head.bytes) << " is no "
                                << describe(*kind);
  }
}

TEST(Sniff, KnowsAPackedFileByWhatIsInIt) {
  for (const Head& head : heads()) {
    const test::TempFile file(".any", packedHead(head.bytes));
    const auto kind = sniff(file.path());
    ASSERT_TRUE(kind.ok()) << head.bytes;
    EXPECT_EQ(*kind, head.kind) << testing::PrintToString(head.bytes);
  }
}

TEST(Sniff, KnowsATraceOfOursByItsHeaderOrItsFirstBlock) {
  const std::string magic = "\x89LCN\r\n\x1a\n", marker = "\xf7\xce\xb5\x62\x6c\x6b\x1a\n";
  for (const std::string& content : {magic, magic + "more", std::string(64, 'x') + marker,
                                     "{" + std::string(63, ' ') + marker}) {
    const test::TempFile file(".any", content);
    EXPECT_EQ(*sniff(file.path()), SourceKind::Lcn);
    EXPECT_THAT(sniffError(packedHead(content)), HasSubstr("is a .lcn that was compressed"));
  }
  const test::TempFile shifted(".any", std::string(63, 'x') + marker);
  EXPECT_EQ(*sniff(shifted.path()), SourceKind::Unknown);
}

TEST(Sniff, AFileThatStandsForAnotherIsAnError) {
  EXPECT_THAT(sniffError("version https://git-lfs.github.com/spec/v1\noid sha256:0\n"),
              HasSubstr("`git lfs pull`"));
}

TEST(Sniff, PackedDataWithoutAByteOfTextAreAnErrorAndWithSomeAreNone) {
  const std::string packed = packedHead("{\"traceEvents\": []}");
  EXPECT_THAT(sniffError(packed.substr(0, 6)),
              HasSubstr(": the compressed data ends early, after 0 bytes of text"));
  EXPECT_THAT(sniffError("\x1f\x8b no gzip"), HasSubstr("is damaged after 0 bytes"));
  const test::TempFile cut(".any", packedHead("[") + packed.substr(0, 10));
  EXPECT_EQ(*sniff(cut.path()), SourceKind::Json);
}

TEST(Sniff, AMissingFileIsAnError) {
  const test::TempDir folder;
  EXPECT_THAT(sniff(folder / "none").error().message, HasSubstr("none: cannot be opened"));
}

TEST(Sniff, EveryKindHasWordsOfItsOwn) {
  std::set<std::string_view> words;
  const auto last = static_cast<std::size_t>(SourceKind::Unknown);
  for (std::size_t kind = 0; kind <= last; ++kind)
    words.insert(describe(static_cast<SourceKind>(kind)));
  EXPECT_EQ(words.size(), last + 1);
  EXPECT_FALSE(words.contains(""));
}

TEST(Importers, EachIsCompleteAndInItsPlace) {
  std::size_t place = 0;
  for (const Importer* importer : importers()) {
    EXPECT_EQ(static_cast<std::size_t>(importer->kind), ++place) << importer->name;
    EXPECT_NE(importer->plural, "") << importer->name;
    EXPECT_NE(importer->recognises, nullptr) << importer->name;
    EXPECT_NE(importer->open, nullptr) << importer->name;
  }
}

TEST(Importers, TheErrorForAnUnknownFileListsThem) {
  const test::TempFile file(".any", "words");
  const auto store = Store::open(file.path());
  ASSERT_FALSE(store.ok());
  EXPECT_THAT(
      store.error().message,
      HasSubstr(": not a trace that lacuna knows; it reads .lcn, Kineto and Chrome JSON, "));
  EXPECT_THAT(store.error().message, HasSubstr(" (also gz and zstd)"));
  for (const Importer* importer : importers())
    EXPECT_THAT(store.error().message, HasSubstr(std::string(importer->plural)));
}

}  // namespace
}  // namespace lacuna::analyzer
