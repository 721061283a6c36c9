// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "record/drain/open_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>

#include "base/checksum.h"
#include "lacuna/prof/file_error.h"

namespace fs = std::filesystem;

namespace lacuna::prof::recording {
namespace {

constexpr std::uint64_t kLeastLog = 1 << 20;
constexpr std::size_t kBuffer = 1 << 20;
/// Entries are made in parts that are smaller.
constexpr std::uint64_t kMostEntry = 1 << 20;

struct EntryHead {
  std::uint64_t bytes;
  std::uint64_t hash;
};

}  // namespace

fs::path OpenLog::fileOf(const fs::path& directory, std::uint64_t number) {
  return directory / fmt::format("open-{}", number);
}

Status OpenLog::begin(std::uint64_t liveBytes, bool& anew) {
  anew = kept_.number == 0 || kept_.bytes > 2 * liveBytes + kLeastLog;
  buffer_.clear();
  error_ = 0;
  const Place before = now_;
  now_ = anew ? Place{kept_.number + 1, 0} : kept_;
  if (before.number == now_.number && file_.get() >= 0 && !anew) return {};
  const fs::path path = fileOf(directory_, now_.number);
  const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | (anew ? O_TRUNC : 0);
  file_ = base::FileHandle(::open(path.c_str(), flags, 0600));
  if (file_.get() < 0)
    return Error{fmt::format("{}: cannot be written: {}", path.string(), fileProblem(errno))};
  return {};
}

void OpenLog::put(const Saver& entry) {
  const std::string& bytes = entry.bytes();
  const EntryHead head{bytes.size(), base::checksum(std::as_bytes(std::span(bytes)))};
  buffer_.append(reinterpret_cast<const char*>(&head), sizeof head).append(bytes);
  if (buffer_.size() >= kBuffer) writeOut();
}

void OpenLog::writeOut() {
  std::size_t done = 0;
  while (error_ == 0 && done < buffer_.size()) {
    const ssize_t wrote = pwrite(file_.get(), buffer_.data() + done, buffer_.size() - done,
                                 static_cast<off_t>(now_.bytes));
    if (wrote < 0 && errno != EINTR) error_ = errno;
    if (wrote <= 0) continue;
    done += static_cast<std::size_t>(wrote);
    now_.bytes += static_cast<std::uint64_t>(wrote);
  }
  buffer_.clear();
}

Result<OpenLog::Place> OpenLog::end() {
  writeOut();
  if (error_ == 0) return now_;
  return Error{fmt::format("{}: cannot be written: {}", fileOf(directory_, now_.number).string(),
                           fileProblem(error_))};
}

void OpenLog::keep() {
  if (kept_.number != 0 && kept_.number != now_.number) {
    std::error_code error;
    fs::remove(fileOf(directory_, kept_.number), error);
  }
  kept_ = now_;
}

Status OpenLog::read(const fs::path& directory, const Place& place,
                     const std::function<bool(std::string_view)>& take) {
  if (place.bytes == 0) return {};
  const fs::path path = fileOf(directory, place.number);
  auto file = base::InputFile::open(path);
  if (!file.ok()) return file.error();
  const Error damaged{
      fmt::format("{}: the open ranges of the recording are damaged", path.string())};
  const auto size = (*file).size();
  if (!size.ok()) return size.error();
  if (place.bytes > *size) return damaged;
  std::string entry;
  for (std::uint64_t at = 0; at < place.bytes;) {
    EntryHead head{};
    if (place.bytes - at < sizeof head) return damaged;
    if (auto status = (*file).read(at, std::as_writable_bytes(std::span(&head, 1))); !status.ok())
      return status;
    at += sizeof head;
    if (head.bytes == 0 || head.bytes > std::min(place.bytes - at, kMostEntry)) return damaged;
    entry.resize(head.bytes);
    if (auto status = (*file).read(at, std::as_writable_bytes(std::span(entry))); !status.ok())
      return status;
    if (!base::checksumMatches(std::as_bytes(std::span(entry)), head.hash)) return damaged;
    at += head.bytes;
    if (!take(entry)) return damaged;
  }
  return {};
}

}  // namespace lacuna::prof::recording
