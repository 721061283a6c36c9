// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lacuna/prof/events.h"
#include "lacuna/prof/result.h"

namespace lacuna::prof {

/// Half-open: startNs <= t < endNs. An event belongs to a window when any part of it lies inside.
struct TimeWindow {
  TimeNs startNs = INT64_MIN;
  TimeNs endNs = INT64_MAX;
};

/// A stretch of the file that could not be used, in words for people.
struct Damage {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::string what;
};

/// Reads one .lcn file, whole, damaged or still growing. Opening maps the file and reads the index (or, where the end is
/// missing, walks the block headers); columns are decoded on demand and nothing else is touched. Safe for many threads
/// once open, except refresh().
class Reader {
 public:
  static Result<Reader> open(const std::filesystem::path& path);

  template <class Row>
  [[nodiscard]] std::uint64_t rows() const;
  /// All values of one column, in file order: `reader.column<&Range::durNs>()`; with a window only the blocks that touch it.
  template <auto Member>
  [[nodiscard]] Result<std::vector<ValueOf<Member>>> column(TimeWindow window = {}) const;
  /// Calls visit(std::span<const ValueOf<Members>>…) block by block, decoding only these columns; bounded memory.
  template <auto... Members, class Visit>
  Status scan(TimeWindow window, Visit&& visit) const;
  /// All columns of a table.
  template <class Row>
  [[nodiscard]] Result<typename Row::Columns> table(TimeWindow window = {}) const;

  /// The text of an id; empty for an id that the file does not have. Valid as long as the reader.
  [[nodiscard]] std::string_view text(StringId id) const;
  [[nodiscard]] std::uint32_t stringCount() const;
  /// First start and last end over all tables with a time column.
  [[nodiscard]] TimeWindow span() const;
  [[nodiscard]] std::span<const Damage> damage() const;
  /// True when the writer finished the file.
  [[nodiscard]] bool complete() const;
  /// Sees what a writer has added since; true when there was something new.
  Result<bool> refresh();

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace lacuna::prof
