// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "output_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <system_error>
#include <utility>

#include "base/output.h"
#include "lacuna/prof/file_error.h"
#include "unfinished_file.h"

namespace lacuna::cli {
namespace {

namespace fs = std::filesystem;

/// A command that reads a folder, such as a recording, may read every file in it.
bool isInside(const fs::path& folder, const fs::path& file) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) return false;
  const fs::path resolved = fs::canonical(folder, error);
  const fs::path real = fs::canonical(file, error);
  return !error &&
         std::mismatch(resolved.begin(), resolved.end(), real.begin(), real.end()).first ==
             resolved.end();
}

prof::Status checkAgainst(const std::string& name, std::span<const std::string> inputs) {
  for (const std::string& input : inputs) {
    std::error_code error;
    if (fs::equivalent(name, input, error)) {
      return prof::Error{
          name == input
              ? fmt::format("{}: is read by this command; name another file to write", name)
              : fmt::format("{}: is the same file as {}, which is read; name another file to write",
                            name, input)};
    }
    if (isInside(input, name)) {
      return prof::Error{
          fmt::format("{}: is in {}, which is read; name another file to write", name, input)};
    }
  }
  return {};
}

/// True when a file is there that the output would replace. A file that the shell has just opened
/// for us is empty.
bool isInTheWay(const std::string& name) {
  std::error_code error;
  return fs::is_regular_file(name, error) &&
         (!prof::isOpenFile(name) || fs::file_size(name, error) > 0);
}

prof::Status checkFolder(const std::string& name, const fs::path& place) {
  const fs::path folder = place.has_parent_path() ? place.parent_path() : ".";
  if (::access(folder.c_str(), W_OK | X_OK) == 0) return {};
  return prof::Error{fmt::format("{}: cannot be replaced, as nothing can be made beside it: {}",
                                 name, prof::fileProblem(errno))};
}

}  // namespace

namespace {

template <class Path>
Option addOutput(Command& command, Path& path, bool& force, const std::string& description) {
  Option option = command.option("-o,--output", path, description).typeName("OUT").notEmpty();
  command.flag("--force", force, "replace a file of that name; without it, that is an error");
  return option;
}

}  // namespace

Option addTarget(Command& command, Target& target, const std::string& description) {
  return addOutput(command, target.path, target.force, description);
}

Option addTargets(Command& command, Targets& targets, const std::string& description) {
  return addOutput(command, targets.paths, targets.force, description).repeated();
}

std::string withoutTarget(std::string_view call, std::string_view likely) {
  return fmt::format("the file to write is named with -o: lacuna {} -o {}", call, likely);
}

std::string forcesNothing(const Target& target) {
  if (!target.force || !target.path.empty()) return {};
  return "--force is for the file that -o writes. Add -o, or leave --force out";
}

prof::Result<OutputFile> OutputFile::check(const Target& target,
                                           std::span<const std::string> inputs) {
  const std::string& name = target.path;
  if (const auto apart = checkAgainst(name, inputs); !apart) return apart.error();
  if (const auto possible = prof::checkTarget(name); !possible) return possible.error();
  const auto place = prof::behindLinks(name);
  if (!place) return place.error();
  if (!isInTheWay(name)) return OutputFile(target);
  if (!target.force) return prof::fileInTheWay(name);
  if (const auto replaceable = checkFolder(name, *place); !replaceable && !prof::isOpenFile(name)) {
    return replaceable.error();
  }
  return OutputFile(target);
}

prof::Status OutputFile::whileWriting(const std::function<prof::Status()>& work) const {
  const auto place = prof::behindLinks(name());
  if (!place) return place.error();
  const UnfinishedFile unfinished(*place);
  return work();
}

prof::Status OutputFile::write(const std::function<prof::Status(const fs::path&)>& write) const {
  return whileWriting([&] { return prof::writeAtomically(name(), write, existing()); });
}

prof::Status OutputFile::writeText(std::string_view text) const {
  return write([&](const fs::path& path) -> prof::Status {
    std::ofstream file(path, std::ios::binary);
    file << text;
    file.close();
    if (file) return {};
    const int error = errno;
    return prof::Error{fmt::format("{}: cannot be written{}", path.string(),
                                   error == 0 ? "; check that the folder exists and has room"
                                              : ": " + prof::fileProblem(error))};
  });
}

}  // namespace lacuna::cli
