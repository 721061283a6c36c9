// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "report/json_writer.h"

#include <fmt/format.h>

#include <cmath>

namespace lacuna::analyzer {
namespace {

/// Bytes of the valid UTF-8 sequence at the front, 0 when there is none.
std::size_t sequenceLength(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  const std::size_t length = first < 0x80   ? 1
                             : first < 0xc2 ? 0
                             : first < 0xe0 ? 2
                             : first < 0xf0 ? 3
                             : first < 0xf5 ? 4
                                            : 0;
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const bool overlong = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
  const bool outside = (first == 0xed && byte(1) >= 0xa0) || (first == 0xf4 && byte(1) >= 0x90);
  return overlong || outside ? 0 : length;
}

}  // namespace

void JsonWriter::separate() {
  if (afterKey_) {
    afterKey_ = false;
    return;
  }
  if (hasContent_.empty()) return;
  out_ += hasContent_.back() ? ",\n" : "\n";
  hasContent_.back() = true;
  out_.append(2 * hasContent_.size(), ' ');
}

JsonWriter& JsonWriter::open(char bracket) {
  separate();
  out_ += bracket;
  hasContent_.push_back(false);
  return *this;
}

JsonWriter& JsonWriter::close(char bracket) {
  const bool any = hasContent_.back();
  hasContent_.pop_back();
  if (any) {
    out_ += '\n';
    out_.append(2 * hasContent_.size(), ' ');
  }
  out_ += bracket;
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  separate();
  quote(name);
  out_ += ": ";
  afterKey_ = true;
  return *this;
}

JsonWriter& JsonWriter::raw(std::string_view text) {
  separate();
  out_ += text;
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
  separate();
  quote(text);
  return *this;
}

JsonWriter& JsonWriter::value(double number) {
  return raw(std::isfinite(number) ? fmt::format("{:.6g}", number) : "null");
}

void JsonWriter::quote(std::string_view text) {
  out_ += '"';
  while (!text.empty()) {
    const std::size_t length = sequenceLength(text);
    const char c = text.front();
    if (length == 0) {
      out_ += "\xef\xbf\xbd";
    } else if (length > 1) {
      out_ += text.substr(0, length);
    } else if (c == '"' || c == '\\') {
      out_ += '\\';
      out_ += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out_ += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out_ += c;
    }
    text.remove_prefix(std::max<std::size_t>(1, length));
  }
  out_ += '"';
}

std::string JsonWriter::take() {
  return std::move(out_) + "\n";
}

}  // namespace lacuna::analyzer
