// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "import/perfetto/packet_unpacking.h"

#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include <cstddef>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "formats/perfetto_schema.h"
#include "formats/proto_wire.h"
#include "import/perfetto/own_rows.h"
#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {
namespace {

std::string deflated(std::string_view text) {
  uLongf size = compressBound(static_cast<uLong>(text.size()));
  std::string out(size, '\0');
  compress2(reinterpret_cast<Bytef*>(out.data()), &size,
            reinterpret_cast<const Bytef*>(text.data()), static_cast<uLong>(text.size()), 1);
  out.resize(size);
  return out;
}

std::string zstandard(std::string_view text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 1));
  return out;
}

struct Packing {
  std::string (*pack)(std::string_view);
  bool (*unpack)(std::string_view, std::string&);
  const char* name;
};
constexpr Packing kPackings[] = {{deflated, unpackZlib, "zlib"}, {zstandard, unpackZstd, "zstd"}};

TEST(PacketUnpacking, GivesBackTextsOfAnySize) {
  std::mt19937 random(41);
  for (const Packing& packing : kPackings) {
    // Around the 64 KiB that are unpacked at a time.
    for (const std::size_t size : {0, 1, 1000, 65'535, 65'536, 65'537, 300'000}) {
      std::string text(size, '\0');
      for (char& c : text) c = static_cast<char>(random() % 5 == 0 ? random() : 'a');
      std::string out;
      EXPECT_TRUE(packing.unpack(packing.pack(text), out)) << packing.name << " " << size;
      EXPECT_TRUE(out == text) << packing.name << " " << size;
    }
  }
}

TEST(PacketUnpacking, DataThatBreakOffAreNoPackets) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += std::to_string(i * i);
  for (const Packing& packing : kPackings) {
    const std::string full = packing.pack(text);
    for (std::size_t cut = 0; cut < full.size(); ++cut) {
      std::string out;
      EXPECT_FALSE(packing.unpack(full.substr(0, cut), out)) << packing.name << " " << cut;
    }
  }
}

TEST(PacketUnpacking, DamagedDataAreNoPackets) {
  for (const Packing& packing : kPackings) {
    std::string out;
    EXPECT_FALSE(packing.unpack("these bytes are not packed", out)) << packing.name;
    EXPECT_FALSE(packing.unpack(packing.pack("text").insert(0, "x"), out)) << packing.name;
  }
  std::string checksum = deflated("some text"), out;
  checksum.back() ^= 1;
  EXPECT_FALSE(unpackZlib(checksum, out));
  out.clear();
  EXPECT_FALSE(unpackZstd(zstandard("some text") + "tail", out));
}

TEST(PacketUnpacking, SeveralFramesOfZstdAreOneText) {
  std::string out;
  EXPECT_TRUE(unpackZstd(zstandard("first, ") + zstandard("second"), out));
  EXPECT_EQ(out, "first, second");
}

/// The inside of a zlib stream that can stand after itself.
std::string deflatedBlock(std::string_view text) {
  z_stream stream{};
  deflateInit2(&stream, 1, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, text.size()) + 32, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FULL_FLUSH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

TEST(PacketUnpacking, APacketOfMoreThan64MiBIsRefusedWhenItGetsThere) {
  constexpr std::size_t kMost = std::size_t{64} << 20;
  const std::string part(1 << 20, 'a'), block = deflatedBlock(part), frame = zstandard(part);
  std::string zlib = "\x78\x01", zstd;
  for (int i = 0; i < 66; ++i) {
    zlib += block;
    zstd += frame;
  }
  for (const bool isZstd : {false, true}) {
    std::string out;
    EXPECT_FALSE(isZstd ? unpackZstd(zstd, out) : unpackZlib(zlib, out));
    EXPECT_GE(out.size(), kMost);
    EXPECT_LE(out.size(), kMost + (1 << 16));
  }
}

/// A row as our export writes it, with the texts that come before it.
std::string ownMark(const std::vector<std::string>& texts, const prof::Mark& mark) {
  std::string bytes;
  for (const std::string& text : texts) proto::putBytes(bytes, perfetto::own::kText, text);
  perfetto::putRow(bytes, mark);
  return bytes;
}

TEST(PerfettoOwnRows, TextsCountOnFromPacketToPacket) {
  StoreBuilder builder;
  builder.intern("of another number here");
  PerfettoOwnRows rows(builder);
  EXPECT_TRUE(rows.read(""));
  EXPECT_FALSE(rows.any());
  EXPECT_TRUE(rows.read(ownMark({"one", "two"}, {.timeNs = -5, .name = prof::StringId(2)})));
  EXPECT_TRUE(rows.any());
  EXPECT_TRUE(
      rows.read(ownMark({"three"}, {.category = prof::StringId(1), .name = prof::StringId(3)})));
  EXPECT_TRUE(rows.read(ownMark({}, {.name = prof::StringId(4)})));
  const auto& marks = builder.columns<prof::Mark>();
  ASSERT_EQ(marks.timeNs.size(), 3U);
  EXPECT_EQ(marks.timeNs[0], -5);
  EXPECT_EQ(builder.text(marks.name[0]), "two");
  EXPECT_EQ(builder.text(marks.category[1]), "one");
  EXPECT_EQ(builder.text(marks.name[1]), "three");
  EXPECT_EQ(builder.text(marks.name[2]), "") << "there is no fourth text";
}

TEST(PerfettoOwnRows, ValuesOfArgumentsAreTextsWhereTheirTypeIs) {
  StoreBuilder builder;
  builder.intern("of another number here");
  PerfettoOwnRows rows(builder);
  std::string bytes;
  proto::putBytes(bytes, perfetto::own::kText, "key");
  proto::putBytes(bytes, perfetto::own::kText, "value");
  for (const auto type : {prof::ArgType::Text, prof::ArgType::Json, prof::ArgType::I64}) {
    for (const std::uint64_t value : {2, 77}) {
      perfetto::putRow(bytes, prof::Arg{.key = prof::StringId(1), .type = type, .value = value});
    }
  }
  EXPECT_TRUE(rows.read(bytes));
  const auto& args = builder.columns<prof::Arg>();
  const std::uint64_t text = builder.intern("value").value;
  EXPECT_NE(text, 2U);
  EXPECT_EQ(args.value, (std::vector<std::uint64_t>{text, 0, text, 0, 2, 77}));
}

TEST(PerfettoOwnRows, ARowThatBreaksOffKeepsItsFirstColumns) {
  StoreBuilder builder;
  PerfettoOwnRows rows(builder);
  std::string row, bytes;
  proto::putVarint(row, prof::Mark::kTable);
  proto::putVarint(row, proto::zigzag(42));
  proto::putBytes(bytes, perfetto::own::kRow, row);
  EXPECT_TRUE(rows.read(bytes)) << "an older export has fewer columns";
  EXPECT_EQ(builder.columns<prof::Mark>().timeNs.at(0), 42);
  std::string unknown, empty;
  proto::putBytes(unknown, perfetto::own::kRow, "\x7f\x01");
  EXPECT_TRUE(rows.read(unknown)) << "a table of a later version";
  proto::putBytes(empty, perfetto::own::kRow, "");
  EXPECT_FALSE(rows.read(empty)) << "no table at all";
  EXPECT_FALSE(rows.read(bytes.substr(0, bytes.size() - 1)));
  EXPECT_EQ(builder.columns<prof::Mark>().timeNs.size(), 1U);
}

}  // namespace
}  // namespace lacuna::analyzer
