// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QWidget>

#include "views/timeline_view.h"

class QLabel;
class QLineEdit;
class QTableView;

namespace lacuna::gui {

class DetailsModel;

/// The timeline with its filter above and the details of the selected event beside it.
class TimelinePage : public QWidget {
  Q_OBJECT

 public:
  explicit TimelinePage(QWidget* parent = nullptr);
  void setTrace(const TracePtr& trace);
  void setDark(bool dark);
  [[nodiscard]] TimelineView* view() const { return view_; }
  [[nodiscard]] DetailsModel* details() const { return details_; }

 private:
  void showSelection();

  TimelineView* view_;
  DetailsModel* details_;
  QTableView* table_;
  QLabel* title_;
  QLabel* hint_;
  QLineEdit* filter_;
};

}  // namespace lacuna::gui
