// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>
#include <functional>

#include "base/findings.h"
#include "base/long_job.h"
#include "base/trace.h"

namespace lacuna::gui {

/// Analyses a trace on a thread of its own. One at a time: start() abandons the analysis under way,
/// and nothing is heard of it any more. Signals arrive on the thread that the runner lives on.
class AnalysisRunner : public QObject {
  Q_OBJECT

 public:
  using Analyse = std::function<prof::Result<analyzer::Analysis>(
      std::shared_ptr<const analyzer::Store>, const analyzer::AnalysisOptions&)>;

  explicit AnalysisRunner(QObject* parent = nullptr);
  /// The function that analyses: analyzer::analyse unless set otherwise.
  void setAnalyse(Analyse analyse) { analyse_ = std::move(analyse); }
  void start(const TracePtr& trace);
  [[nodiscard]] bool busy() const { return busy_; }

 Q_SIGNALS:
  void progressed(double share);
  void finished(const lacuna::gui::Findings& findings);
  void failed(const QString& message);
  /// Everything that start() began is done.
  void settled();
  /// Follows finished(), where the trace has device work.
  void stripsReady(const lacuna::gui::LedgerStrips& strips);

 private:
  Analyse analyse_ = &analyzer::analyse;
  bool busy_ = false;
  LongJob job_{this};
};

}  // namespace lacuna::gui
