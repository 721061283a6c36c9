// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "app/session.h"

#include <QCryptographicHash>
#include <QDateTime>
#include <QFileInfo>
#include <QSettings>
#include <algorithm>

#include "base/page.h"

namespace lacuna::gui {

namespace {

constexpr qsizetype kSessionsKept = 200;

QString sessionKey(const QString& path) {
  const QByteArray hash = QCryptographicHash::hash(QFileInfo(path).absoluteFilePath().toUtf8(),
                                                   QCryptographicHash::Sha1);
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
  const auto used = [&](const QString& key) {
    return settings.value(key + QStringLiteral("/used")).toLongLong();
  };
  std::sort(keys.begin(), keys.end(),
            [&](const QString& a, const QString& b) { return used(a) < used(b); });
  while (keys.size() > kSessionsKept) settings.remove(keys.takeFirst());
}

}  // namespace

void saveTraceSession(const Trace& trace, const std::vector<Page*>& pages, const QString& front) {
  QSettings settings;
  settings.beginGroup(sessionKey(trace.path));
  settings.setValue(QStringLiteral("recording"), recordingOf(trace));
  settings.setValue(QStringLiteral("used"), QDateTime::currentMSecsSinceEpoch());
  settings.setValue(QStringLiteral("page"), front);
  for (const Page* page : pages) page->saveSession(settings);
  settings.endGroup();
  forgetOldest();
}

QString restoreTraceSession(const Trace& trace, const std::vector<Page*>& pages,
                            const QString& first) {
  QSettings settings;
  settings.beginGroup(sessionKey(trace.path));
  const QString recording = recordingOf(trace);
  if (settings.value(QStringLiteral("recording"), recording) != recording) return first;
  for (Page* page : pages) page->restoreSession(settings);
  return settings.value(QStringLiteral("page"), first).toString();
}

}  // namespace lacuna::gui
