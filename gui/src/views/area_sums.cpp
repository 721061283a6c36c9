// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "views/area_sums.h"

#include <QHeaderView>
#include <QLabel>
#include <QTableView>

#include "lacuna/prof/amounts.h"
#include "models/analysis_tables.h"
#include "models/table_model.h"
#include "views/parts.h"
#include "views/table_page.h"
#include "views/timeline_view.h"

namespace lacuna::gui {

namespace {

constexpr int kAreaDelayMs = 120;
constexpr int kFigureWidth = 74;

QString lengthText(std::int64_t ns) {
  return QString::fromStdString(prof::timeText(ns));
}

}  // namespace

AreaSums::AreaSums(TimelineView* view, QWidget* parent)
    : QObject(parent),
      view_(view),
      title_(label({}, "dim", parent)),
      model_(new TableModel(this)),
      table_(makeTable(model_, tr("Sums of the selected stretch"), parent)) {
  title_->setTextFormat(Qt::RichText);
  title_->hide();
  table_->hide();
  delay_.setSingleShot(true);
  delay_.setInterval(kAreaDelayMs);
  connect(&delay_, &QTimer::timeout, this, &AreaSums::refresh);
  connect(view, &TimelineView::areaChanged, this, &AreaSums::refreshSoon);
}

void AreaSums::refresh() {
  delay_.stop();
  const auto area = view_->area();
  title_->setVisible(area.has_value());
  table_->setVisible(area.has_value());
  job_.cancel();
  if (!area) model_->setTable({});
  Q_EMIT refreshed();
  if (!area || !view_->trace()) return;
  // The sums of a trace that grows stay until the new ones are there.
  const bool same =
      model_->rows() > 0 && summed_.startNs == area->startNs && summed_.endNs == area->endNs;
  if (!same) title_->setText(tr("Summing up…"));
  job_.start(
      this,
      [trace = view_->trace(), window = *area](const Job::Wanted& wanted) {
        return analyzer::areaStats(*trace->tracks, window, [&](double) { return wanted(); });
      },
      [this](const analyzer::AreaStats& stats) { show(stats); });
}

void AreaSums::show(const analyzer::AreaStats& stats) {
  summed_ = stats.window;
  QStringList lines{
      tr("<b>%1 selected</b>").arg(lengthText(stats.window.endNs - stats.window.startNs))};
  for (const analyzer::BusySum& sum : stats.busy) {
    if (sum.device) {
      lines << tr("%1: busy %2, idle %3")
                   .arg(QString::fromStdString(sum.label).toHtmlEscaped(), lengthText(sum.busyNs),
                        lengthText(sum.idleNs));
    }
  }
  if (stats.overlapNs > 0) lines << tr("queues overlap for %1").arg(lengthText(stats.overlapNs));
  title_->setText(lines.join(QStringLiteral("<br>")));
  table_->setSortingEnabled(false);
  model_->setTable(areaTable(*view_->trace(), stats));
  table_->horizontalHeader()->setSortIndicator(-1, Qt::DescendingOrder);
  table_->setSortingEnabled(true);
  table_->horizontalHeader()->setSectionResizeMode(0, QHeaderView::Stretch);
  for (int column = 1; column < 4; ++column) table_->setColumnWidth(column, kFigureWidth);
  Q_EMIT ready();
}

}  // namespace lacuna::gui
