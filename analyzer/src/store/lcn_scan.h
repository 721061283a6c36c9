// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "store/lcn_table.h"

namespace lacuna::analyzer {

/// One pass over a table. Rows of a block go out once no later block can hold earlier ones; the
/// rest waits in `pending_`. Pending rows are put in order only when as many more have come as the
/// last time left. So a pass over blocks that all overlap costs no more than one sort of their
/// rows, up to a factor. Blocks outside of the window are counted, so that row numbers are those of
/// `column`. Their times are read only where rows that go out lie among them. Otherwise each window
/// of a long trace would sort all that is before it.
class LcnBackend::Scan {
 public:
  Scan(const LcnBackend& store, Table& table, std::span<const std::size_t> columns,
       prof::TimeWindow window, const std::function<bool(const RowBlock&)>& visit)
      : store_(store),
        table_(table),
        wanted_(columns.begin(), columns.end()),
        window_(window),
        visit_(visit) {}

  /// Blocks that cannot hold these rows are passed over; rows around them may come all the same.
  void restrictTo(std::uint64_t firstRow, std::uint64_t lastRow);
  void run();
  /// Reads one block more; false once there are none.
  bool advance();

 private:
  /// Rows with their order's columns first (start, length), then the wanted ones.
  struct Rows {
    std::size_t count = 0;
    std::vector<prof::TimeNs> starts, lengths;
    std::vector<std::uint64_t> hidden;  ///< 0: a row to give; else how many rows this only counts
    std::vector<std::size_t>
        blocks;  ///< of rows that start and end together the one of the first block comes first
    std::vector<LcnBytes> values;
  };

  LcnSeen seen(std::size_t i) const;
  /// Loads times and lengths, and learns from them.
  void loadTimes(std::size_t i, Rows& rows);
  static bool before(const Rows& rows, std::size_t a, std::size_t b);
  void loadValues(std::size_t i, Rows& rows);
  void step(std::size_t i, prof::TimeNs horizon);
  /// A block whose rows follow one another in the table's order.
  void giveBlock(std::size_t i, std::uint64_t rows);
  /// Counts the rows before `horizon` in the blocks outside of the window. A block is counted at
  /// once where no row goes out before it, and at its place where it lies between two such rows. It
  /// is counted row by row where such rows lie within it.
  void settle(prof::TimeNs horizon);
  /// Rows whose times are in block_ and whose values nobody sees.
  void appendHidden(std::size_t i, std::vector<std::uint64_t> hidden);
  void append(std::size_t i);
  /// Hands out the pending rows that start before `horizon`, in order.
  void flush(prof::TimeNs horizon);
  /// The order of blocks, in which rows are pending unless some of a block were counted late.
  [[nodiscard]] RowOrder blockOrder() const;
  void arrange(const RowOrder& order);
  void drop(std::size_t count);
  void give(const Rows& rows, std::size_t count, std::size_t from = 0);

  const LcnBackend& store_;
  Table& table_;
  std::vector<std::size_t> wanted_;
  prof::TimeWindow window_;
  const std::function<bool(const RowBlock&)>& visit_;
  Rows block_, pending_;
  std::size_t left_ = 0;                  ///< rows that were still pending after the last flush
  prof::TimeNs pendingLast_ = INT64_MIN;  ///< no pending row starts after it
  std::vector<std::size_t>
      counted_;         ///< blocks outside of the window that are not in firstRow_ yet
  bool late_ = false;   ///< pending rows of a counted block stand after those of later ones
  std::size_t at_ = 0;  ///< the next block
  std::uint64_t firstRow_ = 0;
  std::uint64_t firstWanted_ = 0;
  std::uint64_t lastWanted_ = UINT64_MAX;
  bool stopped_ = false;
};

}  // namespace lacuna::analyzer
