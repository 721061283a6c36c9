// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "import/perfetto/packet_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "formats/proto_wire.h"

namespace lacuna::analyzer {
namespace {

using proto::Wire;

/// Perfetto's own limit is 512 KiB for a compressed packet; ours is for files that were made
/// otherwise.
constexpr std::uint64_t kMaxPacketBytes = 256 << 20;

}  // namespace

bool PacketReader::next(std::string& packet) {
  for (;;) {
    start_ = offset_;
    std::uint64_t tag = 0;
    if (!varint(tag)) return false;
    std::uint64_t size = 0;
    const auto wire = static_cast<Wire>(tag & 7);
    if (wire == Wire::Varint) {
      if (!varint(size)) return endInside();
      continue;
    }
    if (wire != Wire::Bytes || tag >> 3 == 0) return stop("is not a packet");
    if (!varint(size)) return endInside();
    if (size > kMaxPacketBytes)
      return stop(fmt::format("claims {} bytes, which is no packet's size", size));
    if (!bytes(packet, static_cast<std::size_t>(size))) return breakOff();
    if (tag >> 3 == 1) return true;
  }
}

bool PacketReader::endInside() {
  return problem_.empty() ? breakOff() : false;
}

bool PacketReader::breakOff() {
  breaksOff_ = true;
  return stop("breaks off");
}

bool PacketReader::stop(std::string_view what) {
  problem_ = fmt::format("byte {}: the packet {}", start_, what);
  return false;
}

bool PacketReader::fill() {
  at_ = 0;
  have_ = source_.read(buffer_.data(), buffer_.size());
  return have_ > 0;
}

bool PacketReader::varint(std::uint64_t& value) {
  value = 0;
  for (unsigned shift = 0; shift < 70; shift += 7) {
    if (at_ == have_ && !fill()) {
      if (shift > 0) breakOff();
      return false;
    }
    const auto byte = static_cast<unsigned char>(buffer_[at_++]);
    ++offset_;
    if (shift < 64) value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return stop("is not a packet");
}

bool PacketReader::bytes(std::string& to, std::size_t size) {
  to.clear();
  while (to.size() < size) {
    if (at_ == have_ && !fill()) return false;
    const std::size_t part = std::min(size - to.size(), have_ - at_);
    to.append(buffer_.data() + at_, part);
    at_ += part;
    offset_ += part;
  }
  return true;
}

}  // namespace lacuna::analyzer
