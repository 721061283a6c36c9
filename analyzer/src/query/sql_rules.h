// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

struct sqlite3;

namespace lacuna::analyzer {

/// A group of functions that a query may call; docs/query.md lists them too.
struct SqlFunctions {
  std::string_view group;
  std::span<const std::string_view> names;
};
std::span<const SqlFunctions> allowedSqlFunctions();

/// Decides, while a statement is compiled, what it may do: select, read tables, call the functions
/// above, and list a table's columns. Everything else is refused.
class SqlRules {
 public:
  /// The object must live as long as the connection.
  void applyTo(sqlite3* db);
  /// Before each statement.
  void reset() { refusal_.clear(); }
  /// Why the statement was refused and what to write instead; empty when it was not.
  [[nodiscard]] const std::string& refusal() const { return refusal_; }

 private:
  static int decide(void* self, int action, const char* first, const char* second,
                    const char* database, const char* trigger);
  int refuse(std::string why);

  std::string refusal_;
};

}  // namespace lacuna::analyzer
