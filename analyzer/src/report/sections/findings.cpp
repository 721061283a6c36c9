// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <string>
#include <vector>

#include "lacuna/analyzer/findings.h"
#include "lacuna/analyzer/report.h"
#include "lacuna/analyzer/text.h"
#include "report/gain_factors.h"
#include "report/sections/registry.h"

namespace lacuna::analyzer::sections {
namespace of_findings {
namespace {

void writeFinding(TextPage& page, const Analysis& analysis, std::size_t number,
                  const Finding& finding) {
  constexpr int kFront = 11;
  const bool fault = finding.kind == FindingKind::Fault;
  const std::string tag = page.styled(fault ? "fault" : "could", fault ? "1;31" : "36");
  const std::string band = humanBand(finding.recordingNsPerStep, finding.costNsPerStep);
  const std::string heading = oneLine(finding.title);
  page.wrappedBehind(fmt::format(" {:>2} {}  ", number, tag), kFront,
                     band.empty() ? heading : fmt::format("{} ({})", heading, band));
  const std::string fix =
      finding.knob.empty() ? finding.advice : finding.knob + ": " + finding.advice;
  page.wrapped("fix   " + oneLine(fix), kFront, kFront + 6);
  const std::string factors = gainFactors(analysis, finding);
  page.wrapped("gain  " + describeGain(finding, analysis.steps.all.empty() ? "in all" : "a step") +
                   (factors.empty() ? "" : "; factors " + factors),
               kFront, kFront + 6);
}

void text(TextPage& page, const Analysis& analysis, int rows) {
  page.title(sections::findings.title);
  if (analysis.of<Findings>().empty()) page.wrapped(noFindings(analysis), 1, 3);
  for (std::size_t i = 0; i < analysis.of<Findings>().size() && static_cast<int>(i) < rows; ++i)
    writeFinding(page, analysis, i + 1, analysis.of<Findings>()[i]);
  if (static_cast<int>(analysis.of<Findings>().size()) > rows) {
    page.line(fmt::format("    and {} more: --section findings",
                          static_cast<int>(analysis.of<Findings>().size()) - rows));
  }
}

template <class Row>
Row rowOf(const Store& store, decltype(Row::id) id) {
  for (std::uint64_t i = 0; id && i < store.rows<Row>(); ++i) {
    if (const Row row = store.row<Row>(i); row.id == id) return row;
  }
  return {};
}

std::string_view severityName(Severity severity) {
  constexpr std::string_view kSeverities[]{"low", "medium", "high"};
  return kSeverities[static_cast<std::size_t>(severity)];
}

std::string_view kindName(FindingKind kind) {
  return kind == FindingKind::Fault ? "fault" : "opportunity";
}

struct Found {
  const Analysis& analysis;
  const Finding& finding;
};

template <auto Member>
constexpr auto kOf = [](const Found& row) -> TableCell { return cellOf(row.finding.*Member); };

const Column<Found> kColumns[]{
    {{"id", "", ColumnKind::Text, "its name in docs/analyses/findings.md"},
     [](const Found& row) -> TableCell { return std::string(findingKey(row.finding.id)); }},
    {{"kind", "", ColumnKind::Text, "`fault` or `opportunity`"},
     [](const Found& row) -> TableCell { return std::string(kindName(row.finding.kind)); }},
    {{"severity", "", ColumnKind::Text, "`low`, `medium` or `high`"},
     [](const Found& row) -> TableCell { return std::string(severityName(row.finding.severity)); }},
    {{"title", "finding", ColumnKind::Text, "one line: what costs how much"}, kOf<&Finding::title>},
    {{"cost_ns_per_step", "cost", ColumnKind::Time, "a step; 0 where the cost is not time"},
     kOf<&Finding::costNsPerStep>},
    {{"recording_ns_per_step", "±", ColumnKind::Band, "what of the cost recording may be",
      "cost_ns_per_step"},
     kOf<&Finding::recordingNsPerStep>},
    {{"predicted_gain_ns_per_step", "gain", ColumnKind::Time, "what the fix is predicted to gain"},
     kOf<&Finding::predictedGainNsPerStep>},
    {{"gain_low_ns_per_step", "", ColumnKind::Time, "the lower end of the prediction's interval"},
     kOf<&Finding::gainLowNsPerStep>},
    {{"gain_high_ns_per_step", "", ColumnKind::Time, "the upper end"},
     kOf<&Finding::gainHighNsPerStep>},
    {{"base_ns_per_step", "", ColumnKind::Time,
      "the step that the gain is taken from, as `whatif` prints it; 0 without a replay"},
     kOf<&Finding::baseNsPerStep>},
    {{"predicted_gain_share", "", ColumnKind::Share,
      "the gain as a share of a step that nobody records"},
     [](const Found& row) -> TableCell {
       return row.finding.unrecordedShare(row.finding.predictedGainNsPerStep);
     }},
    {{"gain_low_share", "", ColumnKind::Share,
      "the least that a gain measured without a recorder should be; below 0: a loss"},
     [](const Found& row) -> TableCell { return row.finding.measuredInterval().low; }},
    {{"gain_high_share", "", ColumnKind::Share, "and the most"},
     [](const Found& row) -> TableCell { return row.finding.measuredInterval().high; }},
    {{"accounted_ns_per_step", "", ColumnKind::Time,
      "what of the cost the ledger, or the rule's own account of the trace, holds"},
     kOf<&Finding::accountedNsPerStep>},
    {{"gain_basis", "", ColumnKind::Text,
      "how the gain was found: `replay`, `upper_bound`, `trace`, `bytes` or `none`"},
     [](const Found& row) -> TableCell {
       return std::string(gainBasisName(row.finding.gainBasis));
     }},
    {{"gain_factors", "", ColumnKind::Text,
      "where the factors on kernels come from that a replay rests on"},
     [](const Found& row) -> TableCell { return gainFactors(row.analysis, row.finding); }},
    {{"predicted_gain_bytes", "frees", ColumnKind::Bytes, "of memory, with `bytes`; else 0"},
     kOf<&Finding::predictedGainBytes>},
    {{"not_predicted", "", ColumnKind::Text, "with `none`: why; else empty"},
     kOf<&Finding::notPredicted>},
    {{"samples_per_second", "", ColumnKind::Number,
      "with `small-batch`, where the program announces its batch; else 0"},
     kOf<&Finding::samplesPerSecond>},
    {{"predicted_samples_per_second", "", ColumnKind::Number, "the same with the change"},
     kOf<&Finding::predictedSamplesPerSecond>},
    {{"confidence", "confidence", ColumnKind::Share, "how sure the finding is"},
     kOf<&Finding::confidence>},
    {{"knob", "change", ColumnKind::Text,
      "the change for `whatif` and `tune`; empty where only code helps"},
     kOf<&Finding::knob>},
    {{"advice", "fix", ColumnKind::Text, "what to do"}, kOf<&Finding::advice>},
    {{"count", "times", ColumnKind::Count, "how often in the window"}, kOf<&Finding::count>},
};

/// Device and queue are called as in devices[], processes and threads as by the operating system.
struct Owned {
  const Evidence& evidence;
  std::string device, queue;
  std::uint32_t process = 0, thread = 0;
};

const Column<Owned> kEvidence[]{
    {{"start_ns", "", ColumnKind::Time, "on the trace's clock"},
     [](const Owned& row) -> TableCell { return row.evidence.startNs; }},
    {{"end_ns", "", ColumnKind::Time, "on the trace's clock"},
     [](const Owned& row) -> TableCell { return row.evidence.endNs; }},
    {{"what", "", ColumnKind::Text, "there is to see"},
     [](const Owned& row) -> TableCell { return row.evidence.what; }},
    {{"device", "", ColumnKind::Text, "as in `devices[]`; empty: not known"},
     kValueOf<&Owned::device>},
    {{"queue", "", ColumnKind::Text, "as in `devices[]`; empty: not known"},
     kValueOf<&Owned::queue>},
    {{"process", "", ColumnKind::Count, "the operating system's number; 0: not known"},
     kValueOf<&Owned::process>},
    {{"thread", "", ColumnKind::Count, "the operating system's number; 0: not known"},
     kValueOf<&Owned::thread>},
};

Owned ownerOf(const Analysis& analysis, const Evidence& evidence) {
  const prof::Thread thread = rowOf<prof::Thread>(*analysis.store, evidence.thread);
  Owned owned{.evidence = evidence,
              .device = {},
              .queue = {},
              .process = rowOf<prof::Process>(*analysis.store, thread.process).osPid,
              .thread = thread.osTid};
  for (const DeviceAccount& account : analysis.devices) {
    if (!evidence.device || account.id != evidence.device) continue;
    owned.device = account.label;
    owned.process = account.osPid;
    for (const QueueAccount& one : account.queues) {
      if (one.id == evidence.queue) owned.queue = one.name;
    }
  }
  return owned;
}

std::vector<Table> insideFinding(const Analysis& analysis, const Finding& finding) {
  std::vector<Owned> evidence;
  for (const Evidence& one : finding.evidence) evidence.push_back(ownerOf(analysis, one));
  return {tableOf("evidence", "moments of the trace that show it", kEvidence, evidence)};
}

std::vector<Table> tables(const Analysis& analysis) {
  std::vector<Found> rows;
  for (const Finding& finding : analysis.of<Findings>()) rows.push_back({analysis, finding});
  return {holding(
      tableOf("findings", "faults before opportunities, costliest first", kColumns, rows),
      [&](std::size_t row) { return insideFinding(analysis, analysis.of<Findings>()[row]); })};
}

void html(HtmlPage& page, const Analysis& analysis) {
  page.heading(sections::findings.title);
  if (analysis.of<Findings>().empty()) {
    std::string none = noFindings(analysis);
    none.front() = 'N';
    page.markup(fmt::format("<p>{}.</p>\n", xmlText(none)));
  }
  for (const Finding& finding : analysis.of<Findings>()) {
    const bool fault = finding.kind == FindingKind::Fault;
    const std::string band = humanBand(finding.recordingNsPerStep, finding.costNsPerStep);
    const std::string title =
        band.empty() ? finding.title : fmt::format("{} ({})", finding.title, band);
    page.markup(fmt::format(
        "<div class=\"card{}\"><div class=\"tag\">{}</div><h3>{}</h3><p>{}{}</p>",
        fault ? " fault" : "", fault ? "fault" : "opportunity", xmlText(title),
        finding.knob.empty() ? "" : fmt::format("<code>{}</code> ", xmlText(finding.knob)),
        xmlText(finding.advice)));
    page.markup(fmt::format(
        "<p class=\"dim\">gain: {}</p></div>\n",
        xmlText(describeGain(finding, analysis.steps.all.empty() ? "in all" : "a step"))));
  }
}

}  // namespace
}  // namespace of_findings

constinit const Section findings{
    .name = "findings",
    .title = "Findings",
    .about = "what is wrong or could be switched on, its cost, its fix and the gain",
    .tables = of_findings::tables,
    .overviewRows = 3,
    .text = of_findings::text,
    .html = of_findings::html,
    .isDrawn = true,
};

}  // namespace lacuna::analyzer::sections
