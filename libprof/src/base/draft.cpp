// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/prof/draft.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/file.h"
#include "lacuna/prof/file_error.h"

namespace lacuna::prof {
namespace {

/// Answers 0 or an errno.
int draftToDisk(const std::filesystem::path& draft) {
  const base::FileHandle file(::open(draft.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  return file.get() < 0 ? errno : base::toDisk(file.get());
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

Status publishDraft(const std::filesystem::path& draft, const std::filesystem::path& path,
                    Existing existing) {
  if (const int code = draftToDisk(draft); code != 0) return cannotBeWritten(path, code);
  if (Status placed = placeFile(draft, path, existing); !placed.ok()) return placed;
  const int code = base::folderToDisk(path);
  return code == 0 ? Status() : cannotBeWritten(path, code);
}

Result<std::filesystem::path> publishDraftFree(const std::filesystem::path& draft,
                                               const FileNames& names) {
  if (const int code = draftToDisk(draft); code != 0) return cannotBeWritten(names(0), code);
  Result<std::filesystem::path> placed = placeFileFree(draft, names);
  if (!placed.ok()) return placed;
  const int code = base::folderToDisk(*placed);
  if (code != 0) return cannotBeWritten(*placed, code);
  return placed;
}

}  // namespace lacuna::prof
