// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "proc/proc_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstring>
#include <filesystem>

namespace lacuna::collector::proc {
namespace {

/// The number that starts at `at`, which moves past it and the spaces around it.
std::uint64_t nextNumber(const char*& at, const char* end) {
  std::uint64_t value = 0;
  while (at < end && *at == ' ') ++at;
  const auto parsed = std::from_chars(at, end, value);
  at = parsed.ptr;
  while (at < end && *at != ' ' && *at != '\n') ++at;
  return value;
}

}  // namespace

std::string read(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  std::string text;
  std::array<char, 4096> part{};
  ssize_t got = 0;
  while ((got = ::read(fd, part.data(), part.size())) > 0 && text.size() < 1 << 20) {
    text.append(part.data(), static_cast<std::size_t>(got));
  }
  close(fd);
  return text;
}

StateFile::~StateFile() {
  if (fd_ >= 0) close(fd_);
}

char StateFile::read(std::uint32_t pid, std::uint32_t tid) {
  if (fd_ < 0)
    fd_ = open(fmt::format("/proc/{}/task/{}/stat", pid, tid).c_str(), O_RDONLY | O_CLOEXEC);
  // The number and the name, which has 64 bytes at most, come first.
  std::array<char, 128> text{};
  const ssize_t got = fd_ < 0 ? -1 : pread(fd_, text.data(), text.size(), 0);
  if (got <= 0) return 0;
  const std::string_view line(text.data(), static_cast<std::size_t>(got));
  const std::size_t state = line.rfind(") ");
  return state == std::string_view::npos || state + 2 >= line.size() ? 0 : line[state + 2];
}

std::string commandLineOf(std::uint32_t pid) {
  std::string text = read(fmt::format("/proc/{}/cmdline", pid));
  while (!text.empty() && text.back() == '\0') text.pop_back();
  for (char& c : text) c = c == '\0' ? ' ' : c;
  if (text.size() > 4000) text.resize(4000);
  return text;
}

bool lacksVariable(std::uint32_t pid, std::string_view name) {
  const auto has = [&] {
    const std::string text = '\0' + read(fmt::format("/proc/{}/environ", pid));
    return text.find(fmt::format("{}{}=", '\0', name)) != std::string::npos;
  };
  const auto runs = [&] {
    return access(fmt::format("/proc/{}/environ", pid).c_str(), R_OK) == 0 &&
           !commandLineOf(pid).empty();
  };
  // A process that has ended, or has not quite begun, cannot be read: it must have run before and
  // after.
  return runs() && !has() && runs() && !has();
}

std::string nameOf(std::uint32_t pid, std::uint32_t tid) {
  std::string text = read(fmt::format("/proc/{}/task/{}/comm", pid, tid));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

std::string programOf(std::uint32_t pid) {
  std::error_code error;
  return std::filesystem::read_symlink(fmt::format("/proc/{}/exe", pid), error).string();
}

std::vector<std::uint32_t> threadsOf(std::uint32_t pid) {
  std::vector<std::uint32_t> threads;
  std::error_code error;
  for (std::filesystem::directory_iterator at(fmt::format("/proc/{}/task", pid), error), end;
       !error && at != end; at.increment(error)) {
    threads.push_back(
        static_cast<std::uint32_t>(std::strtoul(at->path().filename().c_str(), nullptr, 10)));
  }
  return threads;
}

std::vector<std::uint32_t> childrenOf(std::uint32_t pid) {
  std::vector<std::uint32_t> children;
  for (const std::uint32_t tid : threadsOf(pid)) {
    const std::string text = read(fmt::format("/proc/{}/task/{}/children", pid, tid));
    const char* at = text.data();
    const char* end = at + text.size();
    while (const std::uint64_t child = nextNumber(at, end))
      children.push_back(static_cast<std::uint32_t>(child));
  }
  return children;
}

bool readStat(const std::string& path, Stat& out) {
  const std::string text = read(path);
  // The name in brackets may hold anything.
  const auto bracket = text.rfind(')');
  if (bracket == std::string::npos || bracket + 2 >= text.size()) return false;
  out.state = text[bracket + 2];
  const char* at = text.data() + bracket + 3;
  const char* end = text.data() + text.size();
  for (int field = 4; field <= 39 && at < end; ++field) {
    const std::uint64_t value = nextNumber(at, end);
    if (field == 4) out.parent = static_cast<std::uint32_t>(value);
    if (field == 10) out.minorFaults = value;
    if (field == 12) out.majorFaults = value;
    if (field == 22) out.startTicks = value;
    if (field == 24) out.residentPages = value;
    if (field == 39) out.cpu = static_cast<std::uint16_t>(value);
  }
  return true;
}

bool readSchedule(std::uint32_t pid, std::uint32_t tid, Schedule& out) {
  const std::string text = read(fmt::format("/proc/{}/task/{}/schedstat", pid, tid));
  if (text.empty()) return false;
  const char* at = text.data();
  const char* end = at + text.size();
  out.runNs = nextNumber(at, end);
  out.waitNs = nextNumber(at, end);
  return true;
}

bool readIdle(const cpu_set_t& cores, std::uint64_t& ns) {
  static const auto kTickNs = 1'000'000'000u / static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK));
  constexpr std::string_view kCore = "\ncpu";
  const std::string text = read("/proc/stat");
  std::uint64_t ticks = 0;
  bool found = false;
  for (std::size_t at = text.find(kCore); at != std::string::npos; at = text.find(kCore, at + 1)) {
    const char* next = text.data() + at + kCore.size();
    const char* end = text.data() + text.size();
    const std::uint64_t core = nextNumber(next, end);
    if (core >= CPU_SETSIZE || !CPU_ISSET(core, &cores)) continue;
    std::array<std::uint64_t, 5>
        spent{};  // as a user, nice, in the kernel, idle, idle while a disk works
    for (std::uint64_t& value : spent) value = nextNumber(next, end);
    ticks += spent[3] + spent[4];
    found = true;
  }
  ns = ticks * kTickNs;
  return found;
}

bool readDiskBytes(std::uint32_t pid, std::uint64_t& out) {
  const std::string text = read(fmt::format("/proc/{}/io", pid));
  constexpr std::string_view kField = "read_bytes: ";
  const auto place = text.find(kField);
  if (place == std::string::npos) return false;
  const char* at = text.data() + place + kField.size();
  out = nextNumber(at, text.data() + text.size());
  return true;
}

}  // namespace lacuna::collector::proc
