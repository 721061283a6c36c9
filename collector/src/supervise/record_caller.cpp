// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/collector/record_caller.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <memory>
#include <string_view>
#include <utility>

#include "supervise/control_file.h"
#include "supervise/environment.h"
#include "supervise/self_cost.h"

extern char** environ;

namespace lacuna::collector {
namespace {

namespace fs = std::filesystem;

/// Polling interval for the caller's end and for wishes that arrive through the control page.
constexpr int kCallerPollMs = 50;

bool writeAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

bool isInherited(const std::string& variable) {
  for (char** own = environ; *own != nullptr; ++own) {
    if (variable == *own) return true;
  }
  return false;
}

/// The caller's side of the agreement in record_caller.h.
std::string greeting(const ChildEnvironment& environment, const fs::path& recording) {
  std::string text;
  for (const std::string& variable : environment.variables) {
    if (!isInherited(variable)) text += fmt::format("set {}{}", variable, '\0');
  }
  for (const std::string& note : environment.notes) text += fmt::format("note {}{}", note, '\0');
  return text + fmt::format("ready {}{}", recording.string(), '\0');
}

prof::Result<ChildEnvironment> environmentOf(const RunOptions& options, const fs::path& injection,
                                             const std::vector<std::string>& session) {
  auto environment = childEnvironment(environ, injection, session, options.sources);
  if (!environment) return environment;
  if (environment->nvtxTaken) {
    return prof::Error{
        fmt::format("this program cannot record itself: {}", environment->notes.front())};
  }
  if (options.pythonHook == PythonHook::Off) return environment;
  if (auto status = addPythonHook(*environment, injection); !status) return status.error();
  return environment;
}

/// The recording, from its empty folder to the finished trace. Removes it unless it was finished.
class CallersRecording {
 public:
  explicit CallersRecording(const RunOptions& options) : options_(options) {}
  CallersRecording(const CallersRecording&) = delete;
  CallersRecording& operator=(const CallersRecording&) = delete;
  ~CallersRecording() {
    drainer_.reset();
    control_.reset();
    if (made_) (void)prof::removeRecording(recording_);
  }

  prof::Status begin(int output) {
    auto injection = findInjection();
    if (!injection) return injection.error();
    if (auto status = make(); !status) return status;
    const auto environment =
        environmentOf(options_, *injection,
                      {fmt::format("{}={}", prof::kRecordingVariable, recording_.string()),
                       fmt::format("{}={}", kControlVariable, control_->path().string())});
    if (!environment) return environment.error();
    if (const auto cost = measureSelfCost(*injection); cost) {
      drainer_->with([&](prof::Drainer::Access& trace) { appendSelfCost(*cost, trace.writer()); });
    }
    if (auto status = drainer_->moveTo(
            trace_, options_.replace ? prof::Existing::Replace : prof::Existing::Keep);
        !status) {
      return status;
    }
    drainer_->start();
    if (writeAll(output, greeting(*environment, recording_))) return {};
    return prof::Error{"the program that asked to be recorded is gone"};
  }

  void supervise(int input, pid_t caller) {
    for (bool over = false; !over;) {
      pollfd wake{input, POLLIN, 0};
      over = poll(&wake, 1, kCallerPollMs) > 0 || getppid() != caller;
      answerDump();
    }
  }

  prof::Result<prof::DrainStats> finish() {
    made_ = false;  // a trace that could not be written leaves what `lacuna recover` needs
    const auto status = drainer_->finish();
    if (status) return drainer_->stats();
    return prof::Error{fmt::format("{}. The recorded data is kept. Remedy: lacuna recover {}",
                                   status.error().message, recording_.string())};
  }

 private:
  prof::Status make() {
    std::error_code error;
    trace_ = fs::absolute(options_.output, error);
    recording_ = trace_.string() + ".recording";
    prof::RecordingOptions how;
    how.maxPoolBytes = options_.memoryLimit;
    how.poolBytes = std::min<std::uint64_t>(how.poolBytes, how.maxPoolBytes);
    if (auto status = prof::createRecording(recording_, how); !status) return status;
    made_ = true;
    auto control = ControlFile::create(recording_ / "control");
    if (!control) return control.error();
    control_ = std::make_unique<ControlFile>(std::move(*control));
    auto drainer = prof::Drainer::create(recording_, recording_ / prof::kUnnamedTrace);
    if (!drainer) return drainer.error();
    drainer_ = std::make_unique<prof::Drainer>(std::move(*drainer));
    return {};
  }

  /// The events so far go into the trace itself.
  void answerDump() {
    Control& control = *control_->operator->();
    const std::uint32_t wish = control.dumpsWanted.load();
    if (wish == control.dumpsDone.load()) return;
    control.dumpFailed.store(drainer_->flush().ok() ? 0 : 1);
    control.dumpsDone.store(wish);
  }

  const RunOptions& options_;
  fs::path trace_, recording_;
  std::unique_ptr<ControlFile> control_;
  std::unique_ptr<prof::Drainer> drainer_;
  bool made_ = false;
};

}  // namespace

prof::Result<prof::DrainStats> recordCaller(const RunOptions& options, int input, int output) {
  // Ctrl-C is the caller's: it ends the recording when it has dealt with it.
  for (const int signal : {SIGINT, SIGQUIT, SIGHUP, SIGPIPE}) std::signal(signal, SIG_IGN);
  const pid_t caller = getppid();
  CallersRecording recording(options);
  if (auto status = recording.begin(output); !status) return status.error();
  recording.supervise(input, caller);
  return recording.finish();
}

}  // namespace lacuna::collector
