// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "store/lcn_backend.h"
#include "store/table_sort.h"

/// The form in which an LcnBackend keeps a table: where its blocks are, and what of it has been
/// decoded.
namespace lacuna::analyzer {

using LcnBytes = std::vector<std::byte>;

/// Brings values of `width` bytes (1, 2, 4 or 8) into an order of rows; an empty order leaves them
/// as they are.
void permuteRows(LcnBytes& values, std::size_t width, const RowOrder& order);

/// Facts about a block that its times have shown.
struct LcnSeen {
  bool known = false;
  bool sorted = false;
  prof::TimeNs lastStart = 0;
};

/// Rows that follow one another, as one step of a scan gave them.
struct LcnPiece {
  std::uint64_t firstRow = 0;
  std::uint64_t rows = 0;
  std::vector<LcnBytes> values;
};

/// The piece around the row of a large table that was asked for last: who asks for one asks for the
/// next.
struct LcnBackend::Around {
  std::vector<std::size_t> columns;
  LcnPiece piece;
  bool damaged = false;

  [[nodiscard]] bool holds(std::uint64_t row, std::span<const std::size_t> wanted) const {
    return row >= piece.firstRow && row - piece.firstRow < piece.rows &&
           std::ranges::equal(columns, wanted);
  }
};

struct LcnBackend::Table {
  prof::TableSpec spec;
  std::optional<std::size_t> time, length;
  std::uint64_t rows = 0;
  std::vector<prof::BlockInfo> blocks;  ///< by first start; in file order for a table without time
  std::mutex mutex;
  std::vector<LcnSeen> seen;                          ///< guarded by mutex
  std::vector<std::unique_ptr<const LcnBytes>> kept;  ///< guarded by mutex, each set once
  std::vector<bool> damaged;  ///< guarded by mutex: what kept columns hold zeros for damage
  bool ordered = false;       ///< guarded by mutex
  bool orderDamaged = false;  ///< guarded by mutex
  RowOrder order;             ///< guarded by mutex, set once
  std::shared_ptr<const Around> around;  ///< guarded by mutex
};

}  // namespace lacuna::analyzer
