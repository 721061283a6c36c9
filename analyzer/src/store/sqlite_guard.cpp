// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite_guard.h"

#include <sqlite3.h>

namespace lacuna::analyzer {
namespace {

struct Setting {
  int what;
  int value;
};

constexpr Setting kSettings[] = {
    {SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, 0},
    {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
    {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
    {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
    {SQLITE_DBCONFIG_DEFENSIVE, 1},
    {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
};

constexpr Setting kLimits[] = {
    {SQLITE_LIMIT_LENGTH, kMostSqlBytes},
    {SQLITE_LIMIT_SQL_LENGTH, 1 << 20},
    {SQLITE_LIMIT_COLUMN, 500},
    {SQLITE_LIMIT_EXPR_DEPTH, 500},
    {SQLITE_LIMIT_COMPOUND_SELECT, 200},
    {SQLITE_LIMIT_VDBE_OP, 1'000'000},
    {SQLITE_LIMIT_FUNCTION_ARG, 100},
    {SQLITE_LIMIT_ATTACHED, 0},
    {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 10'000},
    {SQLITE_LIMIT_VARIABLE_NUMBER, 100},
    {SQLITE_LIMIT_TRIGGER_DEPTH, 1},
    {SQLITE_LIMIT_WORKER_THREADS, 0},
};

}  // namespace

void hardenSqlite(sqlite3* db) {
  for (const Setting& one : kSettings) sqlite3_db_config(db, one.what, one.value, nullptr);
  for (const Setting& one : kLimits) sqlite3_limit(db, one.what, one.value);
  if (sqlite3_hard_heap_limit64(-1) == 0) sqlite3_hard_heap_limit64(kMostSqlMemory);
}

}  // namespace lacuna::analyzer
