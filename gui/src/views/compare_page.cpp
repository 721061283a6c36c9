// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "views/compare_page.h"

#include <QDragEnterEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QGridLayout>
#include <QLabel>
#include <QMimeData>
#include <QPushButton>
#include <QStackedWidget>
#include <QTabBar>
#include <QTableView>
#include <QVBoxLayout>
#include <functional>

#include "base/words.h"
#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/diff.h"
#include "models/analysis_tables.h"
#include "views/charts.h"
#include "views/parts.h"
#include "views/start_pages.h"
#include "views/step_lines.h"
#include "views/table_page.h"

namespace lacuna::gui {

namespace {

constexpr int kHintWidth = 560;
constexpr int kWidestFile = 300;  // as names of files have no end, and a window has one

struct Opened {
  AnalysisPtr analysis;
  QString problem;
};

/// Reading takes the first part of the bar, analysing the rest.
constexpr double kOpeningShare = 0.4;

using OnProgress = std::function<bool(double share, const QString& stage)>;

Opened openAnalysed(const QString& path, const OnProgress& progress) {
  const QString reading = ComparePage::tr("Reading events");
  const QString analysing = ComparePage::tr("Analysing");
  analyzer::OpenOptions open;
  open.progress = [&](double share) { return progress(share * kOpeningShare, reading); };
  auto store = analyzer::Store::open(path.toStdString(), open);
  if (!store) return {nullptr, words(store.error().message)};
  analyzer::AnalysisOptions options;
  options.progress = [&](double share) {
    return progress(kOpeningShare + share * (1 - kOpeningShare), analysing);
  };
  auto analysis = analyzer::analyse(*store, options);
  if (!analysis) return {nullptr, words(analysis.error().message)};
  return {std::make_shared<const analyzer::Analysis>(*std::move(analysis)), {}};
}

QString fileOf(const analyzer::Analysis& analysis) {
  return QFileInfo(QString::fromStdString(analysis.store->path().string())).fileName();
}

}  // namespace

ComparePage::ComparePage(Desk& desk, QWidget* parent) : Page(parent), desk_(desk) {
  setObjectName(QStringLiteral("page"));
  setAcceptDrops(true);
  auto* down = new QVBoxLayout(this);
  down->setContentsMargins(0, 0, 0, 0);
  states_ = new QStackedWidget(this);
  states_->addWidget(makeEmpty());
  states_->addWidget(makeBody());
  loading_ = new LoadingPage(states_);
  states_->addWidget(loading_);
  connect(loading_, &LoadingPage::cancelClicked, this, &ComparePage::cancel);
  down->addWidget(states_);
  connect(&desk, &Desk::secondWanted, this, &ComparePage::openSecond);
  refresh();
}

QWidget* ComparePage::makeEmpty() {
  auto* empty = new QWidget(this);
  auto* across = new QHBoxLayout(empty);
  auto* middle = new QWidget(empty);
  middle->setFixedWidth(kHintWidth);
  auto* column = new QVBoxLayout(middle);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(10);
  column->addStretch(2);
  auto* title = new QLabel(tr("Compare with a second run"), empty);
  title->setObjectName(QStringLiteral("title"));
  title->setAlignment(Qt::AlignCenter);
  hint_ = new QLabel(empty);
  hint_->setObjectName(QStringLiteral("dim"));
  hint_->setTextFormat(Qt::PlainText);
  hint_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  hint_->setWordWrap(true);
  hint_->setAlignment(Qt::AlignCenter);
  choose_ = new QPushButton(tr("Choose a trace…"), empty);
  choose_->setObjectName(QStringLiteral("primary"));
  // A text that wraps keeps the height of one line where the layout aligns it.
  for (QWidget* text : {title, hint_}) column->addWidget(text);
  column->addWidget(choose_, 0, Qt::AlignHCenter);
  column->addStretch(3);
  across->addStretch();
  across->addWidget(middle);
  across->addStretch();
  connect(choose_, &QPushButton::clicked, this, &ComparePage::choose);
  return empty;
}

QWidget* ComparePage::makeBody() {
  auto* body = new QWidget(this);
  auto* down = new QVBoxLayout(body);
  down->setContentsMargins(24, 18, 24, 0);
  down->setSpacing(12);
  auto* across = new QHBoxLayout;
  verdict_ = new QLabel(body);
  verdict_->setObjectName(QStringLiteral("verdict"));
  auto* swapButton = new QPushButton(tr("Swap"), body);
  auto* other = new QPushButton(tr("Another trace…"), body);
  across->addWidget(verdict_, 1);
  across->addWidget(swapButton);
  across->addWidget(other);
  down->addLayout(across);
  auto* charts = new QHBoxLayout;
  charts->setSpacing(28);
  auto* bars = new QVBoxLayout;
  bars->setSpacing(6);
  for (int side = 0; side < 2; ++side) {
    names_[side] = new QLabel(body);
    bars_[side] = new LedgerBar(body);
    bars->addWidget(names_[side]);
    bars->addWidget(bars_[side]);
    if (side == 0) bars->addSpacing(6);
  }
  bars->addStretch();
  lines_ = new StepLines(body);
  charts->addLayout(bars, 3);
  charts->addWidget(lines_, 2);
  down->addLayout(charts, 1);
  tabs_ = new QTabBar(body);
  tabs_->setObjectName(QStringLiteral("pages"));
  tabs_->setExpanding(false);
  tabs_->setAccessibleName(tr("What is compared"));
  pages_ = new QStackedWidget(body);
  const QString titles[] = {tr("The run"), tr("Where time goes"), tr("Operators"), tr("Kernels")};
  for (int n = 0; n < 4; ++n) {
    tables_[n] = new TablePage({}, tr("Neither run has any."), pages_);
    tables_[n]->layout()->setContentsMargins(0, 10, 0, 16);
    // Figures of the run and entries of the ledger are no names of events.
    if (n >= 2) connect(tables_[n], &TablePage::nameActivated, &desk_, &Desk::nameWanted);
    connect(tables_[n], &TablePage::message, &desk_, &Desk::messageWanted);
    pages_->addWidget(tables_[n]);
    tables_[n]->table()->setAccessibleName(titles[n]);
    tabs_->addTab(titles[n]);
  }
  down->addWidget(tabs_);
  down->addWidget(pages_, 3);
  connect(tabs_, &QTabBar::currentChanged, pages_, &QStackedWidget::setCurrentIndex);
  connect(swapButton, &QPushButton::clicked, this, &ComparePage::swap);
  connect(other, &QPushButton::clicked, this, &ComparePage::choose);
  return body;
}

void ComparePage::setTrace(const TracePtr&) {
  first_ = nullptr;
  refresh();
}

void ComparePage::setFindings(const Findings& findings) {
  first_ = findings.analysis;
  refresh();
}

std::vector<Command> ComparePage::commands() {
  return {{.place = Command::Place::FileMenu,
           .text = tr("&Compare with…"),
           .act = [this] { choose(); }},
          {.text = tr("Compare: swap before and after"), .act = [this] { swap(); }}};
}

void ComparePage::choose() {
  const QString path = QFileDialog::getOpenFileName(this, tr("Compare with"));
  if (!path.isEmpty()) openSecond(path);
}

void ComparePage::openSecond(const QString& path) {
  protectFile(path);
  opening_ = true;
  loading_->begin(path);
  refresh();
  job_.start([this, path](const LongJob::Turn& turn) {
    const auto progress = [this](double share, const QString& stage) {
      loading_->setProgress(share, stage);
    };
    turn.post([this, opened = openAnalysed(path, turn.progress(progress))] {
      opening_ = false;
      second_ = opened.analysis;
      problem_ = opened.problem;
      refresh();
      if (!second_) Q_EMIT failed(opened.problem);
    });
  });
}

void ComparePage::cancel() {
  job_.cancel();
  opening_ = false;
  refresh();
}

void ComparePage::swap() {
  swapped_ = !swapped_;
  refresh();
}

void ComparePage::setDark(bool dark) {
  dark_ = dark;
  refresh();
}

QString ComparePage::problem() const {
  return hint_->text();
}

void ComparePage::refresh() {
  const bool both = first_ && second_;
  states_->setCurrentIndex(opening_ ? 2 : both ? 1 : 0);
  setSubject(opening_ ? loading_->cancelButton() : both ? static_cast<QWidget*>(tabs_) : choose_);
  hint_->setText(!problem_.isEmpty() ? problem_
                 : second_
                     ? tr("%1 is ready; the open trace has no analysis yet to compare it with.")
                           .arg(fileOf(*second_))
                     : tr("Steps, the ledger, operators and kernels side by side, and which "
                          "differences are more than noise. Drop a file here, or choose one."));
  if (!both || opening_) return;
  const analyzer::Analysis& a = *before();
  const analyzer::Analysis& b = *after();
  const analyzer::Analysis* sides[] = {&a, &b};
  const QString roles[] = {tr("before"), tr("after")};
  const analyzer::Ledger order = a.meanStepLedger();
  for (int side = 0; side < 2; ++side) {
    const QString file = fileOf(*sides[side]);
    const QString shown =
        names_[side]->fontMetrics().elidedText(file, Qt::ElideMiddle, kWidestFile);
    names_[side]->setToolTip(shown == file ? QString() : tipWords(file));
    names_[side]->setText(
        (sides[side]->steps.all.empty() ? tr("<b>%1</b> · %2 · %3 in all")
                                        : tr("<b>%1</b> · %2 · %3 a step"))
            .arg(roles[side], shown.toHtmlEscaped(), durationWords(sides[side]->meanStepNs())));
    bars_[side]->setLedger(sides[side]->meanStepLedger(), sides[side]->meanStepBands(), dark_,
                           &order);
  }
  lines_->setRuns(before(), after(), dark_);
  const auto runs = analyzer::compareRuns(a, b);
  const auto step = std::find_if(runs.begin(), runs.end(),
                                 [](const auto& row) { return row.what == "step time"; });
  verdict_->setText(
      step == runs.end() ? QString()
      : step->worse()    ? tr("Steps got slower by %1 (%2)")
                            .arg(durationWords(step->change()), percentWords(step->changeShare()))
      : step->better()
          ? tr("Steps got faster by %1 (%2)")
                .arg(durationWords(-step->change()), percentWords(-step->changeShare()))
          : tr("Steps take as long as before: noise explains the difference"));
  tables_[0]->renewTable(mixedComparisonTable(runs, tr("Figure")));
  tables_[1]->renewTable(
      comparisonTable(analyzer::compareLedgers(a, b), tr("Entry of the ledger, per step")));
  tables_[2]->renewTable(comparisonTable(analyzer::compareOperators(a, b),
                                         tr("Operator, host and device time per step")));
  tables_[3]->renewTable(
      comparisonTable(analyzer::compareKernels(a, b), tr("Kernel, time per step")));
  Q_EMIT compared();
}

Figures ComparePage::figures() const {
  return first_ && second_ ? tables_[tabs_->currentIndex()]->figures() : Figures();
}

void ComparePage::dragEnterEvent(QDragEnterEvent* event) {
  // Two at once are for the window, which opens both.
  event->setAccepted(event->mimeData()->urls().size() == 1);
}

void ComparePage::dropEvent(QDropEvent* event) {
  const QUrl file = event->mimeData()->urls().value(0);
  if (file.isLocalFile()) openSecond(file.toLocalFile());
}

}  // namespace lacuna::gui
