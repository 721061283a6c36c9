// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "lacuna/analyzer/pyramid.h"

/// The bytes of derived blocks: plain little-endian numbers and arrays, one after the other.
namespace lacuna::analyzer {

class ByteOutput {
 public:
  template <class T>
  void put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    raw(&value, sizeof value);
  }
  template <class T>
  void putAll(const PodArray<T>& values) {
    raw(values.data(), values.size() * sizeof(T));
  }
  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

 private:
  void raw(const void* data, std::size_t size) {
    const auto* from = static_cast<const std::byte*>(data);
    bytes_.insert(bytes_.end(), from, from + size);
  }
  std::vector<std::byte> bytes_;
};

/// Reads them back. Behind the end every number is zero and ok() is false.
class ByteInput {
 public:
  explicit ByteInput(std::span<const std::byte> bytes) : left_(bytes) {}
  template <class T>
  T take() {
    T value{};
    if (left_.size() < sizeof value) {
      fail();
      return value;
    }
    std::memcpy(&value, left_.data(), sizeof value);
    left_ = left_.subspan(sizeof value);
    return value;
  }
  template <class T>
  bool takeAll(PodArray<T>& out, std::uint64_t count) {
    if (!ok_ || count > left_.size() / sizeof(T)) {
      fail();
      return false;
    }
    out.resizeForOverwrite(count);
    if (count > 0) std::memcpy(out.data(), left_.data(), count * sizeof(T));
    left_ = left_.subspan(count * sizeof(T));
    return true;
  }
  [[nodiscard]] bool ok() const { return ok_; }

 private:
  void fail() {
    ok_ = false;
    left_ = {};
  }
  std::span<const std::byte> left_;
  bool ok_ = true;
};

}  // namespace lacuna::analyzer
