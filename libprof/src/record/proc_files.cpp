// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "record/proc_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <string>

namespace lacuna::prof::recording {

namespace {

/// A process whose main thread has ended, while others go on, looks like a zombie.
bool hasFurtherThreads(std::uint32_t osPid) {
  std::error_code error;
  std::filesystem::directory_iterator tasks("/proc/" + std::to_string(osPid) + "/task", error);
  return !error && std::distance(std::filesystem::begin(tasks), std::filesystem::end(tasks)) > 1;
}

}  // namespace

bool processIsAlive(std::uint32_t osPid, std::uint64_t startTicks) {
  const int fd = open(("/proc/" + std::to_string(osPid) + "/stat").c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  char text[1024] = {};
  const ssize_t got = read(fd, text, sizeof text - 1);
  close(fd);
  const char* at = got > 0 ? std::strrchr(text, ')') : nullptr;
  if (at == nullptr || at[1] == 0 || at[2] == 'X') return false;
  if (at[2] == 'Z' && !hasFurtherThreads(osPid)) return false;
  for (int field = 2; at != nullptr && field < 22; ++field) at = std::strchr(at + 1, ' ');
  return startTicks == 0 || at == nullptr || std::strtoull(at + 1, nullptr, 10) == startTicks;
}

}  // namespace lacuna::prof::recording
