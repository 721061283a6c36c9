// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "supervise/running_process.h"

#include <fmt/format.h>

#include <fstream>

#include "core/guest.h"

namespace lacuna::collector {

std::optional<std::string> variableOf(int pid, const std::string& name) {
  std::ifstream file(fmt::format("/proc/{}/environ", pid), std::ios::binary);
  for (std::string variable; std::getline(file, variable, '\0');) {
    if (variable.rfind(name + "=", 0) == 0) return variable.substr(name.size() + 1);
  }
  return std::nullopt;
}

std::optional<std::string> mappedFileOf(int pid,
                                        const std::function<bool(const std::string&)>& matches) {
  std::ifstream file(fmt::format("/proc/{}/maps", pid));
  for (std::string line; std::getline(file, line);) {
    const auto at = line.find('/');
    if (at != std::string::npos && matches(line.substr(at))) return line.substr(at);
  }
  return std::nullopt;
}

std::optional<std::string> ownControlOf(int pid) {
  const auto isControl = [](const std::string& path) {
    return path.ends_with(".recording/control");
  };
  if (auto path = mappedFileOf(pid, isControl)) return path;
  return variableOf(pid, kControlVariable);
}

}  // namespace lacuna::collector
