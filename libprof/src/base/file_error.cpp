// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/prof/file_error.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

namespace lacuna::prof {
namespace {

std::string_view remedyFor(int code) {
  switch (code) {
    case ENOSPC:
    case EDQUOT:
      return "; free some space or write to another place";
    case EFBIG:
      return "; the file size limit was reached (ulimit -f)";
    case EACCES:
    case EPERM:
    case EROFS:
      return "; choose a place that you may write to or read from";
    case ENOENT:
    case ENOTDIR:
      return "; check the name, and that its folder is there";
    case EISDIR:
      return "; name a file in it";
    case ENAMETOOLONG:
      return "; choose a shorter name";
    case ELOOP:
      return "; a link leads back to itself: name another file";
    case EMFILE:
    case ENFILE:
      return "; raise the limit of open files (ulimit -n)";
    default:
      return "";
  }
}

Error unwritable(const std::filesystem::path& path, std::string_view why) {
  return Error{fmt::format("{}: cannot be written: {}", path.string(), why)};
}

}  // namespace

std::string fileProblem(int code) {
  return fmt::format("{}{}", std::strerror(code), remedyFor(code));
}

Error cannotBeWritten(const std::filesystem::path& path, int code) {
  return unwritable(path, fileProblem(code));
}

Status checkTarget(const std::filesystem::path& path) {
  std::error_code error;
  if (path.empty()) return Error{"the name of the file to write is empty; name one"};
  if (std::filesystem::is_directory(path, error))
    return Error{fmt::format("{}: is a folder; name a file in it to write", path.string())};
  const bool isThere = std::filesystem::exists(path, error);
  if (isThere && ::access(path.c_str(), W_OK) != 0) return unwritable(path, fileProblem(errno));
  if (isThere) return {};
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  const auto kind = std::filesystem::status(folder, error).type();
  if (kind == std::filesystem::file_type::not_found)
    return unwritable(path, fmt::format("there is no folder {}; create it, or choose another place",
                                        folder.string()));
  if (kind != std::filesystem::file_type::directory)
    return unwritable(path, fmt::format("{} is no folder; choose another place", folder.string()));
  if (::access(folder.c_str(), W_OK | X_OK) != 0) return unwritable(path, fileProblem(errno));
  return {};
}

}  // namespace lacuna::prof
