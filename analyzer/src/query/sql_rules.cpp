// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "query/sql_rules.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <utility>

namespace lacuna::analyzer {
namespace {

using std::string_view;

// Functions of later versions of SQLite are listed too. Not listed: those that load or print
// (load_extension, sqlite_log), take an address (fts3_tokenizer), or belong to extensions.
constexpr string_view kNumbers[] = {
    "abs",  "acos",    "acosh", "asin", "asinh",   "atan",    "atan2", "atanh", "ceil",
    "cos",  "ceiling", "cosh",  "exp",  "degrees", "floor",   "ln",    "log",   "log10",
    "log2", "mod",     "pi",    "pow",  "power",   "radians", "sign",  "round", "random",
    "sin",  "sinh",    "sqrt",  "tan",  "tanh",    "trunc"};
constexpr string_view kTexts[] = {
    "char",    "concat",  "concat_ws", "format",       "glob",  "hex",    "instr",   "like",
    "length",  "lower",   "ltrim",     "octet_length", "quote", "printf", "rtrim",   "substr",
    "replace", "soundex", "substring", "trim",         "unhex", "upper",  "unicode", "zeroblob"};
constexpr string_view kChoices[] = {"coalesce",   "if",     "ifnull",   "iif",   "likely",
                                    "likelihood", "nullif", "unlikely", "typeof"};
constexpr string_view kTimes[] = {"current_date", "current_time", "current_timestamp", "date",
                                  "datetime",     "julianday",    "strftime",          "time",
                                  "timediff",     "unixepoch"};
constexpr string_view kAggregates[] = {"avg", "count", "group_concat", "max",  "median",
                                       "min", "sum",   "string_agg",   "total"};
constexpr string_view kWindows[] = {"cume_dist",    "dense_rank", "first_value", "lag",
                                    "last_value",   "lead",       "nth_value",   "ntile",
                                    "percent_rank", "rank",       "row_number"};
constexpr string_view kJson[] = {"->",
                                 "->>",
                                 "json",
                                 "json_array",
                                 "json_array_length",
                                 "json_error_position",
                                 "json_extract",
                                 "json_group_array",
                                 "json_group_object",
                                 "json_insert",
                                 "json_object",
                                 "json_patch",
                                 "json_pretty",
                                 "json_quote",
                                 "json_remove",
                                 "json_replace",
                                 "json_set",
                                 "json_type",
                                 "json_valid"};
constexpr string_view kOurs[] = {"arg_value"};
constexpr SqlFunctions kAllowed[] = {
    {"numbers", kNumbers},       {"texts", kTexts},     {"choices", kChoices}, {"times", kTimes},
    {"aggregates", kAggregates}, {"windows", kWindows}, {"JSON", kJson},       {"ours", kOurs}};

constexpr const char* kReadsOnly =
    "a query only reads; WITH name AS (SELECT …) holds what a table would";

bool isAllowed(string_view function) {
  return std::ranges::any_of(kAllowed, [&](const SqlFunctions& group) {
    return std::ranges::find(group.names, function) != group.names.end();
  });
}

string_view textOf(const char* text) {
  return text == nullptr ? string_view() : text;
}

}  // namespace

std::span<const SqlFunctions> allowedSqlFunctions() {
  return kAllowed;
}

void SqlRules::applyTo(sqlite3* db) {
  sqlite3_set_authorizer(db, decide, this);
}

int SqlRules::refuse(std::string why) {
  if (refusal_.empty()) refusal_ = std::move(why);
  return SQLITE_DENY;
}

int SqlRules::decide(void* self, int action, const char* first, const char* second, const char*,
                     const char*) {
  auto& rules = *static_cast<SqlRules*>(self);
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
      return SQLITE_OK;
    case SQLITE_UPDATE:
      // SQLite asks for this when it learns a virtual table's columns, and refuses a statement that
      // does it.
      if (textOf(first) == "sqlite_master") return SQLITE_OK;
      return rules.refuse(kReadsOnly);
    case SQLITE_FUNCTION:
      if (isAllowed(textOf(second))) return SQLITE_OK;
      return rules.refuse(fmt::format(
          "a query may not call the function {}(); docs/query.md lists those that it may",
          textOf(second)));
    case SQLITE_PRAGMA:
      if (textOf(first) == "table_info") return SQLITE_OK;
      return rules.refuse(
          fmt::format("a query may not use PRAGMA {}; SELECT name FROM pragma_table_info('range') "
                      "lists columns",
                      textOf(first)));
    case SQLITE_ATTACH:
    case SQLITE_DETACH:
      return rules.refuse("a query reads the trace and no other database");
    default:
      return rules.refuse(kReadsOnly);
  }
}

}  // namespace lacuna::analyzer
