// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>
#include <functional>

#include "app/long_job.h"
#include "app/trace.h"
#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/charts.h"
#include "lacuna/analyzer/whatif.h"

namespace lacuna::gui {

/// The analyses of one trace and the model that plays changes on it (none where there is no device work).
struct Findings {
  std::shared_ptr<const analyzer::Analysis> analysis;
  std::shared_ptr<const analyzer::Simulator> simulator;
  QString problem;  ///< why there is no analysis
};

/// Analyses a trace on a thread of its own. One at a time: start() abandons the analysis under way, and nothing is
/// heard of it any more. Signals arrive on the thread that the runner lives on.
class AnalysisRunner : public QObject {
  Q_OBJECT

 public:
  using Analyse = std::function<prof::Result<analyzer::Analysis>(std::shared_ptr<const analyzer::Store>,
                                                                 const analyzer::AnalysisOptions&)>;

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
  void stripsReady(const std::shared_ptr<const std::vector<lacuna::analyzer::LedgerStrip>>& strips);

 private:
  Analyse analyse_ = &analyzer::analyse;
  bool busy_ = false;
  LongJob job_{this};
};

}  // namespace lacuna::gui
