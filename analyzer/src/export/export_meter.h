// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "lacuna/analyzer/store.h"
#include "store/each_row.h"

namespace lacuna::analyzer {

/// An exporter's way through a trace: reports how far it is, by the rows and texts written, hears
/// when it is to stop, and keeps what went wrong.
class ExportMeter {
 public:
  ExportMeter(const Store& store, const Progress& progress)
      : store_(store), progress_(progress), total_(store.stringCount() + 1) {
    for (std::size_t i = 0; i < prof::allTables().size(); ++i) total_ += store.rows(i);
  }

  /// One row or text further; false when the export was cancelled.
  bool tick() {
    if (++done_ % 65536 == 0 && progress_) {
      cancelled_ |= !progress_(static_cast<double>(done_) / static_cast<double>(total_));
    }
    return !cancelled_;
  }
  /// Calls write(row) for each row of a table, unless the export was cancelled. A write that
  /// returns bool ends the pass with false.
  template <class Row, class Write>
  void eachRow(Write&& write) {
    auto read = analyzer::eachRow<Row>(store_, [&](const Row& row) {
      if (!tick()) return false;
      if constexpr (std::is_same_v<decltype(write(row)), bool>) {
        return write(row);
      } else {
        write(row);
        return true;
      }
    });
    if (!read) status_ = std::move(read);
  }
  /// The status that the export ends with as far as reading goes.
  [[nodiscard]] prof::Status status() const {
    if (cancelled_) return prof::Error{"the export was cancelled"};
    return status_;
  }

 private:
  const Store& store_;
  const Progress& progress_;
  std::uint64_t total_;
  std::uint64_t done_ = 0;
  bool cancelled_ = false;
  prof::Status status_;
};

}  // namespace lacuna::analyzer
