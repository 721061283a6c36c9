// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lacuna/runtime/data.h"

namespace lacuna::samples {

/// Sentences of a small grammar: easy to learn, and not to be learnt by heart.
std::string syntheticText(std::size_t bytes, std::uint64_t seed);
/// Throws rt::Error, naming the file, when it cannot be read or is empty.
std::string readText(const std::string& file);

/// The characters of a text as numbers 0 … vocabulary - 1, in the order of their bytes.
struct Encoded {
  std::vector<std::int64_t> tokens;
  std::string alphabet;
};
Encoded encode(const std::string& text);

/// Windows of `length` tokens and the token that follows each: {i64 [length], i64 [length]}.
std::shared_ptr<const rt::Dataset> windows(std::shared_ptr<const Encoded> text,
                                           std::int64_t length);

}  // namespace lacuna::samples
