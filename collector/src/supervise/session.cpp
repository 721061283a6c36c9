// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/collector/session.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <utility>

#include "lacuna/collector/session_c.h"
#include "lacuna/prof/prof.h"
#include "supervise/environment.h"

extern char** environ;

namespace lacuna::collector {
namespace {

namespace fs = std::filesystem;

/// The recorder inside liblacuna_inject.so, which NVTX and the driver load under the same path.
struct Injected {
  int (*start)(const char* directory, int cuda) = nullptr;
  void (*stop)() = nullptr;
};

prof::Result<Injected> load(const fs::path& library) {
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr)
    return prof::Error{fmt::format("cannot load {}: {}", library.string(), dlerror())};
  Injected injected;
  injected.start = reinterpret_cast<decltype(injected.start)>(dlsym(handle, "lacunaInjectStart"));
  injected.stop = reinterpret_cast<decltype(injected.stop)>(dlsym(handle, "lacunaInjectStop"));
  if (injected.start == nullptr || injected.stop == nullptr) {
    return prof::Error{
        fmt::format("{} is of another version of Lacuna. Remedy: install lacuna as a whole.",
                    library.string())};
  }
  return injected;
}

/// Gives this process the environment that childEnvironment() would give a child: its libraries
/// find the listener.
prof::Status adoptEnvironment(const fs::path& injection, const fs::path& directory,
                              const Sources& sources, std::vector<std::string>& notes) {
  const auto session = {fmt::format("{}={}", prof::kRecordingVariable, directory.string())};
  auto environment = childEnvironment(environ, injection, session, sources);
  if (!environment) return environment.error();
  for (const std::string& variable : environment->variables) {
    const auto equals = variable.find('=');
    if (equals == std::string::npos) continue;
    const std::string name = variable.substr(0, equals);
    const char* value = variable.c_str() + equals + 1;
    const char* now = std::getenv(name.c_str());
    if (now == nullptr || std::strcmp(now, value) != 0) setenv(name.c_str(), value, 1);
  }
  notes.insert(notes.end(), environment->notes.begin(), environment->notes.end());
  return {};
}

/// Notes on what only somebody outside the process can see.
std::vector<std::string> outOfReach(const Sources& sources) {
  constexpr std::string_view kRemedy = "Remedy: record it with lacuna run --trace";
  std::vector<std::string> notes;
  if (sources.samples) {
    notes.push_back(fmt::format(
        "a program that records itself has no CPU samples and no thread states. {} samples",
        kRemedy));
  }
  if (sources.counters) {
    notes.push_back(
        fmt::format("a program that records itself has no counters of processes, threads and the "
                    "GPU's power. {} counters",
                    kRemedy));
  }
  return notes;
}

}  // namespace

struct Session::Impl {
  prof::Drainer drainer;
  Injected injected;
  pid_t owner = getpid();
  bool running = true;
  prof::DrainStats last;
  std::vector<std::string> notes;

  prof::Status stop() {
    if (!running) return {};
    running = false;
    injected.stop();
    lacunaDetach();
    unsetenv(prof::kRecordingVariable);
    const auto status = drainer.finish();
    last = drainer.stats();
    return status;
  }
};

Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Session::Session(Session&&) noexcept = default;

Session& Session::operator=(Session&& other) noexcept {
  std::swap(impl_, other.impl_);
  return *this;
}

Session::~Session() {
  if (impl_ == nullptr) return;
  if (impl_->owner != getpid()) {
    // The drainer's thread is not in this process; what belongs to the parent is left alone.
    static_cast<void>(impl_.release());
    return;
  }
  static_cast<void>(impl_->stop().ok());
}

prof::Result<Session> Session::start(const fs::path& file, const Options& options) {
  if (std::getenv(prof::kRecordingVariable) != nullptr || lacunaIsRecording() != 0) {
    return prof::Error{"this process is being recorded already; end that recording first"};
  }
  auto injection =
      options.injection.empty() ? findInjection() : prof::Result<fs::path>(options.injection);
  if (!injection) return injection.error();
  if (auto status = checkInjection(*injection); !status) return status.error();
  std::error_code error;
  const fs::path library = fs::absolute(*injection, error);
  const fs::path folder = fs::absolute(file, error).parent_path();
  if (!fs::is_directory(folder, error)) {
    return prof::Error{fmt::format(
        "cannot write {}: there is no folder {}. Remedy: create it, or choose another file.",
        file.string(), folder.string())};
  }
  const auto injected = load(library);
  if (!injected) return injected.error();

  const fs::path directory = fs::absolute(file.string() + ".recording", error);
  prof::RecordingOptions recording;
  recording.maxPoolBytes = options.memoryLimit;
  recording.poolBytes = std::min(recording.poolBytes, recording.maxPoolBytes);
  if (auto status = prof::createRecording(directory, recording); !status) return status.error();
  std::vector<std::string> notes = outOfReach(options.sources);
  auto status = adoptEnvironment(library, directory, options.sources, notes);
  // Both recorders of this process join: the one of the annotations, and the one of
  // lacuna/prof/prof.h.
  const int code = status ? injected->start(directory.c_str(), options.sources.cuda ? 1 : 0) : 0;
  if (status && code != 0) {
    status = prof::Error{fmt::format("{}: this process cannot record: {}", directory.string(),
                                     std::strerror(-code))};
  }
  const auto abandon = [&] {
    unsetenv(prof::kRecordingVariable);
    static_cast<void>(prof::removeRecording(directory).ok());
  };
  if (!status) {
    abandon();
    return status.error();
  }
  lacunaAttach(directory.c_str());
  // Last of all, for a trace that is there is cut now.
  auto drainer = prof::Drainer::create(directory, file);
  if (!drainer) {
    injected->stop();
    lacunaDetach();
    abandon();
    return drainer.error();
  }
  drainer->start();
  return Session(std::unique_ptr<Impl>(
      new Impl{std::move(*drainer), *injected, getpid(), true, {}, std::move(notes)}));
}

prof::Status Session::flush() {
  if (impl_ == nullptr || impl_->owner != getpid() || !impl_->running) return {};
  return impl_->drainer.flush();
}

prof::Status Session::stop() {
  if (impl_ == nullptr || impl_->owner != getpid()) return {};
  return impl_->stop();
}

prof::DrainStats Session::stats() const {
  if (impl_ == nullptr) return {};
  return impl_->running ? impl_->drainer.stats() : impl_->last;
}

const std::vector<std::string>& Session::notes() const {
  return impl_->notes;
}

}  // namespace lacuna::collector

namespace {

std::unique_ptr<lacuna::collector::Session> current;
std::string lastError;
std::string currentNotes;

int failed(const std::string& why) {
  lastError = why;
  return -1;
}

}  // namespace

extern "C" int lacunaCollectorStart(const char* file, const char* sources) {
  using namespace lacuna::collector;
  if (file == nullptr) return failed("no file was named");
  if (current != nullptr) return failed("a session runs already; stop it first");
  Session::Options options;
  if (sources != nullptr) {
    const auto parsed = parseSources(sources);
    if (!parsed) return failed(parsed.error().message);
    options.sources = *parsed;
  }
  auto session = Session::start(file, options);
  if (!session) return failed(session.error().message);
  current = std::make_unique<Session>(std::move(*session));
  currentNotes = fmt::format("{}", fmt::join(current->notes(), "\n"));
  return 0;
}

extern "C" int lacunaCollectorStop(void) {
  if (current == nullptr) return 0;
  const auto status = current->stop();
  current.reset();
  currentNotes.clear();
  return status ? 0 : failed(status.error().message);
}

extern "C" const char* lacunaCollectorNotes(void) {
  return currentNotes.c_str();
}

extern "C" const char* lacunaCollectorError(void) {
  return lastError.c_str();
}
