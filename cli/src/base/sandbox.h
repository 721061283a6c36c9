// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "lacuna/prof/result.h"

namespace lacuna::cli {

/// The files that a command that reads a trace needs of the system once it has read its options.
/// Whoever takes over the process through a hostile trace gets no more than that.
struct Needs {
  std::vector<std::filesystem::path> reads;  ///< files or folders
  std::vector<std::filesystem::path>
      writes;  ///< files; each is written beside itself first, so it is their folders
};

/// The means by which the kernel here can confine.
struct SandboxSupport {
  int landlock = 0;  ///< the version of its interface; 0: none
  bool seccomp = false;
};
SandboxSupport sandboxSupport();

/// Restricts this thread, and all that it will start. They keep only the files needed, the system's
/// libraries and the temporary folders. They cannot start programs, use the network or look into
/// other processes. The restriction is for good. Call it while the process has one thread. `mode`
/// is "auto" (as far as the kernel can, silently), "on" (fails where something is missing) or
/// "off".
prof::Status confine(const std::string& mode, const Needs& needs);

}  // namespace lacuna::cli
