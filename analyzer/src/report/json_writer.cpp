// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "report/json_writer.h"

#include <fmt/format.h>

#include <cmath>

#include "formats/json_text.h"

namespace lacuna::analyzer {
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
  json::appendQuoted(out_, text);
}

std::string JsonWriter::take() {
  return std::move(out_) + "\n";
}

}  // namespace lacuna::analyzer
