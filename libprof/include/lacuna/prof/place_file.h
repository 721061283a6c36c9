// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>

#include "lacuna/prof/result.h"

namespace lacuna::prof {

/// The fate of a file that already has the name that another is to get.
enum class Existing {
  Keep,     ///< it stays, and the other gets no name: that is an error
  Replace,  ///< the other takes its place in one step
};

/// Gives the finished file `from` the name `to` on the same file system, in one step. With Keep a
/// file that appears at `to` at the very same time stays, too. After a failure both are as they
/// were.
Status placeFile(const std::filesystem::path& from, const std::filesystem::path& to,
                 Existing existing);

/// Any number of names for a file, another for each number from 0.
using FileNames = std::function<std::filesystem::path(unsigned number)>;

/// The same with Keep, under the first of the names that no file has at that moment. Another
/// process that does so at the same time gets another name. Answers the name.
Result<std::filesystem::path> placeFileFree(const std::filesystem::path& from,
                                            const FileNames& names);

/// True when the path leads to a file that a process holds open, as /dev/stdout and /dev/fd/3 do.
/// Such a file is written as it stands, because its opener goes on using it.
bool isOpenFile(const std::filesystem::path& path);

/// The place that a finished file of this name gets. For a link it is the link's target, so that
/// the link stays a link. A link that leads to nothing is refused.
Result<std::filesystem::path> behindLinks(const std::filesystem::path& path);

/// Where this process writes a file until it is whole: beside it, with its ending. The name itself
/// for what is no file: a device, a pipe, an open file.
std::filesystem::path unfinishedName(const std::filesystem::path& path);

/// Has `write` make a file under the unfinishedName(), and gives it its own name when it is whole.
/// A file that is there already stays as it is until then, and when that fails. Leftovers of a
/// killed process for the same file are removed.
Status writeAtomically(const std::filesystem::path& path,
                       const std::function<Status(const std::filesystem::path&)>& write,
                       Existing existing = Existing::Replace);

/// The error for a file that is in the way, with the remedy.
Error fileInTheWay(const std::filesystem::path& path);

}  // namespace lacuna::prof
