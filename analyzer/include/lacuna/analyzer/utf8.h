// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace lacuna::analyzer {

/// Bytes of the valid UTF-8 sequence at the front of a text that is not empty; 0 when there is none.
std::size_t utf8SequenceLength(std::string_view text);
/// The text with U+FFFD in place of each byte that belongs to no valid sequence. Names in traces are what programs
/// gave.
std::string validUtf8(std::string_view text);
/// The same with spaces in place of control characters: names may hold what breaks a line or what a terminal obeys.
std::string oneLine(std::string_view text);
/// The beginning of a text in at most so many bytes, without half a character at its end.
std::string_view headOf(std::string_view text, std::size_t bytes);

}  // namespace lacuna::analyzer
