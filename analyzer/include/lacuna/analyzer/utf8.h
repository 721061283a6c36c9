// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lacuna::analyzer {

/// Bytes of the valid UTF-8 sequence at the front of a text that is not empty; 0 when there is none.
std::size_t utf8SequenceLength(std::string_view text);
/// The number of a character, from its valid sequence.
std::uint32_t codeOf(std::string_view sequence);
/// Whether a terminal obeys a character, or it changes what is around it unseen: control characters, marks that turn
/// the direction of text, line separators.
bool isUnseen(std::uint32_t code);
/// The text with U+FFFD in place of each byte that belongs to no valid sequence. Names in traces are what programs
/// gave.
std::string validUtf8(std::string_view text);
/// The text with escapes such as \x1b and \u202e in place of unseen characters and of bytes that belong to no valid
/// sequence.
std::string visibleText(std::string_view text);
/// The same with spaces in place of line ends and tabs: names may hold what breaks a line.
std::string oneLine(std::string_view text);
/// The beginning of a text in at most so many bytes, without half a character at its end.
std::string_view headOf(std::string_view text, std::size_t bytes);

}  // namespace lacuna::analyzer
