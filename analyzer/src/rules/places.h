// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace lacuna::analyzer {

/// The words with textOf(name) in the place of each "{name}".
template <class TextOf>
std::string filled(std::string_view words, const TextOf& textOf) {
  std::string out;
  for (std::size_t open = 0; (open = words.find('{')) != std::string_view::npos;) {
    const std::size_t close = words.find('}', open);
    out.append(words.substr(0, open)).append(textOf(words.substr(open + 1, close - open - 1)));
    words.remove_prefix(close == std::string_view::npos ? words.size() : close + 1);
  }
  return out.append(words);
}

}  // namespace lacuna::analyzer
