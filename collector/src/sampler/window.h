// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "core/guest.h"
#include "lacuna/prof/ids.h"
#include "sampler/perf_record.h"

namespace lacuna::collector::sampler {

/// The times when the recording was switched on and off, as the control page shows. Open until
/// look() finds otherwise.
class Window {
 public:
  /// `control` outlives it.
  explicit Window(const Control& control) : control_(control) {}
  /// Appends a record for each time that it was opened or closed since the last update. Each
  /// carries that time, but records stay in order and none is later than now.
  void update(prof::TimeNs nowNs, std::vector<PerfRecord>& into);
  [[nodiscard]] bool isOpen() const { return open_; }
  /// Number of times that it was opened, as far as the updates have found.
  [[nodiscard]] std::uint64_t openings() const { return openings_; }

 private:
  void readNotes(prof::TimeNs nowNs, std::vector<PerfRecord>& into);
  void turn(bool open, prof::TimeNs timeNs, std::vector<PerfRecord>& into);

  const Control& control_;
  std::uint64_t seen_ = 0;  ///< notes
  prof::TimeNs turnedNs_ = 0;
  std::uint64_t openings_ = 0;
  bool open_ = true;
};

}  // namespace lacuna::collector::sampler
