// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "app/status_line.h"

#include <QFileInfo>
#include <QLabel>
#include <QStatusBar>

#include "base/words.h"
#include "lacuna/prof/amounts.h"

namespace lacuna::gui {

StatusLine::StatusLine(QStatusBar* bar)
    : QObject(bar), summary_(new QLabel(bar)), live_(new QLabel(bar)), warnings_(new QLabel(bar)) {
  summary_->setTextFormat(Qt::PlainText);  // names of files, too, may look like tags
  live_->setObjectName(QStringLiteral("live"));
  live_->setToolTip(tr("The recording goes on; what is shown follows it"));
  live_->setText(tr("● live"));
  live_->hide();
  bar->addWidget(summary_, 1);
  bar->addPermanentWidget(live_);
  bar->addPermanentWidget(warnings_);
  bar->setSizeGripEnabled(false);
}

void StatusLine::show(const Trace& trace, bool isLive) {
  const prof::TimeWindow span = trace.tracks->span;
  summary_->setText(tr("%1   ·   %2   ·   %3 events")
                        .arg(QFileInfo(trace.path).fileName(),
                             QString::fromStdString(prof::timeText(span.endNs - span.startNs)),
                             QString::fromStdString(prof::scaledCount(trace.tracks->events))));
  live_->setVisible(isLive);
  showWarnings(trace);
}

void StatusLine::showWarnings(const Trace& trace) {
  QStringList warnings;
  for (const std::string& warning : trace.store->warnings())
    warnings << QString::fromStdString(warning);
  warnings_->setText(warnings.isEmpty() ? QString()
                     : warnings.size() == 1
                         ? tr("1 warning about the file")
                         : tr("%1 warnings about the file").arg(warnings.size()));
  warnings_->setToolTip(tipWords(warnings.join(QLatin1Char('\n'))));
}

}  // namespace lacuna::gui
