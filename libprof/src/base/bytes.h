// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace lacuna::prof::base {

using Bytes = std::vector<std::byte>;

/// Appends little-endian numbers and short texts to a buffer. (Lacuna runs on little-endian
/// machines only.)
class ByteWriter {
 public:
  explicit ByteWriter(Bytes& out) : out_(out) {}

  template <class T>
  void number(T value) {
    static_assert(std::is_trivially_copyable_v<T>);
    raw(&value, sizeof value);
  }
  void raw(const void* data, std::size_t size) {
    const std::size_t at = out_.size();
    out_.resize(at + size);
    if (size != 0) std::memcpy(out_.data() + at, data, size);
  }
  /// At most 255 bytes; longer text is cut.
  void shortText(std::string_view text) {
    const auto length = static_cast<std::uint8_t>(text.size() < 255 ? text.size() : 255);
    number(length);
    raw(text.data(), length);
  }

 private:
  Bytes& out_;
};

/// Takes numbers out of a buffer. Past the end it answers zeros and ok() turns false, so a caller
/// checks once.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> in) : in_(in) {}

  template <class T>
  T number() {
    T value{};
    if (take(sizeof value)) std::memcpy(&value, in_.data() + at_ - sizeof value, sizeof value);
    return value;
  }
  std::span<const std::byte> raw(std::size_t size) {
    return take(size) ? in_.subspan(at_ - size, size) : std::span<const std::byte>();
  }
  std::string_view shortText() {
    const auto bytes = raw(number<std::uint8_t>());
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] std::size_t left() const { return in_.size() - at_; }

 private:
  bool take(std::size_t size) {
    ok_ = ok_ && size <= left();
    if (ok_) at_ += size;
    return ok_;
  }

  std::span<const std::byte> in_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

}  // namespace lacuna::prof::base
