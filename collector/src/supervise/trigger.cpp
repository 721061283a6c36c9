// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <signal.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>

#include "core/standby_page.h"
#include "lacuna/collector/run.h"
#include "supervise/control_file.h"
#include "supervise/flight_recorder.h"
#include "supervise/running_process.h"

namespace lacuna::collector {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kDumpWait{10};
constexpr std::chrono::milliseconds kDumpPoll{10};

/// The control page of `pid`, or, where that cannot be looked into, of the programs that it
/// started.
std::optional<std::string> controlOf(int pid) {
  if (auto path = ownControlOf(pid)) return path;
  std::ifstream children(fmt::format("/proc/{0}/task/{0}/children", pid));
  for (int child = 0; children >> child;) {
    if (auto path = variableOf(child, kControlVariable)) return path;
  }
  return std::nullopt;
}

/// The trace that is recorded, or beside which dumps are written, of OUT.recording/control.
fs::path outputOf(const fs::path& control) {
  fs::path output = control.parent_path();
  return output.replace_extension();
}

std::string switchRecording(Control& page, bool on, const fs::path& output) {
  const bool was = page.enabled.load() != 0;
  page.order(on);
  return fmt::format("recording into {} is {}{}", output.string(), on ? "on" : "stopped",
                     was == on ? " already" : "");
}

/// True when the wish is answered before the time is up or the run ends, which takes its control
/// page away.
bool waitForDump(const Control& page, std::uint32_t wish, const fs::path& control) {
  std::error_code error;
  const auto over = [&] { return static_cast<std::int32_t>(page.dumpsDone.load() - wish) >= 0; };
  const auto until = std::chrono::steady_clock::now() + kDumpWait;
  while (!over() && fs::exists(control, error) && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(kDumpPoll);
  }
  return over();
}

prof::Result<TriggerOutcome> dumpRecording(Control& page, const fs::path& control) {
  const std::uint32_t wish = page.dumpsWanted.fetch_add(1) + 1;
  const fs::path output = outputOf(control);
  if (!waitForDump(page, wish, control)) {
    return TriggerOutcome{fmt::format("the dump will be in or beside {}", output.string()), {}};
  }
  if (page.dumpFailed.load() != 0) {
    return prof::Error{
        fmt::format("the dump could not be written to {}; lacuna run prints the reason at its end. "
                    "Remedy: make room there",
                    output.parent_path().string())};
  }
  const std::uint32_t number = page.dumpNumber.load();
  if (number == 0) {
    return TriggerOutcome{fmt::format("what was recorded so far is in {}", output.string()),
                          output};
  }
  const fs::path dump = flightDumpName(output, number);
  return TriggerOutcome{fmt::format("what the rings hold is in {}", dump.string()), dump};
}

}  // namespace

prof::Result<TriggerOutcome> trigger(int pid, Trigger what) {
  if (pid <= 0 || (kill(pid, 0) != 0 && errno == ESRCH)) {
    return prof::Error{
        fmt::format("there is no process {}. Remedy: give the number of a recorded process, or of "
                    "'lacuna run' itself (ps shows it).",
                    pid)};
  }
  const auto path = controlOf(pid);
  if (const auto job = variableOf(pid, kJobVariable); !path && job) {
    return prof::Error{
        fmt::format("process {} is on standby. Remedy: have some of its steps recorded: lacuna "
                    "trigger --job {}",
                    pid, *job)};
  }
  if (!path) {
    return prof::Error{
        fmt::format("process {} is not being recorded by 'lacuna run', or belongs to another user. "
                    "Remedy: start it with: lacuna run -- PROGRAM",
                    pid)};
  }
  auto control = ControlFile::open(*path);
  if (!control)
    return prof::Error{
        fmt::format("the recording of process {} is over ({}). Remedy: give the number of a "
                    "process that is being recorded.",
                    pid, control.error().message)};
  Control& page = *control->operator->();
  if (what == Trigger::Dump) return dumpRecording(page, *path);
  return TriggerOutcome{switchRecording(page, what == Trigger::Start, outputOf(*path)), {}};
}

}  // namespace lacuna::collector
