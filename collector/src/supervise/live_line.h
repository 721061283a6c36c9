// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "lacuna/prof/recording.h"

namespace lacuna::collector {

/// The one line that `lacuna run` keeps up to date on standard error while it records. Silent where
/// that is no terminal.
class LiveLine {
 public:
  explicit LiveLine(bool wanted);
  ~LiveLine() { clear(); }
  void show(std::int64_t elapsedNs, const prof::DrainStats& stats, const char* state);
  /// The same for a flight recorder.
  void show(std::int64_t elapsedNs, std::size_t dumps, const char* state);
  void clear();

 private:
  void put(std::string line);
  bool active_;
  bool shown_ = false;
};

}  // namespace lacuna::collector
