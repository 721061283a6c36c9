// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "lacuna/prof/result.h"

namespace lacuna::collector {

/// The end of a process.
struct Exit {
  int code = 0;    ///< meaningful when signal is 0
  int signal = 0;  ///< the signal that killed it, or 0
  uid_t user = 0;  ///< as whom it ran at its end
  /// As a shell gives it: the code, or 128 + signal.
  [[nodiscard]] int shellCode() const { return signal != 0 ? 128 + signal : code; }
};

struct SpawnRequest {
  std::filesystem::path program;
  std::vector<std::string> arguments;  ///< with argv[0]
  std::vector<std::string> environment;
  sigset_t signalMask;           ///< given back to the program before it starts
  bool ignoresChildren = false;  ///< so is that it ignores SIGCHLD, which this process cannot
  bool ignoresBus = false;       ///< nor SIGBUS: see prof::MappingGuard
  bool ownGroup = false;         ///< a process group of its own
  int input = -1, output = -1;   ///< in the place of its standard files, where they are given
  std::function<void(pid_t)> beforeExec;  ///< called in the parent while the child waits to exec
};

/// Starts the program in this process's group, session and terminal, with its files untouched, but
/// for what is wanted. Fails with the reason when the exec fails.
prof::Result<pid_t> spawn(const SpawnRequest& request);

/// The kernel's reports on the processes that this one looks after.
struct Reaped {
  std::map<pid_t, Exit> ended;
  bool stopped = false;  ///< `watched` was stopped by job control
  bool childless = false;
};
/// Collects every child that has ended, orphans included; never blocks.
Reaped reap(pid_t watched);

/// Stops this process, as a shell expects of a job whose program `child` was stopped. A helper
/// process wakes it when the program runs again or is gone; a SIGCONT from elsewhere wakes it too.
/// Returns the helper's process id, whose SIGCONT means nothing, or 0 when there was none.
pid_t stopAlong(pid_t child);

/// Makes this process the foster parent of orphans, so that a daemonised grandchild can be waited
/// for.
void adoptOrphans();
/// Ends this process as `exit` describes, by the same signal and without a core file where there
/// was one.
[[noreturn]] void exitLike(Exit exit);

}  // namespace lacuna::collector
