// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>

#include "lacuna/collector/options.h"
#include "lacuna/prof/recording.h"
#include "lacuna/prof/result.h"

namespace lacuna::collector {

/// Records this process, and the programs it starts, without `lacuna run` and without a variable in
/// its environment: NVTX of all its libraries, the CUDA timeline, and what it records through
/// lacuna/prof/prof.h. A background thread writes the trace. CPU samples, thread states and
/// counters of processes need somebody outside and are `lacuna run`'s.
///
/// NVTX looks for a listener with a library's first annotation, and the CUDA driver when it
/// initialises. Start the first session before either, best at the beginning of main(). Later
/// sessions may start and stop at any time. A listener that the user named in NVTX_INJECTION64_PATH
/// or CUDA_INJECTION64_PATH stays, and notes() reports it. One session at a time in a process, from
/// one thread at a time. If the process dies, `lacuna recover FILE.recording` makes the trace.
class Session {
 public:
  struct Options {
    /// `samples` and `counters` record nothing, and notes() reports it.
    Sources sources{.counters = false};
    std::uint64_t memoryLimit = std::uint64_t{512} << 20;  ///< for events in flight
    /// liblacuna_inject.so; empty: beside this program or beside Lacuna's libraries.
    std::filesystem::path injection;
  };
  static prof::Result<Session> start(const std::filesystem::path& file, const Options& options);
  static prof::Result<Session> start(const std::filesystem::path& file) {
    return start(file, Options());
  }
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  /// Stops, and keeps silent about failure; call stop() to hear of it.
  ~Session();

  /// Every event whose call has returned is in the file afterwards.
  prof::Status flush();
  /// Ends the recording and closes the file. In a forked child this does nothing.
  prof::Status stop();
  [[nodiscard]] prof::DrainStats stats() const;
  /// The things that cannot be recorded, in words for the user.
  [[nodiscard]] const std::vector<std::string>& notes() const;

 private:
  struct Impl;
  explicit Session(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace lacuna::collector
