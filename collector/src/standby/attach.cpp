// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <pwd.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "core/shell_word.h"
#include "core/standby_page.h"
#include "lacuna/collector/standby.h"
#include "supervise/running_process.h"

namespace lacuna::collector {
namespace {

namespace fs = std::filesystem;

std::string userText(uid_t user) {
  const passwd* entry = getpwuid(user);
  return entry != nullptr ? entry->pw_name : fmt::format("{}", user);
}

/// The version in a name such as python3.11 or libpython3.11.so.1.0; empty without one.
std::string versionIn(const std::string& path) {
  const std::string name = fs::path(path).filename().string();
  const std::size_t at = name.find("python3.");
  if (at == std::string::npos) return {};
  const std::size_t from = at + std::string_view("python").size();
  const std::size_t end = std::min(name.find_first_not_of("0123456789", from + 2), name.size());
  return name.substr(from, end - from);
}

/// "3.11" where the process runs a Python, in its own program or as a library; nothing elsewhere.
std::optional<std::string> pythonOf(int pid) {
  const auto isPython = [](const std::string& path) { return !versionIn(path).empty(); };
  std::error_code error;
  const std::string program = fs::read_symlink(fmt::format("/proc/{}/exe", pid), error).string();
  if (isPython(program)) return versionIn(program);
  const auto isInterpreter = [&](const std::string& path) {
    return fs::path(path).filename().string().starts_with("libpython3.") && isPython(path);
  };
  if (const auto library = mappedFileOf(pid, isInterpreter)) return versionIn(*library);
  return std::nullopt;
}

/// The command that started the process.
std::string commandOf(int pid) {
  std::ifstream file(fmt::format("/proc/{}/cmdline", pid), std::ios::binary);
  std::string line;
  for (std::string word; std::getline(file, word, '\0');) {
    line += (line.empty() ? "" : " ") + shellWord(word);
  }
  return line;
}

std::string remedyForPid(int pid) {
  const std::string command = commandOf(pid);
  return fmt::format("Remedy: start it again with: lacuna run --standby job -- {}",
                     command.empty() ? "PROGRAM" : command);
}

prof::Status checkReach(int pid) {
  struct stat there {};
  if (pid <= 0 || (kill(pid, 0) != 0 && errno == ESRCH) ||
      stat(fmt::format("/proc/{}", pid).c_str(), &there) != 0) {
    return prof::Error{
        fmt::format("there is no process {} here. Remedy: give the number that ps shows on this "
                    "machine, in this container.",
                    pid)};
  }
  if (there.st_uid == geteuid() || geteuid() == 0) return {};
  return prof::Error{
      fmt::format("process {} belongs to user {}. Remedy: run lacuna attach as that user.", pid,
                  userText(there.st_uid))};
}

}  // namespace

prof::Result<AttachPlan> planAttach(int pid) {
  if (auto status = checkReach(pid); !status) return status.error();
  if (const auto control = ownControlOf(pid)) {
    fs::path output = fs::path(*control).parent_path();
    return prof::Error{
        fmt::format("process {0} is recorded already, into {1}. Remedy: control that recording: "
                    "lacuna trigger {0} --dump, --stop or --start.",
                    pid, output.replace_extension().string())};
  }
  if (const auto page = variableOf(pid, kStandbyVariable)) {
    const auto job = variableOf(pid, kJobVariable);
    std::error_code error;
    if (job && fs::exists(*page, error)) return AttachPlan{*job};
    return prof::Error{
        fmt::format("process {} is on standby, but the lacuna run that kept it has ended. {}", pid,
                    remedyForPid(pid))};
  }
  const auto python = pythonOf(pid);
  if (!python) {
    return prof::Error{
        fmt::format("process {} is no Python program, and was not started by lacuna. {}", pid,
                    remedyForPid(pid))};
  }
  const auto isTorch = [](const std::string& path) { return path.ends_with("/libtorch_cpu.so"); };
  return prof::Error{fmt::format(
      "process {} runs Python {}{} and was not started on standby. Lacuna does not force its code "
      "into such a process: that would interrupt it anywhere, also where it holds locks. {}",
      pid, *python, mappedFileOf(pid, isTorch) ? " with PyTorch" : "", remedyForPid(pid))};
}

}  // namespace lacuna::collector
