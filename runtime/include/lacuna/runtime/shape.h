// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace lacuna::rt {

inline constexpr int kMaxRank = 8;

/// Up to eight sizes (or strides), held in place.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<std::int64_t> dims) : Shape(std::span(dims.begin(), dims.size())) {}
  // Copies move only what is used: most tensors have few dimensions.
  Shape(const Shape& other) : rank_(other.rank_) { copyDims(other); }
  Shape& operator=(const Shape& other) {
    rank_ = other.rank_;
    copyDims(other);
    return *this;
  }
  explicit Shape(std::span<const std::int64_t> dims);
  static Shape filled(int rank, std::int64_t value);

  [[nodiscard]] int rank() const { return rank_; }
  /// Wraps around where 64 bits do not hold it; no tensor has such a shape.
  [[nodiscard]] std::int64_t numel() const {
    std::uint64_t count = 1;
    for (int i = 0; i < rank_; ++i) count *= static_cast<std::uint64_t>((*this)[i]);
    return static_cast<std::int64_t>(count);
  }
  std::int64_t& operator[](int i) { return dims_[static_cast<std::size_t>(i)]; }
  std::int64_t operator[](int i) const { return dims_[static_cast<std::size_t>(i)]; }
  [[nodiscard]] const std::int64_t* begin() const { return dims_.data(); }
  [[nodiscard]] const std::int64_t* end() const { return dims_.data() + rank_; }
  void push(std::int64_t dim);
  void insert(int at, std::int64_t dim);
  void erase(int at);
  /// Strides, in elements, of a contiguous tensor of this shape.
  [[nodiscard]] Shape contiguousStrides() const;
  [[nodiscard]] std::string toString() const;  ///< "[2,3]"
  friend bool operator==(const Shape& a, const Shape& b) {
    if (a.rank_ != b.rank_) return false;
    for (int i = 0; i < a.rank_; ++i) {
      if (a[i] != b[i]) return false;
    }
    return true;
  }

 private:
  void copyDims(const Shape& other) {
    for (int i = 0; i < other.rank_; ++i) dims_[static_cast<std::size_t>(i)] = other[i];
  }

  int rank_ = 0;
  std::array<std::int64_t, kMaxRank> dims_{};
};

/// Both stretched to a common shape, missing and 1-sized dimensions repeat. Throws naming `op` when
/// they do not fit.
Shape broadcast(const char* op, const Shape& a, const Shape& b);
bool canBroadcast(const Shape& a, const Shape& b);
/// A dimension of `shape` counted from the end when negative; throws naming `op` and the shape when
/// outside. With `added`, of a shape that has so many dimensions more.
int normalizeDim(const char* op, std::int64_t dim, const Shape& shape, int added = 0);

}  // namespace lacuna::rt
