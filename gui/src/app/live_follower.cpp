// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "app/live_follower.h"

#include <QFileInfo>

#include "app/loader.h"

namespace lacuna::gui {

namespace {

struct Reading {
  TracePtr trace;  ///< null when it could not be read just now
  bool complete = false;
};

bool isComplete(const QString& path) {
  prof::ReaderOptions options;
  options.verify = prof::ReaderOptions::Verify::Never;
  const auto reader = prof::Reader::open(path.toStdString(), options);
  return reader.ok() && reader->complete();
}

}  // namespace

LiveFollower::LiveFollower(QObject* parent) : QObject(parent) {
  timer_.setInterval(kEveryMs);
  connect(&timer_, &QTimer::timeout, this, &LiveFollower::check);
}

void LiveFollower::watch(const QString& path, qint64 size) {
  stop();
  if (!path.endsWith(QLatin1String(".lcn")) || !QFileInfo::exists(path)) return;
  path_ = path;
  followed_ = std::make_shared<Followed>(path);
  size_ = size;
  job_.start(
      this, [path](const Job::Wanted&) { return isComplete(path); },
      [this](bool complete) {
        if (!complete || QFileInfo(path_).size() != size_) timer_.start();
      });
}

void LiveFollower::stop() {
  timer_.stop();
  job_.cancel();
  followed_.reset();  // an abandoned check may still be using it
  live_ = false;
}

void LiveFollower::check() {
  const qint64 size = QFileInfo(path_).size();
  if (job_.busy() || !followed_ || size == size_) return;
  size_ = size;
  job_.start(
      this,
      [path = path_, size, followed = followed_](const Job::Wanted& wanted) {
        Reading reading;
        auto store = followed->store.poll();
        reading.complete = followed->store.finished();
        if (!store || !*store) return reading;
        auto tracks = followed->tracks.layOut(**store, [&](double) { return wanted(); });
        if (tracks) reading.trace = makeTrace(path, *store, *tracks, size);
        return reading;
      },
      [this](const Reading& reading) {
        if (reading.trace) {
          live_ = !reading.complete;
          Q_EMIT grew(reading.trace);
        }
        if (!reading.complete) return;
        live_ = false;
        timer_.stop();
        Q_EMIT ended();
      });
}

}  // namespace lacuna::gui
