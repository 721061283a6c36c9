// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "lacuna/prof/schema.h"

/// The bytes of an .lcn file that are not columns: file header, block headers, footer. FORMAT.md is
/// the contract.
namespace lacuna::prof::format {

using base::Bytes;

inline constexpr std::uint16_t kMajorVersion = 1;
inline constexpr std::uint16_t kMinorVersion = 1;

inline constexpr std::size_t kFileHeaderBytes = 64;
inline constexpr std::size_t kFixedHeaderBytes = 64;
inline constexpr std::size_t kFooterBytes = 40;
inline constexpr std::size_t kMaxHeaderBytes = std::size_t{1} << 16;
inline constexpr std::uint64_t kMaxBodyBytes = std::uint64_t{1} << 28;
inline constexpr std::uint32_t kMaxBlockRows = std::uint32_t{1} << 20;
/// A block has at least one byte for this many rows (padded if need be). So the size of the file
/// bounds what a reader allocates.
inline constexpr std::uint64_t kMaxRowsPerByte = 16;
/// A blob does not shrink by more than this; one that would is kept as it is.
inline constexpr std::uint64_t kMaxBlobRatio = 64;
inline constexpr std::uint64_t kSyncMarker =
    0x0A1A'6B6C'62B5'CEF7;  // unlikely in text, in code and in our own columns

enum class BlockKind : std::uint8_t { Rows = 1, Strings = 2, Index = 3, Derived = 4 };
inline constexpr std::uint8_t kLongRows =
    1;  ///< block flag: rows much longer than a block, kept apart

/// The way a column's numbers became bytes; see encoding.h.
enum class Scheme : std::uint8_t { Blob = 0, Constant = 1, Predicted = 2, Dictionary = 3 };
enum class PlaneMode : std::uint8_t { Zero = 0, Raw = 1, Zstd = 2 };
inline constexpr std::uint8_t kNoColumn = 0xff;

/// The base that a value is predicted from, before what is left is stored.
enum class Base : std::uint8_t {
  None = 0,         ///< the reference value
  Previous = 1,     ///< the row before (of the same group)
  PreviousEnd = 2,  ///< the row before plus its `baseColumn` (start + duration)
  Column = 3,       ///< the same row's `baseColumn`
};

struct Plane {
  PlaneMode mode = PlaneMode::Zero;
  std::uint32_t storedBytes = 0;
};

struct Encoding {
  Scheme scheme = Scheme::Constant;
  Base base = Base::None;
  std::uint8_t baseColumn = kNoColumn;
  std::uint8_t groupColumn =
      kNoColumn;  ///< `Previous` means the previous row with the same value here
  std::uint8_t contextColumn =
      kNoColumn;                  ///< what is left is predicted once more by this column's value
  std::uint8_t contextShift = 0;  ///< 0: the last one seen; s: a running mean that moves by 1/2^s
  bool zigzag = false;
  std::uint8_t shift = 0;        ///< common trailing zero bits
  std::uint64_t reference = 0;   ///< constant, first value, or least value
  std::uint32_t entries = 0;     ///< of the dictionary
  std::uint8_t entryPlanes = 0;  ///< the first planes hold the dictionary
  std::uint64_t entryReference = 0;
  std::uint32_t rawBytes = 0;  ///< of a blob
  std::uint8_t planeCount = 0;
  std::array<Plane, 16> planes{};

  void addPlane(Plane plane) { planes[planeCount++] = plane; }
};

struct Section {
  std::string_view name;  ///< into the header's own bytes
  ColumnType type = ColumnType::U8;
  Refers refers = Refers::Nothing;
  Hint hint = Hint::Plain;
  bool known = true;  ///< false: an encoding of a newer writer
  Encoding encoding;
  std::uint64_t offset = 0;  ///< within the body
  std::uint32_t storedBytes = 0;
  std::uint64_t checksum = 0;
};

/// The part of a block header that an index repeats.
struct BlockEntry {
  std::uint64_t offset = 0;
  std::uint64_t bodyBytes = 0;
  std::uint32_t headerBytes = 0;
  std::uint32_t rows = 0;
  std::uint16_t table = 0;
  BlockKind kind = BlockKind::Rows;
  std::uint8_t flags = 0;
  std::int64_t minTime = INT64_MAX;
  std::int64_t maxTime = INT64_MIN;  ///< the last end, exclusive

  [[nodiscard]] std::uint64_t bytes() const { return headerBytes + bodyBytes; }
  [[nodiscard]] std::uint64_t end() const { return offset + bytes(); }
  /// True when the other entry, read from the block itself, is the same block.
  [[nodiscard]] bool describes(const BlockEntry& other) const {
    return rows == other.rows && bodyBytes == other.bodyBytes && headerBytes == other.headerBytes &&
           table == other.table && kind == other.kind;
  }
  /// True when the sizes can be right at all within a file of this size.
  [[nodiscard]] bool plausible(std::uint64_t fileBytes) const;
};

struct BlockHeader {
  BlockEntry entry;
  std::string_view tableName;
  std::vector<Section> sections;
};

std::size_t widthOf(ColumnType type);

Bytes encodeFileHeader();
enum class HeaderState { Good, Damaged, TooNew };
struct FileHeader {
  HeaderState state = HeaderState::Damaged;
  bool magic = false;
  std::uint16_t major = 0;
  std::uint16_t minor = 0;
};
FileHeader parseFileHeader(std::span<const std::byte> bytes);

/// Fills in entry.headerBytes and entry.bodyBytes (sections plus padding) and returns the header's
/// bytes.
Bytes encodeBlockHeader(BlockHeader& header);
/// The fixed part only: nothing unless marker and checksum are right. `offset` is left to the
/// caller.
std::optional<BlockEntry> parseFixedHeader(std::span<const std::byte> bytes);
/// The whole header; its views point into `bytes`.
std::optional<BlockHeader> parseBlockHeader(std::span<const std::byte> bytes);

struct Footer {
  std::uint64_t indexOffset = 0;
  std::uint64_t fileBytes = 0;  ///< including the footer
};
Bytes encodeFooter(const Footer& footer);
std::optional<Footer> parseFooter(std::span<const std::byte> bytes);

Bytes encodeIndex(std::span<const BlockEntry> blocks);
std::optional<std::vector<BlockEntry>> parseIndex(std::span<const std::byte> bytes,
                                                  std::uint64_t fileBytes);

}  // namespace lacuna::prof::format
