// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QTableView>
#include <optional>
#include <utility>

#include "base/words.h"
#include "lacuna/analyzer/links.h"
#include "lacuna/prof/amounts.h"
#include "models/analysis_tables.h"
#include "models/details_model.h"
#include "timeline/text.h"
#include "views/timeline_page.h"

// The questions of the page to the trace, off the GUI's thread: links, names that match, sums of a
// stretch.

namespace lacuna::gui {

namespace {

constexpr std::size_t kMostLinks = 64;

EventPlace placeOf(const analyzer::TrackEvent& e) {
  return {{e.group, e.track}, static_cast<int>(e.lane), e.event};
}

analyzer::TrackEvent eventOf(const EventPlace& place) {
  return {place.track.group, place.track.track, static_cast<std::size_t>(place.lane), place.event};
}

}  // namespace

void TimelinePage::callLinksOff() {
  linkJob_.cancel();
  launchJob_.cancel();
  launching_ = nullptr;
  wantedLinksOf_.reset();
}

void TimelinePage::computeLinks() {
  if (launching_ == view_->trace()) return;
  launching_ = view_->trace();
  launchJob_.start([this, trace = launching_](const LongJob::Turn& turn) {
    (void)trace->store->links().prepareLaunches([&] { return turn.wanted(); });
    turn.post([this] {
      launching_ = nullptr;
      if (const auto event = std::exchange(wantedLinksOf_, std::nullopt)) findLinks(*event);
    });
  });
}

void TimelinePage::findLinks(const analyzer::EventRef& event) {
  using Table = analyzer::EventRef::Table;
  if (!view_->trace()->store->links().launchesReady()) {
    linkJob_.cancel();
    wantedLinksOf_ = event;
    return computeLinks();
  }
  linkJob_.start(
      this,
      [trace = view_->trace(), event](const Job::Wanted& wanted) {
        const analyzer::Links& links = trace->store->links();
        std::vector<analyzer::EventRef> others;
        const bool work = event.table == Table::Kernel || event.table == Table::Memcpy ||
                          event.table == Table::Memset;
        if (work) {
          if (const auto launch = links.launchOf(event)) others.push_back(launch);
          const std::uint32_t op = links.operatorOf(event);
          const analyzer::EventRef around{Table::Range, op};
          if (op != analyzer::Links::kNone && (others.empty() || others[0] != around))
            others.push_back(around);
        } else if (event.table == Table::Range || event.table == Table::ApiCall) {
          others = links.launchedBy(event, kMostLinks);
          if (others.empty() && event.table == Table::Range && wanted()) {
            links.workUnder(event.row, [&](const analyzer::EventRef& under) {
              if (others.size() < kMostLinks) others.push_back(under);
            });
          }
        }
        std::vector<EventPlace> places;
        for (const analyzer::EventRef& other : others) {
          if (!wanted()) break;
          if (const auto at = analyzer::locate(*trace->store, *trace->tracks, other))
            places.push_back(placeOf(*at));
        }
        return places;
      },
      [this](const std::vector<EventPlace>& places) {
        view_->setLinks(places);
        Q_EMIT linksReady();
      });
}

void TimelinePage::findArguments(const analyzer::EventRef& event) {
  argumentJob_.start(
      this,
      [trace = view_->trace(), event](const Job::Wanted&) { return argumentsOf(*trace, event); },
      [this](const DetailRows& rows) {
        details_->append(rows);
        if (!rows.empty()) fitDetails();
      });
}

void TimelinePage::followLink() {
  if (!view_->links().empty()) view_->reveal(EventPlace(view_->links().front()));
}

void TimelinePage::callSearchOff() {
  searchJob_.cancel();
  findJob_.cancel();
  searching_ = false;
  matches_ = nullptr;
  wantedNext_.reset();
}

void TimelinePage::setFound(const QString& what) {
  found_->setText(what);
  found_->setVisible(!what.isEmpty());
  if (!searching_) search_->setAccessibleDescription(what);  // not each percent on the way
}

void TimelinePage::searchFor(const QString& text) {
  callSearchOff();
  if (text.isEmpty() || !view_->trace()) return setFound({});
  setFound(tr("Searching…"));
  searched_ = view_->trace();
  searching_ = true;
  searchJob_.start([this, trace = view_->trace(), part = text.toStdString(),
                    count = countMatches_](const LongJob::Turn& turn) {
    const auto names = std::make_shared<const analyzer::NameMatches>(
        analyzer::matchNames(*trace->store, part, [&] { return turn.wanted(); }));
    if (!turn.wanted()) return;
    const auto showProgress = [this](double share) {
      setFound(tr("Searching… %1 %").arg(static_cast<int>(share * 100)));
    };
    const std::uint64_t events = count(*trace->tracks, *names, turn.progress(showProgress));
    turn.post([this, names, events] { showFound(names, events); });
  });
}

void TimelinePage::showFound(const Matches& names, std::uint64_t events) {
  searching_ = false;
  if (events > 0) matches_ = names;
  setFound(events == 0 ? tr("No event has such a name")
           : events == 1
               ? tr("1 event, Enter to go there")
               : tr("%1 events, Enter for the next").arg(words(prof::scaledCount(events))));
  if (const auto forward = std::exchange(wantedNext_, std::nullopt)) goToMatch(*forward);
  Q_EMIT searched();
}

void TimelinePage::findNext(bool forward) {
  if (searching_) {
    wantedNext_ = forward;  // as soon as it is known what matches
    return;
  }
  if (view_->trace() && searched_.lock() != view_->trace() && !search_->text().isEmpty()) {
    searchFor(search_->text());  // it has grown since, and may have new names
    wantedNext_ = forward;
    return;
  }
  goToMatch(forward);
}

void TimelinePage::goToMatch(bool forward) {
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

void TimelinePage::showArea() {
  const auto area = view_->area();
  areaTitle_->setVisible(area.has_value());
  sumsTable_->setVisible(area.has_value());
  hint_->setVisible(!view_->selection() && !area);
  areaJob_.cancel();
  if (!area) sums_->setTable({});
  if (!area || !view_->trace()) return;
  // The sums of a trace that grows stay until the new ones are there.
  const bool same =
      sums_->rows() > 0 && summed_.startNs == area->startNs && summed_.endNs == area->endNs;
  if (!same) areaTitle_->setText(tr("Summing up…"));
  areaJob_.start(
      this,
      [trace = view_->trace(), window = *area](const Job::Wanted& wanted) {
        return analyzer::areaStats(*trace->tracks, window, [&](double) { return wanted(); });
      },
      [this](const analyzer::AreaStats& stats) { showSums(stats); });
}

void TimelinePage::showSums(const analyzer::AreaStats& stats) {
  summed_ = stats.window;
  const auto duration = [](std::int64_t ns) { return QString::fromStdString(prof::timeText(ns)); };
  QStringList lines{
      tr("<b>%1 selected</b>").arg(duration(stats.window.endNs - stats.window.startNs))};
  for (const analyzer::BusySum& sum : stats.busy) {
    if (sum.device) {
      lines << tr("%1: busy %2, idle %3")
                   .arg(QString::fromStdString(sum.label).toHtmlEscaped(), duration(sum.busyNs),
                        duration(sum.idleNs));
    }
  }
  if (stats.overlapNs > 0) lines << tr("queues overlap for %1").arg(duration(stats.overlapNs));
  areaTitle_->setText(lines.join(QStringLiteral("<br>")));
  sumsTable_->setSortingEnabled(false);
  sums_->setTable(areaTable(*view_->trace(), stats));
  sumsTable_->horizontalHeader()->setSortIndicator(-1, Qt::DescendingOrder);
  sumsTable_->setSortingEnabled(true);
  sumsTable_->horizontalHeader()->setSectionResizeMode(0, QHeaderView::Stretch);
  for (int column = 1; column < 4; ++column) sumsTable_->setColumnWidth(column, 74);
  Q_EMIT sumsReady();
}

}  // namespace lacuna::gui
