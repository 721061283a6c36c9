// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "views/finding_panel.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QToolButton>
#include <QVBoxLayout>

#include "base/words.h"
#include "views/parts.h"

namespace lacuna::gui {

namespace {

QToolButton* button(Qt::ArrowType arrow, const QString& what, QWidget* parent) {
  auto* out = new QToolButton(parent);
  out->setText(arrow == Qt::LeftArrow ? QStringLiteral("‹") : QStringLiteral("›"));
  out->setToolTip(what);
  out->setAccessibleName(what);
  return out;
}

}  // namespace

FindingPanel::FindingPanel(QWidget* parent) : QFrame(parent) {
  setObjectName(QStringLiteral("card"));
  setAccessibleName(tr("Finding"));
  auto* down = new QVBoxLayout(this);
  down->setContentsMargins(12, 8, 12, 10);
  down->setSpacing(5);
  auto* top = new QHBoxLayout;
  kind_ = selectableLabel({}, "kind", this);
  auto* close = new QToolButton(this);
  close->setText(QStringLiteral("×"));
  close->setToolTip(tr("Close"));
  close->setAccessibleName(tr("Close the finding"));
  top->addWidget(kind_, 1);
  top->addWidget(close);
  title_ = selectableLabel({}, "heading", this);
  advice_ = selectableLabel({}, "dim", this);
  gain_ = selectableLabel({}, "gain", this);
  gain_->setTextFormat(Qt::RichText);
  down->addLayout(top);
  for (QWidget* part : {title_, advice_, gain_}) down->addWidget(part);
  auto* across = new QHBoxLayout;
  across->setSpacing(4);
  previous_ = button(Qt::LeftArrow, tr("The place before"), this);
  next_ = button(Qt::RightArrow, tr("The next place"), this);
  where_ = selectableLabel({}, "dim", this);
  where_->setWordWrap(false);
  play_ = new QPushButton(tr("Play the fix"), this);
  for (QWidget* part : std::initializer_list<QWidget*>{previous_, where_, next_})
    across->addWidget(part);
  across->addStretch();
  across->addWidget(play_);
  down->addLayout(across);
  connect(previous_, &QToolButton::clicked, this, [this] { step(-1); });
  connect(next_, &QToolButton::clicked, this, [this] { step(1); });
  connect(play_, &QPushButton::clicked, this, [this] { Q_EMIT playWanted(words(finding_.knob)); });
  connect(close, &QToolButton::clicked, this, &FindingPanel::closed);
  hide();
}

QString FindingPanel::gainWords(const analyzer::Finding& finding, bool perStep) {
  const QString sure = percentWords(finding.confidence);
  if (finding.predictedGainBytes > 0)
    return tr("<b>−%1</b> of memory, predicted, %2 sure")
        .arg(bytesWords(finding.predictedGainBytes), sure);
  if (finding.predictedGainNsPerStep > 0) {
    return (perStep ? tr("<b>−%1</b> a step, predicted, %2 sure")
                    : tr("<b>−%1</b> in all, predicted, %2 sure"))
        .arg(durationWords(finding.predictedGainNsPerStep), sure);
  }
  return finding.notPredicted.empty()
             ? QString()
             : tr("gain not predicted: %1").arg(words(finding.notPredicted).toHtmlEscaped());
}

void FindingPanel::setFinding(const analyzer::Finding& finding, std::vector<FindingPlace> places,
                              bool perStep) {
  finding_ = finding;
  places_ = std::move(places);
  place_ = 0;
  const bool fault = finding.kind == analyzer::FindingKind::Fault;
  kind_->setText(fault ? tr("Fault") : tr("Opportunity"));
  const QString band = bandWords(finding.recordingNsPerStep, finding.costNsPerStep);
  title_->setText(band.isEmpty() ? words(finding.title)
                                 : tr("%1 (%2)").arg(words(finding.title), band));
  title_->setToolTip(band.isEmpty() ? QString() : tr("%1 of its cost may be recording").arg(band));
  advice_->setText(words(finding.advice));
  gain_->setText(gainWords(finding, perStep));
  gain_->setVisible(!gain_->text().isEmpty());
  play_->setVisible(!finding.knob.empty());
  play_->setToolTip(tipWords(words(finding.knob)));
  const bool many = places_.size() > 1;
  for (QWidget* part : std::initializer_list<QWidget*>{previous_, where_, next_})
    part->setVisible(many);
  setDark(dark_);
  show();
  showPlace();
}

void FindingPanel::setDark(bool dark) {
  dark_ = dark;
  const Theme& t = theme(dark);
  const bool fault = finding_.kind == analyzer::FindingKind::Fault;
  kind_->setStyleSheet(QStringLiteral("color: %1; font-size: 11px; font-weight: bold;")
                           .arg(rgb(fault ? t.warn : t.accent).name()));
}

void FindingPanel::clear() {
  finding_ = {};
  places_.clear();
  hide();
}

void FindingPanel::step(int by) {
  const std::size_t count = places_.size();
  if (count < 2) return;
  place_ = (place_ + count + static_cast<std::size_t>(by + static_cast<int>(count))) % count;
  showPlace();
}

void FindingPanel::moveTo(const analyzer::TrackSet& from, const analyzer::TrackSet& to) {
  for (FindingPlace& place : places_) {
    std::vector<RowKey> rows;
    for (const RowKey& key : place.rows) {
      if (const auto now = movedTo(from, key, to)) rows.push_back(*now);
    }
    place.rows = std::move(rows);
  }
}

void FindingPanel::showPlace() {
  if (places_.empty()) return;
  where_->setText(tr("%1 of %2").arg(place_ + 1).arg(places_.size()));
  Q_EMIT placeWanted(places_[place_]);
}

}  // namespace lacuna::gui
