// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QAbstractTableModel>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/job.h"

namespace lacuna::gui {

/// One column of a table: texts, or numbers with how to show them.
struct TableColumn {
  enum class Kind { Text, Duration, Bytes, Count, Percent };
  QString title;
  Kind kind = Kind::Text;
  std::vector<QString>
      texts{};  ///< with numbers: what stands instead of one, where it is not empty
  std::vector<double>
      numbers{};  ///< no number is what is not known; with texts: what they sort by, if any
  std::vector<QString>
      notes{};         ///< per row, where there are any: shown when the mouse rests on the cell
  bool right = false;  ///< a text to be aligned as numbers are
  bool bar = false;    ///< these numbers are also drawn, as bars behind the first column
  std::vector<std::int8_t>
      tones{};  ///< per row, where there are any: 1 reads as bad, -1 as good, 0 plain
};
using TableData = std::vector<TableColumn>;

/// Number of rows of a table.
std::size_t rowsOf(const TableData& table);

/// A cell of comma-separated values, in quotes where it needs them.
QString csvCell(const QString& text);

/// A finished table of any length. Rows are formatted as they are shown. Sorting and filtering run
/// on the thread pool. The new order arrives when it is ready, unless another is asked for
/// meanwhile. Sorted rows stay sorted, so a filter changed or taken away sorts nothing. A view
/// learns of the first kStretch rows and of more as it comes to their end, since views spend time
/// and memory on every row they know of.
class TableModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  explicit TableModel(QObject* parent = nullptr);
  ~TableModel() override;

  /// All columns have the same length. Shown in the order given until sorted.
  void setTable(TableData table);
  /// The same table with other figures: sorted as it was.
  void renewTable(TableData table);
  /// Keeps rows with a text column that contains `text` in any case.
  void setFilter(const QString& text);
  [[nodiscard]] QString csv() const;
  /// The row of the table behind a row of the view.
  [[nodiscard]] std::size_t sourceRow(int row) const {
    return order_ ? (*order_)[static_cast<std::size_t>(row)] : static_cast<std::size_t>(row);
  }
  /// Rows that pass the filter, whether a view knows of them yet or not.
  [[nodiscard]] std::size_t rows() const;
  /// Where the view has, or will have, a row of the table; nothing when the filter hides it.
  [[nodiscard]] std::optional<int> viewRow(std::size_t sourceRow) const;
  /// Lets views know of this row.
  void fetchUpTo(int row);
  [[nodiscard]] const TableData& table() const { return *table_; }

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                    int role) const override;
  void sort(int column, Qt::SortOrder order) override;
  [[nodiscard]] bool canFetchMore(const QModelIndex& parent) const override;
  void fetchMore(const QModelIndex& parent) override;

  static constexpr std::size_t kStretch = 500'000;
  /// As many rows are sorted and filtered at once when a table is renewed, so that nobody sees them
  /// in another order.
  static constexpr std::size_t kAtOnce = 4096;
  /// For a cell of the first column: the row's share of the largest number in the column that is
  /// drawn as bars.
  static constexpr int kShareRole = Qt::UserRole + 1;

 Q_SIGNALS:
  /// A sort or filter has arrived.
  void arranged();

 private:
  using Order = std::shared_ptr<const std::vector<std::uint32_t>>;  ///< null: as given
  struct Sorting {
    int column = -1;
    Qt::SortOrder order = Qt::DescendingOrder;
    friend bool operator==(const Sorting&, const Sorting&) = default;
  };

  struct Arranged {
    Order sorted, rows;
  };
  static Arranged arrangedBy(const TableData& table, Sorting by, Order sorted,
                             const QString& filter, const Job::Wanted& wanted);
  /// Leaves it as given, whatever the filter.
  void replace(TableData table);
  void arrange();
  void take(Sorting by, Arranged& arranged);
  void show(Order order);
  [[nodiscard]] QString shown(std::size_t row, int column) const;

  std::shared_ptr<const TableData> table_;
  Order order_;
  Order sorted_;  ///< the whole table by sortedBy_
  Sorting sortedBy_;
  Sorting wanted_;
  std::size_t known_ = 0;
  QString filter_;
  int barColumn_ = -1;
  double longestBar_ = 0;
  Job job_;
};

}  // namespace lacuna::gui
