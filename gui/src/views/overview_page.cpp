// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "views/overview_page.h"

#include <QAbstractButton>
#include <QApplication>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QResizeEvent>
#include <QScrollArea>
#include <QTableView>
#include <QVBoxLayout>
#include <algorithm>
#include <optional>

#include "base/words.h"
#include "lacuna/analyzer/report.h"
#include "models/analysis_tables.h"
#include "models/table_model.h"
#include "views/change_controls.h"
#include "views/charts.h"
#include "views/finding_card.h"
#include "views/parts.h"
#include "views/step_drawing.h"
#include "views/table_page.h"

namespace lacuna::gui {

namespace {

constexpr std::size_t kMostFindings = 12;
constexpr int kColumnWidth = 1120;
constexpr int kBothWidth = 1880;
/// From this width on the findings lie beside the charts.
constexpr int kWideFrom = 1360;
/// From this height on the costliest kernels and operators follow.
constexpr int kTallFrom = 860;
constexpr std::size_t kTopRows = 40;
constexpr int kTopHeight = 112;
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
  auto* scroll = scroll_ = new QScrollArea(this);
  scroll->setWidgetResizable(true);
  outer->addWidget(scroll);
  setSubject(scroll);
  auto* content = new QWidget(scroll);
  content->setObjectName(QStringLiteral("page"));
  content->setAttribute(Qt::WA_StyledBackground);
  auto* across = new QHBoxLayout(content);
  auto* column = new QWidget(content);
  column_ = column;
  across->addStretch(1);
  across->addWidget(column, 1000);
  across->addStretch(1);
  auto* down = new QVBoxLayout(column);
  down->setContentsMargins(kMargins);
  down->setSpacing(kSpacing);
  run_ = selectableLabel({}, "dim", column);
  verdict_ = selectableLabel({}, "verdict", column);
  ledger_ = new LedgerBar(column);
  steps_ = new StepChart(column);
  ledgerCard_ = card(tr("Where the device's time went"), ledger_, column);
  stepsCard_ = card(tr("Steps"), steps_, column);
  down->addWidget(verdict_);
  down->addWidget(run_);
  down->addSpacing(kBelowRun);
  body_ = new QBoxLayout(QBoxLayout::TopToBottom);
  body_->setSpacing(kSpacing);
  auto* charts = new QVBoxLayout;
  charts->setSpacing(kSpacing);
  whatIf_ = whatIfCard();
  charts->addWidget(ledgerCard_);
  charts->addWidget(stepsCard_, kFills);
  charts->addStretch(1);
  auto* findings = new QVBoxLayout;
  findings->setSpacing(kListSpacing);
  list_ = new QVBoxLayout;
  list_->setSpacing(kListSpacing);
  findings->addLayout(list_);
  findings->addWidget(whatIf_, kGrows);
  topsRow_ = topsRow();
  findings->addWidget(tops_[0].card, kFills);
  findings->addStretch(1);
  body_->addLayout(charts, 1);
  body_->addLayout(findings, 1);
  down->addLayout(body_, 3);
  down->addWidget(topsRow_, 2);
  scroll->setWidget(content);
  content->installEventFilter(this);
  steps_->clicked = [this](std::size_t n) {
    const analyzer::Step& step = findings_.analysis->steps.all[n];
    Q_EMIT desk_.stretchesWanted({{step.startNs, step.endNs}}, words(step.name));
  };
  connect(&desk, &Desk::changeWanted, this, [this](const QString& change) {
    Q_EMIT wanted();
    playChange(change);
  });
  setWaiting();
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
  // Layouts that go by the width of texts know of a table's least height only where its card sets
  // it.
  for (const Top& top : tops_) top.card->setMinimumHeight(top.card->minimumSizeHint().height());
  const bool filled = std::any_of(tops_.begin() + 1, tops_.end(),
                                  [](const Top& top) { return top.model->rows() > 0; });
  topsRow_->setVisible(wide && height() >= kTallFrom && filled);
  const bool room = wide && (height() >= kTallFrom || height() >= heightWithCauses());
  tops_[0].card->setVisible(room && tops_[0].model->rows() > 0);
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
  return above + found + played + kListSpacing + tops_[0].card->minimumHeight();
}

QWidget* OverviewPage::topsRow() {
  auto* row = new QWidget(this);
  auto* across = new QHBoxLayout(row);
  across->setContentsMargins(0, 0, 0, 0);
  across->setSpacing(14);
  const QString titles[] = {tr("What the device waits for"), tr("Costliest kernels"),
                            tr("Costliest operators")};
  for (std::size_t n = 0; n < tops_.size(); ++n) {
    Top& top = tops_[n];
    top.model = new TableModel(this);
    top.table = makeTable(top.model, titles[n], row);
    top.table->setMinimumHeight(kTopHeight);
    top.table->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Ignored);
    top.card = card(titles[n], top.table, row);
    if (n > 0) across->addWidget(top.card, 1);
    connect(top.table, &QTableView::activated, this, [this, n](const QModelIndex& index) {
      const std::size_t at = tops_[n].model->sourceRow(index.row());
      // A cause without an event goes by its own name, which nothing on the timeline has.
      if (n == 0 && findings_.analysis->of<analyzer::IdleCauses>().details[at].name.empty()) return;
      Q_EMIT desk_.nameWanted(tops_[n].model->table()[0].texts[at]);
    });
  }
  return row;
}

void OverviewPage::fillTops() {
  const analyzer::Analysis* analysis = findings_.analysis.get();
  const TableData none;
  TableData tables[] = {analysis ? causeTable(*analysis) : none,
                        analysis ? kernelTableOf(*analysis) : none,
                        analysis ? operatorTableOf(*analysis, false) : none};
  for (std::size_t n = 0; n < tops_.size(); ++n) {
    Top& top = tops_[n];
    TableData& table = tables[n];
    // As many columns as fit a third of the page: the name, how often, and what it costs.
    if (n == 1 && table.size() > 4) table.resize(4);
    if (n == 2 && table.size() > 4) table = {table[0], table[1], table[4]};
    for (TableColumn& column : table) {
      column.texts.resize(std::min(column.texts.size(), kTopRows));
      column.numbers.resize(std::min(column.numbers.size(), kTopRows));
      column.notes.resize(std::min(column.notes.size(), kTopRows));
    }
    top.model->setTable(std::move(table));
    top.card->setVisible(top.model->rows() > 0);
    if (top.model->rows() == 0) continue;
    QHeaderView* header = top.table->horizontalHeader();
    for (int c = 1; c < top.model->columnCount(); ++c)
      top.table->setColumnWidth(c, c == 1 && n == 0 ? 170 : 100);
    header->setSectionResizeMode(0, QHeaderView::Stretch);
  }
  arrangeTops();
}

bool OverviewPage::eventFilter(QObject* watched, QEvent* event) {
  // Findings came, or a played change made the drawing higher: what has room is another question
  // then.
  if (event->type() == QEvent::LayoutRequest) arrangeTops();
  return Page::eventFilter(watched, event);
}

QWidget* OverviewPage::whatIfCard() {
  auto* inside = new QWidget(this);
  auto* down = new QVBoxLayout(inside);
  down->setContentsMargins(0, 0, 0, 0);
  controls_ = new ChangeControls(inside);
  other_ = new QLineEdit(inside);
  other_->setPlaceholderText(tr("another change: amp=bf16, kernel:gelu*0.5, host*0.8 …"));
  other_->setAccessibleName(tr("Another change"));
  other_->setClearButtonEnabled(true);
  prediction_ = selectableLabel({}, "dim", inside);
  drawing_ = new StepDrawing(inside);
  down->addWidget(controls_);
  down->addWidget(other_);
  down->addSpacing(6);
  down->addWidget(drawing_, 1);
  down->addWidget(prediction_);
  connect(other_, &QLineEdit::textChanged, this, &OverviewPage::play);
  connect(controls_, &ChangeControls::changed, this, &OverviewPage::play);
  return card(tr("What if"), inside, this);
}

void OverviewPage::setWaiting() {
  findings_ = {};
  verdict_->setText(tr("Analysing…"));
  run_->setText(tr("The timeline can be used meanwhile."));
  for (QWidget* part : {ledgerCard_, stepsCard_, whatIf_}) part->hide();
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
  if (!again) {
    const QSignalBlocker blocked(other_);
    other_->clear();
  }
  controls_->setAnalysis(analysis, again);
  play();
}

void OverviewPage::setDark(bool dark) {
  dark_ = dark;
  if (!findings_.analysis) return;
  ledger_->setLedger(findings_.analysis->ledgers.run, findings_.analysis->ledgers.bands.run, dark);
  steps_->setSteps(findings_.analysis, dark);
  fillFindings();
  play();
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
  const auto parsed = analyzer::parseChange(change.toStdString());
  if (parsed && controls_->canShow(*parsed)) {
    const auto written = analyzer::parseChange(other_->text().trimmed().toStdString());
    if (written && written->target == parsed->target) other_->clear();
    controls_->apply(*parsed);
  } else {
    if (parsed) controls_->reset(parsed->target);
    other_->setText(change);
  }
  scroll_->ensureWidgetVisible(whatIf_);
}

Figures OverviewPage::figures() const {
  return {findings_.analysis ? ledgerCsv(*findings_.analysis) : QString()};
}

void OverviewPage::play() {
  if (!findings_.simulator) return;
  std::vector<analyzer::Change> changes;
  for (const std::string& text : controls_->changes()) {
    if (auto change = analyzer::parseChange(text)) changes.push_back(*change);
  }
  if (const QString other = other_->text().trimmed(); !other.isEmpty()) {
    auto change = analyzer::parseChange(other.toStdString());
    const prof::Status fits =
        change ? findings_.simulator->check(*change) : prof::Status(change.error());
    if (!fits) {
      playing_.cancel();
      prediction_->setText(words(fits.error().message));
      return prediction_->show();
    }
    changes.push_back(*change);
  }
  playing_.start(
      this,
      [simulator = findings_.simulator, changes,
       isStep = !findings_.analysis->steps.all.empty()](const Job::Wanted&) {
        PlayedStep step{
            simulator->play(changes), simulator->draw({}), {}, !changes.empty(), isStep};
        step.after = step.changed ? simulator->draw(changes) : step.before;
        return step;
      },
      [this](const PlayedStep& step) { showPlayed(step); });
}

void OverviewPage::showPlayed(const PlayedStep& step) {
  const analyzer::Prediction& p = step.prediction;
  QString sentence;
  if (step.changed) {
    sentence = (step.isStep ? tr("Predicted step: %1, measured %2 (%3 saved).")
                            : tr("Predicted run: %1, measured %2 (%3 saved)."))
                   .arg(durationWords(p.predictedNsPerStep), durationWords(p.measuredNsPerStep),
                        durationWords(p.gainNs()));
    if (p.highNsPerStep > p.lowNsPerStep) {
      sentence += tr(" In nineteen of twenty runs, between %1 and %2: the range drawn above.")
                      .arg(durationWords(p.lowNsPerStep), durationWords(p.highNsPerStep));
    }
  }
  drawing_->setStep(step, dark_);
  for (const std::string& note : p.notes) sentence += QLatin1Char('\n') + words(note);
  prediction_->setText(sentence);
  prediction_->setVisible(!sentence.isEmpty());
}

QString OverviewPage::prediction() const {
  return prediction_->text();
}

}  // namespace lacuna::gui
