// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "app/analysis_runner.h"

namespace lacuna::gui {

AnalysisRunner::AnalysisRunner(QObject* parent) : QObject(parent) {}

AnalysisRunner::~AnalysisRunner() {
  join();
}

void AnalysisRunner::join() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
  stop_ = false;
}

void AnalysisRunner::start(const TracePtr& trace) {
  join();
  const int generation = ++generation_;
  busy_ = true;
  thread_ = std::thread([this, trace, generation] {
    // Selecting an event asks for its launch; computed here, a click never waits for a large trace.
    (void)trace->store->links().launchOf({analyzer::EventRef::Table::Kernel, 0});
    analyzer::AnalysisOptions options;
    options.progress = [this](double) { return !stop_.load(); };
    auto analysis = analyzer::analyse(trace->store, options);
    Findings findings;
    QString message;
    if (analysis) {
      findings.analysis = std::make_shared<const analyzer::Analysis>(*std::move(analysis));
      if (auto simulator = analyzer::Simulator::create(*findings.analysis)) {
        // The simulator looks into the analysis, so the two go together.
        findings.simulator = std::shared_ptr<const analyzer::Simulator>(
            new analyzer::Simulator(std::move(*simulator)),
            [keep = findings.analysis](const analyzer::Simulator* s) { delete s; });
      }
    } else {
      message = QString::fromStdString(analysis.error().message);
    }
    QMetaObject::invokeMethod(
        this,
        [this, generation, findings, message] {
          if (generation != generation_) return;
          findings.analysis ? Q_EMIT finished(findings) : Q_EMIT failed(message);
        },
        Qt::QueuedConnection);
    std::shared_ptr<const std::vector<analyzer::LedgerStrip>> laidOut;
    if (findings.analysis) {
      auto strips = analyzer::ledgerStrips(*findings.analysis, {.progress = options.progress});
      if (strips) laidOut = std::make_shared<const std::vector<analyzer::LedgerStrip>>(*std::move(strips));
    }
    QMetaObject::invokeMethod(
        this,
        [this, generation, laidOut] {
          if (generation != generation_) return;
          busy_ = false;
          if (laidOut) Q_EMIT stripsReady(laidOut);
          Q_EMIT settled();
        },
        Qt::QueuedConnection);
  });
}

}  // namespace lacuna::gui
