// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "import/nsys/sqlite_log.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

#include "store/sqlite_guard.h"

namespace lacuna::analyzer {
namespace {

/// Copies leave so much of the temporary folder free, which others use too.
constexpr std::uintmax_t kKeptFree = std::uintmax_t{256} << 20;

/// True when the database keeps changes in a write-ahead log, by its own header.
bool hasLog(const std::filesystem::path& path) {
  constexpr std::streamoff kReadVersion = 19;
  std::ifstream file(path, std::ios::binary);
  file.seekg(kReadVersion);
  return file.get() == 2;
}

std::filesystem::path logOf(const std::filesystem::path& path) {
  return path.string() + "-wal";
}

/// Changes that are in the log and perhaps not in the database.
bool hasPendingLog(const std::filesystem::path& path) {
  std::error_code missing;
  const std::uintmax_t bytes = std::filesystem::file_size(logOf(path), missing);
  return !missing && bytes > 0;
}

/// The name by which SQLite opens a file that it takes for unchanging, so that it keeps no files
/// beside it.
std::string immutableName(const std::filesystem::path& path) {
  std::string name = "file://";
  for (const char c : std::filesystem::absolute(path).string()) {
    const bool isPlainCharacter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                                  (c >= '0' && c <= '9') ||
                                  std::string_view("/._-").find(c) != std::string_view::npos;
    name += isPlainCharacter ? std::string(1, c)
                             : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return name + "?immutable=1";
}

/// A folder of our own that goes with the object.
class PrivateFolder {
 public:
  static prof::Result<PrivateFolder> create() {
    std::error_code missing;
    const auto parent = std::filesystem::temp_directory_path(missing);
    std::string name = (parent / "lacuna-database-XXXXXX").string();
    if (missing || ::mkdtemp(name.data()) == nullptr)
      return prof::Error{"needs a folder for a copy of it; set TMPDIR to one that can be written"};
    return PrivateFolder(name);
  }
  ~PrivateFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  PrivateFolder(PrivateFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  PrivateFolder& operator=(PrivateFolder&&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  explicit PrivateFolder(std::filesystem::path path) : path_(std::move(path)) {}

  std::filesystem::path path_;
};

/// Both files, as they are at one time; an error where somebody writes to them meanwhile.
prof::Status copyWithLog(const std::filesystem::path& from, const std::filesystem::path& to) {
  const auto state = [&] {
    std::error_code ignored;
    return std::tuple(std::filesystem::file_size(from, ignored),
                      std::filesystem::last_write_time(from, ignored),
                      std::filesystem::file_size(logOf(from), ignored),
                      std::filesystem::last_write_time(logOf(from), ignored));
  };
  const auto before = state();
  const std::uintmax_t bytes = std::get<0>(before) + std::get<2>(before);
  if (!hasRoom(to.parent_path(), bytes)) {
    return prof::Error{
        fmt::format("has changes in its write-ahead log, and the copy that reads them would fill "
                    "{}; set TMPDIR to a folder with more room, or end the program that writes it "
                    "and run: sqlite3 FILE 'PRAGMA wal_checkpoint(TRUNCATE)'",
                    to.parent_path().parent_path().string())};
  }
  std::error_code failed;
  std::filesystem::copy_file(from, to, failed);
  if (!failed) std::filesystem::copy_file(logOf(from), logOf(to), failed);
  if (failed)
    return prof::Error{
        fmt::format("cannot be copied with its write-ahead log: {}", failed.message())};
  if (state() != before)
    return prof::Error{"is being written to; end the program that writes it, and try again"};
  return {};
}

/// Opens a copy of the database and its log in a folder of our own, whose files lose their names
/// when they are open. Reading a log changes files, and the files beside the database are not ours.
prof::Status openCopy(const std::filesystem::path& path, sqlite3** db) {
  const auto folder = PrivateFolder::create();
  if (!folder) return folder.status();
  const std::filesystem::path copy = folder->path() / "database";
  if (const auto status = copyWithLog(path, copy); !status) return status;
  const int code =
      sqlite3_open_v2(copy.c_str(), db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  if (code != SQLITE_OK) return prof::Error{sqlite3_errmsg(*db)};
  hardenSqlite(*db);
  sqlite3_db_config(*db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  // Alone with the files, SQLite keeps its index of the log in memory. The first read opens the
  // log.
  sqlite3_exec(*db, "PRAGMA locking_mode = EXCLUSIVE", nullptr, nullptr, nullptr);
  sqlite3_exec(*db, "SELECT count(*) FROM sqlite_master", nullptr, nullptr, nullptr);
  return {};
}

}  // namespace

bool hasRoom(const std::filesystem::path& folder, std::uintmax_t bytes) {
  std::error_code unknown;
  const std::filesystem::space_info space = std::filesystem::space(folder, unknown);
  return unknown || space.available >= kKeptFree + bytes;
}

prof::Status openDatabase(const std::filesystem::path& path, sqlite3** db) {
  const bool isLogged = hasLog(path);
  if (isLogged && hasPendingLog(path)) return openCopy(path, db);
  const std::string name = isLogged ? immutableName(path) : path.string();
  const int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | (isLogged ? SQLITE_OPEN_URI : 0);
  if (sqlite3_open_v2(name.c_str(), db, flags, nullptr) != SQLITE_OK)
    return prof::Error{sqlite3_errmsg(*db)};
  return {};
}

}  // namespace lacuna::analyzer
