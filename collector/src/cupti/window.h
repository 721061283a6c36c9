// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "core/guest.h"
#include "lacuna/prof/ids.h"

namespace lacuna::collector::cupti {

/// The times when the recording was on. CUPTI hands records over long after their events, so each
/// is judged by its own time. For one thread.
class Window {
 public:
  /// Follows the control page from now on; null: always on.
  explicit Window(const Control* control);
  /// Takes in what was switched since the last call. Where that was more than the page has room
  /// for, what is not known counts as on.
  void follow();
  [[nodiscard]] bool on(prof::TimeNs at) const;

 private:
  struct Edge {
    prof::TimeNs timeNs;
    bool on;
  };
  void followNotes();
  void add(Edge edge);
  [[nodiscard]] bool latest() const { return edges_.empty() ? atFirst_ : edges_.back().on; }

  const Control* control_;
  std::uint64_t seen_ = 0;
  bool atFirst_ = true;      ///< before the first edge
  std::vector<Edge> edges_;  ///< by time
};

}  // namespace lacuna::collector::cupti
