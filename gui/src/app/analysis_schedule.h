// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <QTimer>

#include "base/trace.h"

namespace lacuna::gui {

class AnalysisRunner;
class LiveFollower;

/// Decides when a trace is analysed. An analysis reads all of the trace, so while that grows it may
/// take a fifth of the time and no more.
class AnalysisSchedule : public QObject {
  Q_OBJECT

 public:
  /// Starts `runner`; `live` knows whether the trace grows. Both outlive the schedule.
  AnalysisSchedule(AnalysisRunner* runner, LiveFollower* live, QObject* parent);
  /// Another trace, which is analysed at once.
  void begin(const TracePtr& trace);
  /// The same trace with more in it: it is analysed as soon as it may be.
  void renew(const TracePtr& trace);
  /// Duration of the last analysis; 0 before its end.
  [[nodiscard]] qint64 lastMs() const { return lastMs_; }

 private:
  void start();
  void startOrWait();
  /// Where an analysis was put off: begins it if it may now.
  void resume();

  AnalysisRunner* runner_;
  LiveFollower* live_;
  TracePtr trace_;
  bool again_ = false;   ///< another analysis is wanted
  QTimer later_;         ///< when it may begin
  QElapsedTimer clock_;  ///< since the last analysis began, then since it ended
  qint64 lastMs_ = 0;
};

}  // namespace lacuna::gui
