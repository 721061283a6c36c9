// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sqlite3.h>

#include <memory>
#include <string>
#include <vector>

#include "lacuna/analyzer/query.h"
#include "store/damage_watch.h"

namespace lacuna::analyzer {

/// The rows of a statement, asked for one after the other. One at a time for a query, which must
/// outlive it.
class QueryRows {
 public:
  QueryRows(Query& query, sqlite3_stmt* statement);

  /// Goes on to the next row; false at the end. Errors are those of Query::run().
  prof::Result<bool> next();
  [[nodiscard]] int columns() const { return sqlite3_column_count(statement()); }
  [[nodiscard]] std::vector<std::string> names() const;
  /// Its values of the row are valid until next().
  [[nodiscard]] sqlite3_stmt* statement() const { return statement_.get(); }
  /// An error where what was read so far is damaged.
  [[nodiscard]] prof::Status damage() const { return watch_.status(); }

 private:
  Query& query_;
  std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> statement_;
  DamageWatch watch_;
};

}  // namespace lacuna::analyzer
