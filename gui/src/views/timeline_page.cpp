// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "views/timeline_page.h"

#include <QHBoxLayout>
#include <QInputDialog>
#include <QLabel>
#include <QLineEdit>
#include <QShortcut>
#include <QSplitter>
#include <QVBoxLayout>
#include <algorithm>
#include <cstdlib>

#include "base/words.h"
#include "views/area_sums.h"
#include "views/event_details.h"
#include "views/event_links.h"
#include "views/finding_panel.h"
#include "views/minimap.h"
#include "views/parts.h"

namespace lacuna::gui {

namespace {

constexpr int kWidestSide = 380;
/// The surroundings of a finding's place show what is different there.
constexpr double kFindingShare = 0.3;
constexpr int kBookmarkReach = 6;  // pixels

/// For a moment, the step that it lies in, or as much as a step around it; all else as it is.
prof::TimeWindow withStep(prof::TimeWindow place, const analyzer::Analysis& analysis) {
  if (place.endNs > place.startNs) return place;
  for (const analyzer::Step& step : analysis.steps.all) {
    if (step.startNs <= place.startNs && place.startNs < step.endNs)
      return {step.startNs, step.endNs};
  }
  const prof::TimeNs half = analysis.stepNs() / 2;
  return {place.startNs - half, place.startNs + half};
}

}  // namespace

TimelinePage::TimelinePage(Desk& desk, QWidget* parent) : Page(parent), desk_(desk) {
  setObjectName(QStringLiteral("page"));
  auto* down = new QVBoxLayout(this);
  down->setContentsMargins(0, 0, 0, 0);
  split_ = new QSplitter(Qt::Horizontal, this);
  split_->setHandleWidth(1);
  split_->addWidget(makePicture(split_));
  split_->addWidget(makeSide(split_));
  split_->setStretchFactor(0, 1);
  split_->setSizes({1600, 320});
  split_->setCollapsible(0, false);
  down->addWidget(split_);
  setSubject(view_);
  connect(view_, &TimelineView::selectionChanged, this, &TimelinePage::showSelection);
  connect(view_, &TimelineView::highlightsChanged, this, [this] {
    if (view_->highlights().empty()) finding_->clear();
  });
  connectFilter();
  connectKeys();
  connectDesk();
  showSelection();
}

QWidget* TimelinePage::makePicture(QWidget* parent) {
  auto* left = new QWidget(parent);
  auto* column = new QVBoxLayout(left);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  view_ = new TimelineView(left);
  links_ = new EventLinks(view_);
  connect(links_, &EventLinks::ready, this, &TimelinePage::linksReady);
  auto* minimap = new Minimap(view_, left);
  connect(view_, &TimelineView::appearanceChanged, minimap, &Minimap::refresh);
  column->addWidget(minimap);
  column->addWidget(view_, 1);
  return left;
}

void TimelinePage::connectFilter() {
  // A filter that hides what is to be shown is taken away: what is written stays what is shown.
  connect(view_, &TimelineView::rowOptionsChanged, this, [this] {
    const QString shown = QString::fromStdString(view_->rowOptions().filter);
    if (filter_->text() != shown) filter_->setText(shown);
  });
  connect(filter_, &QLineEdit::textChanged, this, [this](const QString& text) {
    RowOptions options = view_->rowOptions();
    if (options.filter == text.toStdString()) return;
    options.filter = text.toStdString();
    view_->setRowOptions(options);
  });
  connect(view_, &TimelineView::filterWanted, this, [this] {
    filter_->setFocus(Qt::ShortcutFocusReason);
    filter_->selectAll();
  });
  connect(filter_, &QLineEdit::returnPressed, view_, qOverload<>(&QWidget::setFocus));
}

void TimelinePage::connectKeys() {
  for (QLineEdit* field : {filter_, search_->field()}) {
    connect(new QShortcut(Qt::Key_Escape, field, nullptr, nullptr, Qt::WidgetShortcut),
            &QShortcut::activated, this, [this, field] {
              field->clear();
              view_->setFocus();
            });
  }
  const auto key = [&](const QKeySequence& keys, auto&& act) {
    connect(new QShortcut(keys, this, nullptr, nullptr, Qt::WidgetWithChildrenShortcut),
            &QShortcut::activated, this, act);
  };
  key(QKeySequence(Qt::SHIFT | Qt::Key_Return), [this] { findNext(false); });
  key(QKeySequence(Qt::Key_F3), [this] { findNext(true); });
  key(QKeySequence(Qt::SHIFT | Qt::Key_F3), [this] { findNext(false); });
  const auto viewKey = [&](Qt::Key k, auto&& act) {
    connect(new QShortcut(k, view_, nullptr, nullptr, Qt::WidgetShortcut), &QShortcut::activated,
            this, act);
  };
  viewKey(Qt::Key_L, [this] { followLink(); });
  viewKey(Qt::Key_B, [this] { toggleBookmark(); });
  viewKey(Qt::Key_N, [this] { askForNote(); });
}

void TimelinePage::connectDesk() {
  connect(view_, &TimelineView::areaChanged, this,
          [this] { Q_EMIT desk_.stretchSelected(view_->area()); });
  connect(view_, &TimelineView::momentPicked, this,
          [this](prof::TimeNs at) { Q_EMIT desk_.momentPicked(at, this); });
  connect(finding_, &FindingPanel::playWanted, &desk_, &Desk::changeWanted);
  connect(&desk_, &Desk::momentPicked, this, [this](prof::TimeNs at, const QObject* by) {
    if (by != this) view_->setCursorMark(at);
  });
  connect(&desk_, &Desk::stretchesWanted, this,
          [this](const std::vector<prof::TimeWindow>& windows, const QString& caption) {
            Q_EMIT wanted();
            showEvidence(windows, caption);
          });
  connect(&desk_, &Desk::nameWanted, this, [this](const QString& name) {
    Q_EMIT wanted();
    search()->setText(name);
    findNext(true);
  });
  connect(&desk_, &Desk::findingWanted, this, [this](const AnalysisPtr& analysis, std::size_t n) {
    Q_EMIT wanted();
    showFinding(analysis->of<analyzer::Findings>()[n], *analysis);
  });
}

QWidget* TimelinePage::makeSide(QWidget* parent) {
  auto* side = new QWidget(parent);
  auto* column = new QVBoxLayout(side);
  column->setContentsMargins(12, 10, 12, 12);
  column->setSpacing(8);
  side->setMaximumWidth(kWidestSide);
  search_ = new EventSearch(view_, side);
  connect(search_, &EventSearch::searched, this, &TimelinePage::searched);
  filter_ = textField(tr("Filter tracks"), side);
  hint_ = label(tr("Click an event to see everything the trace knows about it. Drag on the ruler "
                   "to sum up a stretch."),
                "dim", side);
  details_ = new EventDetails(side);
  sums_ = new AreaSums(view_, side);
  connect(sums_, &AreaSums::ready, this, &TimelinePage::sumsReady);
  connect(sums_, &AreaSums::refreshed, this, &TimelinePage::showHint);
  finding_ = new FindingPanel(side);
  for (QWidget* part : std::initializer_list<QWidget*>{search(), search_->result(), filter_,
                                                       finding_, details_->title(), hint_})
    column->addWidget(part);
  connect(finding_, &FindingPanel::closed, this, [this] { view_->setHighlights({}, {}); });
  connect(finding_, &FindingPanel::placeWanted, this, [this](const FindingPlace& place) {
    view_->setHighlights(std::vector(view_->highlights()), place.what);
    view_->setViewport(view_->viewport().showing(place.window, kFindingShare),
                       TimelineView::Move::Jump);
    view_->showRows(place.rows);
  });
  column->addWidget(details_->table(), 1);
  column->addWidget(sums_->title());
  column->addWidget(sums_->table(), 1);
  column->addStretch(0);
  return side;
}

void TimelinePage::setTrace(const TracePtr& trace) {
  filter_->clear();
  search()->clear();
  search_->callOff();
  links_->callOff();
  view_->setTrace(trace);
  sums_->refresh();
}

void TimelinePage::setGrown(const TracePtr& trace) {
  links_->callOff();
  finding_->moveTo(*view_->trace()->tracks, *trace->tracks);
  view_->setGrown(trace);
  if (view_->area()) sums_->refreshSoon();  // what was added may lie in it
}

void TimelinePage::setLedgers(const LedgerStrips& strips) {
  view_->setLedgers(strips);
}

void TimelinePage::setDark(bool dark) {
  view_->setDark(dark);
  finding_->setDark(dark);
}

DetailsModel* TimelinePage::details() const {
  return details_->model();
}

TableModel* TimelinePage::sums() const {
  return sums_->model();
}

QString TimelinePage::searchResult() const {
  return search_->result()->text();
}

bool TimelinePage::busy() const {
  return links_->busy() || details_->busy() || search_->busy();
}

void TimelinePage::followLink() {
  links_->follow();
}

void TimelinePage::showSelection() {
  showHint();
  const auto place = view_->selection();
  if (place) return links_->find(details_->show(view_->trace(), *place));
  links_->callOff();
  details_->clear();
}

void TimelinePage::showHint() {
  hint_->setVisible(!view_->selection() && !view_->area());
}

std::vector<Bookmark>::iterator TimelinePage::near(std::vector<Bookmark>& marks,
                                                   prof::TimeNs at) const {
  const auto reach = static_cast<prof::TimeNs>(kBookmarkReach *
                                               view_->viewport().nsPerPixel(view_->canvasWidth()));
  const auto distance = [at](const Bookmark& mark) { return std::abs(mark.timeNs - at); };
  const auto nearest = std::min_element(
      marks.begin(), marks.end(),
      [&](const Bookmark& a, const Bookmark& b) { return distance(a) < distance(b); });
  return nearest != marks.end() && distance(*nearest) <= reach ? nearest : marks.end();
}

void TimelinePage::toggleBookmark() {
  if (!view_->trace()) return;
  std::vector<Bookmark> marks = view_->bookmarks();
  const prof::TimeNs at = view_->momentOfInterest();
  if (const auto same = near(marks, at); same != marks.end()) {
    view_->announce(tr("bookmark %1 is gone").arg(same->note));
    marks.erase(same);
  } else {
    marks.push_back({at, QString::number(marks.size() + 1)});
    view_->announce(tr("bookmark %1 is set").arg(marks.back().note));
  }
  view_->setBookmarks(std::move(marks));
}

void TimelinePage::setNote(prof::TimeNs timeNs, const QString& note) {
  std::vector<Bookmark> marks = view_->bookmarks();
  if (const auto same = near(marks, timeNs); same != marks.end()) {
    same->note = note;
  } else {
    marks.push_back({timeNs, note});
  }
  view_->setBookmarks(std::move(marks));
}

void TimelinePage::askForNote() {
  if (!view_->trace()) return;
  const prof::TimeNs at = view_->momentOfInterest();
  std::vector<Bookmark> marks = view_->bookmarks();
  const auto same = near(marks, at);
  const bool there = same != marks.end();
  bool wanted = false;
  const QString note =
      QInputDialog::getText(this, tr("Note"), tr("What is to be remembered here"),
                            QLineEdit::Normal, there ? same->note : QString(), &wanted);
  if (wanted && (there || !note.isEmpty())) setNote(there ? same->timeNs : at, note);
}

Figures TimelinePage::figures() const {
  const TracePtr& trace = view_->trace();
  if (!trace) return {};
  const Viewport& shown = view_->viewport();
  const prof::TimeWindow window =
      view_->area().value_or(prof::TimeWindow{shown.startNs(), shown.endNs()});
  QString out = QStringLiteral("group,track,depth,name,start_ns,dur_ns\n");
  int rows = 0;
  bool inGroups = false;  // what is pinned above them comes again
  for (const Row& row : view_->rows()) {
    inGroups = inGroups || row.kind == Row::Kind::Group;
    if (!inGroups || row.kind != Row::Kind::Track) continue;
    const analyzer::Track& track = trace->track(row.ref);
    const QString where =
        csvCell(QString::fromStdString(trace->tracks->groups[row.ref.group].label)) +
        QLatin1Char(',') + csvCell(QString::fromStdString(track.label));
    for (int n = 0; n < row.lanes; ++n) {
      const analyzer::Lane& lane = track.lanes[static_cast<std::size_t>(n)];
      for (std::size_t i = lane.lowerBound(window.startNs);
           i < lane.size() && lane.startNs(i) < window.endNs; ++i) {
        if (++rows > mostCsvRows_) return {out, mostCsvRows_};
        out += QStringLiteral("%1,%2,%3,%4,%5\n")
                   .arg(where, QString::number(n), csvCell(trace->name(lane.name(i))),
                        QString::number(lane.startNs(i)), QString::number(lane.durNs(i)));
      }
    }
  }
  return {out};
}

void TimelinePage::showEvidence(const std::vector<prof::TimeWindow>& windows,
                                const QString& caption) {
  if (windows.empty() || !view_->trace()) return;
  finding_->clear();
  view_->setHighlights(windows, caption);
  view_->setViewport(view_->viewport().showing(windows.front(), 0.6), TimelineView::Move::Jump);
  view_->setFocus();
}

void TimelinePage::showFinding(const analyzer::Finding& finding,
                               const analyzer::Analysis& analysis) {
  if (finding.evidence.empty() || !view_->trace()) return;
  std::vector<prof::TimeWindow> windows;
  std::vector<FindingPlace> places;
  for (const analyzer::Evidence& e : finding.evidence) {
    windows.push_back({e.startNs, e.endNs});
    places.push_back(
        {withStep(windows.back(), analysis), rowsOf(*view_->trace()->tracks, e), words(e.what)});
  }
  view_->setHighlights(std::move(windows), places[0].what);
  finding_->setFinding(finding, std::move(places), !analysis.steps.all.empty());
  view_->setFocus();
}

}  // namespace lacuna::gui
