// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>

#include "format/encoding.h"
#include "format/slots.h"
#include "format/transform.h"

namespace lacuna::prof::format {
namespace {

constexpr std::size_t kMaxEntries = std::size_t{1} << 16;

template <class T>
T orAll(const T* values, std::size_t rows) {
  T all = 0;
  for (std::size_t i = 0; i < rows; ++i) all |= values[i];
  return all;
}

template <class T>
bool allEqual(const T* values, std::size_t rows) {
  T differs = 0;
  for (std::size_t i = 0; i < rows; ++i) differs |= static_cast<T>(values[i] ^ values[0]);
  return differs == 0;
}

/// The least value, in the order of the column's own type, so that what is left after subtracting
/// it is small.
template <class T>
T least(const T* values, std::size_t rows, bool isSigned) {
  constexpr T kFlip = static_cast<T>(T{1} << (sizeof(T) * 8 - 1));
  const T flip = isSigned ? kFlip : T{0};
  T lowest = static_cast<T>(values[0] ^ flip);
  for (std::size_t i = 0; i < rows; ++i)
    lowest = std::min(lowest, static_cast<T>(values[i] ^ flip));
  return static_cast<T>(lowest ^ flip);
}

std::uint8_t trailingZeros(std::uint64_t all) {
  return all == 0 ? std::uint8_t{0} : static_cast<std::uint8_t>(std::countr_zero(all));
}

template <class T>
bool anyNegative(const T* values, std::size_t rows) {
  return (orAll(values, rows) >> (sizeof(T) * 8 - 1)) != 0;
}

}  // namespace

void Encoder::begin(std::span<const ColumnView> columns, std::size_t rows) {
  columns_.assign(columns.begin(), columns.end());
  rows_ = rows;
  slots_.resize(columns.size());
  for (auto& slots : slots_) slots.clear();
}

const std::uint16_t* Encoder::slots(std::uint8_t column) {
  if (column >= columns_.size()) return nullptr;
  auto& slots = slots_[column];
  if (slots.empty()) {
    slots.resize(rows_);
    fillSlots(columns_[column].type, columns_[column].values, rows_, slots.data());
  }
  return slots.data();
}

Encoding Encoder::encode(const Plan& plan, std::size_t column, Bytes& out) {
  switch (widthOf(columns_[column].type)) {
    case 1:
      return encodeAs<std::uint8_t>(plan, column, out);
    case 2:
      return encodeAs<std::uint16_t>(plan, column, out);
    case 4:
      return encodeAs<std::uint32_t>(plan, column, out);
    default:
      return encodeAs<std::uint64_t>(plan, column, out);
  }
}

Encoding Encoder::encodeBlob(std::span<const std::byte> blob, Bytes& out) {
  Encoding encoding;
  encoding.scheme = Scheme::Blob;
  encoding.rawBytes = static_cast<std::uint32_t>(blob.size());
  const std::size_t at = out.size();
  Plane plane = compressor_.append(blob, out);
  if (plane.storedBytes * kMaxBlobRatio < blob.size()) {
    out.resize(at);
    base::ByteWriter(out).raw(blob.data(), blob.size());
    plane = {PlaneMode::Raw, encoding.rawBytes};
  }
  encoding.addPlane(plane);
  return encoding;
}

template <class T>
Encoding Encoder::encodeAs(const Plan& plan, std::size_t column, Bytes& out) {
  const auto* values = static_cast<const T*>(columns_[column].values);
  if (allEqual(values, rows_)) {
    Encoding constant;
    constant.reference = values[0];
    return constant;
  }
  if (plan.scheme == Scheme::Dictionary) {
    Encoding encoding;
    if (encodeDictionary<T>(column, encoding, out)) return encoding;
    return encodePredicted<T>(Plan{}, column, out);
  }
  return encodePredicted<T>(plan, column, out);
}

template <class T>
Encoding Encoder::encodePredicted(const Plan& plan, std::size_t column, Bytes& out) {
  const ColumnView& view = columns_[column];
  const auto* values = static_cast<const T*>(view.values);
  Encoding encoding;
  encoding.scheme = Scheme::Predicted;
  encoding.base = plan.base;
  encoding.baseColumn = plan.baseColumn;
  encoding.groupColumn = plan.groupColumn;
  encoding.contextColumn = plan.contextColumn;
  encoding.contextShift = plan.contextShift;
  const bool offsetOnly = plan.base == Base::None && plan.contextColumn == kNoColumn;
  T reference = values[0];
  if (offsetOnly)
    reference = least(values, rows_, view.type == ColumnType::I64 || view.type == ColumnType::I32);
  if (plan.base == Base::None && !offsetOnly) reference = 0;
  encoding.reference = reference;

  values_.resize(rows_ * sizeof(T));
  T* residual = reinterpret_cast<T*>(values_.data());
  Links<T> links;
  links.base = plan.baseColumn < columns_.size()
                   ? static_cast<const T*>(columns_[plan.baseColumn].values)
                   : nullptr;
  links.group = slots(plan.groupColumn);
  links.context = slots(plan.contextColumn);
  links.shift = plan.contextShift;
  predict(plan.base, rows_, links, reference, values, residual);
  encoding.zigzag = !offsetOnly && anyNegative(residual, rows_);
  if (encoding.zigzag) {
    for (std::size_t i = 0; i < rows_; ++i) residual[i] = zigzag(residual[i]);
  }
  const T all = orAll(residual, rows_);
  encoding.shift = trailingZeros(all);
  putPlanes(residual, rows_, encoding.shift, all, encoding, out);
  return encoding;
}

template <class T>
void Encoder::putPlanes(const T* values, std::size_t rows, std::uint8_t shift, T all,
                        Encoding& encoding, Bytes& out) {
  plane_.resize(rows);
  for (unsigned bit = shift; bit < sizeof(T) * 8 && (all >> bit) != 0; bit += 8) {
    splitPlane(values, rows, bit, plane_.data());
    encoding.addPlane(compressor_.append(plane_, out));
  }
}

template <class T>
bool Encoder::encodeDictionary(std::size_t column, Encoding& encoding, Bytes& out) {
  const auto* values = static_cast<const T*>(columns_[column].values);
  const std::size_t most = std::min(kMaxEntries, rows_ / 2 + 1);
  const std::size_t size = std::bit_ceil(most * 2);
  table_.assign(size, 0);
  codes_.resize(rows_);
  std::vector<T> entries;
  for (std::size_t i = 0; i < rows_; ++i) {
    std::size_t at =
        (static_cast<std::uint64_t>(values[i]) * 0x9E37'79B9'7F4A'7C15u) >> 32 & (size - 1);
    while (table_[at] != 0 && entries[table_[at] - 1] != values[i]) at = (at + 1) & (size - 1);
    if (table_[at] == 0) {
      if (entries.size() == most) return false;
      entries.push_back(values[i]);
      table_[at] = static_cast<std::uint32_t>(entries.size());
    }
    codes_[i] = static_cast<std::uint16_t>(table_[at] - 1);
  }
  encoding.scheme = Scheme::Dictionary;
  encoding.entries = static_cast<std::uint32_t>(entries.size());
  const T reference = least(entries.data(), entries.size(), false);
  for (T& entry : entries) entry = static_cast<T>(entry - reference);
  const T all = orAll(entries.data(), entries.size());
  encoding.entryReference = reference;
  encoding.shift = trailingZeros(all);
  putPlanes(entries.data(), entries.size(), encoding.shift, all, encoding, out);
  encoding.entryPlanes = encoding.planeCount;
  putPlanes<std::uint16_t>(codes_.data(), rows_, 0,
                           static_cast<std::uint16_t>(encoding.entries - 1), encoding, out);
  return true;
}

}  // namespace lacuna::prof::format
