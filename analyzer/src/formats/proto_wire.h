// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

/// Protocol buffers' wire format, read and written without a schema.
namespace lacuna::analyzer::proto {

enum class Wire : std::uint8_t { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

/// Takes a varint from the front; false when there is no whole one.
inline bool takeVarint(std::string_view& from, std::uint64_t& value) {
  value = 0;
  for (std::size_t i = 0; i < from.size() && i < 10; ++i) {
    const auto byte = static_cast<unsigned char>(from[i]);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      from.remove_prefix(i + 1);
      return true;
    }
  }
  return false;
}

struct Field {
  std::uint32_t number = 0;
  Wire wire = Wire::Varint;
  std::uint64_t value = 0;  ///< of Varint, Fixed64 and Fixed32
  std::string_view bytes;   ///< of Bytes

  [[nodiscard]] std::int64_t signedValue() const { return static_cast<std::int64_t>(value); }
  [[nodiscard]] double real() const {
    return wire == Wire::Fixed32
               ? static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(value)))
               : std::bit_cast<double>(value);
  }
};

/// The fields of a message, one after the other.
class Reader {
 public:
  explicit Reader(std::string_view message) : rest_(message) {}

  /// False at the end, and where the message is malformed.
  bool next(Field& field) {
    if (rest_.empty()) return false;
    std::uint64_t tag = 0;
    if (!takeVarint(rest_, tag) || tag >> 3 == 0 || tag >> 32 != 0) return fail();
    field.number = static_cast<std::uint32_t>(tag >> 3);
    field.wire = static_cast<Wire>(tag & 7);
    field.bytes = {};
    switch (field.wire) {
      case Wire::Varint:
        return takeVarint(rest_, field.value) || fail();
      case Wire::Fixed64:
        return takeFixed(8, field.value) || fail();
      case Wire::Fixed32:
        return takeFixed(4, field.value) || fail();
      case Wire::Bytes:
        if (!takeVarint(rest_, field.value) || field.value > rest_.size()) return fail();
        field.bytes = rest_.substr(0, field.value);
        rest_.remove_prefix(field.value);
        return true;
    }
    return fail();
  }
  [[nodiscard]] bool malformed() const { return malformed_; }

 private:
  bool fail() {
    malformed_ = true;
    rest_ = {};
    return false;
  }
  bool takeFixed(std::size_t bytes, std::uint64_t& value) {
    if (rest_.size() < bytes) return false;
    value = 0;
    std::memcpy(&value, rest_.data(), bytes);
    rest_.remove_prefix(bytes);
    return true;
  }

  std::string_view rest_;
  bool malformed_ = false;
};

inline void putVarint(std::string& to, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) to += static_cast<char>(value | 0x80);
  to += static_cast<char>(value);
}
inline void putNumber(std::string& to, std::uint32_t field, std::uint64_t value) {
  putVarint(to, std::uint64_t{field} << 3);
  putVarint(to, value);
}
inline void putFixed(std::string& to, std::uint32_t field, std::uint64_t value) {
  putVarint(to, std::uint64_t{field} << 3 | 1);
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}
inline void putBytes(std::string& to, std::uint32_t field, std::string_view bytes) {
  putVarint(to, std::uint64_t{field} << 3 | 2);
  putVarint(to, bytes.size());
  to += bytes;
}
constexpr std::uint64_t zigzag(std::int64_t value) {
  return static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63);
}
constexpr std::int64_t unzigzag(std::uint64_t value) {
  return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
}

}  // namespace lacuna::analyzer::proto
