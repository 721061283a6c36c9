// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "import/byte_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <zlib.h>
#include <zstd.h>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "support/temp_dir.h"
#include "support/temp_file.h"

namespace lacuna::analyzer {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string gzipped(std::string_view text) {
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, text.size()) + 32, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string zstdOf(std::string_view text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 1));
  return out;
}

struct ReadBytes {
  std::string text, problem;
};

/// All bytes of a file, so many at a time; checks that only the last part is shorter.
ReadBytes readBytes(std::string_view content, std::size_t part = 1 << 16,
                    const prof::Budget& budget = {}) {
  const test::TempFile file(".bin", content);
  const auto source = ByteSource::open(file.path(), budget);
  EXPECT_TRUE(source.ok());
  EXPECT_EQ((*source)->fileBytes(), content.size());
  ReadBytes read;
  std::string buffer(part, '\0');
  std::size_t got = part;
  while (got == part) {
    got = (*source)->read(buffer.data(), part);
    read.text.append(buffer, 0, got);
  }
  EXPECT_EQ((*source)->read(buffer.data(), part), 0U);
  read.problem = (*source)->problem();
  return read;
}

std::string noise(std::size_t bytes) {
  std::mt19937 random(1);
  std::string out(bytes, '\0');
  for (char& c : out) c = static_cast<char>(random());
  return out;
}

TEST(ByteSource, GivesTheSameBytesPackedOrNotAndInPartsOfAnySize) {
  const std::string text = "plain " + noise(300'000);
  for (const std::string& content : {text, gzipped(text), zstdOf(text)}) {
    for (const std::size_t part : {std::size_t{61}, std::size_t{4096}, std::size_t{1} << 20}) {
      const ReadBytes read = readBytes(content, part);
      EXPECT_TRUE(read.text == text) << part;
      EXPECT_EQ(read.problem, "") << part;
    }
  }
}

TEST(ByteSource, ReportsItsPackingAndHowMuchOfTheFileIsRead) {
  const std::string text = noise(1'000'000);
  for (const std::string& content : {text, gzipped(text), zstdOf(text)}) {
    const test::TempFile file(".bin", content);
    const auto source = ByteSource::open(file.path());
    EXPECT_EQ((*source)->isCompressed(), content != text);
    EXPECT_EQ((*source)->progress(), 0.0);
    std::string buffer(500'000, '\0');
    (*source)->read(buffer.data(), buffer.size());
    EXPECT_GT((*source)->progress(), 0.4);
    EXPECT_LT((*source)->progress(), 1.0);
    (*source)->read(buffer.data(), buffer.size());
    EXPECT_EQ((*source)->progress(), 1.0);
  }
}

TEST(ByteSource, AnEmptyFileAndHalfAMagicNumberAreAsTheyStand) {
  for (const std::string_view content : {"", "\x1f", "\x28\xb5\x2f", "\x28\xb5\x2fx", "\x8b\x1f"}) {
    const ReadBytes read = readBytes(content);
    EXPECT_EQ(read.text, content);
    EXPECT_EQ(read.problem, "");
  }
  const test::TempFile file(".bin", "");
  EXPECT_EQ((*ByteSource::open(file.path()))->progress(), 1.0);
}

TEST(ByteSource, PackedPiecesOneBehindTheOtherAreOneText) {
  struct Case {
    std::string content;
    std::string_view text;
  };
  const Case cases[] = {
      {gzipped(""), ""},
      {gzipped("ab") + gzipped("") + gzipped("cd"), "abcd"},
      {gzipped("ab") + std::string(700, '\0'), "ab"},
      {gzipped("ab") + std::string(3, '\0') + gzipped("cd"), "abcd"},
      {zstdOf(""), ""},
      {zstdOf("ab") + zstdOf("cd"), "abcd"},
      // A frame that readers skip: its number, 3 as its size, 3 bytes.
      {zstdOf("ab") + std::string("\x50\x2a\x4d\x18\x03\0\0\0xyz", 11) + zstdOf("cd"), "abcd"}};
  for (const Case& one : cases) {
    for (const std::size_t part : {1, 100}) {
      const ReadBytes read = readBytes(one.content, part);
      EXPECT_EQ(read.text, one.text);
      EXPECT_EQ(read.problem, "") << one.text;
    }
  }
}

TEST(ByteSource, PackedDataThatEndEarlyAreReadAsFarAsTheyGo) {
  const std::string text = "twelve bytes" + noise(100);
  for (const std::string& full : {gzipped(text), zstdOf(text), gzipped("ab") + gzipped(text)}) {
    for (std::size_t cut = 4; cut < full.size(); ++cut) {
      const ReadBytes read = readBytes(full.substr(0, cut), 50);
      const bool isCompleteMember =
          full.size() > gzipped(text).size() && cut == gzipped("ab").size();
      if (isCompleteMember) {
        EXPECT_EQ(read.problem, "");
        continue;
      }
      EXPECT_EQ(read.problem, "the compressed data ends early, after " +
                                  std::to_string(read.text.size()) + " bytes of text")
          << cut;
      EXPECT_TRUE(text.starts_with(read.text) || ("ab" + text).starts_with(read.text)) << cut;
    }
  }
}

TEST(ByteSource, DamageEndsTheReadingAndIsNamed) {
  std::string checksum = gzipped("some text");
  checksum[checksum.size() - 8] ^= 1;
  EXPECT_EQ(readBytes(checksum).problem, "the compressed data is damaged after 9 bytes of text");
  EXPECT_EQ(readBytes(checksum).text, "some text");
  const ReadBytes tail = readBytes(gzipped("some text") + "no gzip");
  EXPECT_EQ(tail.text, "some text");
  EXPECT_EQ(tail.problem, "the compressed data is damaged after 9 bytes of text");
  std::string header = zstdOf("some text");
  header[4] |= 0x08;  // reserved, must be 0
  EXPECT_EQ(readBytes(header).problem, "the compressed data is damaged after 0 bytes of text");
  EXPECT_EQ(readBytes(zstdOf("some text") + "no frame").text, "some text");
  EXPECT_THAT(readBytes(zstdOf("some text") + "no frame").problem,
              HasSubstr("is damaged after 9 bytes"));
}

TEST(ByteSource, AWindowThatZstdDoesNotTakeUnaskedIsNamed) {
  // Magic number, descriptor, window of 2^(10 + n / 8) bytes, and a last block of nothing.
  const auto frame = [](int window) {
    return std::string("\x28\xb5\x2f\xfd\0", 5) + static_cast<char>(window) +
           std::string("\x01\0\0", 3);
  };
  EXPECT_EQ(readBytes(frame(17 * 8)).problem, "");
  EXPECT_THAT(readBytes(frame(18 * 8)).problem,
              HasSubstr("needs a window of more than 128 MiB (zstd --long"));
}

TEST(ByteSource, ATextBeyondTheBudgetIsReadUpToIt) {
  prof::Budget budget;
  ASSERT_TRUE(budget.raise("text=10k"));
  for (const auto pack : {gzipped, zstdOf}) {
    EXPECT_EQ(readBytes(pack(std::string(10'000, 'a')), 100, budget).problem, "");
    const ReadBytes read = readBytes(pack(std::string(20'000, 'a')), 100, budget);
    EXPECT_THAT(
        read.problem,
        HasSubstr("is beyond the budget for a file of this size (--budget text=… raises it)"));
    EXPECT_GE(read.text.size(), 10'000U);
    EXPECT_LE(read.text.size(), 10'100U);
  }
  EXPECT_EQ(readBytes(std::string(20'000, 'a'), 100, budget).text.size(), 20'000U)
      << "it is not unpacked";
}

TEST(ByteSource, ALargePackedFileMayUnpackToAHundredTimesItsSize) {
  prof::Budget budget;
  ASSERT_TRUE(budget.raise("text=1"));
  const std::string packed = zstdOf(noise(1000));
  EXPECT_EQ(readBytes(packed + zstdOf(std::string(50'000, 'a')), 100, budget).problem, "");
  EXPECT_THAT(readBytes(packed + zstdOf(std::string(200'000, 'a')), 100, budget).problem,
              HasSubstr("budget"));
}

TEST(ByteSource, OpensFilesOnly) {
  const auto errorOf = [](const std::filesystem::path& path) {
    return ByteSource::open(path).error().message;
  };
  const test::TempDir folder;
  EXPECT_EQ(errorOf(folder.path()), folder.path().string() + ": is a folder; name a trace file");
  const auto pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(errorOf(pipe), StartsWith(pipe.string() + ": is a pipe, not a file"));
  EXPECT_THAT(errorOf("/dev/null"), StartsWith("/dev/null: is a device, not a file"));
  EXPECT_THAT(errorOf(folder / "missing"), HasSubstr("missing: cannot be opened: "));
}

}  // namespace
}  // namespace lacuna::analyzer
