// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/prof/place_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "lacuna/prof/draft.h"
#include "lacuna/prof/file_error.h"

namespace lacuna::prof {
namespace {

/// Answers 0 or an errno.
int renameOver(const std::filesystem::path& from, const std::filesystem::path& to) {
  return std::rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
}

/// For file systems that cannot rename without replacing: an empty file takes the name first, which
/// only one can do.
int claimAndRename(const std::filesystem::path& from, const std::filesystem::path& to) {
  const int claim = ::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (claim < 0) return errno;
  ::close(claim);
  const int code = renameOver(from, to);
  if (code != 0) ::unlink(to.c_str());
  return code;
}

constexpr std::string_view kUnfinishedPrefix = "unfinished-";

std::filesystem::path folderOf(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : ".";
}

/// Removes what a failed write leaves; not a device or a pipe that it wrote to.
void discard(const std::filesystem::path& path) {
  std::error_code ignored;
  const auto kind = std::filesystem::symlink_status(path, ignored).type();
  if (kind == std::filesystem::file_type::regular) std::filesystem::remove(path, ignored);
}

/// True when a process that is no more gave `name` to the unfinished file of that final name.
bool isLeftover(std::string_view name, std::string_view finalName) {
  if (!name.starts_with(kUnfinishedPrefix)) return false;
  name.remove_prefix(kUnfinishedPrefix.size());
  pid_t pid = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
  if (error != std::errc() || pid <= 0) return false;
  name.remove_prefix(static_cast<std::size_t>(end - name.data()));
  return name.size() == finalName.size() + 1 && name[0] == '-' && name.substr(1) == finalName &&
         ::kill(pid, 0) != 0 && errno == ESRCH;
}

/// Removes what was left under this name by processes that were killed, or ended with the machine.
void removeLeftovers(const std::filesystem::path& path) {
  std::error_code error;
  std::vector<std::filesystem::path> leftovers;
  for (std::filesystem::directory_iterator at(folderOf(path), error), end; !error && at != end;
       at.increment(error)) {
    if (isLeftover(at->path().filename().string(), path.filename().string()))
      leftovers.push_back(at->path());
  }
  for (const auto& leftover : leftovers) discard(leftover);
}

/// People know a file by the name that it was to get.
Error named(std::string message, const std::filesystem::path& unfinished,
            const std::filesystem::path& path) {
  const std::size_t at = message.find(unfinished.string());
  if (at != std::string::npos) message.replace(at, unfinished.string().size(), path.string());
  return Error{std::move(message)};
}

int renameBeside(const std::filesystem::path& from, const std::filesystem::path& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
  return errno == EINVAL || errno == ENOSYS ? claimAndRename(from, to) : errno;
}

}  // namespace

Status placeFile(const std::filesystem::path& from, const std::filesystem::path& to,
                 Existing existing) {
  const int code = existing == Existing::Keep ? renameBeside(from, to) : renameOver(from, to);
  if (code == 0) return {};
  if (code == EEXIST && existing == Existing::Keep) return fileInTheWay(to);
  return cannotBeWritten(to, code);
}

Result<std::filesystem::path> placeFileFree(const std::filesystem::path& from,
                                            const FileNames& names) {
  for (unsigned number = 0;; ++number) {
    std::filesystem::path to = names(number);
    const int code = renameBeside(from, to);
    if (code == 0) return to;
    if (code != EEXIST) return cannotBeWritten(to, code);
  }
}

bool isOpenFile(const std::filesystem::path& path) {
  constexpr int kMostLinks = 40;
  std::error_code error;
  std::filesystem::path at = std::filesystem::absolute(path, error);
  for (int i = 0; i < kMostLinks && std::filesystem::is_symlink(at, error); ++i) {
    const std::filesystem::path folder = std::filesystem::canonical(at.parent_path(), error);
    if (folder.filename() == "fd" && folder.string().starts_with("/proc/")) return true;
    at = folder / std::filesystem::read_symlink(at, error);
  }
  return false;
}

Result<std::filesystem::path> behindLinks(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_symlink(path, error) || isOpenFile(path)) return path;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  if (!error) return real;
  return Error{
      fmt::format("cannot write {}: it is a link to nothing; name another file", path.string())};
}

std::filesystem::path unfinishedName(const std::filesystem::path& path) {
  std::error_code ignored;
  const auto kind = std::filesystem::status(path, ignored).type();
  const bool isFile =
      kind == std::filesystem::file_type::regular || kind == std::filesystem::file_type::not_found;
  if (!isFile || isOpenFile(path)) return path;
  return folderOf(path) /
         fmt::format("{}{}-{}", kUnfinishedPrefix, ::getpid(), path.filename().string());
}

Status writeAtomically(const std::filesystem::path& path,
                       const std::function<Status(const std::filesystem::path&)>& write,
                       Existing existing) {
  const Result<std::filesystem::path> place = behindLinks(path);
  if (!place.ok()) return place.error();
  const std::filesystem::path unfinished = unfinishedName(*place);
  if (unfinished == *place) return write(*place);
  removeLeftovers(*place);
  Status status = createDraft(unfinished);
  if (status.ok()) status = write(unfinished);
  if (status.ok()) status = publishDraft(unfinished, *place, existing);
  if (status.ok()) return status;
  discard(unfinished);
  return named(status.error().message, unfinished, path);
}

Error fileInTheWay(const std::filesystem::path& path) {
  return Error{fmt::format(
      "{}: is there already; give --force to replace it or choose another name", path.string())};
}

}  // namespace lacuna::prof
