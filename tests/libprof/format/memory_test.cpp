// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <new>
#include <random>

#include "base/checksum.h"
#include "format/block_sink.h"
#include "format/layout.h"
#include "lacuna/prof/reader.h"
#include "lacuna/prof/writer.h"
#include "support/temp_dir.h"

/// The memory that a reader takes, whatever a file claims of itself.

namespace {
std::atomic<std::uint64_t> gLive{0};
std::atomic<std::uint64_t> gPeak{0};

void* taken(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  const std::uint64_t bytes = malloc_usable_size(memory);
  const std::uint64_t live = gLive.fetch_add(bytes) + bytes;
  std::uint64_t peak = gPeak.load();
  while (live > peak && !gPeak.compare_exchange_weak(peak, live)) {
  }
  return memory;
}
void given(void* memory) {
  gLive.fetch_sub(malloc_usable_size(memory));
  std::free(memory);
}
}  // namespace

/// Replaces the library's operators with ones that count. The count leaves out zstd's memory: one
/// context for each thread.
void* operator new(std::size_t bytes) {
  return taken(std::malloc(bytes));
}
void* operator new[](std::size_t bytes) {
  return taken(std::malloc(bytes));
}
void* operator new(std::size_t bytes, const std::nothrow_t& /*unused*/) noexcept {
  void* memory = std::malloc(bytes);
  return memory != nullptr ? taken(memory) : nullptr;
}
void* operator new[](std::size_t bytes, const std::nothrow_t& /*unused*/) noexcept {
  return operator new(bytes, std::nothrow);
}
void operator delete(void* memory) noexcept {
  given(memory);
}
void operator delete[](void* memory) noexcept {
  given(memory);
}
// Clang hides these two with -fvisibility=hidden, and the library of C++ would call others.
[[gnu::visibility("default")]] void operator delete(void* memory, std::size_t /*bytes*/) noexcept {
  given(memory);
}
[[gnu::visibility("default")]] void operator delete[](void* memory,
                                                      std::size_t /*bytes*/) noexcept {
  given(memory);
}

namespace lacuna::prof {
namespace {

using format::BlockEntry;
using format::BlockHeader;
using format::BlockKind;
using format::Bytes;
using format::Encoding;
using format::Scheme;
using format::Section;

/// The memory that FORMAT.md allows for each byte of file: 16 rows of 8 bytes for a column in
/// memory.
constexpr std::uint64_t kColumn = format::kMaxRowsPerByte * sizeof(std::uint64_t);
/// For the objects of a reader of a few blocks.
constexpr std::uint64_t kObjects = 64 << 10;

std::uint64_t readEverything(const std::filesystem::path& path) {
  const auto reader = Reader::open(path);
  if (!reader.ok()) return 0;
  std::uint64_t rows = 0;
  for (const TableInfo& table : reader->tables()) {
    for (std::size_t c = 0; c < table.spec.columnCount; ++c) {
      // A column that cannot be decoded is an error, which is no concern of this test.
      (void)reader->scanColumns(table.spec.id, {}, std::span(table.spec.columns + c, 1),
                                [&](std::size_t more, const void* const*) { rows += more; });
    }
  }
  for (std::uint32_t id = 0; id < reader->stringCount(); ++id)
    rows += reader->text(StringId(id)).size() > 0 ? 1 : 0;
  return rows;
}

/// The most heap memory in use at a time while everything is read.
std::uint64_t peakOfReading(const std::filesystem::path& path) {
  const std::uint64_t before = gLive.load();
  gPeak.store(before);
  readEverything(path);
  return gPeak.load() - before;
}

Bytes loadBytes(const std::filesystem::path& path) {
  Bytes bytes(std::filesystem::file_size(path));
  std::ifstream(path, std::ios::binary)
      .read(reinterpret_cast<char*>(bytes.data()), std::ssize(bytes));
  return bytes;
}

void save(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
}

// Damaged files.

class DamagedMemoryTest : public testing::Test {
 protected:
  void SetUp() override {
    auto writer = Writer::create(path(), {.blockRows = 400});
    ASSERT_TRUE(writer.ok());
    std::mt19937_64 random(3);
    for (int i = 0; i < 2400; ++i) {
      const StringId name = writer->intern("name " + std::to_string(i % 90));
      writer->append(
          Mark{.timeNs = i * 1000 + int(random() % 900), .name = name, .payload = random()});
      writer->append(Range{.startNs = i * 1000, .durNs = int(random() % 900), .name = name});
      writer->append(CounterSample{.timeNs = i * 1000, .track = TrackId(1), .value = i * 0.5});
    }
    ASSERT_TRUE(writer->finish().ok());
    content_ = loadBytes(path());
    peakOfReading(path());  // what a thread takes once, and keeps
    // Those of the whole file, and once more: for a walk over its blocks, words about damage, and a
    // search window.
    most_ = 2 * peakOfReading(path()) + content_.size();
    ASSERT_GT(most_, content_.size());
    ASSERT_LT(most_, kObjects + 2 * kColumn * content_.size());
  }
  [[nodiscard]] std::filesystem::path path() const { return dir_ / "a.lcn"; }
  void expectLittle(std::span<const std::byte> bytes, const std::string& what) {
    save(path(), bytes);
    EXPECT_LE(peakOfReading(path()), most_) << what;
  }

  test::TempDir dir_;
  Bytes content_;
  std::uint64_t most_ = 0;
};

TEST_F(DamagedMemoryTest, ATruncatedFileTakesNoMoreThanItsWholeSelf) {
  std::mt19937 random(5);
  for (int i = 0; i < 200; ++i) {
    const std::size_t size = random() % content_.size();
    expectLittle(std::span(content_).first(size), "cut to " + std::to_string(size));
  }
}

TEST_F(DamagedMemoryTest, AfterABitFlipItTakesNoMore) {
  std::mt19937 random(7);
  for (int i = 0; i < 400; ++i) {
    const std::size_t at = random() % content_.size();
    const auto bit = static_cast<std::byte>(1 << random() % 8);
    content_[at] ^= bit;
    expectLittle(content_, "flipped at " + std::to_string(at));
    content_[at] ^= bit;
  }
}

// Files that claim what is not so, with good checksums.

void reseal(Bytes& header) {
  const auto seal = [&](std::size_t end) {
    const std::uint64_t sum = base::checksum(std::span(header).first(end - sizeof(std::uint64_t)));
    std::memcpy(header.data() + end - sizeof sum, &sum, sizeof sum);
  };
  seal(format::kFixedHeaderBytes);
  seal(header.size());
}

Section section(std::string_view name, ColumnType type, const Encoding& encoding) {
  Section section;
  section.name = name;
  section.type = type;
  section.encoding = encoding;
  return section;
}

/// A file made of blocks, one after another.
class CraftedMemoryTest : public testing::Test {
 protected:
  void SetUp() override {
    // Memory that a thread takes once, and keeps.
    bytes_ = format::encodeFileHeader();
    addRows(1000, 3);
    peak();
    bytes_ = format::encodeFileHeader();
    entries_.clear();
  }

  void add(BlockHeader header, const Bytes& body, std::uint32_t claimedRows = 0) {
    for (Section& section : header.sections) {
      section.checksum = base::checksum(std::span(body).first(section.storedBytes));
    }
    Bytes head = format::encodeBlockHeader(header);
    if (claimedRows != 0) {
      constexpr std::size_t kRowsAt = 20;
      std::memcpy(head.data() + kRowsAt, &claimedRows, sizeof claimedRows);
      reseal(head);
      header.entry.rows = claimedRows;
    }
    header.entry.offset = bytes_.size();
    entries_.push_back(header.entry);
    bytes_.insert(bytes_.end(), head.begin(), head.end());
    bytes_.insert(bytes_.end(), body.begin(), body.end());
    bytes_.resize(header.entry.end());
  }
  /// Columns that need no bytes.
  void addRows(std::uint32_t rows, std::size_t columns, std::uint32_t claimedRows = 0) {
    add(constantBlock(rows, columns), {}, claimedRows);
  }
  static BlockHeader constantBlock(std::uint32_t rows, std::size_t columns) {
    BlockHeader header;
    header.entry.rows = rows;
    header.entry.table = 903;
    header.tableName = "claims";
    for (std::size_t c = 0; c < columns; ++c)
      header.sections.push_back(section(kNames[c], ColumnType::U64, {}));
    return header;
  }
  void addBlob(BlockKind kind, const Bytes& blob) {
    format::Encoder encoder(1);
    Bytes body;
    const BlockHeader header = format::blobBlock(kind, 1, blob, encoder, body);
    add(header, body);
  }
  /// An index of all blocks as they claim to be, and the footer.
  void finish() {
    const std::uint64_t indexOffset = bytes_.size();
    addBlob(BlockKind::Index, format::encodeIndex(entries_));
    addFooter(indexOffset);
  }
  void addFooter(std::uint64_t indexOffset) {
    const Bytes footer = format::encodeFooter({indexOffset, bytes_.size() + format::kFooterBytes});
    bytes_.insert(bytes_.end(), footer.begin(), footer.end());
  }
  std::uint64_t peak() {
    save(path(), bytes_);
    return peakOfReading(path());
  }
  [[nodiscard]] std::filesystem::path path() const { return dir_ / "a.lcn"; }

  inline static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (int i = 0; i < 255; ++i) names.push_back(std::to_string(i));
    return names;
  }();
  test::TempDir dir_;
  Bytes bytes_;
  std::vector<BlockEntry> entries_;
};

TEST_F(CraftedMemoryTest, MoreRowsThanTheBytesAllowTakeNothing) {
  for (const std::uint32_t rows : {10'000u, 1u << 20, (1u << 20) + 1, UINT32_MAX}) {
    for (const bool indexed : {false, true}) {
      bytes_ = format::encodeFileHeader();
      entries_.clear();
      for (int i = 0; i < 20; ++i) addRows(100, 3, rows);
      if (indexed) finish();
      EXPECT_LE(peak(), kObjects) << rows << " rows" << (indexed ? ", in the index too" : "");
    }
  }
}

TEST_F(CraftedMemoryTest, AsManyRowsAsTheyAllowTakeAColumnOfABlock) {
  for (int i = 0; i < 3; ++i) addRows(1u << 20, 8);
  finish();
  const std::uint64_t block = entries_[0].bytes();
  EXPECT_EQ(block, (1u << 20) / format::kMaxRowsPerByte);
  EXPECT_LE(peak(), kColumn * block + bytes_.size() + kObjects);
}

TEST_F(CraftedMemoryTest, ABlobThatClaimsToBeLargeTakesNothing) {
  for (const BlockKind kind : {BlockKind::Strings, BlockKind::Index}) {
    BlockHeader header;
    header.entry.rows = 1;
    header.entry.kind = kind;
    Encoding encoding;
    encoding.scheme = Scheme::Blob;
    encoding.rawBytes = UINT32_MAX;
    encoding.addPlane({format::PlaneMode::Zero, 0});
    header.sections.push_back(section("blob", ColumnType::U8, encoding));
    add(header, {});
  }
  addFooter(entries_.back().offset);
  EXPECT_LE(peak(), kObjects);
}

Bytes stringsBlob(std::uint32_t first, std::uint32_t count, std::string_view text) {
  Bytes blob;
  base::ByteWriter out(blob);
  out.number(first);
  out.number(count);
  out.number(static_cast<std::uint32_t>(text.size()));
  out.raw(text.data(), text.size());
  return blob;
}

TEST_F(CraftedMemoryTest, MoreStringsThanABlobHoldsTakeNothing) {
  addBlob(BlockKind::Strings, stringsBlob(1, UINT32_MAX, "text"));
  EXPECT_LE(peak(), kObjects);
}

TEST_F(CraftedMemoryTest, ATextLongerThanItsBlobLeavesNoneOfItsTexts) {
  Bytes blob;
  base::ByteWriter out(blob);
  for (const std::uint32_t number : {1u, 2u, 4u, 1000u}) out.number(number);
  out.raw("text", 4);
  addBlob(BlockKind::Strings, blob);
  finish();
  const auto reader = Reader::open(path());
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ(reader->damage().size(), 1u);
  EXPECT_EQ(reader->text(StringId(1)), "") << "which would lie in memory that is gone";
}

TEST_F(CraftedMemoryTest, HolesBetweenStringsTakeALimitedAmountInAll) {
  constexpr std::uint32_t kMaxMissing = 1u << 20;
  for (std::uint32_t i = 1; i <= 40; ++i)
    addBlob(BlockKind::Strings, stringsBlob(i * (kMaxMissing - 1), 1, "text"));
  finish();
  // While the list of texts grows there are two of it.
  EXPECT_LE(peak(), 2 * sizeof(std::string_view) * (kMaxMissing + bytes_.size()) + kObjects);
  const auto reader = Reader::open(path());
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ(reader->text(StringId(kMaxMissing - 1)), "text") << "a hole that damage may have left";
  EXPECT_EQ(reader->damage().size(), 39u);
}

TEST_F(CraftedMemoryTest, AColumnPredictedFromAllOthersTakesThoseOfAFew) {
  constexpr std::size_t kColumns = 255;
  BlockHeader header = constantBlock(120'000, kColumns);
  for (std::size_t c = 0; 3 * c + 3 < kColumns; ++c) {
    Encoding& encoding = header.sections[c].encoding;
    encoding.scheme = Scheme::Predicted;
    encoding.base = format::Base::Column;
    encoding.baseColumn = static_cast<std::uint8_t>(3 * c + 1);
    encoding.groupColumn = static_cast<std::uint8_t>(3 * c + 2);
    encoding.contextColumn = static_cast<std::uint8_t>(3 * c + 3);
  }
  add(header, {});
  finish();
  // The column, the 16 others that it may need, and what is kept for one: 16-bit keys and a plane.
  EXPECT_LE(peak(), (1 + 16 + 1) * kColumn * entries_[0].bytes() + kObjects);
  const auto reader = Reader::open(path());
  ASSERT_TRUE(reader.ok());
  ASSERT_EQ(reader->tables().size(), 1u);
  const auto readColumn = [&](std::size_t c) {
    return reader
        ->scanColumns(903, {}, std::span(reader->tables()[0].spec.columns + c, 1),
                      [](auto, auto) {})
        .ok();
  };
  EXPECT_FALSE(readColumn(0));
  EXPECT_TRUE(readColumn(40));
}

}  // namespace
}  // namespace lacuna::prof
