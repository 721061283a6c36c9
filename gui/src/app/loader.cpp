// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "app/loader.h"

#include <QFileInfo>
#include <QMetaObject>

#include "lacuna/analyzer/lanes.h"

namespace lacuna::gui {

namespace {

/// Reading takes the first part of the bar, laying out the rest.
constexpr double kReadShare = 0.6;

}  // namespace

prof::Result<TracePtr> loadTrace(const StoreOpener& opener, const QString& path,
                                 const std::function<bool(double, const QString&)>& progress) {
  const QString reading = Loader::tr("Reading events");
  const QString laying = Loader::tr("Laying out tracks");
  analyzer::OpenOptions options;
  options.progress = [&](double share) { return progress(share * kReadShare, reading); };
  const qint64 fileBytes = QFileInfo(path).size();
  auto store = opener(path.toStdString(), options);
  if (!store) return store.error();
  auto tracks = analyzer::openTracks(**store, [&](double share) {
    return progress(kReadShare + share * (1 - kReadShare), laying);
  });
  if (!tracks) return tracks.error();
  return makeTrace(path, *store, *tracks, fileBytes);
}

TracePtr makeTrace(const QString& path, std::shared_ptr<const analyzer::Store> store,
                   std::shared_ptr<const analyzer::TrackSet> tracks, qint64 fileBytes) {
  auto trace = std::make_shared<Trace>();
  trace->path = path;
  trace->fileBytes = fileBytes;
  trace->darkStyles = std::make_unique<NameStyles>(*store, true);
  trace->lightStyles = std::make_unique<NameStyles>(*store, false);
  trace->store = std::move(store);
  trace->tracks = std::move(tracks);
  return trace;
}

Loader::Loader(QObject* parent) : QObject(parent) {
  keepers_.setMaxThreadCount(1);
}

Loader::~Loader() {
  job_.cancel();
  leaving_ = true;
  keepers_.clear();
  keepers_.waitForDone();
}

void Loader::cancel() {
  if (!busy_) return;
  job_.cancel();
  busy_ = false;
  QMetaObject::invokeMethod(
      this,
      [this, path = path_] {
        if (!busy_) Q_EMIT cancelled(path);
      },
      Qt::QueuedConnection);
}

void Loader::open(const QString& path) {
  busy_ = true;
  path_ = path;
  job_.start([this, path, opener = opener_](const LongJob::Turn& turn) {
    const auto progress = [this](double share, const QString& stage) {
      Q_EMIT progressed(share, stage);
    };
    const auto trace = loadTrace(opener, path, turn.progress(progress));
    turn.post([this, path, trace] {
      busy_ = false;
      trace ? Q_EMIT opened(*trace)
            : Q_EMIT failed(path, QString::fromStdString(trace.error().message));
    });
    // For the next time; where the folder cannot be written to, it will be as slow as today.
    if (!trace || !turn.wanted()) return;
    keepers_.start([this, kept = *trace] {
      const auto stay = [this](double) { return !leaving_.load(); };
      (void)analyzer::keepTracks(*kept->store, *kept->tracks, analyzer::kTracksWorthKeeping, stay);
    });
  });
}

}  // namespace lacuna::gui
