// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/prof/session.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstring>

#include "lacuna/prof/prof.h"

namespace fs = std::filesystem;

namespace lacuna::prof {

struct Session::Impl {
  Drainer drainer;
  pid_t owner;
  bool running = true;
  DrainStats last;

  Status stop() {
    if (!running) return {};
    running = false;
    lacunaDetach();
    Status status = drainer.finish();
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

Result<Session> Session::start(const fs::path& file, const Options& options) {
  if (lacunaIsRecording() != 0)
    return Error{"a recording is on in this process already; stop it first"};
  const fs::path directory = file.string() + ".recording";
  const Status created = createRecording(directory, options.recording);
  if (!created.ok()) return created.error();
  if (const int code = lacunaAttach(directory.c_str()); code != 0) {
    static_cast<void>(removeRecording(directory).ok());
    return Error{fmt::format("{}: this process cannot record: {}", directory.string(),
                             std::strerror(-code))};
  }
  // Last of all, for a trace that is there is cut now.
  Result<Drainer> drainer = Drainer::create(directory, file, options.drain);
  if (!drainer.ok()) {
    lacunaDetach();
    static_cast<void>(removeRecording(directory).ok());
    return drainer.error();
  }
  (*drainer).start();
  return Session(std::unique_ptr<Impl>(new Impl{std::move(*drainer), getpid(), true, {}}));
}

Status Session::flush() {
  if (impl_ == nullptr || impl_->owner != getpid() || !impl_->running) return {};
  return impl_->drainer.flush();
}

Status Session::stop() {
  if (impl_ == nullptr || impl_->owner != getpid()) return {};
  return impl_->stop();
}

DrainStats Session::stats() const {
  if (impl_ == nullptr) return {};
  return impl_->running ? impl_->drainer.stats() : impl_->last;
}

}  // namespace lacuna::prof
