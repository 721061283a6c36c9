// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "views/event_links.h"

#include <utility>
#include <vector>

#include "views/timeline_view.h"

namespace lacuna::gui {

namespace {

constexpr std::size_t kMostLinks = 64;

using Table = analyzer::EventRef::Table;
using Events = std::vector<analyzer::EventRef>;

bool isDeviceWork(Table table) {
  return table == Table::Kernel || table == Table::Memcpy || table == Table::Memset;
}

/// The launch of device work, and the operator that it is of.
Events originsOf(const analyzer::Links& links, const analyzer::EventRef& work) {
  Events origins;
  if (const auto launch = links.launchOf(work)) origins.push_back(launch);
  const std::uint32_t op = links.operatorOf(work);
  const analyzer::EventRef around{Table::Range, op};
  if (op != analyzer::Links::kNone && (origins.empty() || origins[0] != around))
    origins.push_back(around);
  return origins;
}

/// The work that an event launched; for a range without a launch, the work below it.
Events workOf(const analyzer::Links& links, const analyzer::EventRef& event,
              const Job::Wanted& wanted) {
  Events work = links.launchedBy(event, kMostLinks);
  if (!work.empty() || event.table != Table::Range || !wanted()) return work;
  links.workUnder(event.row, [&](const analyzer::EventRef& under) {
    if (work.size() < kMostLinks) work.push_back(under);
  });
  return work;
}

Events linkedTo(const analyzer::Links& links, const analyzer::EventRef& event,
                const Job::Wanted& wanted) {
  if (isDeviceWork(event.table)) return originsOf(links, event);
  const bool canLaunch = event.table == Table::Range || event.table == Table::ApiCall;
  return canLaunch ? workOf(links, event, wanted) : Events();
}

std::vector<EventPlace> placesOf(const Trace& trace, const Events& events,
                                 const Job::Wanted& wanted) {
  std::vector<EventPlace> places;
  for (const analyzer::EventRef& event : events) {
    if (!wanted()) break;
    if (const auto at = analyzer::locate(*trace.store, *trace.tracks, event))
      places.push_back(placeOf(*at));
  }
  return places;
}

}  // namespace

EventLinks::EventLinks(TimelineView* view) : QObject(view), view_(view) {}

void EventLinks::callOff() {
  linkJob_.cancel();
  launchJob_.cancel();
  launching_ = nullptr;
  wanted_.reset();
}

void EventLinks::compute() {
  if (launching_ == view_->trace()) return;
  launching_ = view_->trace();
  launchJob_.start([this, trace = launching_](const LongJob::Turn& turn) {
    (void)trace->store->links().prepareLaunches([&] { return turn.wanted(); });
    turn.post([this] {
      launching_ = nullptr;
      if (const auto event = std::exchange(wanted_, std::nullopt)) find(*event);
    });
  });
}

void EventLinks::find(const analyzer::EventRef& event) {
  if (!view_->trace()->store->links().launchesReady()) {
    linkJob_.cancel();
    wanted_ = event;
    return compute();
  }
  linkJob_.start(
      this,
      [trace = view_->trace(), event](const Job::Wanted& wanted) {
        return placesOf(*trace, linkedTo(trace->store->links(), event, wanted), wanted);
      },
      [this](const std::vector<EventPlace>& places) {
        view_->setLinks(places);
        Q_EMIT ready();
      });
}

void EventLinks::follow() {
  if (!view_->links().empty()) view_->reveal(EventPlace(view_->links().front()));
}

}  // namespace lacuna::gui
