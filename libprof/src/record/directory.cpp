// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "record/directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include "record/clock_line.h"
#include "record/small_file.h"

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
fs::path makeSharedDirectory(std::uint64_t roomBytes) {
  struct statvfs room {};
  if (statvfs("/dev/shm", &room) != 0 || room.f_bavail * room.f_frsize < roomBytes) return {};
  std::string name = "/dev/shm/lacuna-XXXXXX";
  return mkdtemp(name.data()) != nullptr ? fs::path(name) : fs::path();
}

/// A folder on its way to be a recording. Of several that want the same one gets it: the one that makes the file of
/// which the settings will be. Unless it is settled nothing is left of what it made.
class Claim {
 public:
  Claim(const fs::path& directory, bool fresh)
      : directory_(directory), fresh_(fresh), draft_(directory / (std::string(kSettingsFile) + ".new")) {
    fd_ = ::open(draft_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    error_ = fd_ < 0 && errno != EEXIST ? errno : 0;
    // Whoever came before has left its settings, or is about to.
    std::error_code error;
    ours_ = fd_ >= 0 && std::distance(fs::directory_iterator(directory, error), fs::directory_iterator()) == 1;
    if (fd_ >= 0 && error) error_ = error.value();
  }
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;
  ~Claim() {
    std::error_code error;
    if (fd_ < 0) {
      if (error_ != 0 && fresh_) fs::remove(directory_, error);
      return;
    }
    ::close(fd_);
    if (settled_) return;
    fs::remove(draft_, error);
    if (!shared_.empty()) fs::remove(directory_ / kSharedLink, error);
    if (!shared_.empty()) fs::remove(shared_, error);
    if ((ours_ || error_ != 0) && fresh_) fs::remove(directory_, error);
  }

  [[nodiscard]] Status taken() const {
    if (ours_) return {};
    if (error_ != 0) {
      return Error{fmt::format("{}: cannot be written: {}{}", draft_.string(), std::strerror(error_),
                               error_ == EMFILE ? ". Remedy: raise ulimit -n" : "")};
    }
    return Error{
        fmt::format("{0}: not empty. If it holds a recording that nobody makes any more, make a trace of it with "
                    "'lacuna recover {0}' or delete it; or choose another place",
                    directory_.string())};
  }

  void linkSharedMemory(std::uint64_t roomBytes) {
    const fs::path shared = makeSharedDirectory(roomBytes);
    if (shared.empty()) return;
    std::error_code error;
    fs::create_directory_symlink(shared, directory_ / kSharedLink, error);
    if (!error) shared_ = shared;
    if (error) fs::remove(shared, error);
  }

  /// Makes the directory a recording.
  Status settle(const Settings& settings) {
    const bool wrote = ::write(fd_, &settings, sizeof settings) == static_cast<ssize_t>(sizeof settings);
    settled_ = wrote && ::rename(draft_.c_str(), (directory_ / kSettingsFile).c_str()) == 0;
    if (settled_) return {};
    return Error{fmt::format("{}: cannot be written: {}", draft_.string(), std::strerror(errno))};
  }

 private:
  const fs::path& directory_;
  const bool fresh_;
  const fs::path draft_;
  int fd_ = -1;
  int error_ = 0;
  bool ours_ = false;
  bool settled_ = false;
  fs::path shared_;
};

std::uint64_t newKey() {
  std::uint64_t key = 0;
  if (getrandom(&key, sizeof key, GRND_NONBLOCK) != static_cast<ssize_t>(sizeof key)) {
    key = (static_cast<std::uint64_t>(clockNs(CLOCK_REALTIME)) << 16) ^ static_cast<std::uint64_t>(getpid());
  }
  return key | 1;  // never 0
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
  const std::size_t got = readSmallFile((directory / kSettingsFile).c_str(), &settings, sizeof settings);
  // Those of another version may be shorter.
  const bool known = got >= offsetof(Settings, flightRecorder) && settings.magic == kMagic;
  if (!known || (got < sizeof settings && settings.version == kVersion)) {
    return Error{
        fmt::format("{}: not a recording (it has no valid file '{}'); give the directory that a recording "
                    "was made in, usually TRACE.recording",
                    directory.string(), kSettingsFile)};
  }
  if (settings.version != kVersion) {
    return Error{
        fmt::format("{}: a recording of version {}, and this lacuna reads version {}: use the {} lacuna that "
                    "made it",
                    directory.string(), settings.version, kVersion, settings.version > kVersion ? "newer" : "older")};
  }
  return settings;
}

bool isGone(const fs::path& directory, std::uint64_t key) {
  Settings now;
  errno = 0;  // for an empty file
  const std::size_t got = readSmallFile((directory / kSettingsFile).c_str(), &now, sizeof now);
  if (got == 0) return errno == ENOENT || errno == ENOTDIR;
  const bool whole = got == sizeof now && now.magic == kMagic && now.version == kVersion;
  return key != 0 && whole && now.key != 0 && now.key != key;
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
  // To be written, for network file systems lock only such files; to be read where somebody else's is looked at.
  const fs::path settings = directory / kSettingsFile;
  int fd = ::open(settings.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) fd = ::open(settings.c_str(), O_RDONLY | O_CLOEXEC);
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
  const bool fresh = fs::create_directories(directory, error);
  if (error) return Error{fmt::format("{}: the directory cannot be made: {}", directory.string(), error.message())};
  Claim claim(directory, fresh);
  if (Status taken = claim.taken(); !taken.ok()) return taken;
  const std::uint64_t pool = std::min(options.poolBytes, options.maxPoolBytes);
  const std::uint64_t room = std::max(2 * pool, std::min(options.sharedRoomBytes, 2 * options.maxPoolBytes));
  if (options.sharedMemory) claim.linkSharedMemory(room);
  Settings settings;
  settings.flightRecorder = options.flightRecorder ? 1 : 0;
  settings.poolBytes = pool;
  settings.maxPoolBytes = options.maxPoolBytes;
  settings.key = newKey();
  settings.sharedRoomBytes = room;
  return claim.settle(settings);
}

std::uint64_t recordingKey(const fs::path& directory) {
  const Result<Settings> settings = readSettings(directory);
  return settings.ok() ? (*settings).key : 0;
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
  // "." cannot be removed by that name.
  const fs::path whole = fs::canonical(directory, error);
  if (!error) fs::remove_all(whole, error);
  if (error) return Error{fmt::format("{}: cannot be removed: {}", directory.string(), error.message())};
  return {};
}

Status removeRecording(const fs::path& directory, const fs::path& segments, std::uint64_t key) {
  if (!isGone(directory, key)) return removeRecording(directory);
  std::error_code error;
  if (isSharedDirectory(segments)) fs::remove_all(segments, error);
  return Error{
      fmt::format("{}: was deleted or moved before the recording ended; the trace has what those processes recorded "
                  "that had begun before",
                  directory.string())};
}

}  // namespace lacuna::prof
