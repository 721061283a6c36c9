// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "views/compare_page.h"

#include <QDragEnterEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QMimeData>
#include <QPushButton>
#include <QStackedWidget>
#include <QTabBar>
#include <QVBoxLayout>
#include <functional>

#include "base/words.h"
#include "lacuna/analyzer/analysis.h"
#include "views/parts.h"
#include "views/run_comparison.h"
#include "views/start_pages.h"

namespace lacuna::gui {

namespace {

constexpr int kHintWidth = 560;

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
  states_->addWidget(makeRuns());
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

RunComparison* ComparePage::makeRuns() {
  runs_ = new RunComparison(this);
  connect(runs_, &RunComparison::swapWanted, this, &ComparePage::swap);
  connect(runs_, &RunComparison::otherWanted, this, &ComparePage::choose);
  connect(runs_, &RunComparison::nameWanted, &desk_, &Desk::nameWanted);
  connect(runs_, &RunComparison::message, &desk_, &Desk::messageWanted);
  return runs_;
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

QString ComparePage::hint() const {
  if (!problem_.isEmpty()) return problem_;
  if (second_)
    return tr("%1 is ready; the open trace has no analysis yet to compare it with.")
        .arg(fileOf(*second_));
  return tr(
      "Steps, the ledger, operators and kernels side by side, and which differences are more "
      "than noise. Drop a file here, or choose one.");
}

void ComparePage::refresh() {
  const bool both = first_ && second_;
  states_->setCurrentIndex(opening_ ? 2 : both ? 1 : 0);
  setSubject(opening_ ? loading_->cancelButton()
             : both   ? static_cast<QWidget*>(runs_->tabs())
                      : choose_);
  hint_->setText(hint());
  if (!both || opening_) return;
  runs_->setRuns(before(), after(), dark_);
  Q_EMIT compared();
}

TablePage* ComparePage::table(int n) const {
  return runs_->table(n);
}

Figures ComparePage::figures() const {
  return first_ && second_ ? runs_->figures() : Figures();
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
