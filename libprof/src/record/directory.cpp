// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "record/directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "lacuna/prof/file_error.h"
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

/// A folder on its way to be a recording. When several want the same folder, the one that creates
/// the draft of the settings gets it. Unless it is settled, nothing is left of what it made.
class Claim {
 public:
  Claim(const Folder& folder, bool fresh)
      : folder_(folder), fresh_(fresh), fd_(folder.createFile(kSettingsDraft)) {
    error_ = fd_ < 0 && errno != EEXIST ? errno : 0;
    if (fd_ < 0) return;
    // An earlier claimer has left its settings, or is about to.
    ours_ = folder.names(&error_).size() == 1;
  }
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;
  ~Claim() {
    if (fd_ >= 0) ::close(fd_);
    if (settled_) return;
    if (fd_ >= 0) ::unlinkat(folder_.fd(), kSettingsDraft, 0);
    if (shared_) {
      ::unlinkat(folder_.fd(), kSharedLink, 0);
      discardShared(*shared_);
    }
    if ((ours_ || error_ != 0) && fresh_) (void)folder_.removeItself();
  }

  [[nodiscard]] Status taken() const {
    if (ours_) return {};
    if (error_ != 0) return unwritable(error_);
    return Error{
        fmt::format("{0}: not empty. If it holds a recording that nobody makes any more, make a "
                    "trace of it with 'lacuna recover {0}' or delete it; or choose another place",
                    folder_.path().string())};
  }

  void linkSharedMemory(std::uint64_t key, std::uint64_t roomBytes) {
    shared_ = makeSharedFolder(folder_.path(), key, roomBytes);
    if (!shared_) return;
    // Until it is settled nobody else could know that somebody wants it.
    (void)flock(shared_->fd(), LOCK_EX | LOCK_NB);
    if (::symlinkat(shared_->path().c_str(), folder_.fd(), kSharedLink) == 0) return;
    discardShared(*shared_);
    shared_.reset();
  }

  /// Makes the directory a recording.
  Status settle(const Settings& settings) {
    errno = 0;
    const bool wrote =
        ::write(fd_, &settings, sizeof settings) == static_cast<ssize_t>(sizeof settings);
    settled_ = wrote && ::renameat(folder_.fd(), kSettingsDraft, folder_.fd(), kSettingsFile) == 0;
    return settled_ ? Status() : unwritable(errno != 0 ? errno : ENOSPC);
  }

 private:
  [[nodiscard]] Status unwritable(int code) const {
    return Error{fmt::format("{}: cannot be written: {}{}",
                             (folder_.path() / kSettingsDraft).string(), std::strerror(code),
                             code == EMFILE ? ". Remedy: raise ulimit -n" : "")};
  }

  const Folder& folder_;
  const bool fresh_;
  int fd_ = -1;
  int error_ = 0;
  bool ours_ = false;
  bool settled_ = false;
  std::optional<Folder> shared_;
};

/// Makes the folder of a recording, and those above it. One that is there will do if nobody else
/// may write in it.
Result<Folder> claimFolder(const fs::path& directory, bool& fresh) {
  std::error_code error;
  const fs::path path = directory.has_filename() ? directory : directory.parent_path();
  if (path.has_parent_path()) fs::create_directories(path.parent_path(), error);
  if (error)
    return Error{
        fmt::format("{}: the directory cannot be made: {}", path.string(), error.message())};
  int code = 0;
  auto folder = Folder::make(path, code);
  fresh = code == 0;
  if (code != EEXIST) return folder;
  folder = Folder::openItself(path);
  if (!folder.ok()) return folder;
  if (Status status = folder->makePrivate(); !status.ok()) return status.error();
  return folder;
}

std::uint64_t newKey() {
  std::uint64_t key = 0;
  if (getrandom(&key, sizeof key, GRND_NONBLOCK) != static_cast<ssize_t>(sizeof key)) {
    key = (static_cast<std::uint64_t>(clockNs(CLOCK_REALTIME)) << 16) ^
          static_cast<std::uint64_t>(getpid());
  }
  return key | 1;  // never 0
}

/// Removes what lies in a folder of segments, and the folder if nothing else is in it.
void removeShared(const Folder& shared, std::vector<std::string>& left) {
  for (const std::string& name : shared.removeFiles())
    left.push_back((shared.path() / name).string());
  (void)shared.removeItself();
}

std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 5;
  const std::size_t count = std::min(names.size(), kMost);
  std::string text = fmt::format(
      "{}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(count), ", "));
  return names.size() > count ? fmt::format("{} and {} more", text, names.size() - count) : text;
}

}  // namespace

RecordingFiles listRecording(const fs::path& directory) {
  RecordingFiles files;
  collect(directory, files);
  const fs::path segments = segmentFolder(directory);
  if (segments != directory) collect(segments, files);
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
  // A change within the same tick of the system's clock does not change the folder's time again.
  return now != seen_ || listedNs_ - *std::ranges::max_element(now) < kFolderTickNs;
}

Result<Settings> readSettings(const fs::path& directory) {
  Settings settings;
  const std::size_t got =
      readSmallFile((directory / kSettingsFile).c_str(), &settings, sizeof settings);
  // Those of another version may be shorter.
  const bool known = got >= offsetof(Settings, flightRecorder) && settings.magic == kMagic;
  if (!known || (got < sizeof settings && settings.version == kVersion)) {
    return Error{
        fmt::format("{}: not a recording (it has no valid file '{}'); give the directory that a "
                    "recording was made in, usually TRACE.recording",
                    directory.string(), kSettingsFile)};
  }
  if (settings.version != kVersion) {
    return Error{
        fmt::format("{}: a recording of version {}, and this lacuna reads version {}: use the {} "
                    "lacuna that made it",
                    directory.string(), settings.version, kVersion,
                    settings.version > kVersion ? "newer" : "older")};
  }
  return settings;
}

bool isGone(const fs::path& directory, std::uint64_t key) {
  Settings now;
  errno = 0;  // for an empty file
  const std::size_t got = readSmallFile((directory / kSettingsFile).c_str(), &now, sizeof now);
  if (got == 0) return errno == ENOENT || errno == ENOTDIR;
  const bool complete = got == sizeof now && now.magic == kMagic && now.version == kVersion;
  return key != 0 && complete && now.key != 0 && now.key != key;
}

fs::path checkpointPath(const fs::path& directory) {
  return directory / "checkpoint";
}
fs::path outputNotePath(const fs::path& directory) {
  return directory / "output";
}

Status replaceFile(const fs::path& path, const std::string& bytes) {
  const auto folder = Folder::open(path.parent_path());
  return folder.ok() ? folder->replaceFile(path.filename().string(), bytes) : folder.status();
}

Result<std::string> readFile(const fs::path& path, std::size_t most, int* error) {
  const auto folder = Folder::open(path.parent_path());
  if (!folder.ok()) return folder.error();
  return folder->readFile(path.filename().string(), most, error);
}

Result<std::string> removeFolder(const fs::path& directory) {
  const Result<Settings> settings = readSettings(directory);
  if (!settings.ok()) return settings.error();
  const auto folder = Folder::open(directory);
  if (!folder.ok()) return folder.error();
  std::vector<std::string> left;
  const SharedLink link = sharedLinkOf(*folder, settings->key);
  // First, so that a process killed in the middle leaves no recording with a part missing.
  folder->removeSettings();
  if (link.folder) removeShared(*link.folder, left);
  if (link.state == SharedLink::State::Foreign) left.push_back(link.target.string());
  for (const std::string& name : folder->removeFiles())
    left.push_back((folder->path() / name).string());
  const int code = folder->removeItself();
  if (code != 0 && code != ENOTEMPTY && code != EEXIST) {
    return Error{fmt::format("{}: cannot be removed: {}", directory.string(), fileProblem(code))};
  }
  if (left.empty()) return std::string();
  return fmt::format("{}: holds or links to what no recording makes, and that stays: {}",
                     directory.string(), listed(left));
}

Result<std::string> removeFolder(const fs::path& directory, const fs::path& segments,
                                 std::uint64_t key) {
  if (!isGone(directory, key)) return removeFolder(directory);
  std::vector<std::string> left;
  if (const auto shared = openSharedFolder(segments, key)) removeShared(*shared, left);
  return Error{
      fmt::format("{}: was deleted or moved before the recording ended; the trace has what those "
                  "processes recorded that had begun before",
                  directory.string())};
}

Result<DrainLock> DrainLock::take(const fs::path& directory) {
  // To be written, for network file systems lock only such files; to be read where it is somebody
  // else's.
  const fs::path settings = directory / kSettingsFile;
  constexpr int kHow = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  int fd = ::open(settings.c_str(), O_RDWR | kHow);
  if (fd < 0) fd = ::open(settings.c_str(), O_RDONLY | kHow);
  if (fd < 0)
    return Error{fmt::format("{}: not a recording: {}", directory.string(), std::strerror(errno))};
  DrainLock lock(fd);
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    return Error{
        fmt::format("{}: another process is draining this recording; wait until it has ended",
                    directory.string())};
  }
  // The segments' folder too: it shows that somebody wants them where the recording was moved.
  if (const auto folder = Folder::open(directory); folder.ok()) {
    lock.shared_ = sharedLinkOf(*folder, recordingKey(directory)).folder;
  }
  if (lock.shared_) (void)flock(lock.shared_->fd(), LOCK_EX | LOCK_NB);
  return lock;
}

DrainLock::~DrainLock() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace recording

using namespace recording;

Status createRecording(const fs::path& directory, const RecordingOptions& options) {
  bool fresh = false;
  const Result<Folder> folder = claimFolder(directory, fresh);
  if (!folder.ok()) return folder.status();
  Claim claim(*folder, fresh);
  if (Status taken = claim.taken(); !taken.ok()) return taken;
  const std::uint64_t pool = std::min(options.poolBytes, options.maxPoolBytes);
  const std::uint64_t room =
      std::max(2 * pool, std::min(options.sharedRoomBytes, 2 * options.maxPoolBytes));
  Settings settings;
  settings.flightRecorder = options.flightRecorder ? 1 : 0;
  settings.poolBytes = pool;
  settings.maxPoolBytes = options.maxPoolBytes;
  settings.key = newKey();
  settings.sharedRoomBytes = room;
  if (options.sharedMemory) claim.linkSharedMemory(settings.key, room);
  return claim.settle(settings);
}

std::uint64_t recordingKey(const fs::path& directory) {
  const Result<Settings> settings = readSettings(directory);
  return settings.ok() ? (*settings).key : 0;
}

fs::path segmentFolder(const fs::path& directory) {
  const auto folder = Folder::open(directory);
  if (!folder.ok()) return directory;
  const SharedLink link = sharedLinkOf(*folder, recordingKey(directory));
  return link.folder ? link.folder->path() : directory;
}

Status removeRecording(const fs::path& directory) {
  const Result<std::string> left = removeFolder(directory);
  if (!left.ok()) return left.status();
  return left->empty() ? Status() : Error{*left};
}

Status removeRecording(const fs::path& directory, const fs::path& segments, std::uint64_t key) {
  const Result<std::string> left = removeFolder(directory, segments, key);
  if (!left.ok()) return left.status();
  return left->empty() ? Status() : Error{*left};
}

}  // namespace lacuna::prof
