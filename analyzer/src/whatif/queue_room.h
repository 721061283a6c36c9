// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lacuna/analyzer/timeline.h"

namespace lacuna::analyzer {

/// When queues were so full that a launch call had to wait for room. A host that is so far ahead of
/// its device waits in its calls, and that is no work of its own.
class QueueRoom {
 public:
  struct Launch {
    std::size_t queue = 0;
    prof::TimeNs returnedNs = 0;  ///< when the launching thread could go on
    prof::TimeNs endNs = 0;       ///< of the work
  };
  /// `earlierEnds`: by queue, of work that was launched before all of these.
  QueueRoom(std::vector<std::vector<prof::TimeNs>> earlierEnds, std::span<const Launch> launches);

  /// True when the queue held nearly as much as it ever did when the call returned, if that is
  /// much.
  [[nodiscard]] bool wasFull(std::size_t launch) const { return full_[launch] != 0; }
  /// The rest of a call after the last end of work on its queue, which made room for it.
  [[nodiscard]] std::int64_t behindWait(std::size_t launch, prof::TimeNs startNs,
                                        prof::TimeNs endNs) const;

 private:
  std::vector<std::vector<prof::TimeNs>> ends_;  ///< by queue, in order
  std::vector<std::size_t> queues_;              ///< by launch
  std::vector<char> full_;                       ///< by launch
};

}  // namespace lacuna::analyzer
