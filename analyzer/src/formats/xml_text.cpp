// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/analyzer/text.h"

namespace lacuna::analyzer {

std::string xmlText(std::string_view text) {
  constexpr std::string_view kNoCharacters[] = {"\xef\xbf\xbe",
                                                "\xef\xbf\xbf"};  // U+FFFE and U+FFFF
  const std::string line = oneLine(text);
  std::string out;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const std::string_view rest = std::string_view(line).substr(i);
    if (rest.starts_with(kNoCharacters[0]) || rest.starts_with(kNoCharacters[1])) {
      out += rest.starts_with(kNoCharacters[0]) ? "\\ufffe" : "\\uffff";
      i += kNoCharacters[0].size() - 1;
    } else if (line[i] == '&') {
      out += "&amp;";
    } else if (line[i] == '<') {
      out += "&lt;";
    } else if (line[i] == '>') {
      out += "&gt;";
    } else if (line[i] == '"') {
      out += "&quot;";
    } else {
      out += line[i];
    }
  }
  return out;
}

}  // namespace lacuna::analyzer
