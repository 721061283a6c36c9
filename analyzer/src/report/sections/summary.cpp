// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
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
    {{"kind", "", ColumnKind::Text,
      "`range`, `mark`, what watching PyTorch adds to an `operator`, a `module` or `memory`, `use "
      "of cores`, or a recorded overhead's name"},
     kValueOf<&OverheadPart::kind>},
    {{"events", "", ColumnKind::Count, "0 of `use of cores`"}, kValueOf<&OverheadPart::events>},
    {{"ns_each", "", ColumnKind::Number, "nanoseconds that one takes; 0 of `use of cores`"},
     kValueOf<&OverheadPart::nsEach>},
    {{"ns_per_step", "", ColumnKind::Time, "what recording added to a step by it"},
     kValueOf<&OverheadPart::nsPerStep>},
};

/// True for so much recording that the reader should know what to do about it.
bool isMuchOfAStep(const Analysis& analysis, std::int64_t ns) {
  constexpr double kMuch = 0.1;
  return ratio(double(ns), double(analysis.meanStepNs())) >= kMuch;
}

std::string whyRecordingCosts(const Analysis& analysis) {
  const std::int64_t coresNs = analysis.of<SelfOverhead>().coresNsPerStep();
  if (isMuchOfAStep(analysis, coresNs)) {
    return fmt::format(
        ", {} of it by taking cores that the program's threads waited for: leave the recorder a "
        "core (taskset), or record less (--trace)",
        prof::timeText(coresNs));
  }
  const bool isMuch = isMuchOfAStep(analysis, analysis.of<SelfOverhead>().nsPerStep);
  return isMuch ? ", for its events follow each other closely: record less (--trace)" : "";
}

std::string overheadLine(const Analysis& analysis) {
  const SelfOverhead& overhead = analysis.of<SelfOverhead>();
  if (!overhead.known) return {};
  const std::int64_t stepNs = analysis.meanStepNs();
  if (overhead.plainSteps > 0) {
    return fmt::format(
        "Recording added about {} to a step ({}): {} to each that it recorded in detail, and "
        "little to the {} plain ones that show this{}; ± marks how much of a figure may come from "
        "recording.",
        prof::timeText(overhead.nsPerStep),
        prof::shareText(ratio(double(overhead.nsPerStep), double(stepNs))),
        prof::timeText(overhead.detailNsPerStep), overhead.plainSteps, whyRecordingCosts(analysis));
  }
  return fmt::format(
      "Recording added about {} {} ({}){}; ± marks how much of a figure may come from recording.",
      prof::timeText(overhead.nsPerStep), analysis.steps.all.empty() ? "in all" : "to a step",
      prof::shareText(ratio(double(overhead.nsPerStep), double(stepNs))),
      whyRecordingCosts(analysis));
}

/// The trace and the window that was analysed.
struct Trace {
  std::string path;
  prof::TimeWindow span{0, 0}, window{0, 0};
  std::uint64_t droppedEvents = 0;
  TextList warnings;
};

const Column<Trace> kTrace[]{
    {{"path", "", ColumnKind::Name, "of the file"}, kValueOf<&Trace::path>},
    {{"start_ns", "", ColumnKind::Time, "of the first event"},
     [](const Trace& row) -> TableCell { return row.span.startNs; }},
    {{"end_ns", "", ColumnKind::Time, "of the last event, exclusive"},
     [](const Trace& row) -> TableCell { return row.span.endNs; }},
    {{"window_start_ns", "", ColumnKind::Time, "of the analysed window"},
     [](const Trace& row) -> TableCell { return row.window.startNs; }},
    {{"window_end_ns", "", ColumnKind::Time, "of the analysed window"},
     [](const Trace& row) -> TableCell { return row.window.endNs; }},
    {{"dropped_events", "", ColumnKind::Count, "that the recorder could not keep"},
     kValueOf<&Trace::droppedEvents>},
    {{"warnings", "", ColumnKind::Text, "of whoever read the file"}, kValueOf<&Trace::warnings>},
};

Table traceTable(const Analysis& analysis) {
  Trace trace{.path = {},
              .window = analysis.window,
              .droppedEvents = analysis.of<ProgramFacts>().droppedEvents,
              .warnings = {}};
  if (const Store* store = analysis.store.get()) {
    trace.path = store->path().string();
    trace.span = store->span();
    trace.warnings = store->warnings();
  }
  return recordOf("trace", "the trace, and what was analysed", kTrace, trace);
}

struct Rate {
  std::int64_t stepNs = 0;
  double samplesPerSecond = 0;
};

const Column<Rate> kRate[]{
    {{"step_ns", "", ColumnKind::Time,
      "the mean steady step; costs and gains are parts of it; 0 without steps"},
     kValueOf<&Rate::stepNs>},
    {{"samples_per_second", "", ColumnKind::Number,
      "of all processes, from the `batch` that the program announces and the time from one step's "
      "begin to the next one's; 0: not known"},
     kValueOf<&Rate::samplesPerSecond>},
};

const Column<SelfOverhead> kCost[]{
    {{"known", "", ColumnKind::Flag, "the trace has the cost of recording"},
     kValueOf<&SelfOverhead::known>},
    {{"ns_per_step", "", ColumnKind::Time,
      "what recording added to a step, in all threads together; the mean over all steps"},
     kValueOf<&SelfOverhead::nsPerStep>},
    {{"detail_ns_per_step", "", ColumnKind::Time,
      "by how much a step recorded in detail was longer than a plain one; 0: too few of either"},
     kValueOf<&SelfOverhead::detailNsPerStep>},
    {{"plain_steps", "", ColumnKind::Count, "plain steps that it was compared with"},
     kValueOf<&SelfOverhead::plainSteps>},
};

Table costTable(const SelfOverhead& overhead) {
  Table record = recordOf("recording_cost", "what recording itself cost a step", kCost, overhead);
  return placed(
      "self_overhead", holding(std::move(record), [&](std::size_t) {
        return std::vector{placed(
            "parts", tableOf("self_overhead", "what recording itself cost a step, by its parts",
                             kOverhead, overhead.parts))};
      }));
}

/// A setting that `lacuna run --set` gave the program.
struct SetFromOutside {
  std::string name, outcome;
};

constexpr std::string_view kSettingPrefix = "set.";

std::vector<SetFromOutside> settingsOf(const Analysis& analysis) {
  std::vector<SetFromOutside> settings;
  const Store* store = analysis.store.get();
  for (std::uint64_t i = 0; store != nullptr && i < store->rows<prof::Environment>(); ++i) {
    const auto row = store->row<prof::Environment>(i);
    const std::string_view key = store->text(row.key);
    if (!key.starts_with(kSettingPrefix)) continue;
    settings.push_back(
        {std::string(key.substr(kSettingPrefix.size())), std::string(store->text(row.value))});
  }
  return settings;
}

const Column<SetFromOutside> kSettings[]{
    {{"name", "", ColumnKind::Name, "`loader.workers`"}, kValueOf<&SetFromOutside::name>},
    {{"outcome", "", ColumnKind::Text,
      "the setting, where it was applied and how often, or why not"},
     kValueOf<&SetFromOutside::outcome>},
};

std::vector<Table> tables(const Analysis& analysis) {
  const Rate rate{analysis.steps.all.empty() ? 0 : analysis.meanStepNs(),
                  analysis.store == nullptr ? 0 : samplesPerSecond(analysis)};
  return {traceTable(analysis),
          placed({}, recordOf("throughput", "how fast the program trains", kRate, rate)),
          costTable(analysis.of<SelfOverhead>()),
          tableOf("settings", "what `lacuna run --set` gave the program", kSettings,
                  settingsOf(analysis))};
}

void text(TextPage& page, const Analysis& analysis, int) {
  page.wrapped(oneLine(describeRun(analysis)), 0, 2, "2");
  for (const SetFromOutside& setting : settingsOf(analysis))
    page.wrapped("Set: " + oneLine(setting.outcome), 0, 2);
  page.line();
  page.wrapped(oneLine(verdict(analysis)), 0, 0);
  if (const std::string cost = overheadLine(analysis); !cost.empty()) page.wrapped(cost, 0, 0);
}

void html(HtmlPage& page, const Analysis& analysis) {
  page.markup(fmt::format("<p class=\"verdict\">{}</p>\n", xmlText(verdict(analysis))));
  for (const SetFromOutside& setting : settingsOf(analysis))
    page.markup(fmt::format("<p class=\"dim\">Set: {}</p>\n", xmlText(setting.outcome)));
  if (const std::string cost = overheadLine(analysis); !cost.empty()) {
    page.markup(fmt::format(
        "<p class=\"dim\">{} It is hatched in the charts, where it is large enough to see.</p>\n",
        xmlText(cost)));
  }
}

}  // namespace
}  // namespace of_summary

constinit const Section summary{
    .name = "summary",
    .title = "Summary",
    .about = "the run, the verdict, and what recording cost",
    .tables = of_summary::tables,
    .overviewRows = 1,
    .text = of_summary::text,
    .html = of_summary::html,
    .isDrawn = true,
};

}  // namespace lacuna::analyzer::sections
