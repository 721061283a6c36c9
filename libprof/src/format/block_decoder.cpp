// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "format/block_decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/checksum.h"
#include "format/block_list.h"

namespace lacuna::prof::format {
namespace {

/// Columns that are predicted from one another; the writer never chains as many.
constexpr std::size_t kMaxDepth = 8;
/// Number of others that a column may need in all. Each is held whole, so without a limit a header
/// of a few kilobytes could ask for hundreds of them.
constexpr std::size_t kMaxOthers = 16;

template <class Visit>
void withType(ColumnType type, Visit&& visit) {
  switch (type) {
    case ColumnType::I64:
      return visit(std::int64_t{});
    case ColumnType::U64:
      return visit(std::uint64_t{});
    case ColumnType::I32:
      return visit(std::int32_t{});
    case ColumnType::U32:
      return visit(std::uint32_t{});
    case ColumnType::U16:
      return visit(std::uint16_t{});
    case ColumnType::U8:
      return visit(std::uint8_t{});
    case ColumnType::F64:
      return visit(double{});
  }
}

/// A double that does not fit an integer has no defined conversion, so it is limited to the
/// integer's range.
template <class To, class From>
To convertValue(From value) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if (!(value > static_cast<From>(std::numeric_limits<To>::min())))
      return std::numeric_limits<To>::min();
    if (value >= static_cast<From>(std::numeric_limits<To>::max()))
      return std::numeric_limits<To>::max();
  }
  return static_cast<To>(value);
}

/// For files whose column was declared with another type.
void convert(ColumnType from, const void* values, ColumnType to, std::size_t rows, void* out) {
  withType(from, [&]<class From>(From) {
    withType(to, [&]<class To>(To) {
      const auto* typed = static_cast<const From*>(values);
      for (std::size_t i = 0; i < rows; ++i) static_cast<To*>(out)[i] = convertValue<To>(typed[i]);
    });
  });
}

}  // namespace

Status BlockDecoder::open(const BlockEntry& entry) {
  auto header = readHeader(file_, entry, headerBytes_);
  if (!header.ok()) return header.error();
  header_ = *std::move(header);
  if (!entry.describes(header_.entry)) {
    return Error{fmt::format("{}: the block at byte {} is not the one that the index names",
                             file_.path().string(), entry.offset)};
  }
  decoded_.resize(header_.sections.size());
  for (Decoded& column : decoded_) column.busy = column.done = false;
  return {};
}

Error BlockDecoder::damaged(const Section& section, const char* why) const {
  return Error{fmt::format(
      "{}: column {}.{} of the block at byte {} {}; `lacuna recover` makes a file without it",
      file_.path().string(), header_.tableName, section.name, header_.entry.offset, why)};
}

Status BlockDecoder::decode(const ColumnSpec& wanted, void* out) {
  const auto& sections = header_.sections;
  others_ = 0;
  const auto found = std::find_if(sections.begin(), sections.end(),
                                  [&](const Section& s) { return s.name == wanted.name; });
  const std::size_t rows = header_.entry.rows;
  if (rows == 0) return {};
  if (found == sections.end()) {
    std::memset(out, 0, rows * widthOf(wanted.type));
    return {};
  }
  const auto column = static_cast<std::size_t>(found - sections.begin());
  if (found->known && found->type == wanted.type && !decoded_[column].done)
    return decodeTo(column, out);
  ColumnType type{};
  if (column >= kNoColumn || decoded(static_cast<std::uint8_t>(column), type) == nullptr) {
    return decodeTo(column, out);  // again, for its message
  }
  if (type == wanted.type) {
    std::memcpy(out, decoded_[column].values.data(), rows * widthOf(type));
  } else {
    convert(type, decoded_[column].values.data(), wanted.type, rows, out);
  }
  return {};
}

const void* BlockDecoder::decoded(std::uint8_t column, ColumnType& type) {
  if (column >= decoded_.size() || decoded_[column].busy) return nullptr;
  const Section& section = header_.sections[column];
  Decoded& slot = decoded_[column];
  type = section.type;
  if (!section.known) return nullptr;
  if (!slot.done) {
    if (depth_ > 0 && ++others_ > kMaxOthers) return nullptr;
    slot.values.resize(header_.entry.rows * widthOf(section.type));
    if (!decodeTo(column, slot.values.data()).ok()) return nullptr;
    slot.done = true;
  }
  return slot.values.data();
}

Status BlockDecoder::decodeTo(std::size_t column, void* out) {
  const Section& section = header_.sections[column];
  if (!section.known)
    return damaged(section, "is stored in a way that only a newer version of lacuna knows");
  if (depth_ >= kMaxDepth) return damaged(section, "is predicted from too many others");
  if (stored_.size() <= depth_) stored_.resize(kMaxDepth);
  Bytes& stored = stored_[depth_];
  stored.resize(section.storedBytes);
  const BlockEntry& entry = header_.entry;
  if (Status status = file_.read(entry.offset + entry.headerBytes + section.offset, stored);
      !status.ok())
    return status;
  if (!base::checksumMatches(stored, section.checksum))
    return damaged(section, "does not match its checksum");
  decoded_[column].busy = true;
  ++depth_;
  const bool good = decodeColumn(section, stored, entry.rows, *this, out);
  --depth_;
  decoded_[column].busy = false;
  return good ? Status() : Status(damaged(section, "cannot be decoded"));
}

}  // namespace lacuna::prof::format
