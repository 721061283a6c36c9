// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/prof/whole_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/file.h"
#include "lacuna/prof/file_error.h"

namespace lacuna::prof {
namespace {

Error cannotBeWritten(const std::filesystem::path& path, int code) {
  return Error{fmt::format("{}: cannot be written: {}", path.string(), fileProblem(code))};
}

int createNew(const std::filesystem::path& path) {
  return ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
}

}  // namespace

Status createDraft(const std::filesystem::path& draft) {
  int fd = createNew(draft);
  // unlink() removes a link itself, and no folder.
  if (fd < 0 && errno == EEXIST && ::unlink(draft.c_str()) == 0) fd = createNew(draft);
  const base::FileHandle file(fd);
  return fd >= 0 ? Status() : cannotBeWritten(draft, errno);
}

Status publishDraft(const std::filesystem::path& draft, const std::filesystem::path& path, Existing existing) {
  const base::FileHandle file(::open(draft.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (file.get() < 0) return cannotBeWritten(path, errno);
  if (const int code = base::toDisk(file.get()); code != 0) return cannotBeWritten(path, code);
  if (Status placed = placeFile(draft, path, existing); !placed.ok()) return placed;
  const int code = base::folderToDisk(path);
  return code == 0 ? Status() : cannotBeWritten(path, code);
}

}  // namespace lacuna::prof
