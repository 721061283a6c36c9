// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "record/drain/drain_core.h"
#include "record/drain/trace_state_access.h"

namespace fs = std::filesystem;

namespace lacuna::prof {

using recording::DrainCore;
using recording::DrainLock;
using recording::TraceStateAccess;

namespace {

constexpr auto kShortPause = std::chrono::milliseconds(2);
/// While no process fills more than a segment in that time. Each pass may take a core from the
/// program and cools its caches.
constexpr auto kLongPause = std::chrono::milliseconds(20);
/// While nobody records. A program that starts meanwhile has its pool of segments.
constexpr auto kIdlePause = std::chrono::milliseconds(50);

Status noteOutput(const fs::path& directory, const fs::path& output) {
  std::error_code error;
  return recording::replaceFile(recording::outputNotePath(directory),
                                fs::absolute(output, error).string());
}

}  // namespace

struct Drainer::Impl {
  Impl(DrainLock drainLock, DrainCore::Place place, Writer writer, const DrainOptions& options)
      : lock(std::move(drainLock)), core(std::move(place), std::move(writer), options) {}
  ~Impl() { stopThread(); }

  void stopThread() {
    {
      const std::lock_guard guard(mutex);
      stopping = true;
    }
    wake.notify_all();
    if (thread.joinable()) thread.join();
  }

  void work() {
    auto pause = kShortPause;
    std::unique_lock guard(mutex);
    while (!stopping) {
      // A failure for good shows in finish(), too; a state that could not be saved may be saved the
      // next time.
      const bool isSound = core.drain().ok();
      pause = isSound && core.isFilling()
                  ? kShortPause
                  : std::min(pause * 2, core.hasRecorders() ? kLongPause : kIdlePause);
      wake.wait_for(guard, pause, [&] { return stopping; });
    }
  }

  DrainLock lock;
  mutable std::mutex mutex;  ///< guards core and what follows
  std::condition_variable wake;
  DrainCore core;
  bool stopping = false;
  std::thread thread;
};

Drainer::Drainer(Drainer&&) noexcept = default;
Drainer& Drainer::operator=(Drainer&&) noexcept = default;
Drainer::~Drainer() = default;

Result<Drainer> Drainer::create(const fs::path& directory, const fs::path& output,
                                const DrainOptions& options) {
  const Result<recording::Settings> settings = recording::readSettings(directory);
  if (!settings.ok()) return settings.status().error();
  Result<DrainLock> lock = DrainLock::take(directory);
  if (!lock.ok()) return lock.error();
  // The caller may change its working directory.
  std::error_code error;
  const fs::path absolute = fs::absolute(directory, error);
  // The note first: it replaces nothing, and a trace that is there is cut with the next line.
  if (const Status noted = noteOutput(directory, output); !noted.ok()) return noted.error();
  Result<Writer> writer = Writer::create(output, options.writer);
  if (!writer.ok()) return writer.error();
  Drainer drainer;
  drainer.impl_ =
      std::make_unique<Impl>(std::move(*lock), DrainCore::Place{error ? directory : absolute, true},
                             std::move(*writer), options);
  return drainer;
}

Status Drainer::moveTo(const fs::path& output, Existing existing) {
  const std::lock_guard guard(impl_->mutex);
  if (const Status noted = noteOutput(impl_->core.directory(), output); !noted.ok()) return noted;
  return impl_->core.trace().writer().moveTo(output, existing);
}

Result<bool> Drainer::drain() {
  const std::lock_guard guard(impl_->mutex);
  return impl_->core.drain();
}

void Drainer::start() {
  if (!impl_->thread.joinable())
    impl_->thread = std::thread([impl = impl_.get()] { impl->work(); });
}

Status Drainer::flush() {
  const std::lock_guard guard(impl_->mutex);
  return impl_->core.flush();
}

Status Drainer::finish() {
  impl_->stopThread();
  const std::lock_guard guard(impl_->mutex);
  return impl_->core.finish();
}

DrainStats Drainer::stats() const {
  const std::lock_guard guard(impl_->mutex);
  return impl_->core.stats();
}

std::string Drainer::whyUnable() const {
  const std::lock_guard guard(impl_->mutex);
  return impl_->core.whyUnable();
}

void Drainer::setExitCode(std::uint32_t osPid, int code) {
  const std::lock_guard guard(impl_->mutex);
  impl_->core.trace().setExitCode(osPid, code);
}

void Drainer::with(const std::function<void(Access&)>& work) {
  const std::lock_guard guard(impl_->mutex);
  TraceStateAccess access(impl_->core.trace());
  work(access);
}

}  // namespace lacuna::prof
