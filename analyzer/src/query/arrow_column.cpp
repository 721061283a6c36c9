// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "query/arrow_column.h"

#include <simdjson.h>
#include <sqlite3.h>

#include <array>
#include <bit>
#include <utility>

#include "lacuna/analyzer/text.h"

namespace lacuna::analyzer {
namespace {

/// The buffers behind an exported array.
struct ColumnBuffers {
  std::vector<std::uint8_t> validity;
  std::vector<std::uint64_t> values;
  std::vector<std::int32_t> ends;
  std::string text;
  std::array<const void*, 3> pointers{};
};

void releaseColumn(ArrowArray* array) {
  delete static_cast<ColumnBuffers*>(array->private_data);
  array->release = nullptr;
}

/// A number as SQLite writes it.
std::string numberText(double value) {
  std::array<char, 40> text{};
  sqlite3_snprintf(static_cast<int>(text.size()), text.data(), "%!.15g", value);
  return text.data();
}

bool hasValue(const std::vector<std::uint8_t>& validity, std::size_t row) {
  return validity.empty() || (validity[row / 8] >> row % 8 & 1) != 0;
}

}  // namespace

const char* formatOf(ArrowType type) {
  switch (type) {
    case ArrowType::Null:
      return "n";
    case ArrowType::Int64:
      return "l";
    case ArrowType::Float64:
      return "g";
    case ArrowType::Utf8:
      return "u";
  }
  return "u";
}

void ArrowColumn::fix(ArrowType type) {
  widen(type);
  isFixed_ = true;
}

void ArrowColumn::reserve(std::size_t rows) {
  if (type_ == ArrowType::Utf8) {
    ends_.reserve(rows + 1);
  } else {
    values_.reserve(rows);
  }
}

bool ArrowColumn::addInteger(std::int64_t value) {
  if (!holds(ArrowType::Int64)) return false;
  if (type_ == ArrowType::Int64) {
    addBits(std::bit_cast<std::uint64_t>(value));
  } else if (type_ == ArrowType::Float64) {
    addBits(std::bit_cast<std::uint64_t>(static_cast<double>(value)));
  } else {
    addBytes(std::to_string(value));
  }
  return true;
}

bool ArrowColumn::addReal(double value) {
  if (!holds(ArrowType::Float64)) return false;
  if (type_ == ArrowType::Float64) {
    addBits(std::bit_cast<std::uint64_t>(value));
  } else {
    addBytes(numberText(value));
  }
  return true;
}

bool ArrowColumn::addText(std::string_view text) {
  if (!holds(ArrowType::Utf8)) return false;
  if (simdjson::validate_utf8(text.data(), text.size())) {
    addBytes(text);
  } else {
    addBytes(validUtf8(text));
  }
  return true;
}

void ArrowColumn::addNull() {
  const auto row = static_cast<std::size_t>(rows_++);
  ++nulls_;
  if (type_ == ArrowType::Null) return;
  if (nulls_ == 1) validity_.assign(row / 8 + 1, 0xff);
  validity_.resize(row / 8 + 1);
  validity_[row / 8] &= static_cast<std::uint8_t>(~(1U << row % 8));
  if (type_ == ArrowType::Utf8) {
    ends_.push_back(ends_.back());
  } else {
    values_.push_back(0);
  }
}

void ArrowColumn::take(ArrowArray& out) {
  auto* buffers = new ColumnBuffers{std::exchange(validity_, {}), std::exchange(values_, {}),
                                    std::exchange(ends_, {0}), std::exchange(text_, {})};
  const bool isText = type_ == ArrowType::Utf8;
  buffers->pointers = {
      buffers->validity.empty() ? nullptr : buffers->validity.data(),
      isText ? static_cast<const void*>(buffers->ends.data()) : buffers->values.data(),
      buffers->text.data()};
  out = {};
  out.length = std::exchange(rows_, 0);
  out.null_count = std::exchange(nulls_, 0);
  out.n_buffers = type_ == ArrowType::Null ? 0 : isText ? 3 : 2;
  out.buffers = buffers->pointers.data();
  out.release = releaseColumn;
  out.private_data = buffers;
}

/// True when a value of a type can be added.
bool ArrowColumn::holds(ArrowType type) {
  if (type <= type_) return true;
  if (isFixed_) return false;
  widen(type);
  return true;
}

void ArrowColumn::widen(ArrowType type) {
  if (type <= type_) return;
  const auto rows = static_cast<std::size_t>(rows_);
  const ArrowType before = std::exchange(type_, type);
  if (before == ArrowType::Null) {
    if (rows > 0) validity_.assign((rows + 7) / 8, 0);
    values_.assign(type == ArrowType::Utf8 ? 0 : rows, 0);
    ends_.assign(type == ArrowType::Utf8 ? rows + 1 : 1, 0);
    return;
  }
  const std::vector<std::uint64_t> numbers = std::exchange(values_, {});
  for (std::size_t row = 0; row < rows; ++row) {
    const auto integer = std::bit_cast<std::int64_t>(numbers[row]);
    if (type == ArrowType::Float64) {
      values_.push_back(std::bit_cast<std::uint64_t>(static_cast<double>(integer)));
      continue;
    }
    if (hasValue(validity_, row)) {
      text_ += before == ArrowType::Int64 ? std::to_string(integer)
                                          : numberText(std::bit_cast<double>(numbers[row]));
    }
    ends_.push_back(static_cast<std::int32_t>(text_.size()));
  }
}

void ArrowColumn::addValidity() {
  const auto row = static_cast<std::size_t>(rows_++);
  if (nulls_ == 0) return;
  validity_.resize(row / 8 + 1);
  validity_[row / 8] |= static_cast<std::uint8_t>(1U << row % 8);
}

void ArrowColumn::addBits(std::uint64_t bits) {
  addValidity();
  values_.push_back(bits);
}

void ArrowColumn::addBytes(std::string_view text) {
  addValidity();
  text_ += text;
  ends_.push_back(static_cast<std::int32_t>(text_.size()));
}

}  // namespace lacuna::analyzer
