// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "app/analysis_schedule.h"

#include <algorithm>
#include <climits>

#include "app/analysis_runner.h"
#include "app/live_follower.h"

namespace lacuna::gui {

namespace {
constexpr qint64 kAnalysisPause = 4;  // times as long as an analysis takes
}  // namespace

AnalysisSchedule::AnalysisSchedule(AnalysisRunner* runner, LiveFollower* live, QObject* parent)
    : QObject(parent), runner_(runner), live_(live) {
  later_.setSingleShot(true);
  connect(&later_, &QTimer::timeout, this, &AnalysisSchedule::startOrWait);
  connect(live, &LiveFollower::ended, this, &AnalysisSchedule::resume);
  connect(runner, &AnalysisRunner::settled, this, [this] {
    lastMs_ = clock_.restart();
    resume();
  });
}

void AnalysisSchedule::begin(const TracePtr& trace) {
  trace_ = trace;
  lastMs_ = 0;
  again_ = false;
  start();
}

void AnalysisSchedule::renew(const TracePtr& trace) {
  trace_ = trace;
  startOrWait();
}

void AnalysisSchedule::resume() {
  if (again_) startOrWait();
}

void AnalysisSchedule::startOrWait() {
  const qint64 early = live_->live() ? kAnalysisPause * lastMs_ - clock_.elapsed() : 0;
  again_ = runner_->busy() || early > 0;
  if (early > 0 && !runner_->busy())
    later_.start(static_cast<int>(std::min<qint64>(early, INT_MAX)));
  if (!again_) start();
}

void AnalysisSchedule::start() {
  later_.stop();
  clock_.start();
  runner_->start(trace_);
}

}  // namespace lacuna::gui
