// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "lacuna/prof/bounds.h"
#include "lacuna/prof/ids.h"

namespace lacuna::prof::recording {

/// Bytes of a checkpoint. The program that wrote one reads it, on the same machine, so values go in
/// as they are. But a folder may come from anywhere, so the Loader trusts none of them.
class Saver {
 public:
  template <class T>
  void put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    const auto* bytes = reinterpret_cast<const char*>(&value);
    bytes_.insert(bytes_.end(), bytes, bytes + sizeof value);
  }
  void put(const std::string& text) {
    put(static_cast<std::uint64_t>(text.size()));
    bytes_.append(text);
  }
  template <class T, class Each>
  void putAll(const T& items, Each&& each) {
    put(static_cast<std::uint64_t>(items.size()));
    for (const auto& item : items) each(item);
  }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

/// Reads them back. After a short or senseless input every value is zero and ok() is false.
class Loader {
 public:
  /// `bytes` outlives it.
  explicit Loader(std::string_view bytes) : bytes_(bytes) {}

  template <class T>
  T get() {
    static_assert(std::is_trivially_copyable_v<T>);
    // A bool that is neither true nor false must not even be read.
    if constexpr (std::is_same_v<T, bool>) return getUpTo<std::uint8_t>(1) != 0;
    T value{};
    if (sizeof value > bytes_.size() - at_) {
      fail();
    } else {
      std::memcpy(static_cast<void*>(&value), bytes_.data() + at_, sizeof value);
      at_ += sizeof value;
    }
    return value;
  }
  /// A number that must not be more than that.
  template <class T>
  T getUpTo(T most) {
    const T value = get<T>();
    if (value <= most) return value;
    fail();
    return {};
  }
  /// Brought back to what a trace can have, so that it can be added to others.
  TimeNs getTime() { return bounded(get<TimeNs>()); }
  static TimeNs bounded(TimeNs time) { return std::clamp(time, -kFarthestNs, kFarthestNs); }
  std::string getText() {
    const auto size = get<std::uint64_t>();
    if (size > bytes_.size() - at_) {
      fail();
      return {};
    }
    at_ += size;
    return std::string(bytes_.substr(at_ - size, size));
  }
  template <class Each>
  void getAll(Each&& each) {
    const auto count = get<std::uint64_t>();
    for (std::uint64_t i = 0; i < count && ok_; ++i) each();
  }
  /// The bytes that were read make no sense: nothing more is read.
  void fail() {
    ok_ = false;
    at_ = bytes_.size();
  }
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool atEnd() const { return at_ == bytes_.size(); }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

}  // namespace lacuna::prof::recording
