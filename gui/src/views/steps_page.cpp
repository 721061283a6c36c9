// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "views/steps_page.h"

#include <QCheckBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QVBoxLayout>
#include <algorithm>

#include "base/words.h"
#include "models/analysis_tables.h"

namespace lacuna::gui {

namespace {

/// It takes half a percent of everything or, rare as it may be, a twentieth of a step.
bool isSeen(const analyzer::Analysis& analysis, analyzer::Cause cause) {
  const auto takes = [cause](const analyzer::Ledger& ledger, std::int64_t parts) {
    return ledger[cause] > 0 && ledger[cause] * parts >= ledger.totalNs();
  };
  return takes(analysis.ledgers.run, 200) ||
         std::any_of(analysis.ledgers.steps.begin(), analysis.ledgers.steps.end(),
                     [&](const analyzer::Ledger& step) { return takes(step, 20); });
}

}  // namespace

StepsPage::StepsPage(Desk& desk, QWidget* parent) : Page(parent) {
  setObjectName(QStringLiteral("page"));
  auto* down = new QVBoxLayout(this);
  down->setContentsMargins(24, 18, 24, 14);
  down->setSpacing(12);
  auto* across = new QHBoxLayout;
  auto* title = new QLabel(tr("Steps"), this);
  title->setObjectName(QStringLiteral("title"));
  facts_ = new QLabel(this);
  facts_->setObjectName(QStringLiteral("dim"));
  legend_ = new QLabel(this);
  legend_->setObjectName(QStringLiteral("dim"));
  legend_->setWordWrap(true);  // many causes must not widen the window
  legend_->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
  longest_ = new QCheckBox(tr("longest first"), this);
  across->addWidget(title);
  across->addSpacing(10);
  across->addWidget(facts_);
  across->addSpacing(18);
  across->addWidget(legend_, 1);
  across->addSpacing(18);
  across->addWidget(longest_);
  stack_ = new StepStack(this);
  setSubject(stack_);
  details_ = new QLabel(this);
  details_->setObjectName(QStringLiteral("dim"));
  details_->setTextFormat(Qt::PlainText);
  details_->setWordWrap(true);
  down->addLayout(across);
  down->addWidget(stack_, 1);
  down->addWidget(details_);
  connect(longest_, &QCheckBox::toggled, this, [this](bool on) {
    stack_->setOrder(on ? StepStack::Order::LongestFirst : StepStack::Order::AsRun);
  });
  connect(stack_, &StepStack::selectionChanged, this, &StepsPage::showDetails);
  connect(stack_, &StepStack::stepActivated, this, [this, &desk](std::size_t n) {
    const analyzer::Step& step = analysis_->steps.all[n];
    Q_EMIT desk.stretchesWanted({{step.startNs, step.endNs}}, words(step.name));
  });
  showDetails();
}

void StepsPage::setTrace(const TracePtr& trace) {
  analysis_ = nullptr;
  stack_->setTrace(trace);
}

void StepsPage::setGrown(const TracePtr& trace) {
  stack_->setGrown(trace);
}

void StepsPage::setFindings(const Findings& findings) {
  analysis_ = findings.analysis;
  stack_->setAnalysis(analysis_);
  showDetails();
}

void StepsPage::setLedgers(const LedgerStrips& strips) {
  stack_->setLedgers(strips);
}

Figures StepsPage::figures() const {
  return {analysis_ ? ledgerCsv(*analysis_) : QString()};
}

std::vector<Command> StepsPage::commands() {
  return {{.text = tr("Steps: longest first, or in the order of the run"),
           .act = [this] { longest_->toggle(); }}};
}

void StepsPage::setDark(bool dark) {
  dark_ = dark;
  stack_->setDark(dark);
  showLegend();
}

void StepsPage::showLegend() {
  QStringList entries;
  for (std::size_t c = 0; c < analyzer::kCauseCount && analysis_; ++c) {
    const auto cause = static_cast<analyzer::Cause>(c);
    if (!isSeen(*analysis_, cause)) continue;
    QString label = words(analyzer::causeLabel(cause)).toHtmlEscaped();
    label.replace(QLatin1Char(' '), QStringLiteral("&nbsp;"));  // lines break between entries alone
    entries << QStringLiteral("<span style=\"color:%1\">■</span>&nbsp;%2")
                   .arg(rgb(causeColour(cause, dark_)).name(), label);
  }
  legend_->setText(entries.join(QStringLiteral(" &nbsp; ")));
}

void StepsPage::showDetails() {
  const bool any = analysis_ && !analysis_->steps.all.empty();
  facts_->setText(!analysis_ ? tr("analysing…")
                  : any      ? tr("%1, median %2 ± %3 (dashed line)")
                              .arg(analysis_->steps.all.size() == 1
                                       ? tr("1 step")
                                       : tr("%1 steps").arg(analysis_->steps.all.size()))
                              .arg(durationWords(analysis_->steps.medianNs()),
                                   durationWords(analysis_->steps.spreadNs()))
                        : tr("No steps were found: mark them with a range named \"step\"."));
  showLegend();
  if (!any) return details_->clear();
  details_->setText(stack_->selected()
                        ? stack_->describe(*stack_->selected())
                        : tr("Above: where the device's time went, by cause. Below: its work, by "
                             "name. Double-click a step to see it on the timeline."));
}

}  // namespace lacuna::gui
