// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lacuna/prof/bounds.h"
#include "lacuna/prof/events.h"

/// Small readings of JSON tokens, as they stand in the file (a string with its quotes).
namespace lacuna::analyzer::json {

inline bool isString(std::string_view token) {
  return token.size() >= 2 && token.front() == '"';
}

/// The text of a string token. Answers a view of the token where nothing is escaped, else of
/// `scratch`; a token that is no string is its own text.
std::string_view textOf(std::string_view token, std::string& scratch);

/// A whole number of at most 18 digits.
std::optional<std::int64_t> integerOf(std::string_view token);
/// Any JSON number.
std::optional<double> numberOf(std::string_view token);
/// A word that writers put in place of a number that JSON does not have: NaN or Infinity, with a
/// sign or without.
std::optional<double> namedNumberOf(std::string_view token);
/// A number as JSON, those that it does not have as the texts that protocol buffers give them in
/// JSON.
void appendNumber(std::string& out, double number);
/// A JSON text in which such names stood as bare words, with those texts in their place.
std::string withNumbersAsTexts(std::string_view json);

struct Nanoseconds {
  std::int64_t value = 0;
  bool exact = false;  ///< false when the token had a finer fraction, which was rounded
};
using prof::kFarthestNs;
/// A count of microseconds as nanoseconds, without going through a double; none where it is farther
/// than that.
std::optional<Nanoseconds> nanosecondsOf(std::string_view microseconds);

/// A list of exactly three numbers that fit 32 bits, as in "grid": [64, 1, 1].
bool tripleOf(std::string_view token, std::uint32_t (&out)[3]);

/// True when a token is a number as RFC 8259 has it: no sign +, no leading zero, digits on both
/// sides of a point.
bool isNumber(std::string_view token);
/// True for one JSON value as RFC 8259 has it, in UTF-8, of at most 256 levels.
bool isValid(std::string_view token);

/// Appends a JSON text that came from outside. A valid text is appended as it is. Else texts
/// replace NaN and the like, where that makes it valid; else it becomes one JSON string.
void appendChecked(std::string& out, std::string_view json);

/// Appends a text as a JSON string, with its quotes; U+FFFD stands for bytes that are no UTF-8.
/// Unseen characters (isUnseen()) are escaped, so that a terminal shows them.
void appendQuoted(std::string& out, std::string_view text);

}  // namespace lacuna::analyzer::json
