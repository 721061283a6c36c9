// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <iterator>
#include <random>

#include "lacuna/prof/place_file.h"
#include "lacuna/prof/reader.h"
#include "lacuna/prof/recover.h"
#include "lacuna/prof/writer.h"
#include "support/temp_dir.h"

namespace lacuna::prof {
namespace {

using testing::HasSubstr;
using Content = std::vector<char>;

Content load(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// In place: emptying a file and writing it anew makes some file systems flush it each time.
void save(const std::filesystem::path& path, const Content& content, std::size_t size) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT, 0666);
  ASSERT_GE(file, 0);
  EXPECT_EQ(::pwrite(file, content.data(), size, 0), static_cast<ssize_t>(size));
  EXPECT_EQ(::ftruncate(file, static_cast<off_t>(size)), 0);
  ::close(file);
}

/// A small trace of two tables in many blocks; a row's payload is its number, so that a wrong or
/// missing one is noticed.
class DamageTest : public testing::Test {
 protected:
  static constexpr std::size_t kHeaderBytes = 64;
  static constexpr std::size_t kFooterBytes = 40;
  static constexpr int kRows = 240;
  static constexpr std::uint32_t kBlockRows = 40;

  void SetUp() override {
    auto writer = Writer::create(whole(), {.blockRows = kBlockRows});
    ASSERT_TRUE(writer.ok());
    std::mt19937 random(3);
    for (int i = 0; i < kRows; ++i) {
      const StringId name = writer->intern("name " + std::to_string(i % 9));
      writer->append(Mark{
          .timeNs = i * 1000 + int(random() % 900), .name = name, .payload = std::uint64_t(i)});
      writer->append(CounterSample{.timeNs = i * 1000, .track = TrackId(1), .value = i * 0.5});
    }
    ASSERT_TRUE(writer->finish().ok());
    content_ = load(whole());
    const auto reader = Reader::open(whole());
    ASSERT_TRUE(reader.ok());
    for (const TableInfo& table : reader->tables()) {
      for (const BlockInfo& block : table.blocks) blocks_.emplace_back(table.spec.id, block);
    }
    std::sort(blocks_.begin(), blocks_.end(),
              [](const auto& a, const auto& b) { return a.second.offset < b.second.offset; });
  }

  [[nodiscard]] std::filesystem::path whole() const { return dir_ / "whole.lcn"; }
  [[nodiscard]] std::filesystem::path hurt() const { return dir_ / "hurt.lcn"; }

  /// The payloads of all marks in blocks that `intact` accepts.
  template <class Intact>
  std::vector<std::uint64_t> expectedMarks(Intact&& intact) const {
    std::vector<std::uint64_t> rows;
    std::uint64_t next = 0;
    for (const auto& [table, block] : blocks_) {
      if (table != Mark::kTable) continue;
      for (std::uint32_t i = 0; i < block.rows; ++i, ++next) {
        if (intact(block)) rows.push_back(next);
      }
    }
    return rows;
  }
  template <class Intact>
  std::uint64_t expectedSamples(Intact&& intact) const {
    std::uint64_t rows = 0;
    for (const auto& [table, block] : blocks_)
      rows += table == CounterSample::kTable && intact(block) ? block.rows : 0;
    return rows;
  }

  /// Opens the hurt file and expects exactly the intact blocks and, if something is missing, a word
  /// about it.
  template <class Intact>
  void expectExactly(Intact&& intact, const std::string& what) {
    const auto reader = Reader::open(hurt());
    ASSERT_TRUE(reader.ok()) << what << ": " << reader.error().message;
    const auto marks = reader->table<Mark>();
    ASSERT_TRUE(marks.ok()) << what << ": " << marks.error().message;
    EXPECT_TRUE(marks->payload == expectedMarks(intact)) << what;
    EXPECT_EQ(reader->rows<CounterSample>(), expectedSamples(intact)) << what;
    EXPECT_TRUE(reader->column<&CounterSample::value>().ok()) << what;
    EXPECT_FALSE(reader->damage().empty()) << what;
  }

  /// For a file with one damaged byte: the stretch that is reported has it, and is the block if it
  /// is in one.
  void expectPlaceNamed(std::size_t at) {
    const auto reader = Reader::open(hurt());
    ASSERT_TRUE(reader.ok());
    const auto damage = reader->damage();
    EXPECT_TRUE(
        std::any_of(damage.begin(), damage.end(),
                    [&](const Damage& d) { return d.offset <= at && at < d.offset + d.bytes; }))
        << "flipped at " << at;
    for (const auto& [table, block] : blocks_) {
      if (at < block.offset || at >= block.offset + block.bytes) continue;
      ASSERT_EQ(damage.size(), 1u) << "flipped at " << at;
      EXPECT_EQ(damage[0].offset, block.offset) << "flipped at " << at;
      EXPECT_EQ(damage[0].bytes, block.bytes) << "flipped at " << at;
    }
    for (const Damage& each : damage) {
      EXPECT_LE(each.offset + each.bytes, content_.size()) << "flipped at " << at;
    }
  }

  void expectAfterTruncation(std::size_t size) {
    save(hurt(), content_, size);
    if (size < 8) {
      EXPECT_FALSE(Reader::open(hurt()).ok());
      return;
    }
    expectExactly([&](const BlockInfo& block) { return block.offset + block.bytes <= size; },
                  "cut to " + std::to_string(size));
  }

  test::TempDir dir_;
  Content content_;
  std::vector<std::pair<std::uint16_t, BlockInfo>> blocks_;
};

TEST_F(DamageTest, TruncatedAtEveryBlockBoundaryItHasTheBlocksBefore) {
  for (const auto& [table, block] : blocks_) {
    expectAfterTruncation(block.offset);
    expectAfterTruncation(block.offset + block.bytes);
  }
}

TEST_F(DamageTest, TruncatedBehindItsHeaderItIsEmpty) {
  expectAfterTruncation(kHeaderBytes);
  const auto reader = Reader::open(hurt());
  ASSERT_TRUE(reader.ok());
  EXPECT_TRUE(reader->tables().empty());
  EXPECT_FALSE(reader->complete());
}

TEST_F(DamageTest, TruncatedBetweenIndexAndFooterItHasEverything) {
  expectAfterTruncation(content_.size() - kFooterBytes);
  const auto reader = Reader::open(hurt());
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ(reader->rows<Mark>(), std::uint64_t(kRows));
  EXPECT_EQ(reader->rows<CounterSample>(), std::uint64_t(kRows));
  EXPECT_EQ(reader->text(reader->column<&Mark::name>()->front()), "name 0");
  EXPECT_FALSE(reader->complete());
}

TEST_F(DamageTest, TruncatedAtRandomItHasTheBlocksBefore) {
  std::mt19937 random(5);
  for (int i = 0; i < 1000; ++i) expectAfterTruncation(random() % content_.size());
}

TEST_F(DamageTest, AfterABitFlipExactlyTheBlockThatWasHitIsMissing) {
  std::mt19937 random(7);
  for (int i = 0; i < 10'000; ++i) {
    const std::size_t at = random() % content_.size();
    const auto bit = static_cast<char>(1 << random() % 8);
    content_[at] = static_cast<char>(content_[at] ^ bit);
    save(hurt(), content_, content_.size());
    content_[at] = static_cast<char>(content_[at] ^ bit);
    expectExactly(
        [&](const BlockInfo& block) {
          return at < block.offset || at >= block.offset + block.bytes;
        },
        "flipped at " + std::to_string(at));
    expectPlaceNamed(at);
    if (HasFailure()) break;
  }
}

TEST_F(DamageTest, DamageIsNamedWithItsPlaceAndTable) {
  const auto& [table, block] = blocks_[5];
  content_[block.offset + block.bytes - 1] ^= 1;
  save(hurt(), content_, content_.size());
  const auto reader = Reader::open(hurt());
  ASSERT_EQ(reader->damage().size(), 1u);
  EXPECT_EQ(reader->damage()[0].offset, block.offset);
  EXPECT_EQ(reader->damage()[0].bytes, block.bytes);
  EXPECT_THAT(reader->damage()[0].what, HasSubstr("a block of 40 rows of table "));
}

TEST_F(DamageTest, WhereChecksumsWereNotTestedReadingDamageIsAnError) {
  const auto found =
      std::find_if(blocks_.begin(), blocks_.end(), [](auto& b) { return b.first == Mark::kTable; });
  for (std::size_t i = 0; i < found->second.bytes; ++i) content_[found->second.offset + i] ^= 1;
  save(hurt(), content_, content_.size());
  const auto reader = Reader::open(hurt(), {ReaderOptions::Verify::Never});
  ASSERT_TRUE(reader.ok());
  EXPECT_FALSE(reader->column<&Mark::payload>().ok());
}

TEST_F(DamageTest, ATableWithoutAReadableHeaderHidesNoOther) {
  for (const auto& [table, block] : blocks_) {
    if (table != CounterSample::kTable) continue;
    for (std::size_t i = 0; i < block.bytes; ++i) content_[block.offset + i] ^= 1;
  }
  save(hurt(), content_, content_.size());
  const auto reader = Reader::open(hurt(), {ReaderOptions::Verify::Never});
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ(reader->rows<Mark>(), std::uint64_t(kRows));
  EXPECT_EQ(reader->rows<CounterSample>(), std::uint64_t(kRows));
  EXPECT_TRUE(reader->column<&Mark::payload>().ok());
  EXPECT_FALSE(reader->column<&CounterSample::value>().ok());
}

TEST_F(DamageTest, RecoverMakesACompleteFileOfTheRest) {
  content_[blocks_[3].second.offset + 70] ^= 1;
  save(hurt(), content_, blocks_.back().second.offset + 10);
  const auto summary = recoverFile(hurt(), dir_ / "new.lcn");
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  EXPECT_EQ(summary->damage.size(), 2u);
  EXPECT_FALSE(summary->wasComplete);
  const auto reader = Reader::open(dir_ / "new.lcn");
  ASSERT_TRUE(reader.ok());
  EXPECT_TRUE(reader->complete());
  EXPECT_TRUE(reader->damage().empty());
  EXPECT_EQ(summary->rows, reader->rows<Mark>() + reader->rows<CounterSample>());
  EXPECT_EQ(summary->rows, 2u * kRows - blocks_[3].second.rows - blocks_.back().second.rows);
  EXPECT_EQ(reader->text(reader->column<&Mark::name>()->front()), "name 0");
}

TEST_F(DamageTest, RecoverNeverWritesOntoItsSource) {
  EXPECT_THAT(recoverFile(whole(), whole()).error().message, HasSubstr("itself"));
  EXPECT_EQ(load(whole()), content_);
}

TEST_F(DamageTest, RecoverReplacesAFileOnlyByACompleteOne) {
  const auto out = dir_ / "out.lcn";
  save(out, content_, content_.size());
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{content_.size() / 2, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  const auto failed = recoverFile(whole(), out);
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(failed.ok());
  EXPECT_THAT(failed.error().message, HasSubstr("File too large"));
  EXPECT_EQ(load(out), content_);
  EXPECT_FALSE(std::filesystem::exists(unfinishedName(out)));

  save(out, content_, 100);
  std::filesystem::create_symlink(out, dir_ / "link.lcn");
  ASSERT_TRUE(recoverFile(whole(), dir_ / "link.lcn").ok());
  EXPECT_TRUE(std::filesystem::is_symlink(dir_ / "link.lcn"));
  EXPECT_EQ(Reader::open(out)->rows<Mark>(), std::uint64_t(kRows));
}

TEST_F(DamageTest, RandomBytesNeverOpenAsATrace) {
  std::mt19937 random(9);
  Content noise(3000);
  for (char& byte : noise) byte = static_cast<char>(random());
  save(hurt(), noise, noise.size());
  EXPECT_FALSE(Reader::open(hurt()).ok());
}

TEST(DiskFull, WhatWasWrittenBeforeStaysReadable) {
  const test::TempDir dir;
  const auto path = dir / "a.lcn";
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{20'000, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  auto writer = Writer::create(path, {.blockRows = 100});
  std::mt19937_64 random(1);
  for (int i = 0; i < 100'000; ++i) writer->append(Mark{.timeNs = i, .payload = random()});
  const Status status = writer->finish();
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("File too large"));
  EXPECT_FALSE(writer->status().ok());
  const auto reader = Reader::open(path);
  ASSERT_TRUE(reader.ok()) << reader.error().message;
  EXPECT_GT(reader->rows<Mark>(), 1000u);
  EXPECT_EQ(reader->damage().size(), 1u);
  EXPECT_EQ(reader->column<&Mark::timeNs>()->at(1000), 1000);
}

}  // namespace
}  // namespace lacuna::prof
