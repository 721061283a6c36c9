// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>

#include "core/guest.h"

namespace lacuna::collector {

/// Closes the capture ranges of processes that have ended: they will not do it themselves.
class CaptureWatch {
 public:
  explicit CaptureWatch(Control& control) : control_(control) {}
  /// A process has ended that this one looked after.
  void ended(pid_t pid);
  /// Looks for others that have. To be called now and then.
  void check();

 private:
  bool hasEnded(std::uint64_t owner);
  void drop(CaptureSlot& slot);

  Control& control_;
  std::map<std::uint64_t, std::uint32_t>
      numbers_;  ///< of owners in other PID namespaces, here; 0: cannot be seen
};

}  // namespace lacuna::collector
