// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>

/// A process that runs already, as /proc shows it. Nothing where that cannot be looked into.
namespace lacuna::collector {

/// A variable of the environment with which it was started.
std::optional<std::string> variableOf(int pid, const std::string& name);
/// The first file that it has mapped and that `matches`, by its path.
std::optional<std::string> mappedFileOf(int pid,
                                        const std::function<bool(const std::string&)>& matches);
/// The control page of the recording that it is a part of: `lacuna run` itself has mapped it, and
/// so has a program that records although it has cleared its environment since.
std::optional<std::string> ownControlOf(int pid);

}  // namespace lacuna::collector
