// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "lacuna/prof/file_error.h"

namespace lacuna::prof::base {
namespace {

Error fileError(const char* doing, const std::filesystem::path& path, int code) {
  return Error{fmt::format("cannot {} {}: {}", doing, path.string(), fileProblem(code))};
}

/// Writes all of the pieces at `offset`; answers 0 or an errno.
int writeAll(int fd, std::uint64_t offset, std::span<const std::byte> head,
             std::span<const std::byte> body) {
  const std::size_t total = head.size() + body.size();
  std::size_t done = 0;
  while (done < total) {
    const auto firstPart = done < head.size() ? head.subspan(done) : std::span<const std::byte>();
    const auto secondPart = body.subspan(done > head.size() ? done - head.size() : 0);
    const iovec parts[2] = {{const_cast<std::byte*>(firstPart.data()), firstPart.size()},
                            {const_cast<std::byte*>(secondPart.data()), secondPart.size()}};
    const ssize_t wrote = ::pwritev(fd, parts, 2, static_cast<off_t>(offset + done));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return errno;
    if (wrote == 0) return ENOSPC;
    done += static_cast<std::size_t>(wrote);
  }
  return 0;
}

}  // namespace

int toDisk(int fd) {
  while (::fsync(fd) != 0) {
    // A device, a pipe, or a file system that keeps nothing.
    if (errno == EINVAL || errno == EROFS || errno == ENOTSUP) return 0;
    if (errno != EINTR) return errno;
  }
  return 0;
}

int folderToDisk(const std::filesystem::path& path) {
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  const FileHandle handle(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // One that may be written and not read cannot be opened, and that is no reason to lose what was
  // written.
  if (handle.get() < 0) return errno == EACCES || errno == ENOTDIR ? 0 : errno;
  return toDisk(handle.get());
}

FileHandle::~FileHandle() {
  if (fd_ >= 0) ::close(fd_);
}

InputFile::InputFile(std::filesystem::path path, FileHandle handle)
    : path_(std::move(path)), handle_(std::move(handle)) {}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)),
      handle_(std::move(other.handle_)),
      bytesRead_(other.bytesRead()) {}

Result<InputFile> InputFile::open(const std::filesystem::path& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return fileError("open", path, errno);
  // To open a pipe would wait for a writer.
  if (!S_ISREG(info.st_mode))
    return Error{fmt::format("cannot open {}: it is not a regular file", path.string())};
  FileHandle handle(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (handle.get() < 0) return fileError("open", path, errno);
  return InputFile(path, std::move(handle));
}

Status InputFile::read(std::uint64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    const ssize_t got = ::pread(handle_.get(), out.data(), out.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fileError("read", path_, errno);
    if (got == 0)
      return Error{fmt::format("cannot read {}: it ends at byte {}", path_.string(), offset)};
    bytesRead_.fetch_add(static_cast<std::uint64_t>(got), std::memory_order_relaxed);
    offset += static_cast<std::uint64_t>(got);
    out = out.subspan(static_cast<std::size_t>(got));
  }
  return {};
}

Result<std::uint64_t> InputFile::size() const {
  struct stat info {};
  if (::fstat(handle_.get(), &info) != 0) return fileError("examine", path_, errno);
  return static_cast<std::uint64_t>(info.st_size);
}

OutputFile::OutputFile(std::filesystem::path path, FileHandle handle, std::uint64_t size)
    : path_(std::move(path)), handle_(std::move(handle)), size_(size) {}

Result<OutputFile> OutputFile::create(const std::filesystem::path& path) {
  FileHandle handle(::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (handle.get() < 0) return fileError("create", path, errno);
  return OutputFile(path, std::move(handle), 0);
}

Result<OutputFile> OutputFile::extend(const std::filesystem::path& path, std::uint64_t size) {
  FileHandle handle(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (handle.get() < 0) return fileError("open", path, errno);
  if (::ftruncate(handle.get(), static_cast<off_t>(size)) != 0)
    return fileError("extend", path, errno);
  return OutputFile(path, std::move(handle), size);
}

Status OutputFile::append(std::span<const std::byte> head, std::span<const std::byte> body) {
  const int code = writeAll(handle_.get(), size_, head, body);
  if (code != 0) {
    // Half a piece would read as damage; without it the file is merely unfinished.
    [[maybe_unused]] const int ignored = ::ftruncate(handle_.get(), static_cast<off_t>(size_));
    return fileError("write to", path_, code);
  }
  size_ += head.size() + body.size();
  return {};
}

Status OutputFile::cut(std::uint64_t size) {
  if (::ftruncate(handle_.get(), static_cast<off_t>(size)) != 0)
    return fileError("shorten", path_, errno);
  size_ = size;
  return {};
}

Status OutputFile::sync() {
  int code = toDisk(handle_.get());
  if (code == 0) code = folderToDisk(path_);
  return code == 0 ? Status() : fileError("write to", path_, code);
}

Status OutputFile::moveTo(const std::filesystem::path& path, Existing existing) {
  if (const int code = toDisk(handle_.get()); code != 0) return fileError("write to", path_, code);
  if (Status placed = placeFile(path_, path, existing); !placed.ok()) return placed;
  path_ = path;
  const int code = folderToDisk(path_);
  return code == 0 ? Status() : fileError("replace", path, code);
}

Status OutputFile::close() {
  // Network file systems report a failed write only here.
  if (::close(handle_.release()) != 0 && errno != EINTR) return fileError("write to", path_, errno);
  return {};
}

}  // namespace lacuna::prof::base
