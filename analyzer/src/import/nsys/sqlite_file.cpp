// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "import/nsys/sqlite_file.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <fstream>
#include <utility>

#include "import/nsys/sqlite_damage.h"
#include "import/nsys/sqlite_log.h"
#include "import/nsys/unpacked_database.h"
#include "store/sqlite_guard.h"

namespace lacuna::analyzer {
namespace {

std::string quotedName(std::string_view name) {
  std::string out = "\"";
  for (const char c : name) {
    if (c == '"') out += c;
    out += c;
  }
  return out + '"';
}

bool isPlain(const std::filesystem::path& path) {
  char magic[15] = {};
  std::ifstream(path, std::ios::binary).read(magic, sizeof magic);
  return std::string_view(magic, sizeof magic) == "SQLite format 3";
}

/// The length of the database by its own header; 0 where that does not give it.
std::uint64_t bytesClaimed(const std::filesystem::path& path) {
  unsigned char header[32] = {};
  std::ifstream(path, std::ios::binary).read(reinterpret_cast<char*>(header), sizeof header);
  const auto number = [&](std::size_t at, std::size_t bytes) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i) value = value << 8 | header[at + i];
    return value;
  };
  const std::uint64_t pageSize = number(16, 2);
  return number(28, 4) * (pageSize == 1 ? 65536 : pageSize);
}

/// A statement of ours reads tables, asks for their columns and for pages, and compares names.
/// Whatever the schema of the file adds to it (a function, a trigger, another database) is refused.
int allowReading(void*, int action, const char* first, const char* second, const char*,
                 const char*) {
  const auto is = [](const char* text, std::string_view wanted) {
    return text != nullptr && text == wanted;
  };
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
      return SQLITE_OK;
    case SQLITE_FUNCTION:
      return is(second, "like") ? SQLITE_OK : SQLITE_DENY;
    case SQLITE_UPDATE:  // SQLite asks for this when it learns a pragma's columns
      return is(first, "sqlite_master") ? SQLITE_OK : SQLITE_DENY;
    case SQLITE_PRAGMA:
      for (const char* known : {"table_xinfo", "page_size", "page_count", "quick_check",
                                "ignore_check_constraints", "locking_mode"}) {
        if (is(first, known)) return SQLITE_OK;
      }
      return SQLITE_DENY;
    default:
      return SQLITE_DENY;
  }
}

}  // namespace

prof::Result<std::unique_ptr<SqliteFile>> SqliteFile::open(const std::filesystem::path& path,
                                                           const prof::Budget& budget) {
  std::unique_ptr<SqliteFile> file(new SqliteFile);
  file->path_ = path;
  prof::Status status;
  if (isPlain(path)) {
    status = openDatabase(path, &file->db_);
  } else {
    auto unpacked = UnpackedDatabase::from(path, budget);
    if (!unpacked) return unpacked.error();
    file->unpacked_ = std::move(*unpacked);
    if (file->unpacked_->openAs(&file->db_) != SQLITE_OK)
      status = prof::Error{sqlite3_errmsg(file->db_)};
  }
  if (status) status = file->begin();
  if (!status) return prof::Error{fmt::format("{}: {}", path.string(), status.error().message)};
  return file;
}

prof::Status SqliteFile::begin() {
  hardenSqlite(db_);
  sqlite3_drop_modules(db_, nullptr);
  sqlite3_set_authorizer(db_, allowReading, nullptr);
  return learnTables();
}

const std::string& SqliteFile::placeOfDamage() const {
  if (!placeOfDamage_) placeOfDamage_ = firstDamage(db_);
  return *placeOfDamage_;
}

SqliteFile::SqliteFile() = default;

SqliteFile::~SqliteFile() {
  sqlite3_close(db_);
}

prof::Status SqliteFile::learnTables() {
  int code = listTables();
  if (code == SQLITE_CORRUPT) {
    openDamaged(sqlite3_errmsg(db_));
    code = listTables();
  }
  if (code != SQLITE_DONE) {
    return prof::Error{isCutOff_ ? problem_ + ", and the list of its tables is not among that"
                                 : fmt::format("the database's table list cannot be read: {}; it "
                                               "begins on the first page (from byte 0)",
                                               sqlite3_errmsg(db_))};
  }
  learnViews();
  return {};
}

/// SQLITE_DONE, or why not.
int SqliteFile::listTables() {
  sqlite3_stmt* list = nullptr;
  // The pragma's function is not a table of the file, so no file can replace it. Columns that are
  // calculated when they are read (2) are left out, for the file would choose the calculation.
  const char* const kList =
      "SELECT m.name, c.name FROM sqlite_master m, pragma_table_xinfo(m.name) c WHERE m.type = "
      "'table' AND m.rootpage > 0 AND c.hidden <> 2 AND m.sql NOT LIKE 'create virtual%'";
  int code = sqlite3_prepare_v2(db_, kList, -1, &list, nullptr);
  while (code == SQLITE_OK || code == SQLITE_ROW) {
    code = sqlite3_step(list);
    if (code != SQLITE_ROW) break;
    const auto text = [&](int column) {
      const auto* from = reinterpret_cast<const char*>(sqlite3_column_text(list, column));
      return std::string(from == nullptr ? "" : from);
    };
    tables_[text(0)].insert(text(1));
  }
  sqlite3_finalize(list);
  return code;
}

/// SQLite reads a file that is shorter than its header claims, or has a table that is not
/// understood, only for those who may repair it by hand. Nothing is written all the same.
void SqliteFile::openDamaged(const std::string& why) {
  sqlite3_db_config(db_, SQLITE_DBCONFIG_DEFENSIVE, 0, nullptr);
  sqlite3_db_config(db_, SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1, nullptr);
  problem_ = fmt::format("the database is damaged ({}): what is readable of it was read", why);
  if (unpacked_) return;
  std::error_code unknown;
  const std::uintmax_t bytes = std::filesystem::file_size(path_, unknown);
  const std::uint64_t claimed = bytesClaimed(path_);
  if (unknown || bytes >= claimed) return;
  isCutOff_ = true;
  problem_ = fmt::format(
      "the database ends early, after {} of {} bytes: the complete part before that was read",
      bytes, claimed);
}

void SqliteFile::learnViews() {
  sqlite3_stmt* list = nullptr;
  const char* const kList =
      "SELECT name FROM sqlite_master WHERE type = 'view' OR sql LIKE 'create virtual%'";
  if (sqlite3_prepare_v2(db_, kList, -1, &list, nullptr) == SQLITE_OK) {
    while (sqlite3_step(list) == SQLITE_ROW) {
      const auto* name = reinterpret_cast<const char*>(sqlite3_column_text(list, 0));
      if (name != nullptr) views_.insert(name);
    }
  }
  sqlite3_finalize(list);
}

SqliteRows::SqliteRows(const SqliteFile& file, const std::string& table,
                       const std::vector<std::string>& columns, const char* order)
    : table_(table), file_(file), db_(file.handle()) {
  const auto found = file.tables().find(table);
  there_.resize(columns.size());
  if (found == file.tables().end()) return;
  std::string sql = "SELECT ";
  for (std::size_t i = 0; i < columns.size(); ++i) {
    there_[i] = found->second.contains(columns[i]);
    if (i > 0) sql += ", ";
    sql += there_[i] ? quotedName(columns[i]) : "NULL";
  }
  sql += " FROM " + quotedName(table) + " " + order;
  if (sqlite3_prepare_v2(db_, sql.c_str(), -1, &statement_, nullptr) != SQLITE_OK) {
    problem_ = fmt::format("table {}: {}", table, sqlite3_errmsg(db_));
  }
}

SqliteRows::~SqliteRows() {
  sqlite3_finalize(statement_);
}

bool SqliteRows::next() {
  if (statement_ == nullptr || !problem_.empty()) return false;
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return ++rows_, true;
  if (code != SQLITE_DONE) {
    const std::string why = sqlite3_errmsg(db_);
    const bool damaged = (code & 0xff) == SQLITE_CORRUPT || (code & 0xff) == SQLITE_IOERR;
    problem_ = fmt::format("table {}: {} after {} rows{}; what comes before was read", table_, why,
                           rows_, damaged ? file_.placeOfDamage() : "");
  }
  return false;
}

bool SqliteRows::isNull(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}
bool SqliteRows::isText(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_TEXT;
}
std::int64_t SqliteRows::integer(int column) const {
  return sqlite3_column_int64(statement_, column);
}
double SqliteRows::real(int column) const {
  return sqlite3_column_double(statement_, column);
}
std::string_view SqliteRows::text(int column) const {
  const auto* from = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  if (from == nullptr) return {};
  return {from, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

}  // namespace lacuna::analyzer
