// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

namespace lacuna::collector {

/// Opens a regular file for reading. Returns -1 for everything else that may have the name: opening
/// a pipe could wait for ever, and opening a device could do something.
inline int openRegularFile(const std::string& path) {
  const int place = ::open(path.c_str(), O_PATH | O_CLOEXEC);
  if (place < 0) return -1;
  struct stat status {};
  int fd = -1;
  if (fstat(place, &status) == 0 && S_ISREG(status.st_mode)) {
    fd = ::open(("/proc/self/fd/" + std::to_string(place)).c_str(),
                O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  }
  ::close(place);
  return fd;
}

}  // namespace lacuna::collector
