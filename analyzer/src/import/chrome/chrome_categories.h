// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "import/chrome/chrome_texts.h"
#include "import/chrome/recent.h"

namespace lacuna::analyzer {

/// The categories of complete events, and the kind of row that an event of each becomes. One thread
/// at a time.
class ChromeCategories {
 public:
  enum class Kind : std::uint8_t {
    Range,
    DeviceRange,
    Runtime,
    Driver,
    Kernel,
    Memcpy,
    Memset,
    Sync,
    Overhead
  };
  struct Category {
    std::string token;
    Kind kind = Kind::Range;
    prof::StringId id;
  };

  explicit ChromeCategories(ChromeTexts& texts) : texts_(texts) {}

  /// `cat`: the token as written. Stays until the next call.
  const Category& of(std::string_view cat);

 private:
  ChromeTexts& texts_;
  std::vector<Category> categories_{1};
  std::unordered_map<std::string, std::uint32_t> numbers_;
  Recent recent_;
};

}  // namespace lacuna::analyzer
