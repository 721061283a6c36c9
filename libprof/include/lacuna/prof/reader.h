// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "lacuna/prof/budget.h"
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

/// A block of rows of one table, as the index knows it.
struct BlockInfo {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint32_t rows = 0;
  bool longRows = false;  ///< rows much longer than a block, kept apart from the others
  TimeWindow time;        ///< first start and last end of its rows
};

/// A table of the file, which need not be one that this program was compiled with.
struct TableInfo {
  TableSpec spec;  ///< as the file declares it
  std::uint64_t rows = 0;
  std::vector<BlockInfo> blocks;
};

/// A column of one block, as stored.
struct StoredColumn {
  std::string_view name;  ///< valid as long as the reader
  std::string encoding;   ///< in words: "delta", "dictionary", "delta, by name", …
  std::uint64_t rawBytes = 0;
  std::uint64_t storedBytes = 0;
};

/// A block of bytes that were derived from the rows (see Writer::appendDerived).
struct DerivedBlock {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;  ///< with its header
};
struct DerivedSection {
  std::uint64_t offset = 0;
  std::uint32_t bytes = 0;
  std::uint64_t checksum = 0;
};

struct ReaderOptions {
  /// When the checksums of all blocks are tested at once. A block that fails is left out and named
  /// in damage(). Where that has not been done, reading a damaged column is an error.
  enum class Verify : std::uint8_t {
    Auto,    ///< files without their end, and small files (up to 64 MiB): opening the others costs
             ///< only their index
    Always,  ///< reads the file once
    Never,
  };
  Verify verify = Verify::Auto;
  /// Opening fails where the file claims more.
  Budget budget = Budget::ofProcess();
};

/// Reads one .lcn file, whole, damaged or still growing. Opening reads the index and the strings;
/// where the end is missing, it walks the block headers instead. Columns are decoded on demand and
/// nothing else is touched. The file is read, not mapped, so that one that is truncated meanwhile
/// is an error rather than a crash. Safe for many threads once open, except refresh(). Copies share
/// what they read.
///
/// Rows come in file order: block after block as the writer wrote them. Within a table blocks are
/// mostly in time order, but blocks of long rows and late threads come later. A caller that needs
/// time order sorts by the block's times.
class Reader {
 public:
  /// Fails where there is no such file, or it is of another kind or of a newer major version. Fails
  /// also where it claims more than the budget allows, or cannot be read at all; damage is no
  /// failure.
  static Result<Reader> open(const std::filesystem::path& path, const ReaderOptions& options = {});

  template <class Row>
  [[nodiscard]] std::uint64_t rows() const {
    const TableInfo* info = table(Row::kTable);
    return info == nullptr ? 0 : info->rows;
  }
  /// All values of one column, in file order: `reader.column<&Range::durNs>()`; with a window only
  /// the blocks that touch it. A column that the file does not have reads as zeros.
  template <auto Member>
  [[nodiscard]] Result<std::vector<ValueOf<Member>>> column(TimeWindow window = {}) const {
    std::vector<ValueOf<Member>> all;
    all.reserve(rowsIn(RowOf<Member>::kTable, window));
    Status status = scan<Member>(window, [&](std::span<const ValueOf<Member>> values) {
      all.insert(all.end(), values.begin(), values.end());
    });
    if (!status.ok()) return status.error();
    return all;
  }
  /// Calls visit(std::span<const ValueOf<Members>>…) block by block, decoding only these columns;
  /// bounded memory. With a window only the blocks that touch it, whole.
  template <auto First, auto... Rest, class Visit>
  Status scan(TimeWindow window, Visit&& visit) const {
    static_assert((std::is_same_v<RowOf<First>, RowOf<Rest>> && ...),
                  "the columns of a scan belong to one table");
    const ColumnSpec* columns = tableSpec<RowOf<First>>().columns;
    const std::array wanted{columns[columnIndex<First>()], columns[columnIndex<Rest>()]...};
    return scanColumns(RowOf<First>::kTable, window, wanted,
                       [&](std::size_t rows, const void* const* data) {
                         visitColumns<First, Rest...>(
                             rows, data, visit, std::make_index_sequence<1 + sizeof...(Rest)>());
                       });
  }
  /// All columns of a table.
  template <class Row>
  [[nodiscard]] Result<typename Row::Columns> table(TimeWindow window = {}) const {
    typename Row::Columns all;
    all.reserve(rowsIn(Row::kTable, window));
    constexpr auto kWanted = Row::columns();
    Status status =
        scanColumns(Row::kTable, window, kWanted, [&](std::size_t rows, const void* const* data) {
          all.forEach([&]<class T>(std::vector<T>& values) {
            const T* block = static_cast<const T*>(*data++);
            values.insert(values.end(), block, block + rows);
          });
        });
    if (!status.ok()) return status.error();
    return all;
  }

  /// Every table that has rows, also ones that this program does not know. Valid until refresh().
  [[nodiscard]] std::span<const TableInfo> tables() const;
  /// One of them by its id; null when the file has no rows of it.
  [[nodiscard]] const TableInfo* table(std::uint16_t id) const;
  /// The run-time face of scan(): visit(rows, one array for each wanted column). Columns are found
  /// by name and converted to the wanted type; one that a block does not have reads as zeros.
  using VisitBlock = std::function<void(std::size_t rows, const void* const* columns)>;
  Status scanColumns(std::uint16_t table, TimeWindow window, std::span<const ColumnSpec> wanted,
                     const VisitBlock& visit) const;
  /// One block of it, for a caller that keeps the order of blocks itself; thread-safe. `out[i]` has
  /// room for block.rows values of wanted[i].
  Status readBlock(const BlockInfo& block, std::span<const ColumnSpec> wanted,
                   std::span<void* const> out) const;
  /// The storage of one block's columns; the order is the block's.
  [[nodiscard]] Result<std::vector<StoredColumn>> storedColumns(const BlockInfo& block) const;
  /// Rows in the blocks that touch the window.
  [[nodiscard]] std::uint64_t rowsIn(std::uint16_t table, TimeWindow window) const;

  /// Derived blocks in file order, of whatever product.
  [[nodiscard]] std::span<const DerivedBlock> derivedBlocks() const;
  /// The sections of one, when it is of this product; an error when it is of another, or damaged.
  [[nodiscard]] Result<std::vector<DerivedSection>> derivedSections(const DerivedBlock& block,
                                                                    std::string_view product) const;
  /// Fills `out`, of the section's size; an error when the bytes do not match their checksum.
  /// Thread-safe.
  Status readSection(const DerivedSection& section, std::span<std::byte> out) const;
  /// A number that changes with the rows and strings of the file: their blocks' places, sizes, rows
  /// and times. Data derived under another number is stale.
  [[nodiscard]] std::uint64_t contentKey() const;

  /// The text of an id; empty for an id that the file does not have. Valid as long as the reader.
  [[nodiscard]] std::string_view text(StringId id) const;
  /// Ids are below this number.
  [[nodiscard]] std::uint32_t stringCount() const;
  /// First start and last end (exclusive) over all tables of events; empty (start = end = 0) when
  /// there is none.
  [[nodiscard]] TimeWindow span() const;
  /// The parts of the file that could not be used, as far as it was checked (see Verify). Valid
  /// until refresh().
  [[nodiscard]] std::span<const Damage> damage() const;
  /// True when the writer finished the file and its index is whole.
  [[nodiscard]] bool complete() const;
  /// Sees what a writer has added since, at a cost proportional to that; true when there was
  /// something new. Copies keep what there was. Earlier answers of tables() and damage() are no
  /// longer valid; texts are.
  Result<bool> refresh();

  [[nodiscard]] const std::filesystem::path& path() const;
  [[nodiscard]] std::uint64_t fileBytes() const;
  /// "1.0": the format version of whoever wrote it.
  [[nodiscard]] std::string formatVersion() const;
  /// Bytes read from the file so far, by all copies of this reader.
  [[nodiscard]] std::uint64_t bytesRead() const;

 private:
  template <auto... Members, class Visit, std::size_t... At>
  static void visitColumns(std::size_t rows, const void* const* data, Visit& visit,
                           std::index_sequence<At...>) {
    visit(
        std::span<const ValueOf<Members>>(static_cast<const ValueOf<Members>*>(data[At]), rows)...);
  }
  struct Impl;
  explicit Reader(std::shared_ptr<Impl> impl);

  std::shared_ptr<Impl> impl_;
};

}  // namespace lacuna::prof
