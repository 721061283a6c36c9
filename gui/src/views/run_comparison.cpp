// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "views/run_comparison.h"

#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QStackedWidget>
#include <QTabBar>
#include <QTableView>
#include <QVBoxLayout>
#include <algorithm>
#include <vector>

#include "base/words.h"
#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/diff.h"
#include "models/analysis_tables.h"
#include "views/charts.h"
#include "views/step_lines.h"
#include "views/table_page.h"

namespace lacuna::gui {

namespace {

constexpr int kWidestFile = 300;          // as names of files have no end, and a window has one
constexpr std::size_t kFirstOfNames = 2;  // figures of the run and entries of the ledger have none

/// The verdict on the step times; empty where the runs have none.
QString verdictOf(const std::vector<analyzer::Comparison>& runs) {
  const auto step = std::find_if(runs.begin(), runs.end(),
                                 [](const auto& row) { return row.what == "step time"; });
  if (step == runs.end()) return {};
  if (step->worse())
    return RunComparison::tr("Steps got slower by %1 (%2)")
        .arg(durationWords(step->change()), percentWords(step->changeShare()));
  if (step->better())
    return RunComparison::tr("Steps got faster by %1 (%2)")
        .arg(durationWords(-step->change()), percentWords(-step->changeShare()));
  return RunComparison::tr("Steps take as long as before: noise explains the difference");
}

}  // namespace

RunComparison::RunComparison(QWidget* parent) : QWidget(parent) {
  auto* down = new QVBoxLayout(this);
  down->setContentsMargins(24, 18, 24, 0);
  down->setSpacing(12);
  down->addLayout(makeHeading());
  down->addLayout(makeCharts(), 1);
  tabs_ = new QTabBar(this);
  tabs_->setObjectName(QStringLiteral("pages"));
  tabs_->setExpanding(false);
  tabs_->setAccessibleName(tr("What is compared"));
  down->addWidget(tabs_);
  down->addWidget(makeTables(), 3);
}

QLayout* RunComparison::makeHeading() {
  auto* across = new QHBoxLayout;
  verdict_ = new QLabel(this);
  verdict_->setObjectName(QStringLiteral("verdict"));
  auto* swap = new QPushButton(tr("Swap"), this);
  auto* other = new QPushButton(tr("Another trace…"), this);
  across->addWidget(verdict_, 1);
  across->addWidget(swap);
  across->addWidget(other);
  connect(swap, &QPushButton::clicked, this, &RunComparison::swapWanted);
  connect(other, &QPushButton::clicked, this, &RunComparison::otherWanted);
  return across;
}

QLayout* RunComparison::makeCharts() {
  auto* charts = new QHBoxLayout;
  charts->setSpacing(28);
  auto* bars = new QVBoxLayout;
  bars->setSpacing(6);
  for (Side& side : sides_) {
    side = {new QLabel(this), new LedgerBar(this)};
    if (&side != &sides_.front()) bars->addSpacing(6);
    bars->addWidget(side.name);
    bars->addWidget(side.bar);
  }
  bars->addStretch();
  lines_ = new StepLines(this);
  charts->addLayout(bars, 3);
  charts->addWidget(lines_, 2);
  return charts;
}

QWidget* RunComparison::makeTables() {
  auto* pages = new QStackedWidget(this);
  const QString titles[] = {tr("The run"), tr("Where time goes"), tr("Operators"), tr("Kernels")};
  for (std::size_t n = 0; n < tables_.size(); ++n) {
    TablePage* table = tables_[n] = new TablePage({}, tr("Neither run has any."), pages);
    table->layout()->setContentsMargins(0, 10, 0, 16);
    if (n >= kFirstOfNames)
      connect(table, &TablePage::nameActivated, this, &RunComparison::nameWanted);
    connect(table, &TablePage::message, this, &RunComparison::message);
    pages->addWidget(table);
    table->table()->setAccessibleName(titles[n]);
    tabs_->addTab(titles[n]);
  }
  connect(tabs_, &QTabBar::currentChanged, pages, &QStackedWidget::setCurrentIndex);
  return pages;
}

void RunComparison::setRuns(const AnalysisPtr& before, const AnalysisPtr& after, bool dark) {
  const analyzer::Ledger order = before->meanStepLedger();
  showSide(sides_[0], tr("before"), *before, order, dark);
  showSide(sides_[1], tr("after"), *after, order, dark);
  lines_->setRuns(before, after, dark);
  showTables(*before, *after);
}

void RunComparison::showSide(const Side& side, const QString& role, const analyzer::Analysis& run,
                             const analyzer::Ledger& order, bool dark) {
  const QString file = QFileInfo(QString::fromStdString(run.store->path().string())).fileName();
  const QString shown = side.name->fontMetrics().elidedText(file, Qt::ElideMiddle, kWidestFile);
  side.name->setToolTip(shown == file ? QString() : tipWords(file));
  side.name->setText(
      (run.steps.all.empty() ? tr("<b>%1</b> · %2 · %3 in all") : tr("<b>%1</b> · %2 · %3 a step"))
          .arg(role, shown.toHtmlEscaped(), durationWords(run.meanStepNs())));
  side.bar->setLedger(run.meanStepLedger(), run.meanStepBands(), dark, &order);
}

void RunComparison::showTables(const analyzer::Analysis& before, const analyzer::Analysis& after) {
  const auto runs = analyzer::compareRuns(before, after);
  verdict_->setText(verdictOf(runs));
  tables_[0]->renewTable(mixedComparisonTable(runs, tr("Figure")));
  tables_[1]->renewTable(comparisonTable(analyzer::compareLedgers(before, after),
                                         tr("Entry of the ledger, per step")));
  tables_[2]->renewTable(comparisonTable(analyzer::compareOperators(before, after),
                                         tr("Operator, host and device time per step")));
  tables_[3]->renewTable(
      comparisonTable(analyzer::compareKernels(before, after), tr("Kernel, time per step")));
}

Figures RunComparison::figures() const {
  return tables_[static_cast<std::size_t>(tabs_->currentIndex())]->figures();
}

}  // namespace lacuna::gui
