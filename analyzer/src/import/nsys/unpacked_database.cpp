// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "import/nsys/unpacked_database.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "import/byte_source.h"
#include "import/nsys/sqlite_log.h"
#include "lacuna/prof/file_error.h"

namespace lacuna::analyzer {
namespace {

/// A file in the temporary folder that has no name and goes with this object, or with the process.
class NamelessFile {
 public:
  static prof::Result<NamelessFile> create() {
    NamelessFile file;
    std::error_code missing;
    file.folder_ = std::filesystem::temp_directory_path(missing);
    if (missing)
      return prof::Error{"needs a folder for what it unpacks to; set TMPDIR to one that is there"};
    file.file_ = ::open(file.folder_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (file.file_ >= 0) return file;
    std::string name =
        (file.folder_ / "lacuna-unpacked-XXXXXX").string();  // not every file system has O_TMPFILE
    file.file_ = ::mkostemp(name.data(), O_CLOEXEC);
    if (file.file_ < 0)
      return prof::Error{fmt::format("{} cannot be created: {}", name, prof::fileProblem(errno))};
    ::unlink(name.c_str());
    return file;
  }
  ~NamelessFile() {
    if (file_ >= 0) ::close(file_);
  }
  NamelessFile(NamelessFile&& other) noexcept
      : folder_(std::move(other.folder_)),
        file_(std::exchange(other.file_, -1)),
        bytes_(other.bytes_) {}
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
          fmt::format("{}: unpacked it would fill {}; set TMPDIR to a folder with more room, or "
                      "unpack it yourself",
                      path.string(), folder)};
    }
    if (const auto status = file->write(buffer.data(), got); !status)
      return prof::Error{fmt::format("{}: cannot be unpacked into {}: {}", path.string(), folder,
                                     status.error().message)};
  }
  if (!(*source)->problem().empty())
    return prof::Error{fmt::format("{}: {}", path.string(), (*source)->problem())};
  return file;
}

}  // namespace

prof::Result<std::unique_ptr<UnpackedDatabase>> UnpackedDatabase::from(
    const std::filesystem::path& path, const prof::Budget& budget) {
  auto file = unpack(path, budget);
  if (!file) return file.error();
  const std::size_t bytes = file->bytes();
  if (bytes == 0) return prof::Error{fmt::format("{}: is empty", path.string())};
  void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE,
                          file->descriptor(), 0);
  if (at == MAP_FAILED) {
    return prof::Error{fmt::format("{}: its {} unpacked bytes cannot be mapped: {}", path.string(),
                                   bytes, std::strerror(errno))};
  }
  std::unique_ptr<UnpackedDatabase> unpacked(
      new UnpackedDatabase({static_cast<unsigned char*>(at), bytes}));
  unpacked->forgetLog();
  return unpacked;
}

UnpackedDatabase::~UnpackedDatabase() {
  ::munmap(bytes_.data(), bytes_.size());
}

int UnpackedDatabase::openAs(sqlite3** db) const {
  const int code =
      sqlite3_open_v2(":memory:", db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  if (code != SQLITE_OK) return code;
  const auto size = static_cast<sqlite3_int64>(bytes_.size());
  return sqlite3_deserialize(*db, "main", bytes_.data(), size, size, SQLITE_DESERIALIZE_READONLY);
}

void UnpackedDatabase::forgetLog() {
  constexpr std::size_t kWriteVersion = 18;
  constexpr std::size_t kReadVersion = 19;
  constexpr unsigned char kWithLog = 2;
  if (bytes_.size() <= kReadVersion) return;
  for (const std::size_t at : {kWriteVersion, kReadVersion}) {
    if (bytes_[at] == kWithLog) bytes_[at] = 1;
  }
}

}  // namespace lacuna::analyzer
