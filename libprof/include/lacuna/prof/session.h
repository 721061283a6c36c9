// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>

#include "lacuna/prof/recording.h"
#include "lacuna/prof/result.h"

namespace lacuna::prof {

/// Records this process, and the children it forks, into a trace file: for programs that profile
/// themselves without `lacuna run`. A background thread drains. One session at a time in a process;
/// sessions may follow one another. The calls here are for one thread at a time (those of
/// session_c.h for any); recording itself is for any. If the process dies, `lacuna recover
/// FILE.recording` makes the trace from what is left.
class Session {
 public:
  struct Options {
    RecordingOptions recording;
    DrainOptions drain;
  };
  /// Starts recording into `file`, which is replaced; its recording directory is `file` +
  /// ".recording" until stop(). Fails where either cannot be made, and where this process records
  /// already.
  static Result<Session> start(const std::filesystem::path& file, const Options& options);
  static Result<Session> start(const std::filesystem::path& file) { return start(file, Options()); }
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  /// Stops, and keeps silent about failure; call stop() to hear of it.
  ~Session();

  /// Every event whose call has returned is in the file afterwards.
  Status flush();
  /// Ends the recording and closes the file. In a forked child this does nothing.
  Status stop();
  [[nodiscard]] DrainStats stats() const;

 private:
  struct Impl;
  explicit Session(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace lacuna::prof
