// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>
#include <string>

#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {

/// The owners of a pid, and of a pid and a tid, as they are written in the file; none for those
/// without events.
struct ChromeNames {
  std::function<prof::ProcessId(const std::string& pid)> process;
  std::function<prof::ThreadId(const std::string& pid, const std::string& tid)> thread;
};

/// Gives processes and threads what metadata events of ours hold about them: parent, begin and end,
/// command line, exit code.
void readLives(std::span<const std::string> metadata, const ChromeNames& names,
               StoreBuilder& builder);

}  // namespace lacuna::analyzer
