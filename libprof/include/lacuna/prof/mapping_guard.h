// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>

#include <cstddef>
#include <utility>

namespace lacuna::prof {

/// Keeps this process alive when somebody shortens a file that it has mapped. Touching a page past
/// the new end is a SIGBUS. It would end the reading process, and lose the exit code that it was to
/// pass on. While a guard lives, such a page of its mapping becomes an empty private one, and
/// broken() answers true from then on. Reads there give zero, and writes there reach nobody.
///
/// The first guard of a process installs a handler of SIGBUS, which stays. Faults at other
/// addresses, and signals that somebody has sent, go to the handler that was there before. Without
/// one they end the process as usual. A handler that is installed later takes the guard away unless
/// it passes on what it does not know.
///
/// Safe for many threads; one guard belongs to one thread at a time.
class MappingGuard {
 public:
  MappingGuard() = default;
  /// For a mapping that outlives the guard.
  MappingGuard(void* base, std::size_t bytes);
  MappingGuard(MappingGuard&& other) noexcept : slot_(std::exchange(other.slot_, nullptr)) {}
  MappingGuard& operator=(MappingGuard&& other) noexcept {
    std::swap(slot_, other.slot_);
    return *this;
  }
  ~MappingGuard();
  [[nodiscard]] bool broken() const;

  /// A fault ends the process where its signal is blocked, even with a handler. While this lives,
  /// it is not blocked in this thread.
  class Scope {
   public:
    Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope();

   private:
    sigset_t before_;
  };

  struct Slot;

 private:
  Slot* slot_ = nullptr;
};

}  // namespace lacuna::prof
