// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "format/encoding.h"
#include "format/slots.h"
#include "format/transform.h"

namespace lacuna::prof::format {
namespace {

/// Memory that each thread keeps between columns.
struct Scratch {
  Bytes plane;
  Bytes entries;
  std::vector<std::uint16_t> codes;
  std::vector<std::uint16_t> group;
  std::vector<std::uint16_t> context;
};

Scratch& scratch() {
  thread_local Scratch kScratch;
  return kScratch;
}

/// Takes planes one after another from the stored bytes.
class PlaneReader {
 public:
  PlaneReader(const Encoding& encoding, std::span<const std::byte> stored)
      : encoding_(encoding), stored_(stored) {}

  /// Reads planes [next, end) into `values`.
  template <class T>
  bool join(std::uint8_t end, std::size_t rows, std::uint8_t shift, T* values) {
    if (next_ >= end) std::fill(values, values + rows, T{0});
    Bytes& buffer = scratch().plane;
    if (buffer.size() < rows) buffer.resize(rows);
    unsigned bit = shift;
    for (bool first = true; next_ < end; ++next_, bit += 8, first = false) {
      if (bit >= sizeof(T) * 8) return false;
      const std::byte* plane = take(rows, buffer);
      if (plane == nullptr) return false;
      joinPlane(plane, rows, bit, first, values);
    }
    return true;
  }

 private:
  const std::byte* take(std::size_t rows, Bytes& buffer) {
    const Plane& plane = encoding_.planes[next_];
    if (plane.storedBytes > stored_.size()) return nullptr;
    const auto bytes = stored_.first(plane.storedBytes);
    stored_ = stored_.subspan(plane.storedBytes);
    if (plane.mode == PlaneMode::Raw) return bytes.size() == rows ? bytes.data() : nullptr;
    return expandPlane(plane.mode, bytes, std::span(buffer).first(rows)) ? buffer.data() : nullptr;
  }

  const Encoding& encoding_;
  std::span<const std::byte> stored_;
  std::uint8_t next_ = 0;
};

bool loadSlots(std::uint8_t column, std::size_t rows, ColumnSource& others,
               std::vector<std::uint16_t>& slots, const std::uint16_t*& out) {
  if (column == kNoColumn) return true;
  ColumnType type{};
  const void* values = others.decoded(column, type);
  if (values == nullptr) return false;
  if (slots.size() < rows) slots.resize(rows);
  fillSlots(type, values, rows, slots.data());
  out = slots.data();
  return true;
}

template <class T>
bool loadLinks(const Encoding& encoding, std::size_t rows, ColumnSource& others, Links<T>& links) {
  if (encoding.base == Base::PreviousEnd || encoding.base == Base::Column) {
    ColumnType type{};
    links.base = static_cast<const T*>(others.decoded(encoding.baseColumn, type));
    if (links.base == nullptr || widthOf(type) != sizeof(T)) return false;
  }
  links.shift = encoding.contextShift;
  return loadSlots(encoding.groupColumn, rows, others, scratch().group, links.group) &&
         loadSlots(encoding.contextColumn, rows, others, scratch().context, links.context);
}

template <class T>
bool decodePredicted(const Encoding& encoding, std::span<const std::byte> stored, std::size_t rows,
                     ColumnSource& others, T* out) {
  // The other columns first: decoding them uses the same scratch memory.
  const std::uint8_t needed[] = {encoding.baseColumn, encoding.groupColumn, encoding.contextColumn};
  for (const std::uint8_t column : needed) {
    ColumnType type{};
    if (column != kNoColumn && others.decoded(column, type) == nullptr) return false;
  }
  Links<T> links;
  if (!loadLinks(encoding, rows, others, links)) return false;
  if (!PlaneReader(encoding, stored).join(encoding.planeCount, rows, encoding.shift, out))
    return false;
  if (encoding.zigzag) {
    for (std::size_t i = 0; i < rows; ++i) out[i] = unzigzag(out[i]);
  }
  unpredict(encoding.base, rows, links, static_cast<T>(encoding.reference), out);
  return true;
}

template <class T>
bool decodeDictionary(const Encoding& encoding, std::span<const std::byte> stored, std::size_t rows,
                      T* out) {
  if (encoding.entries == 0 || encoding.entries > std::size_t{1} << 16 || encoding.entries > rows)
    return false;
  if (encoding.entryPlanes > encoding.planeCount) return false;
  Bytes& buffer = scratch().entries;
  if (buffer.size() < encoding.entries * sizeof(T)) buffer.resize(encoding.entries * sizeof(T));
  T* entries = reinterpret_cast<T*>(buffer.data());
  PlaneReader planes(encoding, stored);
  if (!planes.join(encoding.entryPlanes, encoding.entries, encoding.shift, entries)) return false;
  for (std::size_t i = 0; i < encoding.entries; ++i)
    entries[i] = static_cast<T>(entries[i] + encoding.entryReference);
  auto& codes = scratch().codes;
  if (codes.size() < rows) codes.resize(rows);
  if (!planes.join(encoding.planeCount, rows, 0, codes.data())) return false;
  if (*std::max_element(codes.begin(), codes.begin() + static_cast<std::ptrdiff_t>(rows)) >=
      encoding.entries) {
    return false;
  }
  for (std::size_t i = 0; i < rows; ++i) out[i] = entries[codes[i]];
  return true;
}

template <class T>
bool decodeAs(const Section& section, std::span<const std::byte> stored, std::size_t rows,
              ColumnSource& others, T* out) {
  const Encoding& encoding = section.encoding;
  switch (encoding.scheme) {
    case Scheme::Constant:
      std::fill(out, out + rows, static_cast<T>(encoding.reference));
      return true;
    case Scheme::Predicted:
      return decodePredicted(encoding, stored, rows, others, out);
    case Scheme::Dictionary:
      return decodeDictionary(encoding, stored, rows, out);
    case Scheme::Blob:
      break;
  }
  return false;
}

}  // namespace

bool decodeColumn(const Section& section, std::span<const std::byte> stored, std::size_t rows,
                  ColumnSource& others, void* out) {
  if (rows == 0) return true;
  switch (widthOf(section.type)) {
    case 1:
      return decodeAs(section, stored, rows, others, static_cast<std::uint8_t*>(out));
    case 2:
      return decodeAs(section, stored, rows, others, static_cast<std::uint16_t*>(out));
    case 4:
      return decodeAs(section, stored, rows, others, static_cast<std::uint32_t*>(out));
    default:
      return decodeAs(section, stored, rows, others, static_cast<std::uint64_t*>(out));
  }
}

bool decodeBlob(const Section& section, std::span<const std::byte> stored, Bytes& out) {
  const Encoding& encoding = section.encoding;
  if (!section.known || encoding.scheme != Scheme::Blob || encoding.planeCount != 1) return false;
  if (encoding.planes[0].storedBytes != stored.size() ||
      encoding.rawBytes > stored.size() * kMaxBlobRatio)
    return false;
  out.resize(encoding.rawBytes);
  return expandPlane(encoding.planes[0].mode, stored, out);
}

}  // namespace lacuna::prof::format
