// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lacuna/analyzer/arrow.h"

namespace lacuna::analyzer {

/// From the narrowest to the widest: each holds the values of those before it.
enum class ArrowType : std::uint8_t { Null, Int64, Float64, Utf8 };

/// Arrow's text for a type.
const char* formatOf(ArrowType type);

/// The values of one column of a batch. Its type widens to hold the values that come, until it is
/// fixed.
class ArrowColumn {
 public:
  explicit ArrowColumn(ArrowType narrowest) : type_(narrowest) {}

  [[nodiscard]] ArrowType type() const { return type_; }
  /// Keeps the type from here on.
  void fix(ArrowType type);
  [[nodiscard]] std::int64_t rows() const { return rows_; }
  [[nodiscard]] std::size_t textBytes() const { return text_.size(); }
  void reserve(std::size_t rows);

  /// False where the fixed type does not hold the value, which is then not added.
  [[nodiscard]] bool addInteger(std::int64_t value);
  [[nodiscard]] bool addReal(double value);
  /// Puts U+FFFD in place of bytes that are no UTF-8.
  [[nodiscard]] bool addText(std::string_view text);
  void addNull();

  /// Hands the values over to an array that owns them. The column is empty afterwards.
  void take(ArrowArray& out);

 private:
  [[nodiscard]] bool holds(ArrowType type);
  void widen(ArrowType type);
  void addBits(std::uint64_t bits);
  void addValidity();
  void addBytes(std::string_view text);

  ArrowType type_;
  bool isFixed_ = false;
  std::int64_t rows_ = 0;
  std::int64_t nulls_ = 0;
  std::vector<std::uint8_t> validity_;  ///< a bit for each row; empty while there is no null
  std::vector<std::uint64_t> values_;   ///< the bits of Int64 and Float64
  std::vector<std::int32_t> ends_ = {
      0};  ///< of each text in text_, after the first one's beginning
  std::string text_;
};

}  // namespace lacuna::analyzer
