// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>
#include <QTimer>

#include "base/job.h"
#include "base/trace.h"
#include "lacuna/analyzer/lanes.h"
#include "lacuna/analyzer/store.h"

namespace lacuna::gui {

/// Watches the .lcn file of an open trace that is still being recorded, and hands out the trace
/// anew whenever the file has grown. The thread pool reads and lays out the additions, one check at
/// a time.
class LiveFollower : public QObject {
  Q_OBJECT

 public:
  static constexpr int kEveryMs = 1000;

  explicit LiveFollower(QObject* parent = nullptr);
  /// Watches a file if it is one that can grow; stops watching the one before. `size` is what it
  /// had before it was read: where it has another now, there is more to see, even when the
  /// recording has come to its end meanwhile.
  void watch(const QString& path, qint64 size);
  void stop();
  /// True once the file was seen growing, until it is finished.
  [[nodiscard]] bool live() const { return live_; }
  [[nodiscard]] bool watching() const { return timer_.isActive(); }
  /// Looks now instead of at the next second.
  void check();

 Q_SIGNALS:
  void grew(const lacuna::gui::TracePtr& trace);
  /// The recording has come to its end; grew() came before.
  void ended();

 private:
  /// The known state of the file; used by one job at a time.
  struct Followed {
    explicit Followed(const QString& path) : store(path.toStdString()) {}
    analyzer::StoreFollower store;
    analyzer::LiveTracks tracks;
  };

  QString path_;
  std::shared_ptr<Followed> followed_;
  qint64 size_ = 0;
  bool live_ = false;
  QTimer timer_;
  Job job_;
};

}  // namespace lacuna::gui
