// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "python/targets.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "lacuna/prof/process.h"

namespace lacuna::collector::python {
namespace {

constexpr std::size_t kMostAnnouncement = 8192;
/// It is written in one go; what is not whole then never will be.
constexpr int kMostTries = 20;

/// The content of a file that one of this user's programs wrote, and the user that it belongs to.
std::optional<std::pair<std::string, uid_t>> readOwned(const std::filesystem::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  struct stat status {};
  std::string bytes(kMostAnnouncement, '\0');
  ssize_t got = -1;
  if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
    got = ::read(fd, bytes.data(), bytes.size());
  ::close(fd);
  if (got < 0) return std::nullopt;
  bytes.resize(static_cast<std::size_t>(got));
  return std::pair(std::move(bytes), status.st_uid);
}

/// A file must not have us read the memory of somebody else's process.
bool belongsTo(std::uint32_t pid, uid_t user) {
  struct stat status {};
  return stat(fmt::format("/proc/{}", pid).c_str(), &status) == 0 && status.st_uid == user;
}

}  // namespace

std::uint32_t Target::tidOf(std::uint32_t ownTid) {
  if (!foreign_) return ownTid;
  if (isMain(ownTid)) return pid_;
  std::uint32_t& tid = tids_[ownTid];
  if (tid == 0) tid = prof::findThread(pid_, ownTid);
  return tid != 0 ? tid : ownTid;
}

std::vector<Announcements::Found> Announcements::take() {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder_, error), last; !error && at != last;
       at.increment(error)) {
    std::string name = at->path().filename().string();
    if (name.starts_with(kFilePrefix)) names.push_back(std::move(name));
  }
  // By the moment at the end of the name: of two that one process made, the later one counts.
  std::ranges::sort(names, {}, [](const std::string& name) {
    const std::string moment = name.substr(name.rfind('-') + 1);
    return std::pair(moment.size(), moment);
  });
  std::vector<Found> found;
  for (const std::string& name : names) {
    const std::filesystem::path path = folder_ / name;
    const auto content = readOwned(path);
    const auto layout = content ? parseLayout(content->first) : std::nullopt;
    if (!layout && ++unread_[name] < kMostTries) continue;
    unread_.erase(name);
    ::unlink(path.c_str());
    if (!layout) continue;
    Found one{*layout, layout->pid, false};
    const prof::OwnNumber self{layout->pid, layout->pidNamespace, 0};
    if (prof::isForeign(self)) {
      const prof::FoundProcess there = prof::findProcess(self);
      if (there.where != prof::FoundProcess::Where::Here) continue;
      one.pid = there.pid;
      one.foreign = true;
    }
    if (belongsTo(one.pid, content->second)) found.push_back(one);
  }
  return found;
}

}  // namespace lacuna::collector::python
