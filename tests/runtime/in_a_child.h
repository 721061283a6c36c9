// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace lacuna::rt {

/// True if a child of fork() that runs `body` ends well; one that hangs is ended by its alarm.
inline bool endsWellInAChild(const std::function<bool()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(100);
    ::_exit(body() ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return status == 0;
}

}  // namespace lacuna::rt
