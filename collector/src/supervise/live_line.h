// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "lacuna/prof/recording.h"

namespace lacuna::collector {

/// The one line that `lacuna run` keeps up to date on standard error while it records. It has the
/// terminal's last row to itself: the program's output scrolls above it. Silent where that is no
/// terminal, or a small one.
class LiveLine {
 public:
  explicit LiveLine(bool wanted);
  ~LiveLine() { clear(); }
  void show(std::int64_t elapsedNs, const prof::DrainStats& stats, const char* state);
  /// The same for a flight recorder.
  void show(std::int64_t elapsedNs, std::size_t dumps, const char* state);
  /// Gives the row back, until the next show().
  void clear();
  /// Gives it back for good: the program draws such lines itself.
  void hide();

 private:
  static constexpr unsigned kFewestRows = 4;
  void put(const std::string& line);
  std::string setApart(unsigned rows);
  [[nodiscard]] std::string withoutLine() const;
  bool active_;
  unsigned rows_ = 0;  ///< of the terminal while the last one is ours
};

}  // namespace lacuna::collector
