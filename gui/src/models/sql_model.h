// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QAbstractTableModel>
#include <QStringList>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/job.h"

namespace lacuna::gui {

/// Rows of a query's answer as the query made them, packed: their texts one after the other. Filled
/// on any thread, then handed over whole.
struct SqlChunk {
  static constexpr std::size_t kRows = 4096;

  enum class Kind : std::uint8_t { Null, Number, Text };
  int columns = 0;
  std::string text;
  std::vector<std::uint32_t> ends;  ///< of each cell within text
  std::vector<Kind> kinds;

  void add(std::string_view value, Kind kind) {
    text += value;
    ends.push_back(static_cast<std::uint32_t>(text.size()));
    kinds.push_back(kind);
  }
  [[nodiscard]] std::size_t rows() const {
    return columns == 0 ? 0 : ends.size() / static_cast<std::size_t>(columns);
  }
  [[nodiscard]] std::string_view cell(std::size_t i) const {
    const std::uint32_t from = i == 0 ? 0 : ends[i - 1];
    return std::string_view(text).substr(from, ends[i] - from);
  }
};

/// The rows of an answer that have come, and which of them in which order. A value; safe for many
/// threads.
struct SqlRows {
  struct Cell {
    std::string_view text;
    SqlChunk::Kind kind = SqlChunk::Kind::Null;
  };
  QStringList columns;
  std::vector<std::shared_ptr<const SqlChunk>> chunks;  ///< all but the last are full
  std::size_t all = 0;
  std::shared_ptr<const std::vector<std::uint32_t>> order;  ///< null: all, as they came

  [[nodiscard]] std::size_t count() const { return order ? order->size() : all; }
  [[nodiscard]] Cell cell(std::size_t row, int column) const {
    return given(order ? (*order)[row] : row, column);
  }
  /// The cell of the row that came as this one, whatever the order.
  [[nodiscard]] Cell given(std::size_t row, int column) const {
    const SqlChunk& chunk = *chunks[row / SqlChunk::kRows];
    const std::size_t at = row % SqlChunk::kRows * static_cast<std::size_t>(chunk.columns) +
                           static_cast<std::size_t>(column);
    return {chunk.cell(at), chunk.kinds[at]};
  }
};

/// A query's answer, growing while the query runs. Cells become QStrings only when they are shown.
/// Sorting (nothing first, then numbers, then texts in any case) and filtering run on the thread
/// pool. The new order arrives when it is ready, and anew as more rows come.
class SqlModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  using QAbstractTableModel::QAbstractTableModel;

  /// Empties the table. It is as given again; the filter stays.
  void begin(const QStringList& columns);
  /// All chunks but the last are full.
  void append(std::shared_ptr<const SqlChunk> chunk);
  /// Keeps rows with a cell that contains `text` in any case.
  void setFilter(const QString& text);
  /// True when it shows anything else than the whole answer as it came.
  [[nodiscard]] bool isArranged() const { return sortedBy_ >= 0 || !filter_.isEmpty(); }
  [[nodiscard]] const QString& filter() const { return filter_; }
  /// An order is still to come.
  [[nodiscard]] bool busy() const { return job_.busy(); }
  /// The rows that are shown; views know of the first kStretch rows and of more as they come to
  /// their end.
  [[nodiscard]] const SqlRows& rows() const { return rows_; }
  static constexpr std::size_t kStretch = 500'000;

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                    int role) const override;
  void sort(int column, Qt::SortOrder order) override;
  [[nodiscard]] bool canFetchMore(const QModelIndex& parent) const override;
  void fetchMore(const QModelIndex& parent) override;

 Q_SIGNALS:
  /// A sort or filter has arrived.
  void arranged();

 private:
  using Order = std::shared_ptr<const std::vector<std::uint32_t>>;
  void arrange();
  void show(Order order);

  SqlRows rows_;
  std::size_t known_ = 0;  ///< rows that views know of
  QString filter_;
  int sortedBy_ = -1;
  Qt::SortOrder direction_ = Qt::AscendingOrder;
  Job job_;
};

}  // namespace lacuna::gui
