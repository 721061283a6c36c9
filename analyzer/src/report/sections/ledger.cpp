// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "analyses/time/bottleneck.h"
#include "analyses/work/python_lines.h"
#include "analysis/shown_steps.h"
#include "formats/kernel_name.h"
#include "lacuna/analyzer/text.h"
#include "lacuna/prof/amounts.h"
#include "lacuna/prof/bounds.h"
#include "report/ledger_table.h"
#include "report/phrases.h"
#include "report/sections/registry.h"
#include "report/text_cells.h"

namespace lacuna::analyzer::sections {
namespace of_ledger {
namespace {

constexpr int kHostNameWidth = 60;

struct BoundPart {
  BoundBy bound;
  BoundShare share;
};

const Column<BoundPart> kBound[]{
    {{"part", "", ColumnKind::Text, "`device`, `input`, `host`, `communication`, `copy`, `other`"},
     [](const BoundPart& row) -> TableCell { return std::string(boundName(row.bound)); }},
    {{"ns_per_step", "", ColumnKind::Time, "what of a step it takes"},
     [](const BoundPart& row) -> TableCell { return row.share.nsPerStep; }},
    {{"share", "", ColumnKind::Share, "of the step"},
     [](const BoundPart& row) -> TableCell { return row.share.share; }},
    {{"tier", "", ColumnKind::Text, "`none`, `moderate`, `high`"},
     [](const BoundPart& row) -> TableCell { return std::string(tierName(row.share.tier)); }},
};

const Column<Bottleneck> kBoundBy[]{
    {{"bound_by", "", ColumnKind::Text,
      "`device`, `input`, `host`, `communication`, `copy`, `other`; `nothing` without devices"},
     [](const Bottleneck& row) -> TableCell { return std::string(boundName(row.by)); }},
};

const Column<StretchesWithoutDevices> kWindow[]{
    {{"before_ns", "", ColumnKind::Time,
      "from the begin of the window to the first work of any device"},
     [](const StretchesWithoutDevices& row) -> TableCell { return row.before.ns; }},
    {{"before_longest", "", ColumnKind::Name,
      "the innermost call or range that the host spent half of it in, else the longest; empty: "
      "none recorded"},
     [](const StretchesWithoutDevices& row) -> TableCell { return row.before.longest; }},
    {{"before_longest_ns", "", ColumnKind::Time, "of that call or range, within it"},
     [](const StretchesWithoutDevices& row) -> TableCell { return row.before.longestNs; }},
    {{"after_ns", "", ColumnKind::Time,
      "from the last work of any device to the end of the window"},
     [](const StretchesWithoutDevices& row) -> TableCell { return row.after.ns; }},
    {{"after_longest", "", ColumnKind::Name, "as `before_longest`"},
     [](const StretchesWithoutDevices& row) -> TableCell { return row.after.longest; }},
    {{"after_longest_ns", "", ColumnKind::Time, "as `before_longest_ns`"},
     [](const StretchesWithoutDevices& row) -> TableCell { return row.after.longestNs; }},
};

const Column<UnknownPlaces> kUnknown[]{
    {{"before_steps_ns", "", ColumnKind::Time, "0 without steps"},
     kValueOf<&UnknownPlaces::beforeNs>},
    {{"in_steps_ns", "", ColumnKind::Time, "0 without steps"}, kValueOf<&UnknownPlaces::inStepsNs>},
    {{"between_steps_ns", "", ColumnKind::Time, "0 without steps"},
     kValueOf<&UnknownPlaces::betweenNs>},
    {{"after_steps_ns", "", ColumnKind::Time, "0 without steps"},
     kValueOf<&UnknownPlaces::behindNs>},
    {{"graph_replays_ns", "", ColumnKind::Time,
      "of all, where graph replays may have run whose work the trace lacks; with steps or without"},
     kValueOf<&UnknownPlaces::unrecordedNs>},
    {{"host_ran_before", "", ColumnKind::Share,
      "that the thread of the steps ran, from the first device work to the first step; -1: not "
      "recorded"},
     kValueOf<&UnknownPlaces::ranShare>},
    {{"host_waited_before", "", ColumnKind::Share,
      "that it waited for a core in that time; -1: not recorded"},
     kValueOf<&UnknownPlaces::waitedShare>},
};

const Column<UnknownPlaces::Library> kLibraries[]{
    {{"path", "", ColumnKind::Name, "of the library"}, kValueOf<&UnknownPlaces::Library::path>},
    {{"share", "", ColumnKind::Share, "of the thread's CPU samples of that time"},
     kValueOf<&UnknownPlaces::Library::share>},
};

std::string_view boundWords(BoundBy bound) {
  return bound == BoundBy::Other ? "waits between queues or without a cause" : boundName(bound);
}

std::string bottleneckLine(const Analysis& analysis) {
  const Bottleneck& bottleneck = analysis.of<Bottleneck>();
  if (bottleneck.by == BoundBy::Nothing) return {};
  std::string others;
  for (std::size_t i = 0; i < kBoundCount; ++i) {
    const auto bound = static_cast<BoundBy>(i);
    const BoundShare& part = bottleneck.shares[i];
    if (bound == bottleneck.by || bound == BoundBy::Device || part.tier == Tier::None) continue;
    others += fmt::format("{}{} {} ({})", others.empty() ? "; also " : ", ", boundWords(bound),
                          prof::shareText(part.share), tierName(part.tier));
  }
  return fmt::format("bound by: {} ({} of {}){}", boundWords(bottleneck.by),
                     prof::shareText(bottleneck[bottleneck.by].share),
                     analysis.steps.all.empty() ? "all" : "a step", others);
}

std::string ledgerWindowLine(const Analysis& analysis) {
  if (analysis.devices.empty()) return {};
  const std::string total = prof::timeText(analysis.ledgers.run.totalNs());
  std::string out =
      analysis.devices.size() == 1
          ? fmt::format("of {} between the first and the last device work", total)
          : fmt::format("of {} of {} devices, between the first and the last work of each", total,
                        analysis.devices.size());
  if (showsPlainSteps(analysis)) out += ", without the plain steps";
  for (const auto& [stretch, where] :
       {std::pair(&analysis.of<StretchesWithoutDevices>().before, "before"),
        std::pair(&analysis.of<StretchesWithoutDevices>().after, "after")}) {
    if (100 * stretch->ns < analysis.window.endNs - analysis.window.startNs || stretch->ns == 0)
      continue;
    out += fmt::format("; {} {} it, ", prof::timeText(stretch->ns), where);
    const std::string name = shortened(withoutScopes(stretch->longest), kHostNameWidth);
    if (name.empty() || stretch->isHardlyKnown()) {
      out += "with hardly anything recorded";
    } else {
      out += stretch->isMostly() ? fmt::format("mostly {} on the host", name)
                                 : fmt::format("{} of it in {} on the host",
                                               prof::timeText(stretch->longestNs), name);
    }
  }
  return out;
}

/// The lines that the program was in, where samples show them.
std::string setUpLines(const PythonLines& lines) {
  constexpr std::size_t kNamed = 2;
  std::int64_t allNs = 0;
  for (const PythonLine& line : lines.before) prof::addTo(allNs, line.ns);
  std::string out;
  for (std::size_t i = 0; i < lines.before.size() && i < kNamed; ++i) {
    const PythonLine& line = lines.before[i];
    if (line.samples < kLeastLineSamples) break;
    out += fmt::format(
        "{}{} at {} in {}", out.empty() ? "" : ", ",
        prof::shareText(ratio(static_cast<double>(line.ns), static_cast<double>(allNs))),
        line.place, line.function);
  }
  return out;
}

/// The libraries that the program was in, where samples show them.
std::string setUpWords(const UnknownPlaces& places, const PythonLines& lines) {
  constexpr std::size_t kNamed = 3;
  if (std::string named = setUpLines(lines); !named.empty()) return named;
  std::string out;
  for (std::size_t i = 0; i < places.libraries.size() && i < kNamed; ++i) {
    const UnknownPlaces::Library& library = places.libraries[i];
    const std::string_view path = library.path;
    out += fmt::format("{}{:.0f} % in {}", out.empty() ? "of its CPU samples " : ", ",
                       100 * library.share, path.substr(path.rfind('/') + 1));
  }
  return out.empty() ? "imports and setup record no events" : out;
}

std::string unknownLine(const Analysis& analysis) {
  constexpr int kShown = 100;  // from a hundredth of the ledger on
  const UnknownPlaces& places = analysis.of<UnknownPlaces>();
  const std::int64_t unknownNs = analysis.ledgers.run[Cause::Unknown];
  if (unknownNs == 0 || kShown * unknownNs < analysis.ledgers.run.totalNs()) return {};
  std::string out;
  const auto add = [&](std::int64_t ns, std::string_view where) {
    if (kShown * ns >= unknownNs)
      out += fmt::format("{}{} {}", out.empty() ? "unknown: " : ", ", prof::timeText(ns), where);
  };
  add(places.beforeNs, "before the first step");
  if (2 * places.beforeNs >= unknownNs && !analysis.steps.all.empty()) {
    const auto did = [](double share, std::string_view what) {
      return share < 0 ? std::string() : fmt::format("{} {:.0f} %", what, 100 * share);
    };
    const std::string ran = did(places.ranShare, "the host's thread ran");
    const std::string waited = places.waitedShare < 0.01
                                   ? ""
                                   : did(places.waitedShare, " of that time and waited for a core");
    out += fmt::format(" ({}{}{}{})", ran, waited, ran.empty() ? "" : "; ",
                       setUpWords(places, analysis.of<PythonLines>()));
  }
  add(places.inStepsNs, "in steps");
  add(places.betweenNs, "between steps");
  add(places.behindNs, "behind the last step");
  if (places.unrecordedNs > 0)
    out += fmt::format("{}{} of it where graph replays lack work", out.empty() ? "unknown: " : "; ",
                       prof::timeText(places.unrecordedNs));
  return out;
}

Table bottleneckTable(const Analysis& analysis) {
  const Bottleneck& bottleneck = analysis.of<Bottleneck>();
  Table record = recordOf("bound_by", "what binds a step", kBoundBy, bottleneck);
  return placed("bottleneck", holding(std::move(record), [&](std::size_t) {
                  std::vector<BoundPart> parts;
                  for (std::size_t i = 0; i < kBoundCount; ++i)
                    parts.push_back({static_cast<BoundBy>(i), bottleneck.shares[i]});
                  return std::vector{
                      placed("parts", tableOf("bottleneck", "what takes a step", kBound, parts))};
                }));
}

Table unknownTable(const UnknownPlaces& places) {
  return holding(
      recordOf("unknown", "where the ledger's time without a cause lies", kUnknown, places),
      [&](std::size_t) {
        return std::vector{tableOf(
            "libraries_before",
            "the libraries that the program was in before the first step, where samples show them",
            kLibraries, places.libraries)};
      });
}

std::vector<Table> tables(const Analysis& analysis) {
  return {
      ledgerTable(analysis.ledgers.run, analysis.ledgers.bands.run),
      recordOf("ledger_window", "the time that no ledger holds; zeros where no device did any work",
               kWindow, analysis.of<StretchesWithoutDevices>()),
      unknownTable(analysis.of<UnknownPlaces>()), bottleneckTable(analysis)};
}

void text(TextPage& page, const Analysis& analysis, int) {
  if (analysis.devices.empty()) {
    writeLines(page, sections::ledger, {});
    return;
  }
  page.title(sections::ledger.title);
  page.bar(analysis.ledgers.run);
  const std::int64_t total = std::max<std::int64_t>(1, analysis.ledgers.run.totalNs());
  std::vector<Cause> order;
  for (std::size_t i = 0; i < kCauseCount; ++i) {
    if (analysis.ledgers.run.ns[i] > 0 || static_cast<Cause>(i) == Cause::Unknown)
      order.push_back(static_cast<Cause>(i));
  }
  std::stable_sort(order.begin(), order.end(), [&](Cause a, Cause b) {
    if (isBusy(a) != isBusy(b)) return isBusy(a);
    return analysis.ledgers.run[a] > analysis.ledgers.run[b];
  });
  const int perRow = page.width() >= 134 ? 2 : 1;
  const Ledger step = analysis.meanStepLedger();
  const Ledger bands = analysis.meanStepBands();
  // Beside the cause: its share and its time, with what follows that.
  constexpr int kShareEnd = 37, kRow = 67;
  // A narrow row with a ± has no room for the words of the head.
  const bool isNarrow = page.width() < kRow && page.bandWidth() > 0;
  const std::string_view perStep = analysis.steps.all.empty() || isNarrow ? "" : " a step";
  const int timeEnd = isNarrow ? 49 : 56;
  if (!analysis.steps.all.empty() && page.width() >= timeEnd) {
    const auto [shares, times] = ledgerColumns(analysis);
    std::string heads =
        fmt::format("{:>{}} {:>{}}", shares, kShareEnd, times, timeEnd - kShareEnd - 1);
    if (perRow == 2 && order.size() > 1) heads = padded(heads, kRow) + heads;
    page.line(page.styled(heads, "2"));
  }
  std::string row;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Cause cause = order[i];
    const std::int64_t ns = analysis.ledgers.run[cause];
    row += fmt::format(" {} {} {:>7} {:>11}{} {:<{}}  ", page.marked(cause, page.mark(cause)),
                       padded(causeLabel(cause), 26),
                       prof::shareText(static_cast<double>(ns) / static_cast<double>(total)),
                       prof::timeText(step[cause]), perStep, humanBand(bands[cause], step[cause]),
                       TextPage::kBandWidth);
    if ((i + 1) % static_cast<std::size_t>(perRow) == 0 || i + 1 == order.size()) {
      page.line(row.substr(0, row.find_last_not_of(' ') + 1));
      row.clear();
    }
  }
  page.wrapped(ledgerWindowLine(analysis), 1, 3);
  if (const std::string unknown = unknownLine(analysis); !unknown.empty())
    page.wrapped(unknown, 1, 3);
  page.wrapped(bottleneckLine(analysis), 1, 3);
}

void html(HtmlPage& page, const Analysis& analysis) {
  if (analysis.devices.empty()) return;
  page.heading(sections::ledger.title);
  page.bar(analysis.ledgers.run, analysis.ledgers.bands.run);
  const auto total = static_cast<double>(std::max<std::int64_t>(1, analysis.ledgers.run.totalNs()));
  const Ledger step = analysis.meanStepLedger();
  const Ledger stepBands = analysis.meanStepBands();
  if (!analysis.steps.all.empty()) {
    const auto [shares, times] = ledgerColumns(analysis);
    page.markup(fmt::format("<div class=\"axis\">shares {} · times in {}, on average</div>", shares,
                            times));
  }
  page.markup("<ul class=\"legend\">");
  for (std::size_t i = 0; i < kCauseCount; ++i) {
    const std::int64_t ns = analysis.ledgers.run.ns[i];
    if (ns == 0 && static_cast<Cause>(i) != Cause::Unknown) continue;
    const std::string band = humanBand(stepBands.ns[i], step.ns[i]);
    page.markup(fmt::format(
        "<li><i class=\"c{}\"></i><b>{}</b><span>{}</span><span>{}{}</span>{}</li>", i,
        causeLabel(static_cast<Cause>(i)), prof::shareText(static_cast<double>(ns) / total),
        prof::timeText(step.ns[i]), analysis.steps.all.empty() ? "" : " a step",
        band.empty() ? "" : fmt::format("<span>{}</span>", xmlText(band))));
  }
  page.markup("</ul>\n");
  for (const std::string& line :
       {ledgerWindowLine(analysis), unknownLine(analysis), bottleneckLine(analysis)}) {
    if (!line.empty()) page.markup(fmt::format("<div class=\"dim\">{}</div>\n", xmlText(line)));
  }
}

}  // namespace
}  // namespace of_ledger

constinit const Section ledger{
    .name = "ledger",
    .title = "Where the device's time goes",
    .about = "every nanosecond of the devices: computing, or waiting for what",
    .tables = of_ledger::tables,
    .remedy = "no device did any work",
    .overviewRows = 1,
    .text = of_ledger::text,
    .html = of_ledger::html,
    .isDrawn = true,
};

}  // namespace lacuna::analyzer::sections
