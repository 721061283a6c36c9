// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "lacuna/prof/result.h"

namespace lacuna::prof::recording {

/// A folder that is held by its descriptor. Renaming it, or putting a link in its place, changes
/// nothing of what is checked and done here. No call follows a link that lies in it.
class Folder {
 public:
  /// Follows links on the way, the last one too: a person named it.
  static Result<Folder> open(const std::filesystem::path& path);
  /// The same, but a link in the last place is an error.
  static Result<Folder> openItself(const std::filesystem::path& path);
  /// One that is made now with mode 0700. Answers EEXIST, or another errno, in `error`.
  static Result<Folder> make(const std::filesystem::path& path, int& error);

  [[nodiscard]] int fd() const { return handle_.get(); }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] bool isOurs() const;
  /// It is ours, nobody else may write in it, and from here on nobody else may read it.
  [[nodiscard]] Status makePrivate() const;
  /// Sorted. Empty where it cannot be read, with an errno in `error`.
  [[nodiscard]] std::vector<std::string> names(int* error = nullptr) const;

  /// A file of mode 0600 that was not there before; -1 with errno set.
  [[nodiscard]] int createFile(const std::string& name) const;
  /// Replaces a file in one step, so that a reader sees the old or the new one whole.
  [[nodiscard]] Status replaceFile(const std::string& name, std::string_view bytes) const;
  /// The content of a regular file, of `most` bytes at the most. Answers an errno in `error`.
  [[nodiscard]] Result<std::string> readFile(const std::string& name, std::size_t most,
                                             int* error = nullptr) const;

  /// Takes a recording its settings: it is none any more, so nobody recovers what a removal has
  /// left of it.
  void removeSettings() const;
  /// Removes the files that a recording makes, and the folders of a snapshot with theirs. Answers
  /// the names of all else, which stays. Settings go first, and the note of whose segments these
  /// are goes last.
  [[nodiscard]] std::vector<std::string> removeFiles() const;
  /// Removes the folder where it is empty and has its name yet. 0, or an errno.
  [[nodiscard]] int removeItself() const;
  /// Bytes on the disk of all files in it.
  [[nodiscard]] std::uint64_t bytes() const;

 private:
  Folder(std::filesystem::path path, base::FileHandle handle)
      : path_(std::move(path)), handle_(std::move(handle)) {}
  static Result<Folder> openAs(const std::filesystem::path& path, int flags);

  std::filesystem::path path_;
  base::FileHandle handle_;
};

/// True when a recording, or who keeps something beside it, makes files of that name.
bool isRecordingFile(std::string_view name);

}  // namespace lacuna::prof::recording
