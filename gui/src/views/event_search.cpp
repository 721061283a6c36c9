// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "views/event_search.h"

#include <QLabel>
#include <QLineEdit>
#include <utility>

#include "base/words.h"
#include "lacuna/prof/amounts.h"
#include "views/parts.h"
#include "views/timeline_view.h"

namespace lacuna::gui {

EventSearch::EventSearch(TimelineView* view, QWidget* parent)
    : QObject(parent),
      view_(view),
      field_(textField(tr("Find events"), parent)),
      result_(label({}, "dim", parent)) {
  result_->hide();
  connect(field_, &QLineEdit::textChanged, this, &EventSearch::searchFor);
  connect(field_, &QLineEdit::returnPressed, this, [this] { findNext(true); });
}

void EventSearch::callOff() {
  searchJob_.cancel();
  findJob_.cancel();
  searching_ = false;
  matches_ = nullptr;
  wantedNext_.reset();
}

void EventSearch::setResult(const QString& what) {
  result_->setText(what);
  result_->setVisible(!what.isEmpty());
  if (!searching_) field_->setAccessibleDescription(what);  // not each percent on the way
}

void EventSearch::searchFor(const QString& text) {
  callOff();
  if (text.isEmpty() || !view_->trace()) return setResult({});
  setResult(tr("Searching…"));
  searched_ = view_->trace();
  searching_ = true;
  searchJob_.start([this, trace = view_->trace(), part = text.toStdString(),
                    count = countMatches_](const LongJob::Turn& turn) {
    const auto names = std::make_shared<const analyzer::NameMatches>(
        analyzer::matchNames(*trace->store, part, [&] { return turn.wanted(); }));
    if (!turn.wanted()) return;
    const auto showProgress = [this](double share) {
      setResult(tr("Searching… %1 %").arg(static_cast<int>(share * 100)));
    };
    const std::uint64_t events = count(*trace->tracks, *names, turn.progress(showProgress));
    turn.post([this, names, events] { show(names, events); });
  });
}

void EventSearch::show(const Matches& names, std::uint64_t events) {
  searching_ = false;
  if (events > 0) matches_ = names;
  setResult(events == 0 ? tr("No event has such a name")
            : events == 1
                ? tr("1 event, Enter to go there")
                : tr("%1 events, Enter for the next").arg(words(prof::scaledCount(events))));
  if (const auto forward = std::exchange(wantedNext_, std::nullopt)) goToMatch(*forward);
  Q_EMIT searched();
}

void EventSearch::findNext(bool forward) {
  if (searching_) {
    wantedNext_ = forward;  // as soon as it is known what matches
    return;
  }
  if (view_->trace() && searched_.lock() != view_->trace() && !field_->text().isEmpty()) {
    searchFor(field_->text());  // it has grown since, and may have new names
    wantedNext_ = forward;
    return;
  }
  goToMatch(forward);
}

void EventSearch::goToMatch(bool forward) {
  if (!matches_) return;
  const prof::TimeNs from = forward ? view_->viewport().startNs() - 1 : view_->viewport().endNs();
  findJob_.start(
      this,
      [trace = view_->trace(), names = matches_, from, selected = view_->selection(),
       forward](const Job::Wanted& w) {
        if (!selected) return analyzer::nextMatch(*trace->tracks, *names, from, forward, w);
        return analyzer::nextMatch(*trace->tracks, *names, eventOf(*selected), forward, w);
      },
      [this, trace = view_->trace(), forward](const std::optional<analyzer::TrackEvent>& hit) {
        if (trace != view_->trace())
          return findNext(forward);  // it has grown since, and has other places
        if (hit) view_->reveal(placeOf(*hit));
      });
}

}  // namespace lacuna::gui
