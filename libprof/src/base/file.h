// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <utility>

#include "lacuna/prof/place_file.h"
#include "lacuna/prof/result.h"

namespace lacuna::prof::base {

/// A file descriptor that closes itself.
class FileHandle {
 public:
  FileHandle() = default;
  explicit FileHandle(int fd) : fd_(fd) {}
  FileHandle(FileHandle&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileHandle& operator=(FileHandle&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileHandle();
  [[nodiscard]] int get() const { return fd_; }
  /// Gives the descriptor away.
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

/// Brings what was written to a file or a folder onto the disk. 0, also for what has no disk; or an
/// errno.
int toDisk(int fd);
/// The same for the names in the folder of `path`: a new name is there after a power failure only
/// then.
int folderToDisk(const std::filesystem::path& path);

/// A regular file read by position. Files are read, not mapped: a file that shrinks under us is an
/// error here, and would be a SIGBUS there. Safe for many threads.
class InputFile {
 public:
  static Result<InputFile> open(const std::filesystem::path& path);
  InputFile(InputFile&& other) noexcept;

  /// Fills `out` from `offset`; fails when the file ends before.
  Status read(std::uint64_t offset, std::span<std::byte> out) const;
  [[nodiscard]] Result<std::uint64_t> size() const;
  /// Bytes read so far.
  [[nodiscard]] std::uint64_t bytesRead() const {
    return bytesRead_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  InputFile(std::filesystem::path path, FileHandle handle);

  std::filesystem::path path_;
  FileHandle handle_;
  mutable std::atomic<std::uint64_t> bytesRead_{0};
};

/// A file that grows by whole pieces. A piece that cannot be written completely is taken back, so
/// the pieces before stay as they were.
class OutputFile {
 public:
  /// Creates or truncates.
  static Result<OutputFile> create(const std::filesystem::path& path);
  /// Opens an existing file and cuts it to `size`.
  static Result<OutputFile> extend(const std::filesystem::path& path, std::uint64_t size);

  Status append(std::span<const std::byte> head, std::span<const std::byte> body);
  /// Shortens the file.
  Status cut(std::uint64_t size);
  /// Brings what was appended, and the file's name, onto the disk.
  Status sync();
  /// Gives the file another name on its file system, in one step. Data appended before is on the
  /// disk first, and the name afterwards.
  Status moveTo(const std::filesystem::path& path, Existing existing);
  Status close();
  [[nodiscard]] std::uint64_t size() const { return size_; }

 private:
  OutputFile(std::filesystem::path path, FileHandle handle, std::uint64_t size);

  std::filesystem::path path_;
  FileHandle handle_;
  std::uint64_t size_ = 0;
};

}  // namespace lacuna::prof::base
