// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "formats/json_text.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>

#include "lacuna/analyzer/text.h"

namespace lacuna::analyzer::json {
namespace {

bool isDigit(char c) {
  return c >= '0' && c <= '9';
}

std::uint32_t hex4(const char* at) {
  std::uint32_t value = 0;
  return std::from_chars(at, at + 4, value, 16).ptr == at + 4 ? value : 0xFFFD;
}

void appendUtf8(std::string& out, std::uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | (code >> 6));
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0 | (code >> 12));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | (code >> 18));
    out += static_cast<char>(0x80 | ((code >> 12) & 0x3F));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  }
}

/// Reads what follows "\u"; half of a surrogate pair alone becomes the replacement character.
const char* appendUnicode(std::string& out, const char* at, const char* end) {
  if (end - at < 4) return end;
  std::uint32_t code = hex4(at);
  at += 4;
  if (code >= 0xD800 && code < 0xDC00 && end - at >= 6 && at[0] == '\\' && at[1] == 'u') {
    const std::uint32_t low = hex4(at + 2);
    if (low >= 0xDC00 && low < 0xE000) {
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
      at += 6;
    }
  }
  appendUtf8(out, code >= 0xD800 && code < 0xE000 ? 0xFFFD : code);
  return at;
}

char unescaped(char c) {
  switch (c) {
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    default:
      return c;
  }
}

/// A recursive check of one JSON value; each function leaves `at` after what it read.
class Checker {
 public:
  explicit Checker(std::string_view text) : at_(text.data()), end_(at_ + text.size()) {}

  bool value(int depth) {
    space();
    if (at_ == end_ || depth > 256) return false;
    switch (*at_) {
      case '{':
        return list('}', depth, true);
      case '[':
        return list(']', depth, false);
      case '"':
        return string();
      case 't':
        return word("true");
      case 'f':
        return word("false");
      case 'n':
        return word("null");
      default:
        return number();
    }
  }
  bool atEnd() {
    space();
    return at_ == end_;
  }

 private:
  void space() {
    while (at_ < end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\t' || *at_ == '\r')) ++at_;
  }
  bool take(char c) {
    space();
    if (at_ == end_ || *at_ != c) return false;
    ++at_;
    return true;
  }
  bool list(char close, int depth, bool keyed) {
    ++at_;
    if (take(close)) return true;
    do {
      space();
      if (keyed && !(at_ < end_ && *at_ == '"' && string() && take(':'))) return false;
      if (!value(depth + 1)) return false;
    } while (take(','));
    return take(close);
  }
  bool string() {
    for (++at_; at_ < end_;) {
      const auto byte = static_cast<unsigned char>(*at_);
      if (byte == '"') return ++at_, true;
      const std::size_t length = byte < 0x20    ? 0
                                 : byte == '\\' ? escape()
                                 : byte < 0x80  ? 1
                                                : character();
      if (length == 0) return false;
      at_ += length;
    }
    return false;
  }
  /// Bytes of the escape or the character at the front; 0 where it is none.
  [[nodiscard]] std::size_t escape() const {
    constexpr std::string_view kLetters = "\"\\/bfnrt";
    const std::string_view rest(at_ + 1, static_cast<std::size_t>(end_ - at_ - 1));
    if (rest.empty()) return 0;
    if (rest[0] != 'u') return kLetters.find(rest[0]) == std::string_view::npos ? 0 : 2;
    constexpr std::string_view kHex = "0123456789abcdefABCDEF";
    return rest.size() >= 5 && rest.substr(1, 4).find_first_not_of(kHex) == std::string_view::npos
               ? 6
               : 0;
  }
  [[nodiscard]] std::size_t character() const {
    return utf8SequenceLength({at_, static_cast<std::size_t>(end_ - at_)});
  }
  bool word(std::string_view expected) {
    if (std::string_view(at_, static_cast<std::size_t>(end_ - at_)).substr(0, expected.size()) !=
        expected)
      return false;
    at_ += expected.size();
    return true;
  }
  bool number() {
    const char* from = at_;
    while (at_ < end_ && (isDigit(*at_) || std::strchr("+-.eE", *at_) != nullptr)) ++at_;
    return isNumber({from, static_cast<std::size_t>(at_ - from)});
  }

  const char* at_;
  const char* end_;
};

}  // namespace

std::string_view textOf(std::string_view token, std::string& scratch) {
  if (!isString(token)) return token;
  token = token.substr(1, token.size() - 2);
  if (std::memchr(token.data(), '\\', token.size()) == nullptr) return token;
  scratch.clear();
  const char* end = token.data() + token.size();
  for (const char* at = token.data(); at < end;) {
    if (*at != '\\' || at + 1 == end) {
      scratch += *at++;
    } else if (at[1] == 'u') {
      at = appendUnicode(scratch, at + 2, end);
    } else {
      scratch += unescaped(at[1]);
      at += 2;
    }
  }
  return scratch;
}

namespace {

/// The value of up to 8 digits, read as one word; -1 when there is something else among them. Most
/// numbers of a trace are as short, and a call costs as much as reading one.
[[gnu::always_inline]] inline std::int64_t upTo8Digits(const char* at, std::size_t size) {
  std::uint64_t word = 0;
  if (size >= 4) {
    std::uint32_t head = 0, tail = 0;
    std::memcpy(&head, at, 4);
    std::memcpy(&tail, at + size - 4, 4);
    word = head | static_cast<std::uint64_t>(tail) << (size - 4) * 8;
  } else {
    const auto byte = [&](std::size_t i) {
      return std::uint64_t{static_cast<std::uint8_t>(at[i])} << i * 8;
    };
    word = byte(0) | byte(size / 2) | byte(size - 1);
  }
  // The digits go to the end, zeros before them.
  constexpr std::uint64_t kZeros = 0x3030303030303030;
  if (size < 8) word = word << (8 - size) * 8 | kZeros >> size * 8;
  if (((word + 0x4646464646464646) | (word - kZeros)) & 0x8080808080808080) return -1;
  word = (word & 0x0F0F0F0F0F0F0F0F) * 2561 >> 8;
  word = (word & 0x00FF00FF00FF00FF) * 6553601 >> 16;
  return static_cast<std::int64_t>((word & 0x0000FFFF0000FFFF) * 42949672960001 >> 32);
}

/// The same of up to 18 digits, at least one.
std::int64_t upTo18Digits(const char* at, std::size_t size) {
  std::int64_t value = 0;
  for (std::size_t first = (size - 1) % 8 + 1; size > 0; at += first, size -= first, first = 8) {
    const std::int64_t part = upTo8Digits(at, first);
    if (part < 0) return -1;
    value = value * 100'000'000 + part;
  }
  return value;
}

}  // namespace

std::optional<std::int64_t> integerOf(std::string_view token) {
  const bool negative = !token.empty() && token.front() == '-';
  if (negative) token.remove_prefix(1);
  if (token.empty() || token.size() > 18) return std::nullopt;
  const std::int64_t value = token.size() <= 8 ? upTo8Digits(token.data(), token.size())
                                               : upTo18Digits(token.data(), token.size());
  if (value < 0) return std::nullopt;
  return negative ? -value : value;
}

std::optional<double> numberOf(std::string_view token) {
  // Behind a sign, too: from_chars knows names of numbers that JSON does not.
  const std::size_t first = token.starts_with('-') ? 1 : 0;
  if (token.size() <= first || !isDigit(token[first])) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), value);
  if (error != std::errc() || end != token.data() + token.size()) return std::nullopt;
  return value;
}

std::optional<double> namedNumberOf(std::string_view token) {
  const bool isNegative = token.starts_with('-');
  if (isNegative) token.remove_prefix(1);
  std::optional<double> number;
  if (token == "NaN" || token == "nan") number = std::numeric_limits<double>::quiet_NaN();
  if (token == "Infinity" || token == "inf") number = std::numeric_limits<double>::infinity();
  return number && isNegative ? -*number : number;
}

void appendNumber(std::string& out, double number) {
  if (std::isfinite(number)) {
    fmt::format_to(std::back_inserter(out), "{}", number);
  } else {
    out += std::isnan(number) ? "\"NaN\"" : number < 0 ? "\"-Infinity\"" : "\"Infinity\"";
  }
}

std::string withNumbersAsTexts(std::string_view json) {
  const auto isWordPart = [](char c) {
    return c == '-' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  std::string out;
  bool inString = false;
  for (std::size_t at = 0; at < json.size();) {
    const char c = json[at];
    if (!inString && isWordPart(c)) {
      const std::size_t from = at;
      while (at < json.size() && isWordPart(json[at])) ++at;
      const std::string_view word = json.substr(from, at - from);
      if (const auto number = namedNumberOf(word)) {
        appendNumber(out, *number);
      } else {
        out += word;
      }
      continue;
    }
    if (c == '"') inString = !inString;
    const std::size_t length = c == '\\' && inString && at + 1 < json.size() ? 2 : 1;
    out += json.substr(at, length);
    at += length;
  }
  return out;
}

std::optional<Nanoseconds> nanosecondsOf(std::string_view token) {
  if (isString(token)) token = token.substr(1, token.size() - 2);
  // Kineto writes 1 to 15 digits and three after the point.
  if (const std::size_t size = token.size(); size > 4 && size < 20 && token[size - 4] == '.') {
    const std::int64_t whole = upTo18Digits(token.data(), size - 4);
    const std::int64_t rest = upTo8Digits(token.data() + size - 3, 3);
    if (whole >= 0 && rest >= 0 && whole < kFarthestNs / 1000)
      return Nanoseconds{whole * 1000 + rest, true};
  }
  const bool negative = !token.empty() && token.front() == '-';
  std::size_t at = negative ? 1 : 0;
  std::int64_t value = 0;
  const std::size_t first = at;
  for (; at < token.size() && isDigit(token[at]) && at - first < 16; ++at)
    value = value * 10 + (token[at] - '0');
  if (at == first) return std::nullopt;
  // 16 digits of microseconds can be more than an int64 of nanoseconds holds.
  if (value > kFarthestNs / 1000) return std::nullopt;
  value *= 1000;
  bool exact = true;
  if (at < token.size() && token[at] == '.') {
    std::int64_t scale = 100;
    for (++at; at < token.size() && isDigit(token[at]); ++at, scale /= 10) {
      value += scale * (token[at] - '0');
      if (scale == 0 && token[at] != '0') exact = false;
    }
  }
  if (at == token.size()) {
    if (value > kFarthestNs) return std::nullopt;
    return Nanoseconds{negative ? -value : value, exact};
  }
  // An exponent, or too many digits.
  const auto number = numberOf(token);
  if (!number || !(std::abs(*number) * 1000 <= static_cast<double>(kFarthestNs)))
    return std::nullopt;
  return Nanoseconds{std::llround(*number * 1000), false};
}

bool tripleOf(std::string_view token, std::uint32_t (&out)[3]) {
  if (token.size() < 2 || token.front() != '[') return false;
  const char* at = token.data() + 1;
  const char* end = token.data() + token.size();
  for (int i = 0; i < 3; ++i) {
    while (at < end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t')) ++at;
    const auto [next, error] = std::from_chars(at, end, out[i]);
    if (error != std::errc()) return false;
    at = next;
    while (at < end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t')) ++at;
    if (at == end || *at++ != (i == 2 ? ']' : ',')) return false;
  }
  return at == end;
}

bool isNumber(std::string_view token) {
  const auto digits = [&] {
    const std::size_t count = std::min(token.find_first_not_of("0123456789"), token.size());
    token.remove_prefix(count);
    return count;
  };
  if (token.starts_with('-')) token.remove_prefix(1);
  const bool startsWithZero = token.starts_with('0');
  const std::size_t whole = digits();
  if (whole == 0 || (startsWithZero && whole > 1)) return false;
  if (token.starts_with('.')) {
    token.remove_prefix(1);
    if (digits() == 0) return false;
  }
  if (token.starts_with('e') || token.starts_with('E')) {
    token.remove_prefix(1);
    if (token.starts_with('+') || token.starts_with('-')) token.remove_prefix(1);
    if (digits() == 0) return false;
  }
  return token.empty();
}

void appendChecked(std::string& out, std::string_view json) {
  if (isValid(json)) {
    out += json;
  } else if (const std::string repaired = withNumbersAsTexts(json); isValid(repaired)) {
    out += repaired;
  } else {
    appendQuoted(out, json);
  }
}

bool isValid(std::string_view token) {
  Checker checker(token);
  return checker.value(0) && checker.atEnd();
}

namespace {

/// A character beyond ASCII, within a string; an empty one stands for a byte that is of none.
void appendCharacter(std::string& out, std::string_view sequence) {
  if (sequence.empty()) {
    out += "\uFFFD";
  } else if (const std::uint32_t code = codeOf(sequence); isUnseen(code)) {
    fmt::format_to(std::back_inserter(out), "\\u{:04x}", code);
  } else {
    out += sequence;
  }
}

}  // namespace

void appendQuoted(std::string& out, std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  out += '"';
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80) {
      const std::size_t length = utf8SequenceLength(text.substr(at));
      appendCharacter(out, text.substr(at, length));
      at += length == 0 ? 0 : length - 1;
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      out += "\\u00";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else {
      out += c;
    }
  }
  out += '"';
}

}  // namespace lacuna::analyzer::json
