// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "views/finding_card.h"

#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QMouseEvent>
#include <QPushButton>
#include <QToolButton>

#include "base/words.h"
#include "views/parts.h"

namespace lacuna::gui {

FindingCard::FindingCard(const analyzer::Finding& finding, bool playable, bool perStep, bool dark,
                         QWidget* parent)
    : QFrame(parent), hasPlaces_(!finding.evidence.empty()) {
  auto* inside = new QWidget(this);
  auto* across = new QHBoxLayout(inside);
  across->setContentsMargins(0, 0, 0, 0);
  across->setSpacing(16);
  across->addLayout(whatToDo(finding, playable, dark), 1);
  across->addLayout(whatItGains(finding, perStep));
  fillCard(this, {}, inside);
  if (!hasPlaces_) return;
  setProperty("clickable", true);
  setCursor(Qt::PointingHandCursor);
  setFocusPolicy(Qt::TabFocus);
  setAccessibleName(words(finding.title));
  setAccessibleDescription(words(finding.advice));
}

QVBoxLayout* FindingCard::whatToDo(const analyzer::Finding& finding, bool playable, bool dark) {
  auto* down = new QVBoxLayout;
  down->setSpacing(5);
  const bool fault = finding.kind == analyzer::FindingKind::Fault;
  auto* kind = label(fault ? tr("Fault") : tr("Opportunity"), "kind", this);
  kind->setStyleSheet(QStringLiteral("color: %1; font-size: 11px; font-weight: bold;")
                          .arg(rgb(fault ? theme(dark).warn : theme(dark).accent).name()));
  down->addWidget(kind);
  const QString band = bandWords(finding.recordingNsPerStep, finding.costNsPerStep);
  const QString title =
      band.isEmpty() ? words(finding.title) : tr("%1 (%2)").arg(words(finding.title), band);
  // A click anywhere on the card counts, so its words are not there to be selected.
  const QString advice = finding.notPredicted.empty()
                             ? words(finding.advice)
                             : tr("%1 (gain not predicted: %2)")
                                   .arg(words(finding.advice), words(finding.notPredicted));
  for (const auto& [text, role] : {std::pair(title, "heading"), std::pair(advice, "dim")}) {
    auto* line = label(text, role, this);
    if (!band.isEmpty()) line->setToolTip(tr("%1 of its cost may be recording").arg(band));
    down->addWidget(line);
  }
  if (!finding.knob.empty()) {
    auto* knob = label(words(finding.knob), "knob", this);
    knob->setWordWrap(false);
    knob->setStyleSheet(
        QStringLiteral("font-family: 'DejaVu Sans Mono', monospace; font-size: 12px;"));
    auto* play = new QToolButton(this);
    play->setObjectName(QStringLiteral("small"));
    play->setText(tr("Play"));
    play->setToolTip(tr("See the step with this change"));
    play->setEnabled(playable);
    connect(play, &QToolButton::clicked, this,
            [this, change = words(finding.knob)] { Q_EMIT playWanted(change); });
    auto* line = new QHBoxLayout;
    line->setSpacing(8);
    line->addWidget(knob);
    line->addWidget(play);
    line->addStretch();
    down->addLayout(line);
  }
  down->addStretch();
  return down;
}

QVBoxLayout* FindingCard::whatItGains(const analyzer::Finding& finding, bool perStep) {
  auto* down = new QVBoxLayout;
  down->setSpacing(3);
  const auto figure = [&](const QString& text, const char* role) {
    auto* line = label(text, role, this);
    line->setAlignment(Qt::AlignRight);
    line->setWordWrap(false);
    down->addWidget(line);
  };
  if (finding.predictedGainNsPerStep > 0) {
    figure(QStringLiteral("−") + durationWords(finding.predictedGainNsPerStep), "title");
    const QString sure = percentWords(finding.confidence);
    figure(
        (perStep ? tr("per step, predicted\n%1 sure") : tr("in all, predicted\n%1 sure")).arg(sure),
        "dim");
  } else if (finding.predictedGainBytes > 0) {
    figure(QStringLiteral("−") + bytesWords(finding.predictedGainBytes), "title");
    figure(tr("of memory, predicted\n%1 sure").arg(percentWords(finding.confidence)), "dim");
  }
  if (hasPlaces_) {
    auto* show = new QPushButton(tr("Show on the timeline"), this);
    connect(show, &QPushButton::clicked, this, &FindingCard::placesWanted);
    down->addSpacing(4);
    down->addWidget(show, 0, Qt::AlignRight);
  }
  down->addStretch();
  return down;
}

void FindingCard::mouseReleaseEvent(QMouseEvent* event) {
  const bool click =
      event->button() == Qt::LeftButton && rect().contains(event->position().toPoint());
  if (!hasPlaces_ || !click) return QFrame::mouseReleaseEvent(event);
  Q_EMIT placesWanted();
}

void FindingCard::keyPressEvent(QKeyEvent* event) {
  const bool enter = event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter ||
                     event->key() == Qt::Key_Space;
  if (!hasPlaces_ || !enter) return QFrame::keyPressEvent(event);
  Q_EMIT placesWanted();
}

}  // namespace lacuna::gui
