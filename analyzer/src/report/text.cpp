// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cmath>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/shown_steps.h"
#include "formats/kernel_name.h"
#include "lacuna/analyzer/cause_colours.h"
#include "lacuna/analyzer/report.h"
#include "lacuna/analyzer/summary.h"
#include "lacuna/analyzer/utf8.h"
#include "lacuna/prof/amounts.h"
#include "lacuna/prof/bounds.h"
#include "report/gain_factors.h"
#include "report/text_details.h"
#include "rules/words.h"

namespace lacuna::analyzer {
namespace {

/// What fills the bar where there are no colours.
constexpr std::array<std::string_view, kCauseCount> kMarks{"█", "▓", "▒", "p", "s", "L", "d", "o", "h", "l", "w", "?"};

constexpr std::string_view kMemoryRemedy =
    "`lacuna run --torch` records allocations, PyTorch's profiler does with profile_memory=True, and programs of "
    "lacuna's runtime tell of theirs";

constexpr std::string_view kRangesRemedy =
    "mark phases with NVTX ranges (torch.profiler.record_function in PyTorch): what is launched inside of them is "
    "summed "
    "up here";

/// Of a column of "±0.3 %"; the column is there only where recording took any time.
constexpr int kBandWidth = 8;

std::string withSingleSpaces(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c != ' ' || (!out.empty() && out.back() != ' ')) out += c;
  }
  return out.substr(0, out.find_last_not_of(' ') + 1);
}

/// The beginning of a text, at most so wide and at least a character.
std::string_view firstColumns(std::string_view text, int width) {
  std::size_t end = 1;
  while (end < text.size() && columns(text.substr(0, end + 1)) <= std::max(1, width)) ++end;
  return text.substr(0, end);
}

/// "%", "ms", "GB/s", …, also before a comma or a bracket.
bool isUnit(std::string_view word) {
  static constexpr std::array<std::string_view, 9> kUnits{"%", "ns", "µs", "ms", "s", "B", "KiB", "MiB", "GiB"};
  word = word.substr(0, word.find_last_not_of(".,;:)") + 1);
  return std::ranges::find(kUnits, word) != kUnits.end() || word.ends_with("B/s") || word.ends_with("FLOP/s");
}

/// How long the first word of a text is; a number and its unit are one.
std::size_t firstWord(std::string_view text) {
  const std::size_t end = std::min(text.find(' '), text.size());
  if (end == 0 || end == text.size() || text[end - 1] < '0' || text[end - 1] > '9') return end;
  const std::string_view rest = text.substr(end + 1);
  const std::string_view next = rest.substr(0, rest.find(' '));
  return isUnit(next) ? end + 1 + next.size() : end;
}

class TextReport {
 public:
  TextReport(const Analysis& analysis, const ReportOptions& options)
      : analysis_(analysis), options_(options), width_(std::clamp(options.width, 40, 200)) {}

  std::string render() {
    if (options_.sections.empty()) {
      overview();
    } else {
      for (const std::string& name : options_.sections) section(name, INT_MAX);
    }
    return std::move(out_);
  }

 private:
  void overview();
  void section(std::string_view name, int rows);
  void header();
  void ledger();
  void bar(const Ledger& ledger);
  void findings(int rows);
  void finding(std::size_t number, const Finding& finding);
  void criticalPath();
  void stepsSection(int rows);
  void kernelsSection(int rows);
  void operatorsSection(int rows);
  void callsSection(int rows);
  void lines(std::string_view heading, const Lines& all, std::string_view remedy = {});
  void devicesSection();
  void causesSection(int rows);

  void line(std::string_view text = {});
  void title(std::string_view text) {
    line();
    line(styled(text, "1"));
  }
  /// `code`: of each of the lines.
  void wrapped(std::string_view text, int indent, int hanging, std::string_view code = {});
  [[nodiscard]] std::string styled(std::string_view text, std::string_view code) const {
    return options_.colour && !code.empty() ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
  }
  [[nodiscard]] std::string marked(Cause cause, std::string_view text) const {
    return styled(text, fmt::format("38;5;{}", terminalColour(cause)));
  }
  [[nodiscard]] int bandWidth() const { return analysis_.bands.run.totalNs() > 0 ? kBandWidth + 1 : 0; }
  [[nodiscard]] std::string bandTitle() const { return bandWidth() == 0 ? "" : padded("±", kBandWidth + 1); }
  [[nodiscard]] std::string bandCell(std::int64_t bandNs, std::int64_t ns) const {
    return bandWidth() == 0 ? "" : padded(humanBand(bandNs, ns), kBandWidth + 1);
  }
  [[nodiscard]] std::int64_t inStep(Cause cause) const { return analysis_.meanStepLedger()[cause]; }

  const Analysis& analysis_;
  const ReportOptions& options_;
  int width_;
  std::string out_;
};

void TextReport::line(std::string_view text) {
  if (columns(text) > width_) {
    // The cells of a table go below each other, a little further in.
    const auto indent = static_cast<int>(std::min(text.find_first_not_of(' '), text.size()));
    return wrapped(withSingleSpaces(text), indent, indent + 2);
  }
  out_ += text;
  out_ += '\n';
}

void TextReport::wrapped(std::string_view text, int indent, int hanging, std::string_view code) {
  std::string current(static_cast<std::size_t>(indent), ' ');
  bool empty = true;
  const auto next = [&] {
    line(styled(current, code));
    current.assign(static_cast<std::size_t>(hanging), ' ');
    empty = true;
  };
  while (!text.empty()) {
    const std::size_t space = firstWord(text);
    std::string_view word = text.substr(0, space);
    if (!empty && columns(current) + 1 + columns(word) > width_) next();
    // A name may be longer than a line.
    for (int room = width_ - columns(current); empty && columns(word) > room; room = width_ - columns(current)) {
      const std::string_view head = firstColumns(word, room);
      current += head;
      next();
      word.remove_prefix(head.size());
    }
    current += (empty ? "" : " ") + std::string(word);
    empty = false;
    text.remove_prefix(std::min(space + 1, text.size()));
  }
  line(styled(current, code));
}

void TextReport::header() {
  wrapped(oneLine(describeRun(analysis_)), 0, 2, "2");
  line();
  wrapped(oneLine(verdict(analysis_)), 0, 0);
  if (const std::string cost = overheadLine(analysis_); !cost.empty()) wrapped(cost, 0, 0);
}

void TextReport::bar(const Ledger& ledger) {
  const std::int64_t total = ledger.totalNs();
  if (total <= 0) return;
  const int cells = width_ - 2;
  std::string text = " ";
  std::int64_t sum = 0;
  int drawn = 0;
  for (std::size_t i = 0; i < kCauseCount; ++i) {
    prof::addTo(sum, ledger.ns[i]);
    const auto until = static_cast<int>(std::lround(static_cast<double>(sum) / static_cast<double>(total) * cells));
    std::string cellsText;
    for (; drawn < until; ++drawn) cellsText += options_.colour ? "█" : kMarks[i];
    if (!cellsText.empty()) text += marked(static_cast<Cause>(i), cellsText);
  }
  line(text);
}

constexpr std::string_view kLedgerTitle = "Where the device's time goes";

void TextReport::ledger() {
  if (analysis_.devices.empty()) {
    lines(kLedgerTitle, {}, "no device did any work");
    return;
  }
  title(kLedgerTitle);
  bar(analysis_.ledger);
  const std::int64_t total = std::max<std::int64_t>(1, analysis_.ledger.totalNs());
  std::vector<Cause> order;
  for (std::size_t i = 0; i < kCauseCount; ++i) {
    if (analysis_.ledger.ns[i] > 0 || static_cast<Cause>(i) == Cause::Unknown) order.push_back(static_cast<Cause>(i));
  }
  std::stable_sort(order.begin(), order.end(), [&](Cause a, Cause b) {
    if (isBusy(a) != isBusy(b)) return isBusy(a);
    return analysis_.ledger[a] > analysis_.ledger[b];
  });
  const int perRow = width_ >= 134 ? 2 : 1;
  const Ledger bands = analysis_.meanStepBands();
  // Beside the cause: its share and its time, with what follows that.
  constexpr int kShareEnd = 37, kRow = 67;
  // A narrow row with a ± has no room for what the head says.
  const bool isNarrow = width_ < kRow && bandWidth() > 0;
  const std::string_view perStep = analysis_.steps.all.empty() || isNarrow ? "" : " a step";
  const int timeEnd = isNarrow ? 49 : 56;
  if (!analysis_.steps.all.empty() && width_ >= timeEnd) {
    const auto [shares, times] = ledgerColumns(analysis_);
    std::string heads = fmt::format("{:>{}} {:>{}}", shares, kShareEnd, times, timeEnd - kShareEnd - 1);
    if (perRow == 2 && order.size() > 1) heads = padded(heads, kRow) + heads;
    line(styled(heads, "2"));
  }
  std::string row;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Cause cause = order[i];
    const std::int64_t ns = analysis_.ledger[cause];
    row += fmt::format(" {} {} {:>7} {:>11}{} {:<{}}  ",
                       marked(cause, options_.colour ? "█" : kMarks[static_cast<std::size_t>(cause)]),
                       padded(causeLabel(cause), 26),
                       prof::shareText(static_cast<double>(ns) / static_cast<double>(total)),
                       prof::timeText(inStep(cause)), perStep, humanBand(bands[cause], inStep(cause)), kBandWidth);
    if ((i + 1) % static_cast<std::size_t>(perRow) == 0 || i + 1 == order.size()) {
      line(row.substr(0, row.find_last_not_of(' ') + 1));
      row.clear();
    }
  }
  wrapped(ledgerWindowLine(analysis_), 1, 3);
  if (const std::string unknown = unknownLine(analysis_); !unknown.empty()) wrapped(unknown, 1, 3);
  wrapped(bottleneckLine(analysis_), 1, 3);
}

void TextReport::finding(std::size_t number, const Finding& finding) {
  const bool fault = finding.kind == FindingKind::Fault;
  const std::string tag = styled(fault ? "fault" : "could", fault ? "1;31" : "36");
  out_ += fmt::format(" {:>2} {}  ", number, tag);
  // The number and the tag stand in front of the first line.
  width_ -= 11;
  const std::string band = humanBand(finding.recordingNsPerStep, finding.costNsPerStep);
  const std::string heading = oneLine(finding.title);
  wrapped(band.empty() ? heading : fmt::format("{} ({})", heading, band), 0, 11);
  width_ += 11;
  const std::string fix = finding.knob.empty() ? finding.advice : finding.knob + ": " + finding.advice;
  wrapped("fix   " + oneLine(fix), 11, 17);
  const std::string factors = gainFactors(analysis_, finding);
  wrapped("gain  " + describeGain(finding, analysis_.steps.all.empty() ? "in all" : "a step") +
              (factors.empty() ? "" : "; factors " + factors),
          11, 17);
}

void TextReport::findings(int rows) {
  title("Findings");
  if (analysis_.findings.empty()) wrapped(noFindings(analysis_), 1, 3);
  for (std::size_t i = 0; i < analysis_.findings.size() && static_cast<int>(i) < rows; ++i)
    finding(i + 1, analysis_.findings[i]);
  if (static_cast<int>(analysis_.findings.size()) > rows) {
    line(fmt::format("    and {} more: --section findings", static_cast<int>(analysis_.findings.size()) - rows));
  }
}

/// What the longest chain through a step is made of.
void TextReport::criticalPath() {
  const StepPath& path = analysis_.criticalPath;
  if (path.totalNs() <= 0) return;
  std::string parts;
  for (const auto& [ns, what] :
       {std::pair(path.computeNs, "computing"), std::pair(path.communicationNs, "communication"),
        std::pair(path.copyNs, "copies"), std::pair(path.hostNs, "host work"), std::pair(path.launchNs, "launching"),
        std::pair(path.loaderNs, "waiting for the loader")}) {
    const double share = static_cast<double>(ns) / static_cast<double>(path.totalNs());
    if (share >= 0.005) parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", what, prof::shareText(share));
  }
  wrapped("critical path (what a step's length hangs on; the device may be busy meanwhile): " + parts, 1, 1);
}

void TextReport::stepsSection(int rows) {
  title("Steps");
  const auto& all = analysis_.steps.all;
  if (all.empty()) {
    wrapped("none were found: mark them with an NVTX range named \"step\" to see figures per step", 1, 1);
    return;
  }
  criticalPath();
  const auto [first, last] = shownRange(analysis_);
  std::int64_t longest = 1;
  for (std::size_t i = first; i < last; ++i) longest = std::max(longest, all[i].durNs());
  // Beside the bar: the columns before it, and what a warm-up step is marked with.
  const int nameWidth = width_ < 67 ? 12 : 18;
  const int room = std::max(10, width_ - 28 - nameWidth - bandWidth());
  const std::size_t listed = std::min<std::size_t>(last - first, static_cast<std::size_t>(rows));
  for (std::size_t i = first; i < first + listed; ++i) {
    const Step& step = all[i];
    const auto cells =
        static_cast<std::size_t>(std::lround(static_cast<double>(step.durNs()) / static_cast<double>(longest) * room));
    std::string bar;
    for (std::size_t c = 0; c < cells; ++c) bar += "█";
    line(fmt::format(" {:>5} {} {:>11} {}{}{}", step.index, padded(step.name, nameWidth), prof::timeText(step.durNs()),
                     bandCell(analysis_.stepBandNs(i), step.durNs()), marked(Cause::Compute, bar),
                     step.warmUp ? " warm-up" : ""));
  }
  if (last - first > listed) line(fmt::format("       and {} more: --section steps", last - first - listed));
}

void TextReport::kernelsSection(int rows) {
  title("Kernels");
  if (analysis_.kernels.empty()) line(" none were recorded");
  std::int64_t total = 1;
  for (const KernelRow& row : analysis_.kernels) prof::addTo(total, row.totalNs);
  constexpr int kShortestName = 15;
  const bool hasMean = width_ >= 45 + kShortestName + bandWidth();
  const auto mean = [&](std::string_view text) { return hasMean ? fmt::format(" {:>11}", text) : std::string(); };
  const int nameWidth = std::max(10, width_ - (hasMean ? 45 : 33) - bandWidth());
  if (!analysis_.kernels.empty())
    line(styled(fmt::format(" {} {:>8} {:>11} {}{:>8}{}", padded("name", nameWidth), "count", "total", bandTitle(),
                            "share", mean("mean")),
                "2"));
  const std::size_t shown = std::min(analysis_.kernels.size(), static_cast<std::size_t>(std::max(0, rows)));
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < shown; ++i) names.push_back(analysis_.kernels[i].name);
  const std::vector<std::string> cells = paddedNames(names, nameWidth);
  for (std::size_t i = 0; i < shown; ++i) {
    const KernelRow& row = analysis_.kernels[i];
    line(fmt::format(" {} {:>8} {:>11} {}{:>8}{}", cells[i], row.count, prof::timeText(row.totalNs),
                     bandCell(row.recordingNs, row.totalNs),
                     prof::shareText(static_cast<double>(row.totalNs) / static_cast<double>(total)),
                     mean(prof::timeText(row.meanNs()))));
  }
}

void TextReport::operatorsSection(int rows) {
  title("Operators");
  if (analysis_.operators.empty()) line(" none were recorded");
  // Asked for in full, the table is by input shapes and with memory.
  const bool full = rows == INT_MAX;
  const auto& table = full ? analysis_.operatorShapes : analysis_.operators;
  // Figures that have no room beside a name that tells something would break all lines: memory goes first.
  constexpr int kFigures = 47, kMemory = 22, kShortestName = 12, kNameBesideMemory = 28;
  const int room = width_ - kFigures - 2 * bandWidth();
  const bool withMemory = full && analysis_.memory.present && room >= kMemory + kNameBesideMemory;
  const int nameWidth = std::max(kShortestName, room - (withMemory ? kMemory : 0));
  if (!table.empty()) {
    line(styled(
        fmt::format(" {} {:>8} {:>11} {}{:>11} {:>11} {}{}", padded(full ? "name and shapes" : "name", nameWidth),
                    "calls", "host", bandTitle(), "host self", "device", bandTitle(),
                    withMemory ? fmt::format(" {:>10} {:>10}", "mem", "self mem") : ""),
        "2"));
  }
  const std::size_t shown = std::min(table.size(), static_cast<std::size_t>(std::max(0, rows)));
  std::vector<std::string> names;
  for (std::size_t i = 0; i < shown; ++i)
    names.push_back(table[i].shapes.empty() ? table[i].name : table[i].name + " " + table[i].shapes);
  const std::vector<std::string> cells = paddedNames({names.begin(), names.end()}, nameWidth);
  for (std::size_t i = 0; i < shown; ++i) {
    const OperatorRow& row = table[i];
    const std::string memory =
        withMemory ? fmt::format(" {:>10} {:>10}", prof::bytesText(row.memBytes), prof::bytesText(row.selfMemBytes))
                   : "";
    line(fmt::format(" {} {:>8} {:>11} {}{:>11} {:>11} {}{}", cells[i], row.count, prof::timeText(row.totalNs),
                     bandCell(row.recordingNs, row.totalNs), prof::timeText(row.selfNs), prof::timeText(row.deviceNs),
                     bandCell(row.deviceRecordingNs, row.deviceNs), memory));
  }
  if (full && analysis_.memory.present && !withMemory && !table.empty())
    line(fmt::format(" their memory is shown with --width {} and more", width_ + kMemory + kNameBesideMemory - room));
}

void TextReport::callsSection(int rows) {
  title("Calls");
  if (analysis_.calls.empty()) line(" no driver or synchronising calls were recorded");
  const int nameWidth = (width_ - 28 - bandWidth()) * 6 / 10;
  if (!analysis_.calls.empty()) {
    line(styled(fmt::format(" {} {:>8} {:>11} {}by", padded("name", nameWidth), "count", "total", bandTitle()), "2"));
  }
  for (std::size_t i = 0; i < analysis_.calls.size() && static_cast<int>(i) < rows; ++i) {
    const CallRow& row = analysis_.calls[i];
    const std::string cells = fmt::format(" {} {:>8} {:>11} {}{}", padded(row.name, nameWidth), row.count,
                                          prof::timeText(row.totalNs), bandCell(row.recordingNs, row.totalNs),
                                          shortened(row.caller, width_ - 25 - nameWidth - bandWidth()));
    line(std::string_view(cells).substr(0, cells.find_last_not_of(' ') + 1));
  }
}

/// Lines made elsewhere, under a title. Where there are none nothing is said, unless somebody asked.
/// `remedy`: how a trace is recorded that holds such a thing.
void TextReport::lines(std::string_view heading, const Lines& all, std::string_view remedy) {
  const bool isAsked = !options_.sections.empty();
  if (all.empty() && !isAsked) return;
  title(heading);
  if (all.empty()) wrapped(fmt::format("the trace holds nothing of it{}{}", remedy.empty() ? "" : "; ", remedy), 1, 1);
  for (const std::string& text : all) line(std::string_view(text).substr(0, text.find_last_not_of(' ') + 1));
}

void TextReport::devicesSection() {
  title("Devices");
  if (analysis_.devices.empty()) line(" none did any work");
  for (const DeviceAccount& device : analysis_.devices) {
    const std::int64_t span = std::max<std::int64_t>(1, device.window.endNs - device.window.startNs);
    line(fmt::format(" {} {}  {} busy of {}, {}{}", padded(device.label, 8), shortened(device.name, width_ / 3),
                     prof::shareText(static_cast<double>(device.ledger.busyNs()) / static_cast<double>(span)),
                     prof::timeText(span), prof::countText(device.kernels, "kernel"),
                     device.rank >= 0 ? fmt::format(", rank {}", device.rank) : ""));
    bar(device.ledger);
  }
}

void TextReport::causesSection(int rows) {
  title("What the idle time was spent on");
  if (analysis_.details.empty()) line(" no idle time");
  for (std::size_t i = 0; i < analysis_.details.size() && static_cast<int>(i) < rows; ++i) {
    const CauseDetail& detail = analysis_.details[i];
    line(fmt::format(" {:>11} {:>7}×  {} {}", prof::timeText(detail.ns), detail.count,
                     padded(causeLabel(detail.cause), 26), shortened(withoutScopes(detail.name), width_ - 51)));
  }
}

void TextReport::section(std::string_view name, int rows) {
  if (name == "summary") header();
  if (name == "ledger") ledger();
  if (name == "causes") causesSection(rows);
  if (name == "findings") findings(rows);
  if (name == "devices") devicesSection();
  if (name == "steps") stepsSection(rows);
  if (name == "kernels") kernelsSection(rows);
  if (name == "operators") operatorsSection(rows);
  if (name == "sequences") lines("Repeated sequences", sequenceLines(analysis_, width_, rows));
  if (name == "calls") callsSection(rows);
  if (name == "launches") lines("Launches", launchLines(analysis_, width_, rows));
  if (name == "ranges") lines("Ranges on the device", rangeLines(analysis_, width_, rows), kRangesRemedy);
  if (name == "loader") lines("Loader", loaderLines(analysis_));
  if (name == "memory") lines("Memory", memoryLines(analysis_, width_, rows), kMemoryRemedy);
  if (name == "communication") lines("Communication", communicationLines(analysis_, width_, rows));
  if (name == "copies") lines("Copies", copyLines(analysis_));
  if (name == "efficiency") lines("Efficiency", efficiencyLines(analysis_, width_, rows));
}

void TextReport::overview() {
  header();
  ledger();
  findings(3);
  if (analysis_.devices.size() > 1) devicesSection();
  stepsSection(6);
  kernelsSection(5);
  for (const char* name : {"loader", "memory", "communication", "efficiency"}) section(name, 3);
  line();
  wrapped(fmt::format("more, with --section: {}", fmt::join(reportSections(), ", ")), 0, 6, "2");
}

}  // namespace

std::span<const std::string_view> reportSections() {
  static constexpr std::array<std::string_view, 17> kSections{
      "summary", "ledger", "causes",   "findings", "devices", "steps",         "kernels", "sequences", "operators",
      "ranges",  "calls",  "launches", "loader",   "memory",  "communication", "copies",  "efficiency"};
  return kSections;
}

std::string renderText(const Analysis& analysis, const ReportOptions& options) {
  return TextReport(analysis, options).render();
}

}  // namespace lacuna::analyzer
