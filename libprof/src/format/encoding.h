// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "format/codec.h"
#include "format/layout.h"

/// A column of a block as bytes and back. The numbers are first predicted (from the row before,
/// from other columns), or replaced by their position in a dictionary. The rest is cut into byte
/// planes. Each plane is a zstd frame, raw where zstd does not help, or nothing where all of it is
/// zero.
namespace lacuna::prof::format {

struct ColumnView {
  ColumnType type = ColumnType::U8;
  const void* values = nullptr;
};

/// The encoder's choice for a column; the numbers in it (reference, shift, planes) follow from the
/// data.
struct Plan {
  Scheme scheme = Scheme::Predicted;
  Base base = Base::None;
  std::uint8_t baseColumn = kNoColumn;
  std::uint8_t groupColumn = kNoColumn;
  std::uint8_t contextColumn = kNoColumn;
  std::uint8_t contextShift = 0;

  friend bool operator==(const Plan&, const Plan&) = default;
};

/// Encodes the columns of one block after another. One thread at a time.
class Encoder {
 public:
  explicit Encoder(int zstdLevel) : compressor_(zstdLevel) {}

  /// Sets the block; the views must stay until the next call.
  void begin(std::span<const ColumnView> columns, std::size_t rows);
  /// Appends the column's bytes. A plan that does not fit the data is replaced by one that does.
  Encoding encode(const Plan& plan, std::size_t column, Bytes& out);
  /// A blob of any bytes.
  Encoding encodeBlob(std::span<const std::byte> blob, Bytes& out);

 private:
  template <class T>
  Encoding encodeAs(const Plan& plan, std::size_t column, Bytes& out);
  template <class T>
  Encoding encodePredicted(const Plan& plan, std::size_t column, Bytes& out);
  template <class T>
  bool encodeDictionary(std::size_t column, Encoding& encoding, Bytes& out);
  template <class T>
  void putPlanes(const T* values, std::size_t rows, std::uint8_t shift, T all, Encoding& encoding,
                 Bytes& out);
  const std::uint16_t* slots(std::uint8_t column);

  Compressor compressor_;
  std::vector<ColumnView> columns_;
  std::size_t rows_ = 0;
  std::vector<std::vector<std::uint16_t>> slots_;
  Bytes values_;
  Bytes plane_;
  std::vector<std::uint32_t> table_;
  std::vector<std::uint16_t> codes_;
};

/// The columns that this one was predicted from, for decodeColumn, by their place in the block.
class ColumnSource {
 public:
  virtual ~ColumnSource() = default;
  /// The decoded column, null when it cannot be had.
  virtual const void* decoded(std::uint8_t column, ColumnType& type) = 0;
};

/// Decodes `rows` values of the type's width to `out`. False when the bytes contradict their
/// description.
bool decodeColumn(const Section& section, std::span<const std::byte> stored, std::size_t rows,
                  ColumnSource& others, void* out);
bool decodeBlob(const Section& section, std::span<const std::byte> stored, Bytes& out);

}  // namespace lacuna::prof::format
