// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <QSettings>
#include <QSplitter>
#include <map>
#include <utility>

#include "base/words.h"
#include "views/timeline_page.h"

/// The timeline keeps its look, and its place in each trace, in the settings.
namespace lacuna::gui {

namespace {

/// Which rows are folded or pinned: "group", "quiet", "counters", "track" or "pin", with the keys
/// of group and track.
QStringList savedRows(const analyzer::TrackSet& tracks, const RowOptions& options) {
  QStringList out;
  const auto add = [&](const char* what, std::size_t g, const std::string& track) {
    out << QString::fromLatin1(what) << words(keyOf(tracks.groups[g])) << words(track);
  };
  const auto addTracks = [&](const char* what, const std::set<TrackRef>& refs) {
    for (const TrackRef& ref : refs)
      add(what, ref.group, keyOf(tracks.groups[ref.group].tracks[ref.track]));
  };
  for (const std::size_t g : options.collapsedGroups) add("group", g, {});
  for (const std::size_t g : options.quietShown) add("quiet", g, {});
  for (const std::size_t g : options.foldedCounters) add("counters", g, {});
  addTracks("track", options.collapsedTracks);
  addTracks("pin", options.pinned);
  return out;
}

RowOptions restoredRows(const analyzer::TrackSet& tracks, const QStringList& saved) {
  std::map<QString, std::size_t> groups;
  std::map<std::pair<std::size_t, QString>, TrackRef> byKey;
  for (std::size_t g = 0; g < tracks.groups.size() && !saved.isEmpty(); ++g) {
    groups.emplace(words(keyOf(tracks.groups[g])), g);
    for (std::size_t t = 0; t < tracks.groups[g].tracks.size(); ++t) {
      byKey.emplace(std::pair(g, words(keyOf(tracks.groups[g].tracks[t]))), TrackRef{g, t});
    }
  }
  RowOptions out;
  for (qsizetype i = 0; i + 2 < saved.size(); i += 3) {
    const auto group = groups.find(saved[i + 1]);
    if (group == groups.end()) continue;
    if (saved[i] == QLatin1String("group")) out.collapsedGroups.insert(group->second);
    if (saved[i] == QLatin1String("quiet")) out.quietShown.insert(group->second);
    if (saved[i] == QLatin1String("counters")) out.foldedCounters.insert(group->second);
    const auto track = byKey.find({group->second, saved[i + 2]});
    if (track == byKey.end()) continue;
    if (saved[i] == QLatin1String("track")) out.collapsedTracks.insert(track->second);
    if (saved[i] == QLatin1String("pin")) out.pinned.insert(track->second);
  }
  return out;
}

}  // namespace

void TimelinePage::saveAppearance(QSettings& settings) const {
  settings.setValue(QStringLiteral("timelineSplit"), split_->saveState());
}

void TimelinePage::restoreAppearance(const QSettings& settings) {
  const QByteArray layout = settings.value(QStringLiteral("timelineSplit")).toByteArray();
  if (!layout.isEmpty()) split_->restoreState(layout);
}

void TimelinePage::saveSession(QSettings& settings) const {
  const analyzer::TrackSet& tracks = *view_->trace()->tracks;
  const prof::TimeNs zero = tracks.span.startNs;
  settings.setValue(QStringLiteral("start"),
                    static_cast<qlonglong>(view_->viewport().startNs() - zero));
  settings.setValue(QStringLiteral("span"), static_cast<qlonglong>(view_->viewport().spanNs()));
  QStringList marks;
  for (const Bookmark& mark : view_->bookmarks()) {
    marks << QStringLiteral("%1 %2").arg(mark.timeNs - zero).arg(mark.note);
  }
  settings.setValue(QStringLiteral("bookmarks"), marks);
  settings.setValue(QStringLiteral("rows"), savedRows(tracks, view_->rowOptions()));
}

void TimelinePage::restoreSession(const QSettings& settings) {
  const analyzer::TrackSet& tracks = *view_->trace()->tracks;
  const prof::TimeNs zero = tracks.span.startNs;
  const auto start = settings.value(QStringLiteral("start")).toLongLong() + zero;
  const auto span = settings.value(QStringLiteral("span")).toLongLong();
  if (span > 0)
    view_->setViewport(view_->viewport().showing({start, start + span}), TimelineView::Move::Jump);
  std::vector<Bookmark> marks;
  for (const QString& mark : settings.value(QStringLiteral("bookmarks")).toStringList()) {
    marks.push_back({mark.section(QLatin1Char(' '), 0, 0).toLongLong() + zero,
                     mark.section(QLatin1Char(' '), 1)});
  }
  view_->setBookmarks(std::move(marks));
  view_->setRowOptions(restoredRows(tracks, settings.value(QStringLiteral("rows")).toStringList()));
}

}  // namespace lacuna::gui
