// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <signal.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>

#include "lacuna/collector/run.h"
#include "supervise/control_file.h"

namespace lacuna::collector {
namespace {

std::optional<std::string> variableOf(int pid, const std::string& name) {
  std::ifstream file(fmt::format("/proc/{}/environ", pid), std::ios::binary);
  for (std::string variable; std::getline(file, variable, '\0');) {
    if (variable.rfind(name + "=", 0) == 0) return variable.substr(name.size() + 1);
  }
  return std::nullopt;
}

/// The control page that the process has mapped: `lacuna run` itself has, and a program that records although it has
/// cleared its environment since.
std::optional<std::string> mappedControlOf(int pid) {
  constexpr std::string_view kName = ".recording/control";
  std::ifstream file(fmt::format("/proc/{}/maps", pid));
  for (std::string line; std::getline(file, line);) {
    const auto path = line.find('/');
    if (path != std::string::npos && line.ends_with(kName)) return line.substr(path);
  }
  return std::nullopt;
}

/// The control page of `pid`, or, where that cannot be looked into, of the programs that it started.
std::optional<std::string> controlOf(int pid) {
  if (auto path = mappedControlOf(pid)) return path;
  if (auto path = variableOf(pid, kControlVariable)) return path;
  std::ifstream children(fmt::format("/proc/{0}/task/{0}/children", pid));
  for (int child = 0; children >> child;) {
    if (auto path = variableOf(child, kControlVariable)) return path;
  }
  return std::nullopt;
}

}  // namespace

prof::Status trigger(int pid, Trigger what) {
  if (pid <= 0 || (kill(pid, 0) != 0 && errno == ESRCH)) {
    return prof::Error{
        fmt::format("there is no process {}. Remedy: give the number of a recorded process, or of "
                    "'lacuna run' itself (ps shows it).",
                    pid)};
  }
  const auto path = controlOf(pid);
  if (!path) {
    return prof::Error{
        fmt::format("process {} is not being recorded by 'lacuna run', or belongs to another user. "
                    "Remedy: start it with: lacuna run -- PROGRAM",
                    pid)};
  }
  auto control = ControlFile::open(*path);
  if (!control)
    return prof::Error{
        fmt::format("the recording of process {} is over ({}). Remedy: give the number of a process that is "
                    "being recorded.",
                    pid, control.error().message)};
  Control& page = *control->operator->();
  if (what == Trigger::Dump) {
    page.dumpsWanted.fetch_add(1);
  } else {
    page.tell(what == Trigger::Start);
  }
  return {};
}

}  // namespace lacuna::collector
