// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "query/temporary_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>

namespace lacuna::analyzer {
namespace {

/// The system's file lies after it, as SQLite gives one piece of memory for both, aligned to eight
/// bytes.
struct CountedFile {
  sqlite3_file base;
  TemporaryFiles* files;
  std::uint64_t bytes;  ///< up to its end
};

static_assert(alignof(CountedFile) <= 8 && sizeof(CountedFile) % 8 == 0);

CountedFile& counted(sqlite3_file* file) {
  return *reinterpret_cast<CountedFile*>(file);
}
sqlite3_file* systemFile(sqlite3_file* file) {
  return reinterpret_cast<sqlite3_file*>(&counted(file) + 1);
}

/// Calls the same method of the system's file.
template <auto kMethod, class Call = std::remove_cvref_t<decltype(sqlite3_io_methods{}.*kMethod)>>
struct OfFile;
template <auto kMethod, class... Args>
struct OfFile<kMethod, int (*)(sqlite3_file*, Args...)> {
  static int call(sqlite3_file* file, Args... args) noexcept {
    sqlite3_file* const system = systemFile(file);
    return (system->pMethods->*kMethod)(system, args...);
  }
};

int closeCounted(sqlite3_file* file) noexcept {
  CountedFile& own = counted(file);
  own.files->shrink(own.bytes);
  own.bytes = 0;
  return OfFile<&sqlite3_io_methods::xClose>::call(file);
}

int writeCounted(sqlite3_file* file, const void* from, int count, sqlite3_int64 at) noexcept {
  CountedFile& own = counted(file);
  const std::uint64_t end = static_cast<std::uint64_t>(at) + static_cast<std::uint64_t>(count);
  if (end > own.bytes) {
    if (!own.files->grow(end - own.bytes)) return SQLITE_FULL;
    own.bytes = end;
  }
  return OfFile<&sqlite3_io_methods::xWrite>::call(file, from, count, at);
}

int truncateCounted(sqlite3_file* file, sqlite3_int64 size) noexcept {
  const int code = OfFile<&sqlite3_io_methods::xTruncate>::call(file, size);
  CountedFile& own = counted(file);
  const auto end = static_cast<std::uint64_t>(size);
  if (code == SQLITE_OK && end < own.bytes) {
    own.files->shrink(own.bytes - end);
    own.bytes = end;
  }
  return code;
}

/// Hints of what a file will have could make it larger without a write.
int controlCounted(sqlite3_file* file, int what, void* argument) noexcept {
  if (what == SQLITE_FCNTL_SIZE_HINT || what == SQLITE_FCNTL_CHUNK_SIZE) return SQLITE_NOTFOUND;
  return OfFile<&sqlite3_io_methods::xFileControl>::call(file, what, argument);
}

/// Version 1 has no shared memory and no mapping, so that all that is written passes here.
constexpr sqlite3_io_methods kMethods{
    .iVersion = 1,
    .xClose = closeCounted,
    .xRead = OfFile<&sqlite3_io_methods::xRead>::call,
    .xWrite = writeCounted,
    .xTruncate = truncateCounted,
    .xSync = OfFile<&sqlite3_io_methods::xSync>::call,
    .xFileSize = OfFile<&sqlite3_io_methods::xFileSize>::call,
    .xLock = OfFile<&sqlite3_io_methods::xLock>::call,
    .xUnlock = OfFile<&sqlite3_io_methods::xUnlock>::call,
    .xCheckReservedLock = OfFile<&sqlite3_io_methods::xCheckReservedLock>::call,
    .xFileControl = controlCounted,
    .xSectorSize = OfFile<&sqlite3_io_methods::xSectorSize>::call,
    .xDeviceCharacteristics = OfFile<&sqlite3_io_methods::xDeviceCharacteristics>::call,
    .xShmMap = nullptr,
    .xShmLock = nullptr,
    .xShmBarrier = nullptr,
    .xShmUnmap = nullptr,
    .xFetch = nullptr,
    .xUnfetch = nullptr,
};

TemporaryFiles& filesOf(sqlite3_vfs* vfs) {
  return *static_cast<TemporaryFiles*>(vfs->pAppData);
}

/// Calls the same method of the system's files, which find their own data there.
template <auto kMethod, class Call = std::remove_cvref_t<decltype(sqlite3_vfs{}.*kMethod)>>
struct OfSystem;
template <auto kMethod, class Answer, class... Args>
struct OfSystem<kMethod, Answer (*)(sqlite3_vfs*, Args...)> {
  static Answer call(sqlite3_vfs* vfs, Args... args) noexcept {
    sqlite3_vfs* const system = filesOf(vfs).system();
    return (system->*kMethod)(system, args...);
  }
};

int openCounted(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags,
                int* outFlags) noexcept {
  CountedFile& own = counted(file);
  own = {.base = {.pMethods = nullptr}, .files = &filesOf(vfs), .bytes = 0};
  sqlite3_file* const system = systemFile(file);
  system->pMethods = nullptr;
  const int code = OfSystem<&sqlite3_vfs::xOpen>::call(vfs, name, system, flags, outFlags);
  // SQLite closes a file that has methods, even one that could not be opened.
  if (system->pMethods != nullptr) own.base.pMethods = &kMethods;
  return code;
}

}  // namespace

TemporaryFiles::TemporaryFiles()
    : system_(sqlite3_vfs_find(nullptr)),
      name_(fmt::format("lacuna-{}", static_cast<const void*>(this))) {
  if (system_ == nullptr) return;
  vfs_ = *system_;
  vfs_.iVersion = 1;
  vfs_.szOsFile = static_cast<int>(sizeof(CountedFile)) + system_->szOsFile;
  vfs_.pNext = nullptr;
  vfs_.zName = name_.c_str();
  vfs_.pAppData = this;
  vfs_.xOpen = openCounted;
  vfs_.xDelete = OfSystem<&sqlite3_vfs::xDelete>::call;
  vfs_.xAccess = OfSystem<&sqlite3_vfs::xAccess>::call;
  vfs_.xFullPathname = OfSystem<&sqlite3_vfs::xFullPathname>::call;
  vfs_.xRandomness = OfSystem<&sqlite3_vfs::xRandomness>::call;
  vfs_.xSleep = OfSystem<&sqlite3_vfs::xSleep>::call;
  vfs_.xCurrentTime = OfSystem<&sqlite3_vfs::xCurrentTime>::call;
  vfs_.xGetLastError = OfSystem<&sqlite3_vfs::xGetLastError>::call;
  isThere_ = sqlite3_vfs_register(&vfs_, 0) == SQLITE_OK;
}

TemporaryFiles::~TemporaryFiles() {
  if (isThere_) sqlite3_vfs_unregister(&vfs_);
}

bool TemporaryFiles::grow(std::uint64_t by) {
  if (most_ != 0 && by > most_ - std::min(bytes_, most_)) {
    isExceeded_ = true;
    return false;
  }
  bytes_ += by;
  return true;
}

}  // namespace lacuna::analyzer
