// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "symbols/name_module.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

#include "core/regular_file.h"

namespace lacuna::collector::symbols {
namespace {

using Steady = std::chrono::steady_clock;

constexpr int kAskStopEveryMs = 50;
constexpr std::uint32_t kLongestText = 64 << 10;

/// What the child tells of one place, before its two texts.
struct Told {
  std::uint64_t address;
  std::uint32_t line;
  std::uint32_t functionBytes;
  std::uint32_t fileBytes;
};

void writeAll(int fd, const char* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t wrote = write(fd, bytes, size);
    if (wrote < 0 && errno != EINTR) _exit(1);
    if (wrote <= 0) continue;
    bytes += wrote;
    size -= static_cast<std::size_t>(wrote);
  }
}

void tell(int fd, const Symbol& symbol) {
  const auto bounded = [](const std::string& text) {
    return std::min(static_cast<std::uint32_t>(text.size()), kLongestText);
  };
  const Told told{symbol.address, symbol.line, bounded(symbol.function), bounded(symbol.file)};
  std::string bytes(reinterpret_cast<const char*>(&told), sizeof told);
  bytes.append(symbol.function, 0, told.functionBytes).append(symbol.file, 0, told.fileBytes);
  writeAll(fd, bytes.data(), bytes.size());
}

void tell(int fd, Naming naming) {
  writeAll(fd, reinterpret_cast<const char*>(&naming), sizeof naming);
}

/// Sanitizers take more of the address space than any limit.
void limitMemory([[maybe_unused]] int file, [[maybe_unused]] std::uint64_t more) {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  unsigned long long pages = 0;
  if (FILE* statm = std::fopen("/proc/self/statm", "re"); statm != nullptr) {
    if (std::fscanf(statm, "%llu", &pages) != 1) pages = 0;
    std::fclose(statm);
  }
  struct stat status {};
  if (pages == 0 || fstat(file, &status) != 0) return;
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  // Separate debug information may be larger than the file, and is mapped too.
  const rlim_t most = pages * page + more + 2 * static_cast<std::uint64_t>(status.st_size);
  const rlimit limit{most, most};
  setrlimit(RLIMIT_AS, &limit);
#endif
}

/// The child's part. Ends it.
[[noreturn]] void nameAndEnd(const ModuleFile& module, int fd, const std::vector<std::uint64_t>& offsets,
                             const NamingLimits& limits, pid_t parent, int out) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  signal(SIGPIPE, SIG_DFL);
  const int file = fd >= 0 ? fd : openRegularFile(module.path);
  if (file < 0) {
    struct stat status {};
    const bool there = stat(module.path.c_str(), &status) == 0;
    tell(out, there && !S_ISREG(status.st_mode) ? Naming::NoFile : Naming::NotThere);
    _exit(0);
  }
  if (!isFileOf(module, file)) {
    tell(out, Naming::Differs);
    _exit(0);
  }
  limitMemory(file, limits.moreMemory);
  tell(out, Naming::Done);
  Symbolizer symbolizer(file, module.path);
  for (const std::uint64_t offset : offsets) tell(out, symbolizer.find(offset));
  _exit(0);
}

/// Takes what has come as far as it is whole. False where it makes no sense.
bool takeTold(std::string& bytes, std::vector<Symbol>& symbols, std::size_t& named) {
  std::size_t at = 0;
  Told told{};
  while (bytes.size() - at >= sizeof told) {
    std::memcpy(&told, bytes.data() + at, sizeof told);
    if (named == symbols.size() || told.functionBytes > kLongestText || told.fileBytes > kLongestText) return false;
    if (bytes.size() - at - sizeof told < std::size_t{told.functionBytes} + told.fileBytes) break;
    at += sizeof told;
    Symbol& symbol = symbols[named++];
    symbol.address = told.address;
    symbol.line = told.line;
    symbol.function.assign(bytes, at, told.functionBytes);
    symbol.file.assign(bytes, at + told.functionBytes, told.fileBytes);
    at += std::size_t{told.functionBytes} + told.fileBytes;
  }
  bytes.erase(0, at);
  return true;
}

/// Reads what the child tells, to its end or ours.
class Listener {
 public:
  Listener(int fd, const NamingLimits& limits, const std::function<bool()>& stop)
      : fd_(fd), limits_(limits), stop_(stop) {}

  Naming listen(std::vector<Symbol>& symbols) {
    std::size_t named = 0;
    for (;;) {
      if (stop_ && stop_()) return Naming::Stopped;
      const auto now = Steady::now();
      if (now - begun_ > limits_.whole || now - heard_ > limits_.silent) return Naming::TookTooLong;
      pollfd polled{fd_, POLLIN, 0};
      if (poll(&polled, 1, kAskStopEveryMs) <= 0) continue;
      const ssize_t got = read(fd_, part_, sizeof part_);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return began_ && named < symbols.size() ? Naming::Failed : result_;
      if (!take(static_cast<std::size_t>(got), symbols, named)) return Naming::Failed;
    }
  }

 private:
  bool take(std::size_t got, std::vector<Symbol>& symbols, std::size_t& named) {
    heard_ = Steady::now();
    bytes_.append(part_, got);
    if (!std::exchange(told_, true)) {
      std::memcpy(&result_, bytes_.data(), sizeof result_);
      bytes_.erase(0, sizeof result_);
      if (result_ > Naming::Differs) return false;
      began_ = result_ == Naming::Done;
    }
    return takeTold(bytes_, symbols, named);
  }

  int fd_;
  const NamingLimits& limits_;
  const std::function<bool()>& stop_;
  Steady::time_point begun_ = Steady::now();
  Steady::time_point heard_ = begun_;
  Naming result_ = Naming::Failed;
  bool told_ = false;
  bool began_ = false;
  std::string bytes_;
  char part_[64 << 10];
};

}  // namespace

Naming nameModule(const ModuleFile& module, int fd, const std::vector<std::uint64_t>& offsets,
                  const NamingLimits& limits, const std::function<bool()>& stop, std::vector<Symbol>& symbols) {
  symbols.clear();
  for (const std::uint64_t offset : offsets) symbols.push_back({offset, {}, {}, 0});
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Naming::Failed;
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) nameAndEnd(module, fd, offsets, limits, parent, ends[1]);
  close(ends[1]);
  Naming result = Naming::Failed;
  if (child > 0) {
    result = Listener(ends[0], limits, stop).listen(symbols);
    kill(child, SIGKILL);
    while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  close(ends[0]);
  return result;
}

}  // namespace lacuna::collector::symbols
