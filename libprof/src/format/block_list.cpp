// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "format/block_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/checksum.h"
#include "format/encoding.h"

namespace lacuna::prof::format {
namespace {

constexpr std::size_t kSearchBytes = std::size_t{1} << 18;

std::string_view tableName(std::uint16_t id) {
  for (const TableSpec& table : allTables()) {
    if (table.id == id) return table.name;
  }
  return {};
}

/// The block that starts at `offset`, if its header is whole; its body may be beyond the end of the
/// file.
std::optional<BlockEntry> headerAt(const base::InputFile& file, std::uint64_t fileBytes,
                                   std::uint64_t offset, Bytes& bytes) {
  if (offset > fileBytes || fileBytes - offset < kFixedHeaderBytes) return std::nullopt;
  bytes.resize(kFixedHeaderBytes);
  if (!file.read(offset, bytes).ok()) return std::nullopt;
  auto entry = parseFixedHeader(bytes);
  if (!entry) return std::nullopt;
  entry->offset = offset;
  return entry;
}

/// The next offset from `from` on that holds a sync marker, or the end of the file.
std::uint64_t findMarker(const base::InputFile& file, std::uint64_t fileBytes, std::uint64_t from) {
  Bytes window;
  std::byte marker[sizeof kSyncMarker];
  std::memcpy(marker, &kSyncMarker, sizeof marker);
  while (from + sizeof marker <= fileBytes) {
    window.resize(std::min<std::uint64_t>(kSearchBytes, fileBytes - from));
    if (!file.read(from, window).ok()) return fileBytes;
    const auto found =
        std::search(window.begin(), window.end(), std::begin(marker), std::end(marker));
    if (found != window.end()) return from + static_cast<std::uint64_t>(found - window.begin());
    from += window.size() - (sizeof marker - 1);
  }
  return fileBytes;
}

bool isFooter(const base::InputFile& file, std::uint64_t fileBytes, std::uint64_t offset) {
  if (fileBytes - offset < kFooterBytes) return false;
  Bytes bytes(kFooterBytes);
  return file.read(offset, bytes).ok() && parseFooter(bytes).has_value();
}

/// The next place from `from` on where a whole header (or the end of the file) is.
std::uint64_t resync(const base::InputFile& file, std::uint64_t fileBytes, std::uint64_t from) {
  Bytes bytes;
  for (;;) {
    from = findMarker(file, fileBytes, from);
    if (from >= fileBytes) return fileBytes;
    const auto entry = headerAt(file, fileBytes, from, bytes);
    if (entry && entry->plausible(fileBytes) && readHeader(file, *entry, bytes).ok()) return from;
    ++from;
  }
}

}  // namespace

Result<BlockHeader> readHeader(const base::InputFile& file, const BlockEntry& entry, Bytes& bytes) {
  bytes.resize(entry.headerBytes);
  if (Status status = file.read(entry.offset, bytes); !status.ok()) return status.error();
  auto header = parseBlockHeader(bytes);
  if (!header)
    return Error{fmt::format("{}: the block header at byte {} is damaged", file.path().string(),
                             entry.offset)};
  header->entry.offset = entry.offset;
  return *std::move(header);
}

Status verifyBlock(const base::InputFile& file, const BlockEntry& entry, Bytes& scratch) {
  scratch.resize(entry.bytes());
  if (Status status = file.read(entry.offset, scratch); !status.ok()) return status;
  const auto header = parseBlockHeader(std::span(scratch).first(entry.headerBytes));
  if (!header) return Error{"its header is damaged"};
  if (!entry.describes(header->entry)) return Error{"it is not the block that the index names"};
  const auto body = std::span(scratch).subspan(entry.headerBytes);
  std::size_t at = 0;
  for (const Section& section : header->sections) {
    if (!base::checksumMatches(body.subspan(at, section.storedBytes), section.checksum)) {
      return Error{fmt::format("column {} does not match its checksum", section.name)};
    }
    at += section.storedBytes;
  }
  const bool padded = std::all_of(body.begin() + static_cast<std::ptrdiff_t>(at), body.end(),
                                  [](std::byte byte) { return byte == std::byte{0}; });
  return padded ? Status() : Status(Error{"its padding is not empty"});
}

Result<Bytes> readBlob(const base::InputFile& file, const BlockEntry& entry) {
  Bytes headerBytes;
  auto header = readHeader(file, entry, headerBytes);
  if (!header.ok()) return header.error();
  const Error damaged{fmt::format("the block at byte {} does not match its header", entry.offset)};
  if (header->sections.empty()) return damaged;
  const Section& section = header->sections.front();
  Bytes stored(section.storedBytes);
  if (Status status = file.read(entry.offset + entry.headerBytes, stored); !status.ok())
    return status.error();
  Bytes blob;
  if (!base::checksumMatches(stored, section.checksum) || !decodeBlob(section, stored, blob))
    return damaged;
  return blob;
}

std::string describe(const base::InputFile& file, const BlockEntry& entry) {
  if (entry.kind == BlockKind::Strings) return fmt::format("a block of {} strings", entry.rows);
  if (entry.kind == BlockKind::Index) return "the index";
  if (entry.kind == BlockKind::Derived) return "a block that was derived from the others";
  if (entry.kind != BlockKind::Rows)
    return fmt::format("a block of kind {}", static_cast<int>(entry.kind));
  Bytes bytes;
  const auto header = readHeader(file, entry, bytes);
  const std::string_view name = header.ok() ? header->tableName : tableName(entry.table);
  return fmt::format("a block of {} rows of table {}", entry.rows,
                     name.empty() ? fmt::format("{}", entry.table) : name);
}

std::optional<BlockList> listFromIndex(const base::InputFile& file, std::uint64_t fileBytes) {
  if (fileBytes < kFileHeaderBytes + kFooterBytes) return std::nullopt;
  Bytes bytes(kFooterBytes);
  if (!file.read(fileBytes - kFooterBytes, bytes).ok()) return std::nullopt;
  const auto footer = parseFooter(bytes);
  if (!footer || footer->fileBytes != fileBytes) return std::nullopt;
  const auto entry = headerAt(file, fileBytes, footer->indexOffset, bytes);
  if (!entry || entry->kind != BlockKind::Index || !entry->plausible(fileBytes))
    return std::nullopt;
  const auto blob = readBlob(file, *entry);
  if (!blob.ok()) return std::nullopt;
  auto blocks = parseIndex(*blob, footer->indexOffset);
  if (!blocks) return std::nullopt;
  BlockList list;
  list.blocks = *std::move(blocks);
  list.complete = true;
  list.end = fileBytes;
  return list;
}

Status walkBlocks(const base::InputFile& file, std::uint64_t fileBytes, bool verify,
                  BlockList& list) {
  Bytes scratch;
  list.tail = 0;
  while (list.end < fileBytes) {
    const std::uint64_t at = list.end;
    const auto entry = headerAt(file, fileBytes, at, scratch);
    if (entry && entry->plausible(UINT64_MAX) && !entry->plausible(fileBytes)) {
      const std::uint64_t next = resync(file, fileBytes, at + 1);
      if (next < fileBytes) {
        list.damage.push_back({at, next - at, describe(file, *entry) + " is cut off"});
        list.end = next;
        continue;
      }
      list.tail = fileBytes - at;
      return {};
    }
    if (entry && entry->plausible(fileBytes) && readHeader(file, *entry, scratch).ok()) {
      const Status verified = verify ? verifyBlock(file, *entry, scratch) : Status();
      list.end = entry->end();
      if (!verified.ok()) {
        list.damage.push_back(
            {at, entry->bytes(), describe(file, *entry) + ": " + verified.error().message});
      } else if (entry->kind != BlockKind::Index) {
        list.blocks.push_back(*entry);
      }
      continue;
    }
    if (isFooter(file, fileBytes, at)) {
      list.end = at + kFooterBytes;
      continue;
    }
    const std::uint64_t next = resync(file, fileBytes, at + 1);
    if (next == fileBytes) {
      list.tail = fileBytes - at;
      return {};
    }
    list.damage.push_back({at, next - at, "no block could be recognised here"});
    list.end = next;
  }
  return {};
}

void dropDamaged(const base::InputFile& file, BlockList& list) {
  Bytes scratch;
  std::erase_if(list.blocks, [&](const BlockEntry& entry) {
    const Status verified = verifyBlock(file, entry, scratch);
    if (verified.ok()) return false;
    list.damage.push_back(
        {entry.offset, entry.bytes(), describe(file, entry) + ": " + verified.error().message});
    return true;
  });
}

}  // namespace lacuna::prof::format
