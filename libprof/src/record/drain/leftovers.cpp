// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/prof/leftovers.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <optional>

#include "lacuna/prof/file_error.h"
#include "record/directory.h"
#include "record/drain/process_reader.h"

namespace fs = std::filesystem;

namespace lacuna::prof {

using namespace recording;

namespace {

constexpr time_t kFreshSeconds = 60;
constexpr std::string_view kSamples = "stacks-";

/// Recorders write while their process lives, and rings of samples are named after theirs.
bool isWrittenTo(const Folder& folder) {
  const MappingGuard::Scope scope;
  for (const std::string& name : folder.names()) {
    const fs::path path = folder.path() / name;
    if (path.extension() == kFileSuffix) {
      const Result<MappedFile> file = MappedFile::open(path, false);
      if (file.ok() && file->view().header().detached.load() == 0 &&
          lifeOf(file->view().header()) != Life::Ended)
        return true;
    } else if (name.starts_with(kSamples)) {
      const auto pid = static_cast<pid_t>(std::strtol(name.c_str() + kSamples.size(), nullptr, 10));
      if (pid > 0 && (kill(pid, 0) == 0 || errno != ESRCH)) return true;
    }
  }
  return false;
}

bool isFresh(const Folder& folder) {
  struct stat there {};
  return fstat(folder.fd(), &there) != 0 || there.st_mtim.tv_sec + kFreshSeconds > time(nullptr);
}

bool isSelf(const fs::path& directory) {
  return directory.filename().string().starts_with(kSelfPrefix);
}

/// Somebody who wants a folder has it locked. Locked here until the descriptor is closed.
bool lockIsFree(const Folder& folder) {
  return flock(folder.fd(), LOCK_EX | LOCK_NB) == 0;
}

/// True when the recording in which a supervisor measured itself is still wanted.
bool selfIsWanted(const fs::path& directory) {
  const auto folder = Folder::openItself(directory);
  return folder.ok() && folder->isOurs() && !lockIsFree(*folder);
}

/// Without an owner it is being made, or its maker was killed at that: mkdtemp() puts six
/// characters in its name.
bool isHalfMade(const Folder& folder) {
  const std::string name = folder.path().filename().string();
  const std::size_t prefix = std::string_view(kSharedPrefix).size();
  return name.size() == prefix + 6 && name.find('-', prefix) == std::string::npos &&
         folder.names().empty();
}

/// Classifies a folder that is held and locked.
std::optional<Leftover> classify(const Folder& folder) {
  Leftover leftover{Leftover::State::Orphan, folder.path(), {}, folder.bytes(), isFresh(folder)};
  if (isSelf(folder.path())) return leftover;
  const auto owner = ownerOf(folder);
  if (!owner) return isHalfMade(folder) && !leftover.fresh ? std::optional(leftover) : std::nullopt;
  leftover.recording = owner->directory;
  if (isWrittenTo(folder)) return std::nullopt;
  if (recordingKey(owner->directory) != owner->key) return leftover;
  if (isSelf(owner->directory))
    return selfIsWanted(owner->directory) ? std::nullopt : std::optional(leftover);
  const auto recording = Folder::open(owner->directory);
  if (!recording.ok() || isWrittenTo(*recording)) return std::nullopt;
  leftover.state = Leftover::State::Recoverable;
  return leftover;
}

std::optional<Leftover> examineFolder(const fs::path& path, std::optional<Folder>& held) {
  auto folder = Folder::openItself(path);
  if (!folder.ok() || !folder->isOurs() || !lockIsFree(*folder)) return std::nullopt;
  auto leftover = classify(*folder);
  held = *std::move(folder);
  return leftover;
}

void findIn(const fs::path& place, std::string_view prefix, std::vector<Leftover>& found) {
  std::error_code error;
  std::vector<fs::path> paths;
  for (fs::directory_iterator at(place, error), last; !error && at != last; at.increment(error)) {
    if (at->path().filename().string().starts_with(prefix)) paths.push_back(at->path());
  }
  std::ranges::sort(paths);
  for (const fs::path& path : paths) {
    std::optional<Folder> held;
    if (const auto leftover = examineFolder(path, held)) found.push_back(*leftover);
  }
}

}  // namespace

std::vector<Leftover> findLeftovers() {
  std::vector<Leftover> found;
  std::error_code error;
  findIn(kSharedPlace, kSharedPrefix, found);
  const fs::path temporary = fs::temp_directory_path(error);
  if (!error) findIn(temporary, kSelfPrefix, found);
  return found;
}

Status removeLeftover(const Leftover& leftover) {
  std::optional<Folder> held;
  const auto now = examineFolder(leftover.folder, held);
  if (!now || now->state != Leftover::State::Orphan) {
    return Error{fmt::format("{}: is in use, or gone, or not an orphan any more; it stays",
                             leftover.folder.string())};
  }
  const std::vector<std::string> left = held->removeFiles();
  if (!left.empty()) {
    return Error{fmt::format(
        "{}: holds what no recording makes ({}), which stays; delete it if you do not need it",
        leftover.folder.string(), left.front())};
  }
  const int code = held->removeItself();
  return code == 0 ? Status()
                   : Error{fmt::format("{}: cannot be removed: {}", leftover.folder.string(),
                                       fileProblem(code))};
}

}  // namespace lacuna::prof
