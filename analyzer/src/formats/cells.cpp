// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "formats/json_text.h"
#include "lacuna/analyzer/text.h"

namespace lacuna::analyzer {
namespace {

bool isNumber(std::string_view text) {
  return json::isNumber(text) || text == "-Inf" || text == "-inf";
}

bool looksLikeFormula(std::string_view text) {
  constexpr std::string_view kStarts = "=+-@\t\r\n";
  return !text.empty() && kStarts.find(text[0]) != std::string_view::npos && !isNumber(text);
}

}  // namespace

std::string jsonText(std::string_view text) {
  std::string out;
  json::appendQuoted(out, text);
  return out;
}

void appendCsvNumber(std::string& out, std::string_view number) {
  out += number;
}

void appendCsvText(std::string& out, std::string_view text) {
  const std::string_view guard = looksLikeFormula(text) ? "'" : "";
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
    out.append(guard).append(text);
    return;
  }
  out.append("\"").append(guard);
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

}  // namespace lacuna::analyzer
