// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "views/names_page.h"

#include <QTableView>

#include "views/histogram_view.h"

namespace lacuna::gui {

NamesPage::NamesPage(analyzer::TrackKind kind, const QString& title, const QString& empty,
                     Desk& desk, QWidget* parent)
    : TablePage(title, empty, parent), times_(new HistogramView(kind, this)) {
  setDetail(times_);
  connect(this, &TablePage::nameSelected, times_, &HistogramView::setName);
  connect(this, &TablePage::nameActivated, &desk, &Desk::nameWanted);
  connect(this, &TablePage::message, &desk, &Desk::messageWanted);
}

void NamesPage::setTrace(const TracePtr& trace) {
  analysis_ = nullptr;
  setTable({});
  times_->setTrace(trace);
}

void NamesPage::setGrown(const TracePtr& trace) {
  times_->setGrown(trace);
}

void NamesPage::setFindings(const Findings& findings) {
  analysis_ = findings.analysis;
  fill();
}

void NamesPage::setDark(bool dark) {
  times_->setDark(dark);
}

void NamesPage::fill() {
  if (!analysis_) return;
  renewTable(tableOf(*analysis_));
  if (!table()->currentIndex().isValid()) showSourceRow(0);
}

}  // namespace lacuna::gui
