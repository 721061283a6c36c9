// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lacuna/prof/budget.h"
#include "lacuna/prof/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace lacuna::analyzer {

class UnpackedDatabase;

/// A database that somebody else wrote, opened for reading only: ordinary tables, no views, no
/// triggers, no extensions. A compressed one is unpacked into a temporary file without a name
/// first; one with changes in a write-ahead log is copied with it into temporary files. No file
/// appears beside it. One thread at a time.
class SqliteFile {
 public:
  static prof::Result<std::unique_ptr<SqliteFile>> open(
      const std::filesystem::path& path, const prof::Budget& budget = prof::Budget::ofProcess());
  ~SqliteFile();
  SqliteFile(const SqliteFile&) = delete;
  SqliteFile& operator=(const SqliteFile&) = delete;

  [[nodiscard]] bool has(const std::string& table) const { return tables_.contains(table); }
  /// Tables and their columns.
  [[nodiscard]] const std::map<std::string, std::set<std::string>>& tables() const {
    return tables_;
  }
  /// Views and virtual tables, which are not read.
  [[nodiscard]] const std::set<std::string>& views() const { return views_; }
  [[nodiscard]] sqlite3* handle() const { return db_; }
  /// " (the first damage is on page 12, from byte 45056)", looked for once; empty where SQLite
  /// finds none.
  [[nodiscard]] const std::string& placeOfDamage() const;
  /// The reason why only a part of the file can be there; empty where none is known.
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  SqliteFile();
  prof::Status begin();
  prof::Status learnTables();
  int listTables();
  void openDamaged(const std::string& why);
  void learnViews();

  std::filesystem::path path_;
  std::unique_ptr<UnpackedDatabase> unpacked_;
  sqlite3* db_ = nullptr;
  std::map<std::string, std::set<std::string>> tables_;
  std::set<std::string> views_;
  mutable std::optional<std::string> placeOfDamage_;
  std::string problem_;
  bool isCutOff_ = false;
};

/// The rows of one table, in the order of the file (or by `order`). A column that the table does
/// not have reads as NULL, as does every row of a table that is not there.
class SqliteRows {
 public:
  SqliteRows(const SqliteFile& file, const std::string& table,
             const std::vector<std::string>& columns, const char* order = "");
  ~SqliteRows();
  SqliteRows(const SqliteRows&) = delete;
  SqliteRows& operator=(const SqliteRows&) = delete;

  bool next();
  [[nodiscard]] bool isNull(int column) const;
  /// 0 for NULL and for texts that are no numbers.
  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] double real(int column) const;
  /// Valid until the next row.
  [[nodiscard]] std::string_view text(int column) const;
  [[nodiscard]] bool isText(int column) const;
  [[nodiscard]] bool hasColumn(int column) const {
    return there_[static_cast<std::size_t>(column)];
  }
  /// The cause that ended the reading early, with the table and the number of rows read; empty when
  /// nothing did.
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  std::string table_;
  const SqliteFile& file_;
  sqlite3* db_;
  sqlite3_stmt* statement_ = nullptr;
  std::vector<bool> there_;
  std::uint64_t rows_ = 0;
  std::string problem_;
};

}  // namespace lacuna::analyzer
