// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "analyses/work/graph_replays.h"
#include "lacuna/analyzer/links.h"

namespace lacuna::analyzer {

/// The recorded device work and waits of one process, and what they prove about work that is
/// missing.
class RecordedWork {
 public:
  /// Reads the process's rows, and the store's links.
  static prof::Result<RecordedWork> read(const Store& store, prof::ProcessId process);

  /// The stretch in which missing work of a replay may have run. It begins at the launch, or where
  /// the queue was done with what was launched before. It ends at the queue's next work, or where
  /// somebody had waited for all of it; at the end of the trace where neither was recorded.
  [[nodiscard]] prof::TimeWindow stretchOf(const GraphReplay& replay) const;
  [[nodiscard]] bool isOpen(prof::TimeWindow stretch) const { return stretch.endNs == span_.endNs; }
  [[nodiscard]] prof::TimeWindow span() const { return span_; }

  /// How long the replay's device was idle in the stretch.
  [[nodiscard]] std::int64_t idleNs(prof::QueueId queue, prof::TimeWindow stretch) const;
  /// True where work whose launch is not known began in the stretch, or ends it: it may be
  /// anybody's.
  [[nodiscard]] bool hasUnlinkedIn(prof::TimeWindow stretch) const;
  /// True where nothing of the process began before the replay's first work.
  [[nodiscard]] bool beginsWith(const GraphReplay& replay) const;
  /// The queue with the most work; none where there is no work.
  [[nodiscard]] prof::QueueId busiest() const;
  [[nodiscard]] bool empty() const { return pieces_.empty(); }

 private:
  struct Piece {
    prof::TimeNs startNs = 0;
    prof::TimeNs endNs = 0;
    prof::TimeNs launchNs = 0;
    std::uint64_t correlation = 0;
    prof::QueueId queue;
    prof::DeviceId device;
    bool hasLaunch = false;
  };
  /// A wait of the host for all that was handed over before, to one queue or to any.
  struct Wait {
    prof::TimeNs startNs = 0;
    prof::TimeNs endNs = 0;
    prof::QueueId queue;  ///< none: any
  };
  class Reader;

  [[nodiscard]] std::vector<Piece>::const_iterator firstFrom(prof::TimeNs at) const;
  [[nodiscard]] static bool isLater(const Piece& piece, const GraphReplay& replay);
  [[nodiscard]] prof::TimeNs nextStart(const GraphReplay& replay) const;
  [[nodiscard]] prof::TimeNs waitedUntil(const GraphReplay& replay) const;
  [[nodiscard]] prof::TimeNs doneBefore(const GraphReplay& replay, prof::TimeNs untilNs) const;

  std::vector<Piece> pieces_;  ///< by start
  std::vector<Wait> waits_;    ///< by start
  prof::TimeWindow span_{0, 0};
};

}  // namespace lacuna::analyzer
