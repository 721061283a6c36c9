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

void writeFinding(TextPage& page, const Analysis& analysis, std::size_t number, const Finding& finding) {
  constexpr int kFront = 11;
  const bool fault = finding.kind == FindingKind::Fault;
  const std::string tag = page.styled(fault ? "fault" : "could", fault ? "1;31" : "36");
  const std::string band = humanBand(finding.recordingNsPerStep, finding.costNsPerStep);
  const std::string heading = oneLine(finding.title);
  page.wrappedBehind(fmt::format(" {:>2} {}  ", number, tag), kFront,
                     band.empty() ? heading : fmt::format("{} ({})", heading, band));
  const std::string fix = finding.knob.empty() ? finding.advice : finding.knob + ": " + finding.advice;
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
    page.line(
        fmt::format("    and {} more: --section findings", static_cast<int>(analysis.of<Findings>().size()) - rows));
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

const Column<Finding> kColumns[]{
    {{"id", "", ColumnKind::Text, "its name in docs/analyses/findings.md"},
     [](const Finding& row) -> TableCell { return std::string(findingKey(row.id)); }},
    {{"kind", "", ColumnKind::Text, "`fault` or `opportunity`"},
     [](const Finding& row) -> TableCell { return std::string(kindName(row.kind)); }},
    {{"severity", "", ColumnKind::Text, "`low`, `medium` or `high`"},
     [](const Finding& row) -> TableCell { return std::string(severityName(row.severity)); }},
    {{"title", "finding", ColumnKind::Text, "one line: what costs how much"}, kValueOf<&Finding::title>},
    {{"cost_ns_per_step", "cost", ColumnKind::Time, "a step; 0 where the cost is not time"},
     kValueOf<&Finding::costNsPerStep>},
    {{"recording_ns_per_step", "±", ColumnKind::Band, "what of the cost recording may be", "cost_ns_per_step"},
     kValueOf<&Finding::recordingNsPerStep>},
    {{"predicted_gain_ns_per_step", "gain", ColumnKind::Time, "what the fix is predicted to gain"},
     kValueOf<&Finding::predictedGainNsPerStep>},
    {{"gain_low_ns_per_step", "", ColumnKind::Time, "the lower end of the prediction's interval"},
     kValueOf<&Finding::gainLowNsPerStep>},
    {{"gain_high_ns_per_step", "", ColumnKind::Time, "the upper end"}, kValueOf<&Finding::gainHighNsPerStep>},
    {{"base_ns_per_step", "", ColumnKind::Time, "the step that the gain is taken from"},
     kValueOf<&Finding::baseNsPerStep>},
    {{"gain_basis", "", ColumnKind::Text, "how the gain was found"},
     [](const Finding& row) -> TableCell { return std::string(gainBasisName(row.gainBasis)); }},
    {{"predicted_gain_bytes", "frees", ColumnKind::Bytes, "of memory; 0 where the finding is about time"},
     kValueOf<&Finding::predictedGainBytes>},
    {{"not_predicted", "", ColumnKind::Text, "why there is no prediction; else empty"},
     kValueOf<&Finding::notPredicted>},
    {{"confidence", "confidence", ColumnKind::Share, "how sure the finding is"}, kValueOf<&Finding::confidence>},
    {{"knob", "change", ColumnKind::Text, "the change for `whatif` and `tune`; empty where only code helps"},
     kValueOf<&Finding::knob>},
    {{"advice", "fix", ColumnKind::Text, "what to do"}, kValueOf<&Finding::advice>},
    {{"count", "times", ColumnKind::Count, "how often in the window"}, kValueOf<&Finding::count>},
};

std::vector<Table> tables(const Analysis& analysis) {
  return {tableOf("findings", "faults before opportunities, costliest first", kColumns, analysis.of<Findings>())};
}

/// Device and queue are called as in devices[], processes and threads as by the operating system.
void writeOwner(JsonWriter& json, const Analysis& analysis, const Evidence& evidence) {
  const prof::Thread thread = rowOf<prof::Thread>(*analysis.store, evidence.thread);
  std::string_view device, queue;
  std::uint32_t process = rowOf<prof::Process>(*analysis.store, thread.process).osPid;
  for (const DeviceAccount& account : analysis.devices) {
    if (!evidence.device || account.id != evidence.device) continue;
    device = account.label;
    process = account.osPid;
    for (const QueueAccount& one : account.queues) queue = one.id == evidence.queue ? one.name : queue;
  }
  json.field("device", device).field("queue", queue).field("process", process).field("thread", thread.osTid);
}

void writeFinding(JsonWriter& json, const Analysis& analysis, const Finding& finding) {
  json.beginObject()
      .field("id", findingKey(finding.id))
      .field("kind", kindName(finding.kind))
      .field("severity", severityName(finding.severity))
      .field("title", finding.title)
      .field("cost_ns_per_step", finding.costNsPerStep)
      .field("recording_ns_per_step", finding.recordingNsPerStep)
      .field("predicted_gain_ns_per_step", finding.predictedGainNsPerStep)
      .field("base_ns_per_step", finding.baseNsPerStep)
      .field("accounted_ns_per_step", finding.accountedNsPerStep)
      .field("gain_low_ns_per_step", finding.gainLowNsPerStep)
      .field("gain_high_ns_per_step", finding.gainHighNsPerStep)
      .field("gain_basis", gainBasisName(finding.gainBasis))
      .field("gain_factors", gainFactors(analysis, finding))
      .field("predicted_gain_bytes", finding.predictedGainBytes)
      .field("not_predicted", finding.notPredicted)
      .field("samples_per_second", finding.samplesPerSecond)
      .field("predicted_samples_per_second", finding.predictedSamplesPerSecond)
      .field("confidence", finding.confidence)
      .field("knob", finding.knob)
      .field("advice", finding.advice)
      .field("count", finding.count)
      .key("evidence")
      .beginArray();
  for (const Evidence& evidence : finding.evidence) {
    json.beginObject().field("start_ns", evidence.startNs).field("end_ns", evidence.endNs).field("what", evidence.what);
    writeOwner(json, analysis, evidence);
    json.endObject();
  }
  json.endArray().endObject();
}

void json(JsonWriter& json, const Analysis& analysis) {
  json.key("findings").beginArray();
  for (const Finding& finding : analysis.of<Findings>()) writeFinding(json, analysis, finding);
  json.endArray();
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
    const std::string title = band.empty() ? finding.title : fmt::format("{} ({})", finding.title, band);
    page.markup(fmt::format("<div class=\"card{}\"><div class=\"tag\">{}</div><h3>{}</h3><p>{}{}</p>",
                            fault ? " fault" : "", fault ? "fault" : "opportunity", xmlText(title),
                            finding.knob.empty() ? "" : fmt::format("<code>{}</code> ", xmlText(finding.knob)),
                            xmlText(finding.advice)));
    page.markup(fmt::format("<p class=\"dim\">gain: {}</p></div>\n",
                            xmlText(describeGain(finding, analysis.steps.all.empty() ? "in all" : "a step"))));
  }
}

constexpr std::string_view kJsonKeys[]{"findings"};

}  // namespace
}  // namespace of_findings

constinit const Section findings{
    .name = "findings",
    .title = "Findings",
    .about = "what is wrong or could be switched on, its cost, its fix and the gain",
    .tables = of_findings::tables,
    .overviewRows = 3,
    .text = of_findings::text,
    .json = of_findings::json,
    .jsonKeys = of_findings::kJsonKeys,
    .html = of_findings::html,
    .isDrawn = true,
};

}  // namespace lacuna::analyzer::sections
