// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>

#include "base/job.h"
#include "base/trace.h"
#include "lacuna/analyzer/links.h"
#include "views/event_place.h"

class QLabel;
class QTableView;

namespace lacuna::gui {

class DetailsModel;

/// All that the trace knows about one event: its name, and a table of values. Both are hidden while
/// no event is shown. Arguments are read off the GUI's thread and follow.
class EventDetails : public QObject {
  Q_OBJECT

 public:
  /// Makes the two widgets in `parent`, which places them.
  explicit EventDetails(QWidget* parent);
  [[nodiscard]] QLabel* title() const { return title_; }
  [[nodiscard]] QTableView* table() const { return table_; }
  [[nodiscard]] DetailsModel* model() const { return model_; }
  [[nodiscard]] bool busy() const { return argumentJob_.busy(); }

  void clear();
  /// The row of the trace that the event is.
  analyzer::EventRef show(const TracePtr& trace, const EventPlace& place);

 private:
  void findArguments(const TracePtr& trace, const analyzer::EventRef& event);
  /// Gives names of details the room that they need, and values at least half.
  void fitColumns();

  QLabel* title_;
  DetailsModel* model_;
  QTableView* table_;
  Job argumentJob_;
};

}  // namespace lacuna::gui
