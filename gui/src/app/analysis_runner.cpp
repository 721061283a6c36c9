// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "app/analysis_runner.h"

#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/links.h"
#include "lacuna/analyzer/whatif.h"

namespace lacuna::gui {

namespace {

Findings findingsOf(prof::Result<analyzer::Analysis> analysis) {
  if (!analysis) return {nullptr, nullptr, QString::fromStdString(analysis.error().message)};
  Findings findings;
  findings.analysis = std::make_shared<const analyzer::Analysis>(*std::move(analysis));
  if (auto simulator = analyzer::Simulator::create(*findings.analysis)) {
    // The simulator looks into the analysis, so the two go together.
    findings.simulator = std::shared_ptr<const analyzer::Simulator>(
        new analyzer::Simulator(std::move(*simulator)),
        [keep = findings.analysis](const analyzer::Simulator* s) { delete s; });
  }
  return findings;
}

}  // namespace

AnalysisRunner::AnalysisRunner(QObject* parent) : QObject(parent) {}

void AnalysisRunner::start(const TracePtr& trace) {
  busy_ = true;
  job_.start([this, trace, analyse = analyse_](const LongJob::Turn& turn) {
    analyzer::AnalysisOptions options;
    options.progress = turn.progress([this](double share) { Q_EMIT progressed(share); });
    auto calibration = analyzer::calibrationOfEnvironment();
    if (calibration) options.calibration = *std::move(calibration);
    auto analysis = calibration ? analyse(trace->store, options)
                                : prof::Result<analyzer::Analysis>(calibration.error());
    if (!turn.wanted()) return;
    const Findings findings = findingsOf(std::move(analysis));
    turn.post([this, findings] {
      findings.analysis ? Q_EMIT finished(findings) : Q_EMIT failed(findings.problem);
    });
    std::shared_ptr<const std::vector<analyzer::LedgerStrip>> laidOut;
    if (findings.analysis && turn.wanted()) {
      auto strips = analyzer::ledgerStrips(*findings.analysis,
                                           {.progress = [&](double) { return turn.wanted(); }});
      if (strips)
        laidOut = std::make_shared<const std::vector<analyzer::LedgerStrip>>(*std::move(strips));
    }
    turn.post([this, laidOut] {
      busy_ = false;
      if (laidOut) Q_EMIT stripsReady(laidOut);
      Q_EMIT settled();
    });
    // Selecting an event asks for its launch; computed here, nobody waits for that after the first
    // moments.
    (void)trace->store->links().prepareLaunches([&] { return turn.wanted(); });
  });
}

}  // namespace lacuna::gui
