// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>

#include "core/clock.h"
#include "core/guest.h"
#include "lacuna/collector/standby.h"
#include "lacuna/prof/recording.h"
#include "standby/keeper.h"
#include "supervise/child.h"
#include "supervise/environment.h"
#include "supervise/program.h"
#include "supervise/self_cost.h"
#include "supervise/signals.h"

extern char** environ;

namespace lacuna::collector {
namespace {

/// From the program's start to its end.
class StandbyRun {
 public:
  explicit StandbyRun(const RunOptions& options) : options_(options) {
    std::error_code error;
    job_ = std::filesystem::absolute(options.standby, error).lexically_normal();
  }

  prof::Result<StandbyReport> run() {
    const auto program =
        findProgram(options_.command.empty() ? std::string() : options_.command[0]);
    if (!program) return program.error();
    report_.run.notes = program->limits();
    const auto injection = findInjection();
    if (!injection) return injection.error();
    // Before there are threads.
    auto keeper = standby::Keeper::create(options_, job_, measureSelfCost(*injection));
    if (!keeper) return keeper.error();
    keeper_ = std::move(*keeper);
    if (auto status = start(*program, *injection); !status) return status.error();
    supervise();
    report_.captures = keeper_->captures();
    return report_;
  }

 private:
  prof::Result<ChildEnvironment> environment(const std::filesystem::path& injection) const {
    const std::string step = options_.stepRange.empty() ? kAnyStep : options_.stepRange;
    auto made = childEnvironment(environ, injection,
                                 {fmt::format("{}={}", kStandbyVariable, keeper_->page().string()),
                                  fmt::format("{}={}", kJobVariable, job_.string()),
                                  fmt::format("{}={}", kStepVariable, step)},
                                 options_.sources);
    if (!made) return made;
    // A recording that this process is a part of is not the program's.
    for (const char* other : {prof::kRecordingVariable, kControlVariable, kCaptureVariable})
      removeVariable(*made, other);
    if (options_.pythonHook == PythonHook::Off) return made;
    if (auto status = addPythonHook(*made, injection); !status) {
      if (options_.pythonHook == PythonHook::On) return status.error();
      made->notes.push_back(status.error().message);
    }
    return made;
  }

  prof::Status start(const Program& program, const std::filesystem::path& injection) {
    auto environment = this->environment(injection);
    if (!environment) return environment.error();
    auto& notes = report_.run.notes;
    notes.insert(notes.end(), environment->notes.begin(), environment->notes.end());
    if (options_.onNote) std::for_each(notes.begin(), notes.end(), options_.onNote);
    adoptOrphans();
    startNs_ = nowNs();
    SpawnRequest request;
    request.program = program.path;
    request.arguments = options_.command;
    request.environment = std::move(environment->variables);
    request.signalMask = signals_.callersMask();
    request.ignoresChildren = signals_.wasIgnored(SIGCHLD);
    request.ignoresBus = signals_.wasIgnored(SIGBUS);
    auto pid = spawn(request);
    if (!pid) return pid.error();
    child_ = *pid;
    return {};
  }

  void supervise() {
    bool running = true, interrupted = false, over = false;
    while (!over) {
      pollfd wake{signals_.fd(), POLLIN, 0};
      poll(&wake, 1, keeper_->pauseMs());
      for (const int number : signals_.relay(running ? child_ : 0)) {
        const bool stop =
            number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT;
        interrupted |= stop && !running && !signals_.wasIgnored(number);
      }
      const Reaped reaped = reap(child_);
      if (const auto ended = reaped.ended.find(child_); ended != reaped.ended.end()) {
        running = false;
        report_.run.exitCode = ended->second.code;
        report_.run.exitSignal = ended->second.signal;
      }
      if (reaped.stopped && running) signals_.disregard(stopAlong(child_));
      keeper_->check();
      over = !running && (reaped.childless || !options_.waitForAll || interrupted);
    }
    report_.run.wallNs = nowNs() - startNs_;
  }

  const RunOptions& options_;
  std::filesystem::path job_;
  SignalRelay signals_;
  StandbyReport report_;
  std::unique_ptr<standby::Keeper> keeper_;
  pid_t child_ = 0;
  std::int64_t startNs_ = 0;
};

}  // namespace

prof::Result<StandbyReport> runOnStandby(const RunOptions& options) {
  return StandbyRun(options).run();
}

}  // namespace lacuna::collector
