// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lacuna/analyzer/query.h"

namespace lacuna::test {

/// The rows that a statement gives, as lines of values with a blank after each; "error: " and why
/// where it fails.
inline std::string sqlAnswer(analyzer::Query& query, std::string_view sql) {
  std::string out;
  const auto status = query.run(
      sql, [](const auto&) {},
      [&](const std::vector<analyzer::QueryValue>& row) {
        for (const analyzer::QueryValue& value : row)
          out += (value.kind == analyzer::QueryValue::Kind::Null ? "-" : std::string(value.text)) +
                 " ";
        out += "\n";
        return true;
      });
  return status ? out : "error: " + status.error().message;
}

}  // namespace lacuna::test
