// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {

/// Tells how far an export is, by the rows and texts written, and hears when it is to stop.
class ExportMeter {
 public:
  ExportMeter(const Store& store, const Progress& progress) : progress_(progress), total_(store.stringCount() + 1) {
    for (std::size_t i = 0; i < prof::allTables().size(); ++i) total_ += store.rows(i);
  }

  /// One row or text further; false when the export was cancelled.
  bool tick() {
    if (++done_ % 65536 == 0 && progress_) {
      cancelled_ |= !progress_(static_cast<double>(done_) / static_cast<double>(total_));
    }
    return !cancelled_;
  }
  [[nodiscard]] bool cancelled() const { return cancelled_; }

 private:
  const Progress& progress_;
  std::uint64_t total_;
  std::uint64_t done_ = 0;
  bool cancelled_ = false;
};

}  // namespace lacuna::analyzer
