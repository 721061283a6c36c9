// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "app/session.h"

#include <QCryptographicHash>
#include <QDateTime>
#include <QFileInfo>
#include <QSettings>
#include <algorithm>
#include <map>
#include <utility>

#include "views/timeline_view.h"
#include "views/words.h"

namespace lacuna::gui {

namespace {

constexpr qsizetype kSessionsKept = 200;

/// Which rows are folded or pinned: "group", "quiet", "counters", "track" or "pin", with the keys of group and track.
QStringList savedRows(const analyzer::TrackSet& tracks, const RowOptions& options) {
  QStringList out;
  const auto add = [&](const char* what, std::size_t g, const std::string& track) {
    out << QString::fromLatin1(what) << words(keyOf(tracks.groups[g])) << words(track);
  };
  const auto addTracks = [&](const char* what, const std::set<TrackRef>& refs) {
    for (const TrackRef& ref : refs) add(what, ref.group, keyOf(tracks.groups[ref.group].tracks[ref.track]));
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

QString sessionKey(const QString& path) {
  const QByteArray hash =
      QCryptographicHash::hash(QFileInfo(path).absoluteFilePath().toUtf8(), QCryptographicHash::Sha1);
  return QStringLiteral("session/") + QString::fromLatin1(hash.toHex());
}

/// Distinguishes a recording from another one under the same name.
QString recordingOf(const Trace& trace) {
  const bool known = trace.store->rows<prof::Process>() > 0;
  const std::uint32_t pid = known ? trace.store->row<prof::Process>(0).osPid : 0;
  return QStringLiteral("%1 %2").arg(trace.tracks->span.startNs).arg(pid);
}

void forgetOldest() {
  QSettings settings;
  settings.beginGroup(QStringLiteral("session"));
  QStringList keys = settings.childGroups();
  if (keys.size() <= kSessionsKept) return;
  const auto used = [&](const QString& key) { return settings.value(key + QStringLiteral("/used")).toLongLong(); };
  std::sort(keys.begin(), keys.end(), [&](const QString& a, const QString& b) { return used(a) < used(b); });
  while (keys.size() > kSessionsKept) settings.remove(keys.takeFirst());
}

}  // namespace

void saveTraceSession(const Trace& trace, const TimelineView& view, const QString& page) {
  QSettings settings;
  settings.beginGroup(sessionKey(trace.path));
  const prof::TimeNs zero = trace.tracks->span.startNs;
  settings.setValue(QStringLiteral("recording"), recordingOf(trace));
  settings.setValue(QStringLiteral("used"), QDateTime::currentMSecsSinceEpoch());
  settings.setValue(QStringLiteral("start"), static_cast<qlonglong>(view.viewport().startNs() - zero));
  settings.setValue(QStringLiteral("span"), static_cast<qlonglong>(view.viewport().spanNs()));
  settings.setValue(QStringLiteral("page"), page);
  QStringList marks;
  for (const Bookmark& mark : view.bookmarks()) marks << QStringLiteral("%1 %2").arg(mark.timeNs - zero).arg(mark.note);
  settings.setValue(QStringLiteral("bookmarks"), marks);
  settings.setValue(QStringLiteral("rows"), savedRows(*trace.tracks, view.rowOptions()));
  settings.endGroup();
  forgetOldest();
}

QString restoreTraceSession(const Trace& trace, TimelineView& view) {
  QSettings settings;
  settings.beginGroup(sessionKey(trace.path));
  const QString recording = recordingOf(trace);
  if (settings.value(QStringLiteral("recording"), recording) != recording) return QStringLiteral("overview");
  const prof::TimeNs zero = trace.tracks->span.startNs;
  const auto start = settings.value(QStringLiteral("start")).toLongLong() + zero;
  const auto span = settings.value(QStringLiteral("span")).toLongLong();
  if (span > 0) view.setViewport(view.viewport().showing({start, start + span}), TimelineView::Move::Jump);
  std::vector<Bookmark> marks;
  for (const QString& mark : settings.value(QStringLiteral("bookmarks")).toStringList()) {
    marks.push_back({mark.section(QLatin1Char(' '), 0, 0).toLongLong() + zero, mark.section(QLatin1Char(' '), 1)});
  }
  view.setBookmarks(std::move(marks));
  view.setRowOptions(restoredRows(*trace.tracks, settings.value(QStringLiteral("rows")).toStringList()));
  return settings.value(QStringLiteral("page"), QStringLiteral("overview")).toString();
}

}  // namespace lacuna::gui
