// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QWidget>

#include "base/job.h"
#include "base/trace.h"
#include "lacuna/analyzer/charts.h"

namespace lacuna::gui {

/// The durations of the events of one name: a histogram on a logarithmic scale, with the median
/// marked.
class HistogramView : public QWidget {
  Q_OBJECT

 public:
  HistogramView(analyzer::TrackKind kind, QWidget* parent = nullptr);
  void setTrace(const TracePtr& trace);
  /// The same trace with more in it. The histogram belongs to the table beside it, and is renewed
  /// with it.
  void setGrown(const TracePtr& trace) { trace_ = trace; }
  void setName(const QString& name);
  void setDark(bool dark);
  [[nodiscard]] const analyzer::DurationHistogram& histogram() const { return histogram_; }

 Q_SIGNALS:
  void ready();

 protected:
  void paintEvent(QPaintEvent* event) override;
  bool event(QEvent* event) override;

 private:
  [[nodiscard]] QRect plot() const;
  /// The text above the bars.
  [[nodiscard]] QString facts() const;

  analyzer::TrackKind kind_;
  TracePtr trace_;
  QString name_;
  analyzer::DurationHistogram histogram_;
  bool dark_ = true;
  Job job_;
};

}  // namespace lacuna::gui
