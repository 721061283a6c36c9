// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>
#include <QTimer>

#include "base/job.h"
#include "base/trace.h"

class QLabel;
class QTableView;

namespace lacuna::gui {

class TableModel;
class TimelineView;

/// Sums up the selected stretch of the timeline: a title with the devices' busy time, and a table
/// of events by name. Both are hidden while no stretch is selected. Reads the trace off the GUI's
/// thread.
class AreaSums : public QObject {
  Q_OBJECT

 public:
  /// Makes the two widgets in `parent`, which places them.
  AreaSums(TimelineView* view, QWidget* parent);
  [[nodiscard]] QLabel* title() const { return title_; }
  [[nodiscard]] QTableView* table() const { return table_; }
  [[nodiscard]] TableModel* model() const { return model_; }

  /// Sums up what is selected now.
  void refresh();
  /// The same once nothing has changed for a moment.
  void refreshSoon() { delay_.start(); }

 Q_SIGNALS:
  void ready();
  /// The stretch was set, moved or taken away.
  void refreshed();

 private:
  void show(const analyzer::AreaStats& stats);

  TimelineView* view_;
  QLabel* title_;
  TableModel* model_;
  QTableView* table_;
  prof::TimeWindow summed_;
  QTimer delay_;
  Job job_;
};

}  // namespace lacuna::gui
