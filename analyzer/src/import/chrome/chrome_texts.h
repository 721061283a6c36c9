// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "store/string_pool.h"

namespace lacuna::analyzer {

/// The texts of tokens of JSON, in the pool that it is given. One thread at a time.
class ChromeTexts {
 public:
  explicit ChromeTexts(StringPool& strings) : strings_(strings) {}

  /// A string without its quotes and escapes, any other token as written; the empty text for none.
  prof::StringId textId(std::string_view token);
  /// A list or an object as text. NaN and the like in it become texts, and what is not well-formed
  /// one JSON string, so that what we write later is JSON.
  prof::StringId jsonId(std::string_view token);

 private:
  StringPool& strings_;
  std::vector<bool> isJson_;  ///< by text: whether it is known to be well-formed
  std::string scratch_;
};

}  // namespace lacuna::analyzer
