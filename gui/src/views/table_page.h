// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/page.h"
#include "models/table_model.h"

class QHBoxLayout;
class QLabel;
class QLineEdit;
class QPushButton;
class QTableView;

namespace lacuna::gui {

/// A table with a title, a filter and an export. Double-click or Enter on a row names it to whoever
/// listens.
class TablePage : public Page {
  Q_OBJECT

 public:
  TablePage(const QString& title, const QString& empty, QWidget* parent = nullptr);
  /// Shown below the table while it has rows.
  void setDetail(QWidget* detail);
  /// Something to choose, in front of the filter.
  void addControl(QWidget* control);
  /// `wide` is the column that takes the room that is left.
  void setTable(TableData table, int wide = 0);
  /// The same table with other figures, as of a trace that has grown. Its sorting, column widths,
  /// selection and scroll position stay. Rows are known by their texts.
  void renewTable(TableData table, int wide = 0);
  /// Selects the n-th row of the data, wherever sorting has put it.
  void showSourceRow(std::size_t row);
  /// Writes the rows that pass the filter, in their order.
  void exportTo(const QString& path);
  [[nodiscard]] QTableView* table() const { return table_; }
  [[nodiscard]] TableModel* model() const { return model_; }
  [[nodiscard]] Figures figures() const override { return {model_->csv()}; }

 Q_SIGNALS:
  void nameActivated(const QString& name);
  void nameSelected(const QString& name);
  /// The outcome of an export.
  void message(const QString& words);

 private:
  void chooseExport();
  void fitRoom();
  /// The texts of a row of the data, which identify it.
  [[nodiscard]] QString keyOf(std::size_t row) const;

  TableModel* model_;
  QTableView* table_;
  QLineEdit* filter_;
  QPushButton* save_;
  QHBoxLayout* across_;
  QLabel* count_;
  QLabel* empty_;
  QWidget* detail_ = nullptr;
};

/// A table view dressed like all tables of the window.
QTableView* makeTable(QAbstractItemModel* model, const QString& name, QWidget* parent);

}  // namespace lacuna::gui
