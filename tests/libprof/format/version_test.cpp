// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <set>

#include "base/bytes.h"
#include "base/checksum.h"
#include "format/block_sink.h"
#include "format/layout.h"
#include "lacuna/prof/reader.h"
#include "lacuna/prof/recover.h"
#include "lacuna/prof/writer.h"
#include "libprof/format/kept_file.h"
#include "support/temp_dir.h"

/// Files of other versions of the format: those of older ones are in tests/data, those of newer
/// ones are made here by changing what a newer writer may change.
namespace lacuna::prof {
namespace {

using format::Bytes;
using testing::HasSubstr;

/// All values of a column, as bytes.
Bytes valuesOf(const Reader& reader, std::uint16_t table, const ColumnSpec& column) {
  Bytes bytes;
  const Status status = reader.scanColumns(
      table, {}, std::span(&column, 1), [&](std::size_t rows, const void* const* data) {
        const auto* values = static_cast<const std::byte*>(data[0]);
        bytes.insert(bytes.end(), values, values + rows * format::widthOf(column.type));
      });
  EXPECT_TRUE(status.ok()) << column.name << ": " << (status.ok() ? "" : status.error().message);
  return bytes;
}

/// The schemes and predictions of all columns, by name.
std::set<std::string> encodingsOf(const Reader& reader) {
  std::set<std::string> names;
  for (const TableInfo& table : reader.tables()) {
    for (const BlockInfo& block : table.blocks) {
      const auto columns = reader.storedColumns(block);
      EXPECT_TRUE(columns.ok());
      for (const StoredColumn& column : *columns) names.insert(column.encoding);
    }
  }
  return names;
}

class KeptFile : public testing::TestWithParam<std::string> {
 protected:
  [[nodiscard]] std::filesystem::path kept() const {
    return std::filesystem::path(LACUNA_TEST_DATA) / ("format-" + GetParam() + ".lcn");
  }
  test::TempDir dir_;
};

TEST_P(KeptFile, ReadsAsTheSameRowsWrittenToday) {
  auto writer = Writer::create(dir_ / "today.lcn");
  writeKept(*writer);
  ASSERT_TRUE(writer->finish().ok());
  const auto today = Reader::open(dir_ / "today.lcn");
  const auto old = Reader::open(kept());
  ASSERT_TRUE(old.ok()) << old.error().message;
  EXPECT_EQ(old->formatVersion(), GetParam());
  EXPECT_TRUE(old->complete());
  EXPECT_TRUE(old->damage().empty());
  EXPECT_THAT(encodingsOf(*old),
              testing::IsSupersetOf({"constant", "offset", "delta", "gap", "delta within queue",
                                     "by name", "dictionary"}));
  ASSERT_EQ(old->tables().size(), today->tables().size());
  for (const TableInfo& table : today->tables()) {
    for (const ColumnSpec& column : std::span(table.spec.columns, table.spec.columnCount)) {
      const Bytes values = valuesOf(*today, table.spec.id, column);
      EXPECT_FALSE(values.empty());
      EXPECT_TRUE(valuesOf(*old, table.spec.id, column) == values)
          << table.spec.name << "." << column.name;
    }
  }
  ASSERT_EQ(old->stringCount(), today->stringCount());
  for (std::uint32_t i = 0; i < old->stringCount(); ++i)
    EXPECT_EQ(old->text(StringId(i)), today->text(StringId(i)));
}

TEST_P(KeptFile, CanBeExtended) {
  const std::filesystem::path copy = dir_ / "longer.lcn";
  std::filesystem::copy_file(kept(), copy);
  std::filesystem::permissions(copy, std::filesystem::perms::owner_write,
                               std::filesystem::perm_options::add);
  const std::size_t before = Reader::open(copy)->rows<Mark>();
  auto writer = Writer::extend(copy);
  ASSERT_TRUE(writer.ok()) << writer.error().message;
  writer->append(Mark{.timeNs = 7, .name = writer->intern("later")});
  ASSERT_TRUE(writer->finish().ok());
  const auto reader = Reader::open(copy);
  ASSERT_TRUE(reader.ok());
  EXPECT_TRUE(reader->damage().empty());
  EXPECT_EQ(reader->rows<Mark>(), before + 1);
  EXPECT_EQ(reader->text(reader->column<&Mark::name>()->back()), "later");
}

INSTANTIATE_TEST_SUITE_P(Versions, KeptFile, testing::Values("1.0"), [](const auto& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
});

void reseal(std::span<std::byte> sealed) {
  const std::uint64_t sum = base::checksum(sealed.first(sealed.size() - sizeof sum));
  std::memcpy(sealed.data() + sealed.size() - sizeof sum, &sum, sizeof sum);
}

/// A file of a writer whose minor version is greater, with blocks of marks and of counter samples.
class NewerFile : public testing::Test {
 protected:
  static constexpr std::size_t kMajorAt = 8;
  static constexpr std::size_t kMinorAt = 10;
  static constexpr std::size_t kKindAt = 8 + 8 + 4 + 4 + 2;
  static constexpr std::size_t kMarks = 100;

  void SetUp() override {
    auto writer = Writer::create(path(), {.blockRows = 50});
    for (std::size_t i = 0; i < kMarks; ++i) {
      writer->append(
          Mark{.timeNs = static_cast<TimeNs>(i), .name = writer->intern("mark"), .payload = i * i});
      writer->append(
          CounterSample{.timeNs = static_cast<TimeNs>(i), .track = TrackId(1), .value = 0.5});
    }
    ASSERT_TRUE(writer->finish().ok());
    const auto reader = Reader::open(path());
    blocks_ = reader->table(Mark::kTable)->blocks;
    samples_ = reader->table(CounterSample::kTable)->blocks;
    std::ifstream in(path(), std::ios::binary);
    const std::string content{std::istreambuf_iterator<char>(in), {}};
    bytes_.resize(content.size());
    std::memcpy(bytes_.data(), content.data(), content.size());
    setByte(kMinorAt, 99);
  }
  [[nodiscard]] std::filesystem::path path() const { return dir_ / "a.lcn"; }

  void setByte(std::size_t at, std::uint8_t value) {
    bytes_[at] = std::byte{value};
    reseal(std::span(bytes_).first(format::kFileHeaderBytes));
  }
  std::span<std::byte> headerOf(const BlockInfo& block) {
    const auto fixed = std::span(bytes_).subspan(block.offset, format::kFixedHeaderBytes);
    return std::span(bytes_).subspan(block.offset, format::parseFixedHeader(fixed)->headerBytes);
  }
  /// Marks a column of a block as stored by a later version's scheme.
  void storeInANewWay(const BlockInfo& block, std::string_view column) {
    const auto header = headerOf(block);
    Bytes name;
    base::ByteWriter(name).shortText(column);
    const auto at = std::search(header.begin(), header.end(), name.begin(), name.end());
    ASSERT_NE(at, header.end());
    // Behind the name: type, what it refers to, hint, the encoding's length, its scheme.
    *(at + static_cast<std::ptrdiff_t>(name.size()) + 4) = std::byte{200};
    reseal(header);
  }
  void makeKind(const BlockInfo& block, std::uint8_t kind) {
    const auto header = headerOf(block);
    header[kKindAt] = std::byte{kind};
    reseal(header.first(format::kFixedHeaderBytes));
    reseal(header);
  }
  Result<Reader> open(std::size_t size) {
    std::ofstream(path(), std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes_.data()), static_cast<std::streamsize>(size));
    return Reader::open(path());
  }
  Result<Reader> open() { return open(bytes_.size()); }
  [[nodiscard]] std::size_t withoutEnd() const {
    std::size_t end = 0;
    for (const auto* blocks : {&blocks_, &samples_}) {
      for (const BlockInfo& block : *blocks)
        end = std::max<std::size_t>(end, block.offset + block.bytes);
    }
    return end;
  }

  test::TempDir dir_;
  Bytes bytes_;
  std::vector<BlockInfo> blocks_;
  std::vector<BlockInfo> samples_;
};

TEST_F(NewerFile, OfTheSameMajorVersionIsRead) {
  const auto reader = open();
  ASSERT_TRUE(reader.ok()) << reader.error().message;
  EXPECT_EQ(reader->formatVersion(), "1.99");
  EXPECT_TRUE(reader->damage().empty());
  EXPECT_EQ(reader->column<&Mark::payload>()->at(99), 99u * 99);
}

TEST_F(NewerFile, OfAGreaterMajorVersionIsRefused) {
  setByte(kMajorAt, format::kMajorVersion + 1);
  const auto reader = open();
  ASSERT_FALSE(reader.ok());
  EXPECT_THAT(reader.error().message, HasSubstr("version 2.99"));
  EXPECT_THAT(reader.error().message, HasSubstr("use a newer lacuna"));
}

TEST_F(NewerFile, AColumnOfAnUnknownEncodingIsAnErrorAndTheOthersAreRead) {
  storeInANewWay(blocks_[1], "payload");
  const auto reader = open();
  ASSERT_TRUE(reader.ok()) << reader.error().message;
  EXPECT_TRUE(reader->damage().empty()) << "what is not understood is not damaged";
  EXPECT_EQ(reader->rows<Mark>(), kMarks);
  EXPECT_EQ(reader->column<&Mark::timeNs>()->at(99), 99);
  EXPECT_EQ(reader->column<&CounterSample::value>()->size(), kMarks);
  const auto payload = reader->column<&Mark::payload>();
  ASSERT_FALSE(payload.ok());
  EXPECT_THAT(payload.error().message, HasSubstr("mark.payload"));
  EXPECT_THAT(payload.error().message, HasSubstr("only a newer version of lacuna knows"));
  // The blocks before it can still be had.
  EXPECT_EQ(reader->column<&Mark::payload>({0, 10})->at(49), 49u * 49);
}

TEST_F(NewerFile, BlocksOfAnUnknownKindAreSkipped) {
  makeKind(blocks_[0], 77);
  const auto reader = open(withoutEnd());
  ASSERT_TRUE(reader.ok()) << reader.error().message;
  ASSERT_EQ(reader->damage().size(), 1u);
  EXPECT_THAT(reader->damage()[0].what, HasSubstr("no end"));
  ASSERT_EQ(reader->rows<Mark>(), kMarks / 2);
  EXPECT_EQ(reader->column<&Mark::payload>()->at(0), 50u * 50);
  EXPECT_EQ(reader->rows<CounterSample>(), kMarks);
}

TEST_F(NewerFile, AFinishedFileWithABlockOfAnUnknownKindIsComplete) {
  format::Encoder encoder(1);
  auto sink = format::BlockSink::create(path());
  ASSERT_TRUE(sink.ok());
  Bytes body;
  format::BlockHeader header = format::blobBlock(static_cast<format::BlockKind>(200), 0,
                                                 Bytes(100, std::byte{7}), encoder, body);
  sink->append(header, body);
  ASSERT_TRUE(sink->finish(encoder).ok());
  const auto reader = Reader::open(path());
  ASSERT_TRUE(reader.ok());
  EXPECT_TRUE(reader->complete());
  EXPECT_TRUE(reader->damage().empty());
  EXPECT_TRUE(reader->tables().empty());
}

TEST_F(NewerFile, ARecoveredFileKeepsWhatIsNotUnderstood) {
  storeInANewWay(blocks_[1], "payload");
  ASSERT_TRUE(open(withoutEnd()).ok());
  const auto recovered = recoverFile(path(), dir_ / "recovered.lcn");
  ASSERT_TRUE(recovered.ok()) << recovered.error().message;
  const auto reader = Reader::open(dir_ / "recovered.lcn");
  EXPECT_EQ(reader->rows<Mark>(), kMarks);
  EXPECT_THAT(encodingsOf(*reader), testing::Contains("unknown"));
}

}  // namespace
}  // namespace lacuna::prof
