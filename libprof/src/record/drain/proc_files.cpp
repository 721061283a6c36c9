// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "record/drain/proc_files.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <mutex>
#include <set>
#include <string>

namespace lacuna::prof {
namespace {

namespace fs = std::filesystem;

std::string textOf(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  std::string text(4096, '\0');
  const ssize_t got = read(fd, text.data(), text.size());
  close(fd);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return text;
}

/// A process whose main thread has ended, while others go on, looks like a zombie.
bool hasFurtherThreads(std::uint32_t osPid) {
  std::error_code error;
  fs::directory_iterator tasks("/proc/" + std::to_string(osPid) + "/task", error);
  return !error && std::distance(fs::begin(tasks), fs::end(tasks)) > 1;
}

/// False in a PID namespace that was given no /proc of its own: the one that is there has other
/// numbers.
bool procHasOurNumbers() {
  static const bool ours = [] {
    std::error_code error;
    const fs::path self = fs::read_symlink("/proc/self", error);
    return error || self == std::to_string(getpid());
  }();
  return ours;
}

/// The numbers in a status file.
struct Numbers {
  std::uint32_t parent = 0;
  std::uint32_t own = 0;  ///< in its own namespace
  bool foreign = false;   ///< that is not the namespace of /proc
};

Numbers numbersAt(const std::string& process) {
  const std::string text = textOf(process + "/status");
  Numbers numbers;
  if (const auto at = text.find("\nPPid:"); at != std::string::npos) {
    numbers.parent = static_cast<std::uint32_t>(std::strtoul(text.c_str() + at + 6, nullptr, 10));
  }
  const auto at = text.find("\nNSpid:");
  if (at == std::string::npos) return numbers;
  const std::string line = text.substr(at + 7, text.find('\n', at + 7) - at - 7);
  const char* from = line.c_str();
  for (int count = 0;; ++count) {
    char* end = nullptr;
    const auto number = static_cast<std::uint32_t>(std::strtoul(from, &end, 10));
    if (end == from) return numbers;
    numbers.own = number;
    numbers.foreign = count > 0;
    from = end;
  }
}

/// The numbers that a folder of /proc has as names.
template <class Visit>
void forEachNumber(const std::string& folder, Visit&& visit) {
  std::error_code error;
  for (fs::directory_iterator at(folder, error), last; !error && at != last; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (!name.empty() && std::all_of(name.begin(), name.end(),
                                     [](unsigned char c) { return std::isdigit(c) != 0; })) {
      visit(static_cast<std::uint32_t>(std::strtoul(name.c_str(), nullptr, 10)),
            at->path().string());
    }
  }
}

/// True when processes of that namespace were ever seen here: then one that is not seen any more
/// has ended.
bool wasSeen(std::uint64_t pidNamespace, bool now) {
  static std::mutex mutex;
  static std::set<std::uint64_t> seen;
  const std::lock_guard guard(mutex);
  if (now) seen.insert(pidNamespace);
  return seen.contains(pidNamespace);
}

/// In the machine's first namespace, all others are below ours, unless /proc hides what is not our
/// user's.
bool seesEveryNamespace() {
  constexpr std::uint64_t kFirst = 0xeffffffc;  // PROC_PID_INIT_INO
  static const bool sees = ownPidNamespace() == kFirst && !textOf("/proc/1/status").empty();
  return sees;
}

FoundProcess findForeign(const OwnNumber& number) {
  FoundProcess found;
  bool namespaceIsHere = false;
  forEachNumber("/proc", [&](std::uint32_t pid, const std::string& process) {
    const Numbers numbers = numbersAt(process);
    if (!numbers.foreign) return;
    // Not everybody's may be read; then the moment when the process began has to do.
    const std::uint64_t itsNamespace = pidNamespaceAt((process + "/ns/pid").c_str());
    if (itsNamespace != 0 ? itsNamespace != number.pidNamespace : number.startTicks == 0) return;
    namespaceIsHere |= itsNamespace != 0;
    if (numbers.own != number.pid || !processIsAlive(pid, number.startTicks)) return;
    found = {FoundProcess::Where::Here, pid, numbers.parent};
  });
  const bool seen =
      wasSeen(number.pidNamespace, namespaceIsHere || found.where == FoundProcess::Where::Here);
  if (found.where != FoundProcess::Where::Here && (seen || seesEveryNamespace()))
    found.where = FoundProcess::Where::Gone;
  return found;
}

}  // namespace

std::uint64_t ownPidNamespace() {
  static const std::uint64_t own = pidNamespaceAt();
  return own;
}

bool isForeign(const OwnNumber& number) {
  return number.pidNamespace != 0 && ownPidNamespace() != 0 &&
         number.pidNamespace != ownPidNamespace();
}

FoundProcess findProcess(const OwnNumber& number) {
  if (isForeign(number)) return findForeign(number);
  if (!processIsAlive(number.pid, number.startTicks)) return {FoundProcess::Where::Gone, 0, 0};
  return {FoundProcess::Where::Here, number.pid,
          numbersAt("/proc/" + std::to_string(number.pid)).parent};
}

std::uint32_t findThread(std::uint32_t pid, std::uint32_t ownTid) {
  std::uint32_t found = 0;
  forEachNumber("/proc/" + std::to_string(pid) + "/task",
                [&](std::uint32_t tid, const std::string& thread) {
                  if (found == 0 && numbersAt(thread).own == ownTid) found = tid;
                });
  return found;
}

bool processIsAlive(std::uint32_t osPid, std::uint64_t startTicks) {
  if (!procHasOurNumbers()) return kill(static_cast<pid_t>(osPid), 0) == 0 || errno != ESRCH;
  const std::string text = textOf("/proc/" + std::to_string(osPid) + "/stat");
  // The program's name, in parentheses, may hold anything, so it is skipped from the end.
  const auto name = text.rfind(')');
  if (name == std::string::npos || name + 2 >= text.size()) return false;
  const char* at = text.c_str() + name;
  if (at[2] == 'X') return false;
  if (at[2] == 'Z' && !hasFurtherThreads(osPid)) return false;
  for (int field = 2; at != nullptr && field < 22; ++field) at = std::strchr(at + 1, ' ');
  return startTicks == 0 || at == nullptr || std::strtoull(at + 1, nullptr, 10) == startTicks;
}

namespace recording {
namespace {

/// In Header::seenPid: it was looked for, and had ended or could not be seen.
constexpr std::uint32_t kGonePid = ~0u - 1;
constexpr std::uint32_t kUnseenPid = ~0u;

OwnNumber numberOf(const Header& header) {
  return {header.osPid, header.pidNamespace, header.startTicks};
}

/// The number here that was noted, or 0.
std::uint32_t notedPid(const Header& header) {
  const std::uint32_t pid = header.seenPid.load(std::memory_order_relaxed);
  return pid == kGonePid || pid == kUnseenPid ? 0 : pid;
}

void searchFor(Header& header) {
  const FoundProcess found = findProcess(numberOf(header));
  header.seenParent.store(found.parent, std::memory_order_relaxed);
  header.seenPid.store(found.where == FoundProcess::Where::Here   ? found.pid
                       : found.where == FoundProcess::Where::Gone ? kGonePid
                                                                  : kUnseenPid,
                       std::memory_order_relaxed);
}

}  // namespace

Life lifeOf(Header& header) {
  if (!isForeign(numberOf(header))) {
    return processIsAlive(header.osPid, header.startTicks) ? Life::Runs : Life::Ended;
  }
  if (header.seenPid.load(std::memory_order_relaxed) == 0) searchFor(header);
  if (const std::uint32_t pid = notedPid(header); pid != 0) {
    return processIsAlive(pid, header.startTicks) ? Life::Runs : Life::Ended;
  }
  return header.seenPid.load(std::memory_order_relaxed) == kUnseenPid ? Life::Unseen : Life::Ended;
}

std::uint32_t pidOf(const Header& header) {
  const std::uint32_t pid = notedPid(header);
  return pid != 0 ? pid : header.osPid;
}

std::uint32_t parentPidOf(const Header& header) {
  return header.seenPid.load(std::memory_order_relaxed) != 0
             ? header.seenParent.load(std::memory_order_relaxed)
             : header.parentPid;
}

std::uint32_t tidOf(const Header& header, std::uint32_t ownTid) {
  const std::uint32_t pid = notedPid(header);
  if (pid == 0) return ownTid;
  if (ownTid == header.osPid) return pid;
  const std::uint32_t tid = findThread(pid, ownTid);
  return tid != 0 ? tid : ownTid;
}

}  // namespace recording
}  // namespace lacuna::prof
