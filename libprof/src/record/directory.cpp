// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "record/directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include "record/clock_line.h"

namespace fs = std::filesystem;

namespace lacuna::prof {
namespace recording {
namespace {

constexpr TimeNs kListAtLeastEveryNs = 500'000'000;
constexpr TimeNs kFolderTickNs = 50'000'000;

void collect(const fs::path& directory, RecordingFiles& files) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, error)) {
    if (entry.path().extension() == kFileSuffix) files.recorders.push_back(entry.path());
    if (entry.path().extension() == ".failed") files.failures.push_back(entry.path());
  }
}

/// A private directory in shared memory, or nothing when there is too little room to bother.
fs::path makeSharedDirectory(std::uint64_t poolBytes) {
  struct statvfs room {};
  if (statvfs("/dev/shm", &room) != 0 || room.f_bavail * room.f_frsize < 2 * poolBytes) return {};
  std::string name = "/dev/shm/lacuna-XXXXXX";
  return mkdtemp(name.data()) != nullptr ? fs::path(name) : fs::path();
}

bool isSharedDirectory(const fs::path& target) {
  return target.string().starts_with("/dev/shm/lacuna-");
}

}  // namespace

RecordingFiles listRecording(const fs::path& directory) {
  RecordingFiles files;
  collect(directory, files);
  collect(directory / kSharedLink, files);
  return files;
}

RecordingFolder::RecordingFolder(const fs::path& directory)
    : folders_{directory.string(), (directory / kSharedLink).string()} {}

RecordingFolder::Times RecordingFolder::times() const {
  Times times{};
  for (std::size_t i = 0; i < times.size(); ++i) {
    struct stat now {};
    if (stat(folders_[i].c_str(), &now) == 0) times[i] = nanoseconds(now.st_mtim);
  }
  return times;
}

void RecordingFolder::noteListing() {
  listedNs_ = clockNs(CLOCK_REALTIME);
  seen_ = times();
}

bool RecordingFolder::mayHaveChanged() const {
  const TimeNs since = clockNs(CLOCK_REALTIME) - listedNs_;
  if (since < 0 || since > kListAtLeastEveryNs) return true;
  const Times now = times();
  // What comes within the same tick of the system's clock does not change the folder's time again.
  return now != seen_ || listedNs_ - *std::ranges::max_element(now) < kFolderTickNs;
}

Result<Settings> readSettings(const fs::path& directory) {
  Settings settings;
  std::ifstream file(directory / kSettingsFile, std::ios::binary);
  if (!file.read(reinterpret_cast<char*>(&settings), sizeof settings) || settings.magic != kMagic) {
    return Error{
        fmt::format("{}: not a recording (it has no valid file '{}'); give the directory that a recording "
                    "was made in, usually TRACE.recording",
                    directory.string(), kSettingsFile)};
  }
  if (settings.version != kVersion) {
    return Error{fmt::format("{}: a recording of version {}, this program reads version {}", directory.string(),
                             settings.version, kVersion)};
  }
  return settings;
}

fs::path checkpointPath(const fs::path& directory) {
  return directory / "checkpoint";
}
fs::path outputNotePath(const fs::path& directory) {
  return directory / "output";
}

Status replaceFile(const fs::path& path, const std::string& bytes) {
  const fs::path temporary = path.string() + ".tmp";
  std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) return Error{fmt::format("{}: cannot be written: {}", temporary.string(), std::strerror(errno))};
  std::error_code error;
  fs::rename(temporary, path, error);
  if (error) return Error{fmt::format("{}: cannot be written: {}", path.string(), error.message())};
  return {};
}

Result<std::string> readFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error{fmt::format("{}: cannot be read: {}", path.string(), std::strerror(errno))};
  return std::string(std::istreambuf_iterator<char>(file), {});
}

Result<DrainLock> DrainLock::take(const fs::path& directory) {
  const int fd = ::open((directory / kSettingsFile).c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return Error{fmt::format("{}: not a recording: {}", directory.string(), std::strerror(errno))};
  if (flock(fd, LOCK_EX | LOCK_NB) == 0) return DrainLock(fd);
  ::close(fd);
  return Error{
      fmt::format("{}: another process is draining this recording; wait until it has ended", directory.string())};
}

DrainLock::~DrainLock() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace recording

using namespace recording;

Status createRecording(const fs::path& directory, const RecordingOptions& options) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) return Error{fmt::format("{}: the directory cannot be made: {}", directory.string(), error.message())};
  if (!fs::is_empty(directory, error) || error) {
    return Error{
        fmt::format("{}: not empty. If it holds a recording, make a trace of it with 'lacuna recover {}' or "
                    "delete it; or choose another place",
                    directory.string(), directory.string())};
  }
  const std::uint64_t pool = std::min(options.poolBytes, options.maxPoolBytes);
  if (options.sharedMemory) {
    const fs::path shared = makeSharedDirectory(pool);
    if (!shared.empty()) fs::create_directory_symlink(shared, directory / kSharedLink, error);
  }
  Settings settings;
  settings.flightRecorder = options.flightRecorder ? 1 : 0;
  settings.poolBytes = pool;
  settings.maxPoolBytes = options.maxPoolBytes;
  // Last, for it makes the directory a recording.
  return replaceFile(directory / kSettingsFile, {reinterpret_cast<const char*>(&settings), sizeof settings});
}

fs::path segmentFolder(const fs::path& directory) {
  std::error_code error;
  const fs::path shared = fs::read_symlink(directory / kSharedLink, error);
  return error ? directory : shared;
}

Status removeRecording(const fs::path& directory) {
  const Result<Settings> settings = readSettings(directory);
  if (!settings.ok()) return settings.status();
  std::error_code error;
  const fs::path shared = fs::read_symlink(directory / kSharedLink, error);
  // Only what createRecording() made is deleted, wherever the link may point.
  if (!error && isSharedDirectory(shared)) fs::remove_all(shared, error);
  error.clear();
  fs::remove_all(directory, error);
  if (error) return Error{fmt::format("{}: cannot be removed: {}", directory.string(), error.message())};
  return {};
}

}  // namespace lacuna::prof
