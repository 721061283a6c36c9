// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "views/overview_page.h"

#include <QAbstractButton>
#include <QApplication>
#include <QHBoxLayout>
#include <QLabel>
#include <QResizeEvent>
#include <QScrollArea>
#include <QVBoxLayout>
#include <algorithm>
#include <optional>

#include "base/words.h"
#include "lacuna/analyzer/report.h"
#include "models/analysis_tables.h"
#include "views/charts.h"
#include "views/finding_card.h"
#include "views/parts.h"
#include "views/top_tables.h"
#include "views/what_if_card.h"

namespace lacuna::gui {

namespace {

constexpr std::size_t kMostFindings = 12;
constexpr int kColumnWidth = 1120;
constexpr int kBothWidth = 1880;
/// From this width on the findings lie beside the charts.
constexpr int kWideFrom = 1360;
/// From this height on the costliest kernels and operators follow.
constexpr int kTallFrom = 860;
constexpr int kGrows = 40;  // beside a stretch of 1
constexpr int kFills = 1000;
constexpr QMargins kMargins(24, 22, 24, 24);
constexpr int kSpacing = 14;
constexpr int kListSpacing = 10;
constexpr int kBelowRun = 4;

/// Where Tab goes on a finding: to itself, if it leads somewhere, and to its buttons.
QWidgetList tabStopsOf(FindingCard& card) {
  QWidgetList stops;
  if (card.focusPolicy() != Qt::NoFocus) stops << &card;
  for (QAbstractButton* button : card.findChildren<QAbstractButton*>()) stops << button;
  return stops;
}

}  // namespace

OverviewPage::OverviewPage(Desk& desk, QWidget* parent) : Page(parent), desk_(desk) {
  setObjectName(QStringLiteral("page"));
  auto* outer = new QVBoxLayout(this);
  outer->setContentsMargins(0, 0, 0, 0);
  scroll_ = new QScrollArea(this);
  scroll_->setWidgetResizable(true);
  outer->addWidget(scroll_);
  setSubject(scroll_);
  scroll_->setWidget(makeContent());
  scroll_->widget()->installEventFilter(this);
  steps_->clicked = [this](std::size_t n) {
    const analyzer::Step& step = findings_.analysis->steps.all[n];
    Q_EMIT desk_.stretchesWanted({{step.startNs, step.endNs}}, words(step.name));
  };
  connect(tops_, &TopTables::nameWanted, &desk, &Desk::nameWanted);
  connect(&desk, &Desk::changeWanted, this, [this](const QString& change) {
    Q_EMIT wanted();
    playChange(change);
  });
  setWaiting();
}

QWidget* OverviewPage::makeContent() {
  auto* content = new QWidget(scroll_);
  content->setObjectName(QStringLiteral("page"));
  content->setAttribute(Qt::WA_StyledBackground);
  auto* across = new QHBoxLayout(content);
  column_ = new QWidget(content);
  across->addStretch(1);
  across->addWidget(column_, 1000);
  across->addStretch(1);
  auto* down = new QVBoxLayout(column_);
  down->setContentsMargins(kMargins);
  down->setSpacing(kSpacing);
  run_ = selectableLabel({}, "dim", column_);
  verdict_ = selectableLabel({}, "verdict", column_);
  down->addWidget(verdict_);
  down->addWidget(run_);
  down->addSpacing(kBelowRun);
  body_ = makeBody(column_);
  down->addLayout(body_, 3);
  down->addWidget(tops_->others(), 2);
  return content;
}

QBoxLayout* OverviewPage::makeBody(QWidget* parent) {
  ledger_ = new LedgerBar(parent);
  steps_ = new StepChart(parent);
  ledgerCard_ = card(tr("Where the device's time went"), ledger_, parent);
  stepsCard_ = card(tr("Steps"), steps_, parent);
  whatIf_ = new WhatIfCard(this);
  tops_ = new TopTables(this);
  auto* charts = new QVBoxLayout;
  charts->setSpacing(kSpacing);
  charts->addWidget(ledgerCard_);
  charts->addWidget(stepsCard_, kFills);
  charts->addStretch(1);
  list_ = new QVBoxLayout;
  list_->setSpacing(kListSpacing);
  auto* findings = new QVBoxLayout;
  findings->setSpacing(kListSpacing);
  findings->addLayout(list_);
  findings->addWidget(whatIf_, kGrows);
  findings->addWidget(tops_->causes(), kFills);
  findings->addStretch(1);
  auto* body = new QBoxLayout(QBoxLayout::TopToBottom);
  body->setSpacing(kSpacing);
  body->addLayout(charts, 1);
  body->addLayout(findings, 1);
  return body;
}

void OverviewPage::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  const bool wide = width() >= kWideFrom;
  column_->setMaximumWidth(wide ? std::max(kBothWidth, width() * 19 / 20) : kColumnWidth);
  steps_->setMinimumHeight(std::clamp(height() / 5, 180, 400));
  // However far the findings beside it go down, its axis is seen without scrolling.
  stepsCard_->setMaximumHeight(std::max(height() / 2, stepsCard_->minimumSizeHint().height()));
  body_->setDirection(wide ? QBoxLayout::LeftToRight : QBoxLayout::TopToBottom);
  arrangeTops();
}

void OverviewPage::arrangeTops() {
  const bool wide = width() >= kWideFrom;
  tops_->setLeastHeights();
  tops_->others()->setVisible(wide && height() >= kTallFrom && tops_->hasOthers());
  const bool room = wide && (height() >= kTallFrom || height() >= heightWithCauses());
  tops_->causes()->setVisible(room && tops_->hasCauses());
}

int OverviewPage::heightWithCauses() const {
  const int fullWidth =
      std::min(width(), column_->maximumWidth()) - kMargins.left() - kMargins.right();
  const int half = (fullWidth - kSpacing) / 2;
  const int above = kMargins.top() + verdict_->heightForWidth(fullWidth) +
                    run_->heightForWidth(fullWidth) + kBelowRun + 3 * kSpacing + kMargins.bottom();
  const int found =
      list_->hasHeightForWidth() ? list_->totalHeightForWidth(half) : list_->sizeHint().height();
  const int played =
      whatIf_->isHidden() ? 0 : kListSpacing + whatIf_->layout()->totalHeightForWidth(half);
  return above + found + played + kListSpacing + tops_->causes()->minimumHeight();
}

void OverviewPage::fillTops() {
  tops_->setAnalysis(findings_.analysis);
  arrangeTops();
}

bool OverviewPage::eventFilter(QObject* watched, QEvent* event) {
  // Findings came, or a played change made the drawing higher: what has room is another question
  // then.
  if (event->type() == QEvent::LayoutRequest) arrangeTops();
  return Page::eventFilter(watched, event);
}

void OverviewPage::setWaiting() {
  findings_ = {};
  whatIf_->clear();
  verdict_->setText(tr("Analysing…"));
  run_->setText(tr("The timeline can be used meanwhile."));
  for (QWidget* part : std::initializer_list<QWidget*>{ledgerCard_, stepsCard_, whatIf_})
    part->hide();
  fillFindings();
  fillTops();
}

void OverviewPage::setTrace(const TracePtr&) {
  setWaiting();
}

void OverviewPage::setProgress(double share) {
  if (!findings_.analysis)
    verdict_->setText(tr("Analysing… %1 %").arg(static_cast<int>(share * 100)));
}

void OverviewPage::setFailure(const QString& message) {
  setWaiting();
  verdict_->setText(tr("No analysis"));
  run_->setText(message);
}

void OverviewPage::setFindings(const Findings& findings) {
  const bool again =
      findings_.analysis != nullptr;  // a recording has grown: what is being played stays
  findings_ = findings;
  const analyzer::Analysis& analysis = *findings_.analysis;
  verdict_->setText(words(analyzer::verdict(analysis)));
  run_->setText(words(analyzer::describeRun(analysis)));
  ledger_->setLedger(analysis.ledgers.run, analysis.ledgers.bands.run, dark_);
  steps_->setSteps(findings_.analysis, dark_);
  ledgerCard_->setVisible(analysis.ledgers.run.totalNs() > 0);
  stepsCard_->setVisible(!analysis.steps.all.empty());
  fillFindings();
  fillTops();
  whatIf_->setVisible(findings_.simulator != nullptr);
  whatIf_->setFindings(findings, again);
}

void OverviewPage::setDark(bool dark) {
  dark_ = dark;
  whatIf_->setDark(dark);
  if (!findings_.analysis) return;
  ledger_->setLedger(findings_.analysis->ledgers.run, findings_.analysis->ledgers.bands.run, dark);
  steps_->setSteps(findings_.analysis, dark);
  fillFindings();
}

void OverviewPage::fillFindings() {
  const QWidget* focus = QApplication::focusWidget();
  std::optional<std::size_t> held;  // the finding that keys are at stays so when it is made anew
  for (std::size_t n = 0; QLayoutItem* item = list_->takeAt(0); ++n) {
    const QWidget* was = item->widget();
    if (focus != nullptr && (was == focus || was->isAncestorOf(focus))) held = n;
    delete was;
    delete item;
  }
  if (!findings_.analysis) return;
  const std::size_t count =
      std::min(kMostFindings, findings_.analysis->of<analyzer::Findings>().size());
  if (count == 0) list_->addWidget(label(tr("No rule found anything to improve."), "dim", this));
  QWidget* before = steps_;  // in the order of Tab: what is made last would come last in the window
  for (std::size_t n = 0; n < count; ++n) {
    auto* found = new FindingCard(findings_.analysis->of<analyzer::Findings>()[n],
                                  findings_.simulator != nullptr,
                                  !findings_.analysis->steps.all.empty(), dark_, this);
    found->setProperty("finding", static_cast<qulonglong>(n));
    connect(found, &FindingCard::placesWanted, this, [this, n] { activateFinding(n); });
    connect(found, &FindingCard::playWanted, this, &OverviewPage::playChange);
    list_->addWidget(found);
    const QWidgetList stops = tabStopsOf(*found);
    for (QWidget* stop : stops) {
      setTabOrder(before, stop);
      before = stop;
    }
    if (held && std::min(*held, count - 1) == n && !stops.isEmpty()) stops.front()->setFocus();
  }
}

void OverviewPage::activateFinding(std::size_t n) {
  if (!findings_.analysis->of<analyzer::Findings>()[n].evidence.empty())
    Q_EMIT desk_.findingWanted(findings_.analysis, n);
}

void OverviewPage::playChange(const QString& change) {
  whatIf_->playChange(change);
  scroll_->ensureWidgetVisible(whatIf_);
}

Figures OverviewPage::figures() const {
  return {findings_.analysis ? ledgerCsv(*findings_.analysis) : QString()};
}

QString OverviewPage::prediction() const {
  return whatIf_->prediction();
}

ChangeControls* OverviewPage::controls() const {
  return whatIf_->controls();
}

QLineEdit* OverviewPage::otherChange() const {
  return whatIf_->otherChange();
}

StepDrawing* OverviewPage::drawing() const {
  return whatIf_->drawing();
}

bool OverviewPage::busy() const {
  return whatIf_->busy();
}

}  // namespace lacuna::gui
