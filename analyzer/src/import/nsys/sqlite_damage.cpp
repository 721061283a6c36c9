// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "import/nsys/sqlite_damage.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace lacuna::analyzer {
namespace {

/// Larger databases are not read once more to find out where they are damaged.
constexpr std::int64_t kMostCheckedBytes = std::int64_t{4} << 30;

std::optional<std::int64_t> numberOf(sqlite3* db, const std::string& pragma) {
  sqlite3_stmt* statement = nullptr;
  std::optional<std::int64_t> value;
  if (sqlite3_prepare_v2(db, pragma.c_str(), -1, &statement, nullptr) == SQLITE_OK &&
      sqlite3_step(statement) == SQLITE_ROW) {
    value = sqlite3_column_int64(statement, 0);
  }
  sqlite3_finalize(statement);
  return value;
}

/// The page that a complaint of SQLite's check names: "Tree 7 page 12 cell 3: …", "Page 12: …".
std::optional<std::int64_t> pageNamed(std::string_view complaint) {
  for (std::size_t at = complaint.find("age "); at != std::string_view::npos;
       at = complaint.find("age ", at + 4)) {
    std::int64_t page = 0;
    const char* const from = complaint.data() + at + 4;
    const auto [end, error] = std::from_chars(from, complaint.data() + complaint.size(), page);
    if (error == std::errc() && page > 0) return page;
  }
  return std::nullopt;
}

/// The longest time that SQLite's check of a database may take.
constexpr std::chrono::seconds kMostCheckTime{60};

/// While it lives, a statement fails that runs beyond kMostCheckTime.
class TimeLimit {
 public:
  explicit TimeLimit(sqlite3* db) : db_(db) {
    constexpr int kStepsBetweenChecks = 1000;
    sqlite3_progress_handler(
        db, kStepsBetweenChecks,
        [](void* self) {
          return static_cast<int>(Clock::now() > static_cast<TimeLimit*>(self)->endsAt_);
        },
        this);
  }
  ~TimeLimit() { sqlite3_progress_handler(db_, 0, nullptr, nullptr); }
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;

 private:
  using Clock = std::chrono::steady_clock;

  sqlite3* db_;
  Clock::time_point endsAt_ = Clock::now() + kMostCheckTime;
};

/// The first damaged page that SQLite's own check finds; its errors name no place. The check reads
/// the whole file, but calculates nothing that the file's schema asks for.
std::optional<std::int64_t> damagedPage(sqlite3* db) {
  sqlite3_stmt* statement = nullptr;
  std::optional<std::int64_t> page;
  const TimeLimit limit(db);
  (void)numberOf(db, "PRAGMA ignore_check_constraints = 1");
  if (sqlite3_prepare_v2(db, "PRAGMA quick_check(1)", -1, &statement, nullptr) == SQLITE_OK) {
    while (!page && sqlite3_step(statement) == SQLITE_ROW) {
      const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, 0));
      if (text != nullptr) page = pageNamed(text);
    }
  }
  sqlite3_finalize(statement);
  return page;
}

}  // namespace

std::string firstDamage(sqlite3* db) {
  const auto pageSize = numberOf(db, "PRAGMA page_size");
  const auto pages = numberOf(db, "PRAGMA page_count");
  if (!pageSize || !pages || *pages > kMostCheckedBytes / std::max<std::int64_t>(1, *pageSize))
    return {};
  const auto page = damagedPage(db);
  if (!page) return {};
  return fmt::format(" (the first damage is on page {}, from byte {})", *page,
                     (*page - 1) * *pageSize);
}

}  // namespace lacuna::analyzer
