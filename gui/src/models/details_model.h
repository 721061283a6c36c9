// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QAbstractTableModel>
#include <utility>
#include <vector>

#include "app/trace.h"

namespace lacuna::gui {

/// Everything the trace knows about one event: a name and a value per row.
class DetailsModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  using QAbstractTableModel::QAbstractTableModel;

  void clear();
  void show(const TracePtr& trace, const analyzer::EventRef& event);

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  std::vector<std::pair<QString, QString>> rows_;
};

}  // namespace lacuna::gui
