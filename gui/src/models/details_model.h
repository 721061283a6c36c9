// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QAbstractTableModel>
#include <utility>
#include <vector>

#include "base/trace.h"

namespace lacuna::gui {

using DetailRows = std::vector<std::pair<QString, QString>>;

/// The operation that a communication kernel carries out, and the arguments of an event that have
/// no column of their own. The source of the trace named and ordered them. Slow when it is the
/// first of its trace; safe on any thread.
DetailRows argumentsOf(const Trace& trace, const analyzer::EventRef& event);

/// Everything the trace knows about one event: a name and a value per row.
class DetailsModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  using QAbstractTableModel::QAbstractTableModel;

  void clear();
  /// The columns of the event's table.
  void show(const TracePtr& trace, const analyzer::EventRef& event);
  void append(const DetailRows& rows);

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                    int role) const override;

 private:
  DetailRows rows_;
};

}  // namespace lacuna::gui
