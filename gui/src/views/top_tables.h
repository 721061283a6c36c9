// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>
#include <array>

#include "base/findings.h"
#include "models/table_model.h"

class QTableView;
class QWidget;

namespace lacuna::gui {

/// The costliest of their kind, for a large window: a card of idle causes, and a row with those of
/// kernels and operators. The page places and shows them where it has room.
class TopTables : public QObject {
  Q_OBJECT

 public:
  explicit TopTables(QWidget* parent);
  /// Null: the tables are empty.
  void setAnalysis(const AnalysisPtr& analysis);
  [[nodiscard]] QWidget* causes() const { return tops_[0].card; }
  [[nodiscard]] QWidget* others() const { return row_; }
  [[nodiscard]] bool hasCauses() const { return tops_[0].model->rows() > 0; }
  [[nodiscard]] bool hasOthers() const;
  /// Layouts that go by the width of texts know of a table's least height only where its card sets
  /// it.
  void setLeastHeights();

 Q_SIGNALS:
  /// Show the next event of this name on the timeline.
  void nameWanted(const QString& name);

 private:
  struct Top {
    QWidget* card = nullptr;
    TableModel* model = nullptr;
    QTableView* table = nullptr;
  };
  void fill(std::size_t n, TableData table);
  void activate(std::size_t n, std::size_t row);

  AnalysisPtr analysis_;
  QWidget* row_;
  std::array<Top, 3> tops_;  ///< causes, kernels, operators
};

}  // namespace lacuna::gui
