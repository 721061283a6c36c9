// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "views/timeline_page.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QSplitter>
#include <QTableView>
#include <QVBoxLayout>

#include "models/details_model.h"

namespace lacuna::gui {

TimelinePage::TimelinePage(QWidget* parent) : QWidget(parent) {
  setObjectName(QStringLiteral("page"));
  auto* down = new QVBoxLayout(this);
  down->setContentsMargins(0, 0, 0, 0);
  down->setSpacing(0);
  auto* split = new QSplitter(Qt::Horizontal, this);
  split->setHandleWidth(1);
  view_ = new TimelineView(split);
  auto* side = new QWidget(split);
  auto* column = new QVBoxLayout(side);
  column->setContentsMargins(12, 12, 12, 12);
  filter_ = new QLineEdit(side);
  filter_->setPlaceholderText(tr("Filter tracks"));
  filter_->setClearButtonEnabled(true);
  filter_->setAccessibleName(tr("Filter tracks"));
  title_ = new QLabel(side);
  title_->setObjectName(QStringLiteral("heading"));
  title_->setWordWrap(true);
  hint_ = new QLabel(tr("Click an event to see everything the trace knows about it."), side);
  hint_->setObjectName(QStringLiteral("dim"));
  hint_->setWordWrap(true);
  details_ = new DetailsModel(this);
  table_ = new QTableView(side);
  table_->setModel(details_);
  table_->verticalHeader()->hide();
  table_->horizontalHeader()->hide();
  table_->horizontalHeader()->setStretchLastSection(true);
  table_->setShowGrid(false);
  table_->setSelectionBehavior(QAbstractItemView::SelectRows);
  table_->setAccessibleName(tr("Details of the selected event"));
  table_->verticalHeader()->setDefaultSectionSize(24);
  column->addWidget(filter_);
  column->addSpacing(6);
  column->addWidget(title_);
  column->addWidget(hint_);
  column->addWidget(table_, 1);
  column->addStretch(0);
  split->addWidget(view_);
  split->addWidget(side);
  split->setStretchFactor(0, 1);
  split->setSizes({1600, 300});
  split->setCollapsible(0, false);
  down->addWidget(split);
  connect(view_, &TimelineView::selectionChanged, this, &TimelinePage::showSelection);
  connect(filter_, &QLineEdit::textChanged, this, [this](const QString& text) {
    RowOptions options = view_->rowOptions();
    options.filter = text.toStdString();
    view_->setRowOptions(options);
  });
  showSelection();
}

void TimelinePage::setTrace(const TracePtr& trace) {
  filter_->clear();
  view_->setTrace(trace);
}

void TimelinePage::setDark(bool dark) {
  view_->setDark(dark);
}

void TimelinePage::showSelection() {
  const auto place = view_->selection();
  title_->setVisible(place.has_value());
  table_->setVisible(place.has_value());
  hint_->setVisible(!place.has_value());
  if (!place) return details_->clear();
  const TracePtr& trace = view_->trace();
  const analyzer::Track& track = trace->track(place->track);
  const analyzer::Lane& lane = track.lanes[static_cast<std::size_t>(place->lane)];
  const prof::StringId name = lane.name(place->event);
  title_->setText(trace->name(name));
  details_->show(trace,
                 analyzer::findEvent(*trace->store, track, lane.startNs(place->event), lane.durNs(place->event), name));
  table_->resizeColumnToContents(0);
}

}  // namespace lacuna::gui
