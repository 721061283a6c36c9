// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "python/line_table.h"

#include <limits>

namespace lacuna::collector::python {
namespace {

std::optional<std::uint32_t> asLine(std::int64_t line) {
  if (line <= 0 || line > std::numeric_limits<std::int32_t>::max()) return std::nullopt;
  return static_cast<std::uint32_t>(line);
}

/// Pairs of bytes: how far the next entry is from this one, in instructions and (signed) in lines.
std::optional<std::uint32_t> lineOfPairs(std::span<const std::byte> table, std::int64_t line,
                                         std::uint64_t offset) {
  std::uint64_t at = 0;
  for (std::size_t i = 0; i + 1 < table.size(); i += 2) {
    at += std::to_integer<std::uint8_t>(table[i]);
    if (at > offset) break;
    line += static_cast<std::int8_t>(table[i + 1]);
  }
  return asLine(line);
}

/// Pairs of bytes: the length of a range of instructions, and the distance of its line from the one
/// before. A distance of -128 marks a range without a line.
std::optional<std::uint32_t> lineOfRanges(std::span<const std::byte> table, std::int64_t line,
                                          std::uint64_t offset) {
  constexpr std::int8_t kNoLine = -128;
  std::uint64_t end = 0;
  for (std::size_t i = 0; i + 1 < table.size(); i += 2) {
    end += std::to_integer<std::uint8_t>(table[i]);
    const auto step = static_cast<std::int8_t>(table[i + 1]);
    if (step != kNoLine) line += step;
    if (offset < end) return step == kNoLine ? std::nullopt : asLine(line);
  }
  return std::nullopt;
}

/// Entries of a byte with its highest bit set (kind and length in code units), and bytes without it
/// that belong to it.
class Locations {
 public:
  explicit Locations(std::span<const std::byte> table) : table_(table) {}

  std::optional<std::uint32_t> lineOf(std::int64_t line, std::uint64_t offset) {
    std::uint64_t end = 0;
    while (at_ < table_.size()) {
      const auto first = std::to_integer<std::uint8_t>(table_[at_++]);
      if ((first & 0x80) == 0) return std::nullopt;
      const unsigned kind = first >> 3 & 15;
      line += lineStep(kind);
      end += 2 * ((first & 7u) + 1);
      if (offset < end) return kind == kNone ? std::nullopt : asLine(line);
      while (at_ < table_.size() && (std::to_integer<std::uint8_t>(table_[at_]) & 0x80) == 0) ++at_;
    }
    return std::nullopt;
  }

 private:
  static constexpr unsigned kNone = 15, kLong = 14, kNoColumns = 13, kOneLine0 = 10;

  std::int64_t lineStep(unsigned kind) {
    if (kind == kLong || kind == kNoColumns) return signedNumber();
    return kind >= kOneLine0 && kind < kNoColumns ? static_cast<std::int64_t>(kind - kOneLine0) : 0;
  }
  /// Six bits a byte, the lowest first; the seventh: another follows. The lowest of all is the
  /// sign.
  std::int64_t signedNumber() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; at_ < table_.size() && shift < 36; shift += 6) {
      const auto byte = std::to_integer<std::uint8_t>(table_[at_]);
      if ((byte & 0x80) != 0) break;
      ++at_;
      value |= static_cast<std::uint64_t>(byte & 63) << shift;
      if ((byte & 64) == 0) break;
    }
    const auto half = static_cast<std::int64_t>(value >> 1);
    return (value & 1) != 0 ? -half : half;
  }

  std::span<const std::byte> table_;
  std::size_t at_ = 0;
};

}  // namespace

std::optional<std::uint32_t> lineOf(LineTable kind, std::span<const std::byte> table,
                                    std::int32_t firstLine, std::uint64_t offset) {
  switch (kind) {
    case LineTable::Pairs:
      return lineOfPairs(table, firstLine, offset);
    case LineTable::Ranges:
      return lineOfRanges(table, firstLine, offset);
    case LineTable::Locations:
      return Locations(table).lineOf(firstLine, offset);
  }
  return std::nullopt;
}

}  // namespace lacuna::collector::python
