// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QAbstractTableModel>
#include <memory>
#include <vector>

namespace lacuna::gui {

/// One column of a table: texts, or numbers with how to show them.
struct TableColumn {
  enum class Kind { Text, Duration, Bytes, Count, Percent };
  QString title;
  Kind kind = Kind::Text;
  std::vector<QString> texts{};
  std::vector<double> numbers{};
  bool right = false;                ///< a text to be aligned as numbers are
  std::vector<std::int8_t> tones{};  ///< per row, where there are any: 1 reads as bad, -1 as good, 0 plain
};
using TableData = std::vector<TableColumn>;

/// A finished table of any length. Rows are formatted as they are looked at; sorting and filtering run on the thread
/// pool and the new order arrives when it is ready.
class TableModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  explicit TableModel(QObject* parent = nullptr);

  /// All columns have the same length. Shown in the order given until sorted.
  void setTable(TableData table);
  /// Keeps rows with a text column that contains `text` in any case.
  void setFilter(const QString& text);
  [[nodiscard]] QString csv() const;
  /// The row of the table behind a row of the view.
  [[nodiscard]] std::size_t sourceRow(int row) const { return order_[static_cast<std::size_t>(row)]; }
  [[nodiscard]] const TableData& table() const { return *table_; }

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
  void sort(int column, Qt::SortOrder order) override;

 Q_SIGNALS:
  /// A sort or filter has arrived.
  void arranged();

 private:
  void arrange();
  [[nodiscard]] QString shown(std::size_t row, int column) const;

  std::shared_ptr<const TableData> table_;
  std::vector<std::uint32_t> order_;
  QString filter_;
  int sortColumn_ = -1;
  Qt::SortOrder sortOrder_ = Qt::DescendingOrder;
  int generation_ = 0;
};

}  // namespace lacuna::gui
