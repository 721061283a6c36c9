// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "lacuna/prof/ids.h"

namespace lacuna::analyzer {

/// Texts, each kept once; ids count from 0, the empty text. Views stay valid as long as the pool,
/// also when it moves.
class StringPool {
 public:
  StringPool();
  StringPool(StringPool&&) noexcept = default;
  StringPool& operator=(StringPool&&) noexcept = default;

  prof::StringId intern(std::string_view text);
  /// As intern, for a caller that has the hash of the text at hand.
  prof::StringId intern(std::string_view text, std::uint64_t hash);
  [[nodiscard]] prof::StringId find(std::string_view text) const;
  [[nodiscard]] std::string_view text(prof::StringId id) const {
    return id.value < texts_.size() ? texts_[id.value] : std::string_view();
  }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(texts_.size()); }
  /// Bytes of text kept.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

  static std::uint64_t hashOf(std::string_view text);

 private:
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t id = 0;
  };

  std::string_view keep(std::string_view text);
  void grow();

  std::vector<std::unique_ptr<char[]>> pages_;
  char* next_ = nullptr;
  std::size_t left_ = 0;
  std::uint64_t bytes_ = 0;
  std::vector<std::string_view> texts_;
  std::vector<Slot> slots_;
};

}  // namespace lacuna::analyzer
