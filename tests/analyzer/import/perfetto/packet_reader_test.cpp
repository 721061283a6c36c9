// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "import/perfetto/packet_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/proto_wire.h"
#include "import/byte_source.h"
#include "import/perfetto/packed_values.h"

namespace lacuna::analyzer {
namespace {

using namespace std::string_literals;
using testing::ElementsAre;
using testing::IsEmpty;

/// Bytes in memory, handed out in parts of at most `part` bytes as a file may be read.
class BytesInParts final : public ByteSource {
 public:
  BytesInParts(std::string bytes, std::size_t part) : bytes_(std::move(bytes)), part_(part) {}
  std::size_t read(char* to, std::size_t capacity) override {
    const std::size_t got = std::min({capacity, part_, bytes_.size() - at_});
    std::copy_n(bytes_.data() + at_, got, to);
    at_ += got;
    return got;
  }
  [[nodiscard]] std::uint64_t fileBytes() const override { return bytes_.size(); }
  [[nodiscard]] double progress() const override { return 0; }

 private:
  std::string bytes_;
  std::size_t part_, at_ = 0;
};

struct ReadPackets {
  std::vector<std::string> packets;
  std::vector<std::uint64_t> offsets;
  std::string problem;
  bool breaksOff = false;
};

ReadPackets packetsOf(std::string_view bytes, std::size_t part = 1 << 20) {
  BytesInParts source{std::string(bytes), part};
  PacketReader reader(source);
  ReadPackets read;
  for (std::string packet; reader.next(packet);) {
    read.packets.push_back(packet);
    read.offsets.push_back(reader.packetOffset());
  }
  read.problem = reader.problem();
  read.breaksOff = reader.breaksOff();
  return read;
}

std::string packetsWith(const std::vector<std::string>& contents) {
  std::string out;
  for (const std::string& content : contents) proto::putBytes(out, 1, content);
  return out;
}

TEST(PacketReader, GivesEveryPacketAndWhereItStarts) {
  const std::vector<std::string> contents = {"abc", "", std::string(300, 'x'),
                                             std::string(300'000, 'y'), "end"};
  const std::string bytes = packetsWith(contents);
  for (const std::size_t part : {std::size_t{1}, std::size_t{100}, std::size_t{1} << 18}) {
    const ReadPackets read = packetsOf(bytes, part);
    EXPECT_TRUE(read.packets == contents) << part;
    // A tag, the size in 1 to 3 bytes, and what is in it.
    EXPECT_THAT(read.offsets, ElementsAre(0, 5, 7, 7 + 303, 7 + 303 + 300'004)) << part;
    EXPECT_EQ(read.problem, "");
  }
  EXPECT_THAT(packetsOf("").packets, IsEmpty());
  EXPECT_EQ(packetsOf("").problem, "");
}

TEST(PacketReader, SkipsFieldsThatAreNoPackets) {
  std::string bytes;
  proto::putBytes(bytes, 2, "other");
  proto::putNumber(bytes, 1, 77);
  proto::putBytes(bytes, 1, "packet");
  proto::putBytes(bytes, 100'000, std::string(1'000, 'o'));
  const ReadPackets read = packetsOf(bytes);
  EXPECT_THAT(read.packets, ElementsAre("packet"));
  EXPECT_THAT(read.offsets, ElementsAre(9));
  EXPECT_EQ(read.problem, "");
}

TEST(PacketReader, AFileThatEndsInsideAPacketBreaksOffAtItsStart) {
  const std::string first = packetsWith({"abc"}), second = packetsWith({std::string(200, 'x')});
  for (std::size_t cut = 1; cut < second.size(); ++cut) {
    const ReadPackets read = packetsOf(first + second.substr(0, cut), 3);
    ASSERT_THAT(read.packets, ElementsAre("abc")) << cut;
    ASSERT_EQ(read.problem, "byte 5: the packet breaks off") << cut;
    ASSERT_TRUE(read.breaksOff) << cut;
  }
  std::string number;
  proto::putNumber(number, 3, 1'000);
  for (std::size_t cut = 1; cut < number.size(); ++cut) {
    EXPECT_EQ(packetsOf(first + number.substr(0, cut)).problem, "byte 5: the packet breaks off")
        << cut;
  }
}

TEST(PacketReader, WhatIsNoPacketIsNamedAndEndsTheReading) {
  const std::string first = packetsWith({"abc"});
  for (const std::string& bytes :
       {"\x02\x01x"s, "\x09 12345678"s, "\x0d 1234"s, "\x0b\x01x"s, std::string(12, '\xff')}) {
    const ReadPackets read = packetsOf(first + bytes);
    EXPECT_THAT(read.packets, ElementsAre("abc"));
    EXPECT_EQ(read.problem, "byte 5: the packet is not a packet") << testing::PrintToString(bytes);
    EXPECT_FALSE(read.breaksOff);
  }
}

TEST(PacketReader, ASizeThatIsNoNumberIsNoPacketRatherThanTheEndOfTheFile) {
  const ReadPackets read = packetsOf("\x0a" + std::string(11, '\xff') + std::string(50, 'x'));
  EXPECT_EQ(read.problem, "byte 0: the packet is not a packet");
  EXPECT_FALSE(read.breaksOff) << "there are 51 bytes more";
}

TEST(PacketReader, ASizeThatNoPacketHasIsRefused) {
  std::string bytes = "\x0a";
  proto::putVarint(bytes, (std::uint64_t{256} << 20) + 1);
  EXPECT_EQ(packetsOf(bytes).problem,
            "byte 0: the packet claims 268435457 bytes, which is no packet's size");
  EXPECT_FALSE(packetsOf(bytes).breaksOff);
  std::string most = "\x0a";
  proto::putVarint(most, std::uint64_t{256} << 20);
  EXPECT_TRUE(packetsOf(most + "only these").breaksOff);
}

TEST(PackedValues, AreOneNumberOrManyOfEitherWidth) {
  std::string varints, fixed;
  for (const std::uint64_t value : {1ULL, 300ULL, ~0ULL}) {
    proto::putVarint(varints, value);
    fixed.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  const auto valuesOf = [](const proto::Field& field, proto::Wire packed, bool isComplete) {
    std::vector<std::uint64_t> values;
    EXPECT_EQ(eachValue(field, packed, [&](std::uint64_t value) { values.push_back(value); }),
              isComplete);
    return values;
  };
  const proto::Field number{.number = 1, .value = 7, .bytes = {}};
  const auto bytesOf = [](std::string_view bytes) {
    return proto::Field{
        .number = 1, .wire = proto::Wire::Bytes, .value = bytes.size(), .bytes = bytes};
  };
  EXPECT_THAT(valuesOf(number, proto::Wire::Varint, true), ElementsAre(7));
  EXPECT_THAT(valuesOf(bytesOf(""), proto::Wire::Varint, true), IsEmpty());
  EXPECT_THAT(valuesOf(bytesOf(varints), proto::Wire::Varint, true), ElementsAre(1, 300, ~0ULL));
  EXPECT_THAT(valuesOf(bytesOf(fixed), proto::Wire::Fixed64, true), ElementsAre(1, 300, ~0ULL));
  // Cut off inside the last value.
  varints.pop_back();
  fixed.pop_back();
  EXPECT_THAT(valuesOf(bytesOf(varints), proto::Wire::Varint, false), ElementsAre(1, 300));
  EXPECT_THAT(valuesOf(bytesOf(fixed), proto::Wire::Fixed64, false), ElementsAre(1, 300));
}

}  // namespace
}  // namespace lacuna::analyzer
