// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <string>

#include "lacuna/analyzer/findings.h"
#include "lacuna/analyzer/summary.h"
#include "lacuna/analyzer/utf8.h"
#include "lacuna/analyzer/xml_text.h"
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
  if (analysis.findings.empty()) page.wrapped(noFindings(analysis), 1, 3);
  for (std::size_t i = 0; i < analysis.findings.size() && static_cast<int>(i) < rows; ++i)
    writeFinding(page, analysis, i + 1, analysis.findings[i]);
  if (static_cast<int>(analysis.findings.size()) > rows) {
    page.line(fmt::format("    and {} more: --section findings", static_cast<int>(analysis.findings.size()) - rows));
  }
}

template <class Row>
Row rowOf(const Store& store, decltype(Row::id) id) {
  for (std::uint64_t i = 0; id && i < store.rows<Row>(); ++i) {
    if (const Row row = store.row<Row>(i); row.id == id) return row;
  }
  return {};
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
  constexpr std::string_view kSeverities[]{"low", "medium", "high"};
  json.beginObject()
      .field("id", findingKey(finding.id))
      .field("kind", finding.kind == FindingKind::Fault ? "fault" : "opportunity")
      .field("severity", kSeverities[static_cast<std::size_t>(finding.severity)])
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
  for (const Finding& finding : analysis.findings) writeFinding(json, analysis, finding);
  json.endArray();
}

void html(HtmlPage& page, const Analysis& analysis) {
  page.heading(sections::findings.title);
  if (analysis.findings.empty()) {
    std::string none = noFindings(analysis);
    none.front() = 'N';
    page.markup(fmt::format("<p>{}.</p>\n", xmlText(none)));
  }
  for (const Finding& finding : analysis.findings) {
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
    .overviewRows = 3,
    .text = of_findings::text,
    .json = of_findings::json,
    .jsonKeys = of_findings::kJsonKeys,
    .html = of_findings::html,
    .isDrawn = true,
};

}  // namespace lacuna::analyzer::sections
