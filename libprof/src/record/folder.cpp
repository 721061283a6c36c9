// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "record/folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "lacuna/prof/file_error.h"
#include "lacuna/prof/recording.h"
#include "record/layout.h"

namespace fs = std::filesystem;

namespace lacuna::prof::recording {
namespace {

constexpr std::string_view kDraft = ".tmp";
constexpr const char* kSnapshot = "snapshot";

struct CloseDirectory {
  void operator()(DIR* directory) const { closedir(directory); }
};
using Listing = std::unique_ptr<DIR, CloseDirectory>;

Listing list(int fd) {
  // Not a copy of the descriptor: copies share the place in the listing.
  const int own = ::openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  Listing listing(own < 0 ? nullptr : fdopendir(own));
  if (listing == nullptr && own >= 0) ::close(own);
  return listing;
}

std::vector<std::string> namesIn(int fd, int* error = nullptr) {
  std::vector<std::string> names;
  const Listing listing = list(fd);
  if (error != nullptr) *error = listing == nullptr ? errno : 0;
  while (const dirent* entry = listing != nullptr ? readdir(listing.get()) : nullptr) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  std::ranges::sort(names);
  return names;
}

mode_t kindOf(int fd, const std::string& name) {
  struct stat there {};
  return fstatat(fd, name.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 ? there.st_mode & S_IFMT : 0;
}

bool removeSnapshot(int fd) {
  const base::FileHandle inner(
      ::openat(fd, kSnapshot, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (inner.get() < 0) return false;
  for (const std::string& name : namesIn(inner.get())) {
    if (isRecordingFile(name) && kindOf(inner.get(), name) == S_IFREG)
      ::unlinkat(inner.get(), name.c_str(), 0);
  }
  return ::unlinkat(fd, kSnapshot, AT_REMOVEDIR) == 0;
}

bool removeOne(int fd, const std::string& name) {
  const mode_t kind = kindOf(fd, name);
  if (kind == S_IFDIR && name == kSnapshot) return removeSnapshot(fd);
  const bool ours =
      (kind == S_IFREG && isRecordingFile(name)) || (kind == S_IFLNK && name == kSharedLink);
  return ours && ::unlinkat(fd, name.c_str(), 0) == 0;
}

std::string problemOf(int code) {
  return code == EMFILE ? fmt::format("{}. Remedy: raise ulimit -n", std::strerror(code))
                        : fileProblem(code);
}

bool writeAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = ::write(fd, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote == 0) errno = ENOSPC;
    if (wrote <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return true;
}

}  // namespace

bool isRecordingFile(std::string_view name) {
  // The last four are the supervisor's: its page of switches, its trace before the program runs,
  // call chains, and what came of settings.
  constexpr std::array<std::string_view, 9> kNames = {kSettingsFile, kOwnerFile,     "checkpoint",
                                                      "output",      kSnapshotDraft, "control",
                                                      kUnnamedTrace, "frames",       "set"};
  if (name.starts_with("stacks-") || name.starts_with("python-") || name.starts_with("open-") ||
      name == kSettingsDraft)
    return true;
  if (name.ends_with(kDraft)) name.remove_suffix(kDraft.size());
  return std::ranges::find(kNames, name) != kNames.end() || name.ends_with(kFileSuffix) ||
         name.ends_with(".failed");
}

Result<Folder> Folder::openAs(const fs::path& path, int flags) {
  base::FileHandle handle(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags));
  const int code = handle.get() < 0 ? errno : 0;
  if (code == 0) return Folder(path, std::move(handle));
  const bool link = (flags & O_NOFOLLOW) != 0 && (code == ELOOP || code == ENOTDIR);
  return Error{link ? fmt::format("{}: is a link or no folder; name a folder itself", path.string())
                    : fmt::format("{}: cannot be opened: {}", path.string(), problemOf(code))};
}

Result<Folder> Folder::open(const fs::path& path) {
  std::error_code error;
  const fs::path resolved = fs::canonical(path, error);
  return openAs(error ? path : resolved, error ? 0 : O_NOFOLLOW);
}

Result<Folder> Folder::openItself(const fs::path& path) {
  return openAs(path, O_NOFOLLOW);
}

Result<Folder> Folder::make(const fs::path& path, int& error) {
  error = ::mkdir(path.c_str(), 0700) == 0 ? 0 : errno;
  if (error == 0) {
    Result<Folder> made = openItself(path);
    if (!made.ok()) ::rmdir(path.c_str());
    return made;
  }
  return Error{
      fmt::format("{}: the directory cannot be made: {}", path.string(), problemOf(error))};
}

bool Folder::isOurs() const {
  struct stat there {};
  return fstat(fd(), &there) == 0 && there.st_uid == geteuid();
}

Status Folder::makePrivate() const {
  struct stat there {};
  if (fstat(fd(), &there) != 0)
    return Error{fmt::format("{}: {}", path_.string(), problemOf(errno))};
  if (there.st_uid != geteuid()) {
    return Error{
        fmt::format("{}: belongs to user {}, and a recording is made in a folder of one's own; "
                    "choose another place",
                    path_.string(), there.st_uid)};
  }
  if ((there.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return Error{fmt::format("{}: others may write in it; choose another place, or chmod go-w {}",
                             path_.string(), path_.string())};
  }
  if ((there.st_mode & 0777) == 0700 || fchmod(fd(), 0700) == 0) return {};
  return Error{fmt::format("{}: cannot be made private: {}", path_.string(), problemOf(errno))};
}

std::vector<std::string> Folder::names(int* error) const {
  return namesIn(fd(), error);
}

int Folder::createFile(const std::string& name) const {
  return ::openat(fd(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

Status Folder::replaceFile(const std::string& name, std::string_view bytes) const {
  const std::string draft = name + std::string(kDraft);
  int file = createFile(draft);
  // One that is there was left by a process that was killed.
  if (file < 0 && errno == EEXIST && ::unlinkat(fd(), draft.c_str(), 0) == 0)
    file = createFile(draft);
  bool done = file >= 0 && writeAll(file, bytes);
  int code = done ? 0 : errno;
  if (file >= 0 && ::close(file) != 0 && done) code = errno;
  if (code == 0 && ::renameat(fd(), draft.c_str(), fd(), name.c_str()) != 0) code = errno;
  if (code == 0) return {};
  if (file >= 0) ::unlinkat(fd(), draft.c_str(), 0);
  return Error{fmt::format("{}: cannot be written: {}", (path_ / name).string(), problemOf(code))};
}

Result<std::string> Folder::readFile(const std::string& name, std::size_t most, int* error) const {
  const base::FileHandle file(
      ::openat(fd(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat there {};
  int code = file.get() < 0 || fstat(file.get(), &there) != 0 ? errno : 0;
  if (code == 0 && !S_ISREG(there.st_mode)) code = EINVAL;
  // A file with a hole costs its maker nothing, so the size is bounded.
  if (code == 0 && std::cmp_greater(there.st_size, most)) code = EFBIG;
  std::string bytes;
  std::array<char, 1 << 16> piece{};
  while (code == 0 && bytes.size() <= most) {
    const ssize_t got = ::read(file.get(), piece.data(), piece.size());
    if (got == 0) return bytes;
    if (got < 0 && errno != EINTR) code = errno;
    if (got > 0) bytes.append(piece.data(), static_cast<std::size_t>(got));
  }
  if (code == 0) code = EFBIG;
  if (error != nullptr) *error = code;
  return Error{fmt::format("{}: cannot be read: {}", (path_ / name).string(), problemOf(code))};
}

void Folder::removeSettings() const {
  removeOne(fd(), kSettingsFile);
}

std::vector<std::string> Folder::removeFiles() const {
  removeSettings();
  std::vector<std::string> all = names();
  // Segments whose removal is interrupted have an owner yet, by which they are found.
  std::stable_partition(all.begin(), all.end(),
                        [](const std::string& name) { return name != kOwnerFile; });
  std::vector<std::string> foreign;
  for (std::string& name : all) {
    if (!removeOne(fd(), name)) foreign.push_back(std::move(name));
  }
  return foreign;
}

int Folder::removeItself() const {
  struct stat held {};
  struct stat named {};
  std::error_code error;
  const fs::path resolved = fs::canonical(path_, error);
  if (error) return error.value();
  const base::FileHandle parent(
      ::open(resolved.parent_path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  // Without a descriptor to spare by its name: only an empty folder can go.
  const bool spare = parent.get() >= 0;
  if (!spare && errno != EMFILE && errno != ENFILE) return errno;
  const int from = spare ? parent.get() : AT_FDCWD;
  const std::string name = spare ? resolved.filename().string() : resolved.string();
  if (fstat(fd(), &held) != 0 || fstatat(from, name.c_str(), &named, AT_SYMLINK_NOFOLLOW) != 0)
    return errno;
  if (held.st_dev != named.st_dev || held.st_ino != named.st_ino) return ENOENT;
  return ::unlinkat(from, name.c_str(), AT_REMOVEDIR) == 0 ? 0 : errno;
}

std::uint64_t Folder::bytes() const {
  std::uint64_t bytes = 0;
  for (const std::string& name : names()) {
    struct stat there {};
    if (fstatat(fd(), name.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0)
      bytes += static_cast<std::uint64_t>(there.st_blocks) * 512;
  }
  return bytes;
}

}  // namespace lacuna::prof::recording
