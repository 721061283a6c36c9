// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "import/sqlite_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <span>
#include <utility>

#include "import/byte_source.h"
#include "import/sqlite_log.h"
#include "lacuna/prof/file_error.h"
#include "store/sqlite_guard.h"

namespace lacuna::analyzer {
namespace {

/// Larger databases are not read once more to find out where they are damaged.
constexpr std::int64_t kMostCheckedBytes = std::int64_t{4} << 30;

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

/// How long the database is by its own header; 0 where that does not say.
std::uint64_t bytesTold(const std::filesystem::path& path) {
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

/// A file in the temporary folder that has no name and goes with this object, or with the process.
class NamelessFile {
 public:
  static prof::Result<NamelessFile> create() {
    NamelessFile file;
    std::error_code missing;
    file.folder_ = std::filesystem::temp_directory_path(missing);
    if (missing) return prof::Error{"needs a folder for what it unpacks to; set TMPDIR to one that is there"};
    file.file_ = ::open(file.folder_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (file.file_ >= 0) return file;
    std::string name = (file.folder_ / "lacuna-unpacked-XXXXXX").string();  // not every file system has O_TMPFILE
    file.file_ = ::mkostemp(name.data(), O_CLOEXEC);
    if (file.file_ < 0) return prof::Error{fmt::format("{} cannot be created: {}", name, prof::fileProblem(errno))};
    ::unlink(name.c_str());
    return file;
  }
  ~NamelessFile() {
    if (file_ >= 0) ::close(file_);
  }
  NamelessFile(NamelessFile&& other) noexcept
      : folder_(std::move(other.folder_)), file_(std::exchange(other.file_, -1)), bytes_(other.bytes_) {}
  NamelessFile& operator=(NamelessFile&&) = delete;

  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }
  [[nodiscard]] int descriptor() const { return file_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

  prof::Status write(const char* bytes, std::size_t count) {
    for (std::size_t done = 0; done < count;) {
      const ssize_t wrote = ::write(file_, bytes + done, count - done);
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote < 0) return prof::Error{std::strerror(errno)};
      done += static_cast<std::size_t>(wrote);
    }
    bytes_ += count;
    return {};
  }

 private:
  NamelessFile() = default;

  std::filesystem::path folder_;
  int file_ = -1;
  std::size_t bytes_ = 0;
};

prof::Result<NamelessFile> unpack(const std::filesystem::path& path, const prof::Budget& budget) {
  auto source = ByteSource::open(path, budget);
  if (!source) return source.error();
  auto file = NamelessFile::create();
  if (!file) return prof::Error{fmt::format("{}: {}", path.string(), file.error().message)};
  const std::string folder = file->folder().string();
  std::vector<char> buffer(1 << 20);
  while (const std::size_t got = (*source)->read(buffer.data(), buffer.size())) {
    if (!hasRoom(file->folder(), got)) {
      return prof::Error{
          fmt::format("{}: unpacked it would fill {}; set TMPDIR to a folder with more room, or unpack it yourself",
                      path.string(), folder)};
    }
    if (const auto status = file->write(buffer.data(), got); !status)
      return prof::Error{
          fmt::format("{}: cannot be unpacked into {}: {}", path.string(), folder, status.error().message)};
  }
  if (!(*source)->problem().empty()) return prof::Error{fmt::format("{}: {}", path.string(), (*source)->problem())};
  return file;
}

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
  for (std::size_t at = complaint.find("age "); at != std::string_view::npos; at = complaint.find("age ", at + 4)) {
    std::int64_t page = 0;
    const char* const from = complaint.data() + at + 4;
    const auto [end, error] = std::from_chars(from, complaint.data() + complaint.size(), page);
    if (error == std::errc() && page > 0) return page;
  }
  return std::nullopt;
}

/// How long SQLite's check of a database may take.
constexpr std::chrono::seconds kMostCheckTime{60};

/// While it lives, a statement fails that runs beyond kMostCheckTime.
class TimeLimit {
 public:
  explicit TimeLimit(sqlite3* db) : db_(db) {
    constexpr int kStepsBetweenLooks = 1000;
    sqlite3_progress_handler(
        db, kStepsBetweenLooks,
        [](void* self) { return static_cast<int>(Clock::now() > static_cast<TimeLimit*>(self)->endsAt_); }, this);
  }
  ~TimeLimit() { sqlite3_progress_handler(db_, 0, nullptr, nullptr); }
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;

 private:
  using Clock = std::chrono::steady_clock;

  sqlite3* db_;
  Clock::time_point endsAt_ = Clock::now() + kMostCheckTime;
};

/// A statement of ours reads tables, asks for their columns and for pages, and compares names. Whatever the schema of
/// the file adds to it (a function, a trigger, another database) is refused.
int allowReading(void*, int action, const char* first, const char* second, const char*, const char*) {
  const auto is = [](const char* text, std::string_view wanted) { return text != nullptr && text == wanted; };
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
      return SQLITE_OK;
    case SQLITE_FUNCTION:
      return is(second, "like") ? SQLITE_OK : SQLITE_DENY;
    case SQLITE_UPDATE:  // SQLite asks for this when it learns a pragma's columns
      return is(first, "sqlite_master") ? SQLITE_OK : SQLITE_DENY;
    case SQLITE_PRAGMA:
      for (const char* known :
           {"table_xinfo", "page_size", "page_count", "quick_check", "ignore_check_constraints", "locking_mode"}) {
        if (is(first, known)) return SQLITE_OK;
      }
      return SQLITE_DENY;
    default:
      return SQLITE_DENY;
  }
}

/// The first damaged page that SQLite's own check finds; its errors name no place. The check reads the whole file, but
/// calculates nothing that the file's schema asks for.
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

/// A database that was compressed, as it lies in memory that its file backs.
class SqliteFile::Unpacked {
 public:
  static prof::Result<std::unique_ptr<Unpacked>> from(const std::filesystem::path& path, const prof::Budget& budget) {
    auto file = unpack(path, budget);
    if (!file) return file.error();
    const std::size_t bytes = file->bytes();
    if (bytes == 0) return prof::Error{fmt::format("{}: is empty", path.string())};
    void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file->descriptor(), 0);
    if (at == MAP_FAILED) {
      return prof::Error{
          fmt::format("{}: its {} unpacked bytes cannot be mapped: {}", path.string(), bytes, std::strerror(errno))};
    }
    std::unique_ptr<Unpacked> unpacked(new Unpacked({static_cast<unsigned char*>(at), bytes}));
    unpacked->forgetLog();
    return unpacked;
  }
  ~Unpacked() { ::munmap(bytes_.data(), bytes_.size()); }
  Unpacked(const Unpacked&) = delete;
  Unpacked& operator=(const Unpacked&) = delete;

  /// While this object lives.
  int openAs(sqlite3** db) const {
    const int code = sqlite3_open_v2(":memory:", db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
    if (code != SQLITE_OK) return code;
    const auto size = static_cast<sqlite3_int64>(bytes_.size());
    return sqlite3_deserialize(*db, "main", bytes_.data(), size, size, SQLITE_DESERIALIZE_READONLY);
  }

 private:
  explicit Unpacked(std::span<unsigned char> bytes) : bytes_(bytes) {}
  /// A database with a write-ahead log is told to have none: it was packed alone.
  void forgetLog() {
    constexpr std::size_t kWriteVersion = 18;
    constexpr std::size_t kReadVersion = 19;
    constexpr unsigned char kWithLog = 2;
    if (bytes_.size() <= kReadVersion) return;
    for (const std::size_t at : {kWriteVersion, kReadVersion}) {
      if (bytes_[at] == kWithLog) bytes_[at] = 1;
    }
  }

  std::span<unsigned char> bytes_;
};

prof::Result<std::unique_ptr<SqliteFile>> SqliteFile::open(const std::filesystem::path& path,
                                                           const prof::Budget& budget) {
  std::unique_ptr<SqliteFile> file(new SqliteFile);
  file->path_ = path;
  prof::Status status;
  if (isPlain(path)) {
    status = openDatabase(path, &file->db_);
  } else {
    auto unpacked = Unpacked::from(path, budget);
    if (!unpacked) return unpacked.error();
    file->unpacked_ = std::move(*unpacked);
    if (file->unpacked_->openAs(&file->db_) != SQLITE_OK) status = prof::Error{sqlite3_errmsg(file->db_)};
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
  if (placeOfDamage_) return *placeOfDamage_;
  placeOfDamage_.emplace();
  const auto pageSize = numberOf(db_, "PRAGMA page_size");
  const auto pages = numberOf(db_, "PRAGMA page_count");
  if (!pageSize || !pages || *pages > kMostCheckedBytes / std::max<std::int64_t>(1, *pageSize)) return *placeOfDamage_;
  if (const auto page = damagedPage(db_))
    placeOfDamage_ = fmt::format(" (the first damage is on page {}, from byte {})", *page, (*page - 1) * *pageSize);
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
    return prof::Error{isCutOff_
                           ? problem_ + ", and the list of its tables is not among that"
                           : fmt::format("the database's table list cannot be read: {}; it begins on the first page "
                                         "(from byte 0)",
                                         sqlite3_errmsg(db_))};
  }
  learnViews();
  return {};
}

/// SQLITE_DONE, or why not.
int SqliteFile::listTables() {
  sqlite3_stmt* list = nullptr;
  // The pragma's function is not a table of the file, so no file can replace it. Columns that are calculated when
  // they are read (2) are left out, for the file would choose the calculation.
  const char* const kList =
      "SELECT m.name, c.name FROM sqlite_master m, pragma_table_xinfo(m.name) c WHERE m.type = 'table' AND "
      "m.rootpage > 0 AND c.hidden <> 2 AND m.sql NOT LIKE 'create virtual%'";
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

/// SQLite reads a file that is shorter than its header says, or of whose tables one is not understood, only for who may
/// mend it by hand. Nothing is written all the same.
void SqliteFile::openDamaged(const std::string& why) {
  sqlite3_db_config(db_, SQLITE_DBCONFIG_DEFENSIVE, 0, nullptr);
  sqlite3_db_config(db_, SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1, nullptr);
  problem_ = fmt::format("the database is damaged ({}): what is readable of it was read", why);
  if (unpacked_) return;
  std::error_code unknown;
  const std::uintmax_t bytes = std::filesystem::file_size(path_, unknown);
  const std::uint64_t told = bytesTold(path_);
  if (unknown || bytes >= told) return;
  isCutOff_ = true;
  problem_ =
      fmt::format("the database ends early, after {} of {} bytes: what is whole before that was read", bytes, told);
}

void SqliteFile::learnViews() {
  sqlite3_stmt* list = nullptr;
  const char* const kList = "SELECT name FROM sqlite_master WHERE type = 'view' OR sql LIKE 'create virtual%'";
  if (sqlite3_prepare_v2(db_, kList, -1, &list, nullptr) == SQLITE_OK) {
    while (sqlite3_step(list) == SQLITE_ROW) {
      const auto* name = reinterpret_cast<const char*>(sqlite3_column_text(list, 0));
      if (name != nullptr) views_.insert(name);
    }
  }
  sqlite3_finalize(list);
}

SqliteRows::SqliteRows(const SqliteFile& file, const std::string& table, const std::vector<std::string>& columns,
                       const char* order)
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
    problem_ = fmt::format("table {}: {} after {} rows{}; what comes before was read", table_, why, rows_,
                           damaged ? file_.placeOfDamage() : "");
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
