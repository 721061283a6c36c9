// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <string>
#include <vector>

#include "lacuna/analyzer/report.h"
#include "lacuna/analyzer/text.h"
#include "lacuna/prof/amounts.h"
#include "report/phrases.h"
#include "report/sections/registry.h"
#include "whatif/sample_rate.h"

namespace lacuna::analyzer::sections {
namespace of_summary {
namespace {

const Column<OverheadPart> kOverhead[]{
    {{"kind", "", ColumnKind::Text, "`range`, `mark`, `use of cores`, or a recorded overhead's name"},
     kValueOf<&OverheadPart::kind>},
    {{"events", "", ColumnKind::Count, "0 of `use of cores`"}, kValueOf<&OverheadPart::events>},
    {{"ns_each", "", ColumnKind::Number, "nanoseconds that one takes; 0 of `use of cores`"},
     kValueOf<&OverheadPart::nsEach>},
    {{"ns_per_step", "", ColumnKind::Time, "what recording added to a step by it"}, kValueOf<&OverheadPart::nsPerStep>},
};

/// Of recording, from where on the reader should know what to do about it.
bool isMuchOfAStep(const Analysis& analysis, std::int64_t ns) {
  constexpr double kMuch = 0.1;
  return ratio(double(ns), double(analysis.meanStepNs())) >= kMuch;
}

std::string whyRecordingCosts(const Analysis& analysis) {
  const std::int64_t coresNs = analysis.of<SelfOverhead>().coresNsPerStep();
  if (isMuchOfAStep(analysis, coresNs)) {
    return fmt::format(
        ", {} of it by taking cores that the program's threads waited for: leave the recorder a core (taskset), or "
        "record less (--trace)",
        prof::timeText(coresNs));
  }
  const bool isMuch = isMuchOfAStep(analysis, analysis.of<SelfOverhead>().nsPerStep);
  return isMuch ? ", for its events follow each other closely: record less (--trace)" : "";
}

std::string overheadLine(const Analysis& analysis) {
  const SelfOverhead& overhead = analysis.of<SelfOverhead>();
  if (!overhead.known) return {};
  return fmt::format("Recording added about {} {} ({}){}; ± says how much of a figure that may be.",
                     prof::timeText(overhead.nsPerStep), analysis.steps.all.empty() ? "in all" : "to a step",
                     prof::shareText(ratio(double(overhead.nsPerStep), double(analysis.meanStepNs()))),
                     whyRecordingCosts(analysis));
}

std::vector<Table> tables(const Analysis& analysis) {
  return {tableOf("self_overhead", "what recording itself cost a step, by its parts", kOverhead,
                  analysis.of<SelfOverhead>().parts)};
}

void text(TextPage& page, const Analysis& analysis, int) {
  page.wrapped(oneLine(describeRun(analysis)), 0, 2, "2");
  page.line();
  page.wrapped(oneLine(verdict(analysis)), 0, 0);
  if (const std::string cost = overheadLine(analysis); !cost.empty()) page.wrapped(cost, 0, 0);
}

void writeTrace(JsonWriter& json, const Analysis& analysis) {
  const auto span = analysis.store->span();
  json.key("trace")
      .beginObject()
      .field("path", analysis.store->path().string())
      .field("start_ns", span.startNs)
      .field("end_ns", span.endNs)
      .field("window_start_ns", analysis.window.startNs)
      .field("window_end_ns", analysis.window.endNs)
      .field("dropped_events", analysis.of<ProgramFacts>().droppedEvents)
      .key("warnings")
      .beginArray();
  for (const std::string& warning : analysis.store->warnings()) json.value(std::string_view(warning));
  json.endArray().endObject();
}

void json(JsonWriter& json, const Analysis& analysis) {
  writeTrace(json, analysis);
  json.field("samples_per_second", samplesPerSecond(analysis));
  json.key("self_overhead").beginObject();
  json.field("known", analysis.of<SelfOverhead>().known)
      .field("ns_per_step", analysis.of<SelfOverhead>().nsPerStep)
      .key("parts");
  writeRows(json, tables(analysis).front());
  json.endObject();
}

void html(HtmlPage& page, const Analysis& analysis) {
  page.markup(fmt::format("<p class=\"verdict\">{}</p>\n", xmlText(verdict(analysis))));
  if (const std::string cost = overheadLine(analysis); !cost.empty()) {
    page.markup(fmt::format("<p class=\"dim\">{} It is hatched in the charts, where it is large enough to see.</p>\n",
                            xmlText(cost)));
  }
}

constexpr std::string_view kJsonKeys[]{"trace", "samples_per_second", "self_overhead"};

}  // namespace
}  // namespace of_summary

constinit const Section summary{
    .name = "summary",
    .title = "Summary",
    .about = "the run, the verdict, and what recording cost",
    .tables = of_summary::tables,
    .overviewRows = 1,
    .text = of_summary::text,
    .json = of_summary::json,
    .jsonKeys = of_summary::kJsonKeys,
    .html = of_summary::html,
    .isDrawn = true,
};

}  // namespace lacuna::analyzer::sections
