// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "views/event_details.h"

#include <QHeaderView>
#include <QLabel>
#include <QTableView>
#include <algorithm>

#include "models/details_model.h"
#include "views/parts.h"
#include "views/table_page.h"

namespace lacuna::gui {

EventDetails::EventDetails(QWidget* parent)
    : QObject(parent),
      title_(label({}, "heading", parent)),
      model_(new DetailsModel(this)),
      table_(makeTable(model_, tr("Details of the selected event"), parent)) {
  title_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);  // kernel names have no end
  table_->horizontalHeader()->hide();
  table_->horizontalHeader()->setStretchLastSection(true);
  clear();
}

void EventDetails::clear() {
  argumentJob_.cancel();
  title_->hide();
  table_->hide();
  model_->clear();
}

analyzer::EventRef EventDetails::show(const TracePtr& trace, const EventPlace& place) {
  const analyzer::Lane& lane = laneOf(*trace, place);
  const prof::StringId name = lane.name(place.event);
  title_->setText(trace->name(name));
  title_->show();
  table_->show();
  const auto row = analyzer::findEvent(*trace->store, trace->track(place.track),
                                       lane.startNs(place.event), lane.durNs(place.event), name);
  model_->show(trace, row);
  fitColumns();
  findArguments(trace, row);
  return row;
}

void EventDetails::findArguments(const TracePtr& trace, const analyzer::EventRef& event) {
  argumentJob_.start(
      this, [trace, event](const Job::Wanted&) { return argumentsOf(*trace, event); },
      [this](const DetailRows& rows) {
        model_->append(rows);
        if (!rows.empty()) fitColumns();
      });
}

void EventDetails::fitColumns() {
  table_->resizeColumnToContents(0);
  table_->setColumnWidth(0, std::min(table_->columnWidth(0), table_->viewport()->width() / 2));
}

}  // namespace lacuna::gui
