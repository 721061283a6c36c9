// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "views/steps_page.h"

#include <QCheckBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QVBoxLayout>

#include "views/words.h"

namespace lacuna::gui {

StepsPage::StepsPage(QWidget* parent) : Page(parent) {
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
  longest_ = new QCheckBox(tr("longest first"), this);
  across->addWidget(title);
  across->addSpacing(10);
  across->addWidget(facts_);
  across->addStretch();
  across->addWidget(legend_);
  across->addSpacing(18);
  across->addWidget(longest_);
  stack_ = new StepStack(this);
  setSubject(stack_);
  details_ = new QLabel(this);
  details_->setObjectName(QStringLiteral("dim"));
  details_->setWordWrap(true);
  down->addLayout(across);
  down->addWidget(stack_, 1);
  down->addWidget(details_);
  connect(longest_, &QCheckBox::toggled, this,
          [this](bool on) { stack_->setOrder(on ? StepStack::Order::LongestFirst : StepStack::Order::AsRun); });
  connect(stack_, &StepStack::selectionChanged, this, &StepsPage::showDetails);
  connect(stack_, &StepStack::stepActivated, this, &StepsPage::stepActivated);
  showDetails();
}

void StepsPage::setTrace(const TracePtr& trace) {
  analysis_ = nullptr;
  stack_->setTrace(trace);
}

void StepsPage::setGrown(const TracePtr& trace) {
  stack_->setGrown(trace);
}

void StepsPage::setAnalysis(std::shared_ptr<const analyzer::Analysis> analysis) {
  analysis_ = std::move(analysis);
  stack_->setAnalysis(analysis_);
  showDetails();
}

void StepsPage::setDark(bool dark) {
  dark_ = dark;
  stack_->setDark(dark);
  showLegend();
}

void StepsPage::showLegend() {
  QStringList entries;
  const std::int64_t all = analysis_ ? analysis_->ledger.totalNs() : 0;
  for (std::size_t c = 0; c < analyzer::kCauseCount && all > 0; ++c) {
    const auto cause = static_cast<analyzer::Cause>(c);
    if (analysis_->ledger[cause] * 200 < all) continue;
    entries << QStringLiteral("<span style=\"color:%1\">■</span>&nbsp;%2")
                   .arg(rgb(causeColour(cause, dark_)).name(), words(analyzer::causeLabel(cause)).toHtmlEscaped());
  }
  legend_->setText(entries.join(QStringLiteral(" &nbsp; ")));
}

void StepsPage::showDetails() {
  const bool any = analysis_ && !analysis_->steps.all.empty();
  facts_->setText(
      !analysis_ ? tr("analysing…")
      : any
          ? tr("%1, median %2 ± %3 (dashed line)")
                .arg(analysis_->steps.all.size() == 1 ? tr("1 step") : tr("%1 steps").arg(analysis_->steps.all.size()))
                .arg(durationWords(analysis_->steps.medianNs()), durationWords(analysis_->steps.spreadNs()))
          : tr("No steps were found: mark them with a range named \"step\"."));
  showLegend();
  if (!any) return details_->clear();
  details_->setText(stack_->selected() ? stack_->describe(*stack_->selected())
                                       : tr("Above: where the device's time went, by cause. Below: its work, by name. "
                                            "Double-click a step to see it on the timeline."));
}

}  // namespace lacuna::gui
