// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "supervise/control_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

namespace lacuna::collector {

template <class Page>
PageFile<Page>::PageFile(std::filesystem::path path, Page* page, Identity identity, bool owner)
    : path_(std::move(path)),
      page_(page),
      guard_(page, sizeof(Page)),
      identity_(identity),
      owner_(owner) {}

template <class Page>
PageFile<Page>::PageFile(PageFile&& other) noexcept
    : path_(std::move(other.path_)),
      page_(std::exchange(other.page_, nullptr)),
      guard_(std::move(other.guard_)),
      identity_(other.identity_),
      owner_(other.owner_) {}

template <class Page>
PageFile<Page>::~PageFile() {
  if (page_ == nullptr) return;
  struct stat there {};
  // While it is mapped no other file gets its number.
  const bool ours =
      stat(path_.c_str(), &there) == 0 && Identity(there.st_dev, there.st_ino) == identity_;
  if (owner_ && ours) unlink(path_.c_str());
  guard_ = prof::MappingGuard();
  munmap(page_, sizeof(Page));
}

namespace {

/// A process that writes to a page without room on the disk is killed. Returns 0, or an errno.
int backPage(int fd, std::size_t bytes) {
  return posix_fallocate(fd, 0, static_cast<off_t>(bytes));
}

const char* remedyFor(int error) {
  switch (error) {
    case EFBIG:
      return ". Remedy: raise the file size limit (ulimit -f)";
    case EMFILE:
      return ". Remedy: raise ulimit -n";
    case ENOSPC:
    case EDQUOT:
      return ". Remedy: make room there, or choose a file elsewhere with -o";
    default:
      return "";
  }
}

}  // namespace

template <class Page>
prof::Result<PageFile<Page>> PageFile<Page>::map(const std::filesystem::path& path, int flags,
                                                 bool owner) {
  const int fd = ::open(path.c_str(), flags | O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
  struct stat info {};
  int error = fd < 0 ? errno : 0;
  if (error == 0 && owner) error = backPage(fd, sizeof(Page));
  if (error == 0 && fstat(fd, &info) != 0) error = errno;
  if (error != 0) {
    if (fd >= 0) close(fd);
    return prof::Error{
        fmt::format("cannot open {}: {}{}", path.string(), std::strerror(error), remedyFor(error))};
  }
  void* mapped = MAP_FAILED;
  if (S_ISREG(info.st_mode) && static_cast<std::size_t>(info.st_size) >= sizeof(Page)) {
    mapped = mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  close(fd);
  if (mapped == MAP_FAILED)
    return prof::Error{fmt::format("{} is not a control page of lacuna", path.string())};
  return PageFile(path, static_cast<Page*>(mapped), Identity(info.st_dev, info.st_ino), owner);
}

template <class Page>
prof::Result<PageFile<Page>> PageFile<Page>::create(const std::filesystem::path& path) {
  auto file = map(path, O_CREAT | O_EXCL, true);
  if (file) {
    new (file->page_) Page();
    file->page_->supervisor = getpid();
  }
  return file;
}

template <class Page>
prof::Result<PageFile<Page>> PageFile<Page>::open(const std::filesystem::path& path) {
  auto file = map(path, 0, false);
  if (file && file->page_->magic != Page::kMagic) {
    return prof::Error{
        fmt::format("{} is not a control page of this version of lacuna", path.string())};
  }
  return file;
}

template class PageFile<Control>;
template class PageFile<StandbyPage>;

}  // namespace lacuna::collector
