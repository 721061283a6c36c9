// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "views/memory_heading.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>
#include <utility>

#include "base/words.h"
#include "lacuna/prof/amounts.h"
#include "views/charts.h"
#include "views/parts.h"

namespace lacuna::gui {

namespace {

QString factsOf(const analyzer::MemoryMoment& moment) {
  QStringList facts{moment.live.size() == 1
                        ? MemoryHeading::tr("%1 in 1 block").arg(bytesWords(moment.bytes))
                        : MemoryHeading::tr("%1 in %2 blocks")
                              .arg(bytesWords(moment.bytes))
                              .arg(moment.live.size())};
  if (moment.reservedBytes > 0) {
    facts << MemoryHeading::tr("the allocator holds %1, %2 of it unused (%3)")
                 .arg(bytesWords(moment.reservedBytes), bytesWords(moment.unusedBytes()),
                      percentWords(static_cast<double>(moment.unusedBytes()) /
                                   static_cast<double>(moment.reservedBytes)));
  }
  return facts.join(MemoryHeading::tr(" · "));
}

}  // namespace

MemoryHeading::MemoryHeading(QWidget* parent)
    : QWidget(parent),
      title_(label({}, "heading", this)),
      facts_(label({}, "dim", this)),
      roles_(new RoleBar(this)) {
  title_->setWordWrap(false);
  auto* toPeak = new QPushButton(tr("To the peak"), this);
  auto* toTimeline = new QPushButton(tr("Show on the timeline"), this);
  auto* down = new QVBoxLayout(this);
  down->setContentsMargins(0, 0, 0, 0);
  down->setSpacing(10);
  auto* across = new QHBoxLayout;
  across->addWidget(title_);
  across->addSpacing(8);
  across->addWidget(facts_, 1);
  across->addWidget(toPeak);
  across->addWidget(toTimeline);
  down->addLayout(across);
  down->addWidget(roles_);
  connect(toPeak, &QPushButton::clicked, this, &MemoryHeading::peakWanted);
  connect(toTimeline, &QPushButton::clicked, this, &MemoryHeading::timelineWanted);
}

void MemoryHeading::setMoment(const TracePtr& trace,
                              std::shared_ptr<const analyzer::MemoryMoment> moment, bool isPeak) {
  moment_ = std::move(moment);
  roles_->setMoment(moment_, dark_);
  if (!moment_) {
    title_->clear();
    return facts_->clear();
  }
  const QString when = words(momentText(moment_->timeNs - trace->tracks->span.startNs, 1000));
  title_->setText(isPeak ? tr("Alive at the peak, %1").arg(when) : tr("Alive at %1").arg(when));
  facts_->setText(factsOf(*moment_));
}

void MemoryHeading::setDark(bool dark) {
  dark_ = dark;
  roles_->setMoment(moment_, dark);
}

}  // namespace lacuna::gui
