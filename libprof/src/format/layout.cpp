// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "format/layout.h"

#include <algorithm>

#include "base/checksum.h"

namespace lacuna::prof::format {
namespace {

using base::ByteReader;
using base::ByteWriter;
using base::checksum;

constexpr std::array<unsigned char, 8> kMagic = {0x89, 'L', 'C', 'N', '\r', '\n', 0x1a, '\n'};
constexpr std::uint64_t kFooterMarker = 0x0A1A'646E'65B5'CEF7;

void seal(Bytes& bytes) {
  ByteWriter(bytes).number(checksum(bytes));
}

/// True when the last eight bytes are the checksum of the others.
bool sealed(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(std::uint64_t)) return false;
  const auto content = bytes.first(bytes.size() - sizeof(std::uint64_t));
  return base::checksumMatches(
      content, ByteReader(bytes.last(sizeof(std::uint64_t))).number<std::uint64_t>());
}

void putPlanes(ByteWriter& out, const Encoding& e) {
  out.number(e.planeCount);
  for (std::size_t i = 0; i < e.planeCount; ++i) {
    out.number(e.planes[i].mode);
    out.number(e.planes[i].storedBytes);
  }
}

bool takePlanes(ByteReader& in, Encoding& e) {
  e.planeCount = in.number<std::uint8_t>();
  if (e.planeCount > e.planes.size()) return false;
  for (std::size_t i = 0; i < e.planeCount; ++i) {
    e.planes[i].mode = in.number<PlaneMode>();
    e.planes[i].storedBytes = in.number<std::uint32_t>();
    if (e.planes[i].mode > PlaneMode::Zstd) return false;
  }
  return true;
}

Bytes encodeEncoding(const Encoding& e) {
  Bytes bytes;
  ByteWriter out(bytes);
  out.number(e.scheme);
  if (e.scheme == Scheme::Blob) out.number(e.rawBytes);
  if (e.scheme != Scheme::Blob) out.number(e.reference);
  if (e.scheme == Scheme::Predicted) {
    for (const auto value :
         {static_cast<std::uint8_t>(e.base), e.baseColumn, e.groupColumn, e.contextColumn,
          e.contextShift, static_cast<std::uint8_t>(e.zigzag), e.shift}) {
      out.number(value);
    }
  }
  if (e.scheme == Scheme::Dictionary) {
    out.number(e.entries);
    out.number(e.entryPlanes);
    out.number(e.entryReference);
    out.number(e.shift);
  }
  if (e.scheme != Scheme::Constant) putPlanes(out, e);
  return bytes;
}

bool parseEncoding(std::span<const std::byte> bytes, Encoding& e) {
  ByteReader in(bytes);
  e.scheme = in.number<Scheme>();
  if (e.scheme > Scheme::Dictionary) return false;
  if (e.scheme == Scheme::Blob) e.rawBytes = in.number<std::uint32_t>();
  if (e.scheme != Scheme::Blob) e.reference = in.number<std::uint64_t>();
  if (e.scheme == Scheme::Predicted) {
    e.base = in.number<Base>();
    e.baseColumn = in.number<std::uint8_t>();
    e.groupColumn = in.number<std::uint8_t>();
    e.contextColumn = in.number<std::uint8_t>();
    e.contextShift = in.number<std::uint8_t>();
    e.zigzag = in.number<std::uint8_t>() != 0;
    e.shift = in.number<std::uint8_t>();
    if (e.base > Base::Column || e.contextShift > 7) return false;
  }
  if (e.scheme == Scheme::Dictionary) {
    e.entries = in.number<std::uint32_t>();
    e.entryPlanes = in.number<std::uint8_t>();
    e.entryReference = in.number<std::uint64_t>();
    e.shift = in.number<std::uint8_t>();
  }
  if (e.shift > 63) return false;
  if (e.scheme != Scheme::Constant && !takePlanes(in, e)) return false;
  return in.ok();
}

void putSection(ByteWriter& out, const Section& section) {
  out.shortText(section.name);
  out.number(section.type);
  out.number(section.refers);
  out.number(section.hint);
  const Bytes encoding = encodeEncoding(section.encoding);
  out.number(static_cast<std::uint8_t>(encoding.size()));
  out.raw(encoding.data(), encoding.size());
  out.number(section.storedBytes);
  out.number(section.checksum);
}

Section takeSection(ByteReader& in) {
  Section section;
  section.name = in.shortText();
  section.type = in.number<ColumnType>();
  section.refers = in.number<Refers>();
  section.hint = in.number<Hint>();
  section.known = parseEncoding(in.raw(in.number<std::uint8_t>()), section.encoding) &&
                  section.type <= ColumnType::F64;
  section.storedBytes = in.number<std::uint32_t>();
  section.checksum = in.number<std::uint64_t>();
  return section;
}

void putEntry(ByteWriter& out, const BlockEntry& entry) {
  out.number(entry.bodyBytes);
  out.number(entry.headerBytes);
  out.number(entry.rows);
  out.number(entry.table);
  out.number(entry.kind);
  out.number(entry.flags);
  out.number(entry.minTime);
  out.number(entry.maxTime);
}

void takeEntry(ByteReader& in, BlockEntry& entry) {
  entry.bodyBytes = in.number<std::uint64_t>();
  entry.headerBytes = in.number<std::uint32_t>();
  entry.rows = in.number<std::uint32_t>();
  entry.table = in.number<std::uint16_t>();
  entry.kind = in.number<BlockKind>();
  entry.flags = in.number<std::uint8_t>();
  entry.minTime = in.number<std::int64_t>();
  entry.maxTime = in.number<std::int64_t>();
}

/// marker 8, entry 36, columns 2, reserved 10, checksum 8
Bytes encodeFixedHeader(const BlockEntry& entry, std::size_t sections) {
  Bytes bytes;
  ByteWriter out(bytes);
  out.number(kSyncMarker);
  putEntry(out, entry);
  out.number(static_cast<std::uint16_t>(sections));
  bytes.resize(kFixedHeaderBytes - sizeof(std::uint64_t));
  seal(bytes);
  return bytes;
}

std::size_t fixedSectionCount(std::span<const std::byte> bytes) {
  return ByteReader(bytes.subspan(44, 2)).number<std::uint16_t>();
}

}  // namespace

std::size_t widthOf(ColumnType type) {
  switch (type) {
    case ColumnType::U8:
      return 1;
    case ColumnType::U16:
      return 2;
    case ColumnType::I32:
    case ColumnType::U32:
      return 4;
    default:
      return 8;
  }
}

bool BlockEntry::plausible(std::uint64_t fileBytes) const {
  return headerBytes >= kFixedHeaderBytes && headerBytes <= kMaxHeaderBytes &&
         bodyBytes <= kMaxBodyBytes && rows <= kMaxBlockRows && rows <= kMaxRowsPerByte * bytes() &&
         offset <= fileBytes && bytes() <= fileBytes - offset;
}

Bytes encodeFileHeader() {
  Bytes bytes;
  ByteWriter out(bytes);
  out.raw(kMagic.data(), kMagic.size());
  out.number(kMajorVersion);
  out.number(kMinorVersion);
  out.number(static_cast<std::uint32_t>(kFileHeaderBytes));
  bytes.resize(kFileHeaderBytes - sizeof(std::uint64_t));
  seal(bytes);
  return bytes;
}

FileHeader parseFileHeader(std::span<const std::byte> bytes) {
  FileHeader header;
  header.magic =
      bytes.size() >= kMagic.size() && std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) == 0;
  if (bytes.size() < kFileHeaderBytes || !header.magic) return header;
  ByteReader in(bytes.subspan(kMagic.size()));
  header.major = in.number<std::uint16_t>();
  header.minor = in.number<std::uint16_t>();
  if (!sealed(bytes.first(kFileHeaderBytes))) return header;
  header.state = header.major > kMajorVersion ? HeaderState::TooNew : HeaderState::Good;
  return header;
}

Bytes encodeBlockHeader(BlockHeader& header) {
  Bytes variable;
  ByteWriter out(variable);
  out.shortText(header.tableName);
  std::uint64_t bodyBytes = 0;
  for (const Section& section : header.sections) {
    putSection(out, section);
    bodyBytes += section.storedBytes;
  }
  BlockEntry& entry = header.entry;
  entry.headerBytes =
      static_cast<std::uint32_t>(kFixedHeaderBytes + variable.size() + sizeof(std::uint64_t));
  const std::uint64_t least = (entry.rows + kMaxRowsPerByte - 1) / kMaxRowsPerByte;
  entry.bodyBytes = std::max(bodyBytes, least > entry.headerBytes ? least - entry.headerBytes : 0);
  Bytes bytes = encodeFixedHeader(entry, header.sections.size());
  bytes.insert(bytes.end(), variable.begin(), variable.end());
  seal(bytes);
  return bytes;
}

std::optional<BlockEntry> parseFixedHeader(std::span<const std::byte> bytes) {
  if (bytes.size() < kFixedHeaderBytes) return std::nullopt;
  ByteReader in(bytes);
  if (in.number<std::uint64_t>() != kSyncMarker || !sealed(bytes.first(kFixedHeaderBytes)))
    return std::nullopt;
  BlockEntry entry;
  takeEntry(in, entry);
  return entry;
}

std::optional<BlockHeader> parseBlockHeader(std::span<const std::byte> bytes) {
  BlockHeader header;
  const auto entry = parseFixedHeader(bytes);
  constexpr std::size_t kLeastBytes = kFixedHeaderBytes + sizeof(std::uint64_t);
  if (!entry || entry->headerBytes != bytes.size() || bytes.size() < kLeastBytes || !sealed(bytes))
    return std::nullopt;
  header.entry = *entry;
  ByteReader in(
      bytes.subspan(kFixedHeaderBytes, bytes.size() - kFixedHeaderBytes - sizeof(std::uint64_t)));
  header.tableName = in.shortText();
  const std::size_t count = fixedSectionCount(bytes);
  std::uint64_t at = 0;
  for (std::size_t i = 0; i < count && in.ok(); ++i) {
    header.sections.push_back(takeSection(in));
    header.sections.back().offset = at;
    at += header.sections.back().storedBytes;
  }
  if (!in.ok() || at > entry->bodyBytes) return std::nullopt;
  return header;
}

Bytes encodeFooter(const Footer& footer) {
  Bytes bytes;
  ByteWriter out(bytes);
  out.number(kFooterMarker);
  out.number(footer.indexOffset);
  out.number(footer.fileBytes);
  out.number(std::uint64_t{0});
  seal(bytes);
  return bytes;
}

std::optional<Footer> parseFooter(std::span<const std::byte> bytes) {
  if (bytes.size() != kFooterBytes || !sealed(bytes)) return std::nullopt;
  ByteReader in(bytes);
  if (in.number<std::uint64_t>() != kFooterMarker) return std::nullopt;
  Footer footer;
  footer.indexOffset = in.number<std::uint64_t>();
  footer.fileBytes = in.number<std::uint64_t>();
  return footer;
}

Bytes encodeIndex(std::span<const BlockEntry> blocks) {
  Bytes bytes;
  ByteWriter out(bytes);
  out.number(static_cast<std::uint64_t>(blocks.size()));
  for (const BlockEntry& entry : blocks) {
    out.number(entry.offset);
    putEntry(out, entry);
  }
  return bytes;
}

std::optional<std::vector<BlockEntry>> parseIndex(std::span<const std::byte> bytes,
                                                  std::uint64_t fileBytes) {
  ByteReader in(bytes);
  const auto count = in.number<std::uint64_t>();
  if (!in.ok() || count > in.left() / 44 || count * 44 != in.left()) return std::nullopt;
  std::vector<BlockEntry> blocks(count);
  std::uint64_t end = kFileHeaderBytes;
  for (BlockEntry& entry : blocks) {
    entry.offset = in.number<std::uint64_t>();
    takeEntry(in, entry);
    if (!entry.plausible(fileBytes) || entry.offset < end) return std::nullopt;
    end = entry.end();
  }
  return blocks;
}

}  // namespace lacuna::prof::format
