// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstddef>

namespace lacuna::prof::recording {

/// Reads a file's beginning without taking memory. Answers its length; 0, with `errno` set, where
/// it cannot be read. Neither follows a link in the last place nor waits for who writes a pipe.
inline std::size_t readSmallFile(const char* path, void* out, std::size_t room) {
  const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return 0;
  std::size_t got = 0;
  while (got < room) {
    const ssize_t n = read(fd, static_cast<char*>(out) + got, room - got);
    if (n <= 0) break;
    got += static_cast<std::size_t>(n);
  }
  close(fd);
  return got;
}

}  // namespace lacuna::prof::recording
