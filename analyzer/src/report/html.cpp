// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "analysis/devices.h"
#include "analysis/shown_steps.h"
#include "formats/kernel_name.h"
#include "lacuna/analyzer/cause_colours.h"
#include "lacuna/analyzer/report.h"
#include "lacuna/analyzer/summary.h"
#include "lacuna/analyzer/utf8.h"
#include "lacuna/analyzer/xml_text.h"
#include "lacuna/prof/amounts.h"
#include "lacuna/prof/bounds.h"
#include "report/sequence_text.h"
#include "report/text_details.h"
#include "rules/words.h"

namespace lacuna::analyzer {
namespace {

constexpr std::string_view kStyle = R"(
:root{--bg:#fff;--fg:#1b1f24;--dim:#636c76;--line:#d8dee4;--card:#f6f8fa;--fault:#c0182b;--could:#0969a8}
@media (prefers-color-scheme:dark){:root{--bg:#14171b;--fg:#e8ebee;--dim:#98a2ad;--line:#333a42;--card:#1d2228;--fault:#ff7b86;--could:#6cb6ff}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1.2rem 1rem 3rem;max-width:62rem;background:var(--bg);color:var(--fg);font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
h1{font-size:1.3rem;margin:0 0 .2rem;overflow-wrap:anywhere}h2{font-size:1.05rem;margin:2rem 0 .6rem}
.dim,.axis{color:var(--dim);font-size:.9rem}.axis{margin:0 0 .2rem;font-size:.8rem}.verdict{font-size:1.15rem;margin:1rem 0}
svg{display:block;width:100%;height:auto;overflow:visible}svg text{fill:var(--fg);font:12px system-ui,sans-serif}svg .dim{fill:var(--dim)}
.bar{display:flex;height:2.2rem;border-radius:.4rem;overflow:hidden}.bar i{display:flex;justify-content:flex-end;min-width:1px}.bar u{background:repeating-linear-gradient(45deg,var(--fg) 0 1.5px,transparent 1.5px 4px)}
.legend{display:grid;grid-template-columns:repeat(auto-fill,minmax(20rem,1fr));gap:.15rem 1.5rem;margin:.7rem 0;padding:0;list-style:none;font-size:.92rem}
.legend li{display:flex;gap:.5rem;align-items:center}.legend b{font-weight:400;flex:1}.legend span{color:var(--dim);font-variant-numeric:tabular-nums}
.legend i{width:.8rem;height:.8rem;border-radius:.2rem;flex:none}
.card{background:var(--card);border:1px solid var(--line);border-left:.3rem solid var(--could);border-radius:.4rem;padding:.7rem .9rem;margin:.6rem 0}
.card.fault{border-left-color:var(--fault)}.card{overflow-wrap:anywhere}.card h3{margin:0;font-size:1rem}.card p{margin:.3rem 0 0}
.tag{font-size:.72rem;text-transform:uppercase;letter-spacing:.04em;color:var(--could)}.fault .tag{color:var(--fault)}
code{font:.9em ui-monospace,monospace;background:var(--line);border-radius:.2rem;padding:.05rem .3rem;overflow-wrap:anywhere}
@media(max-width:600px){svg text,svg text.dim{font-size:26px}.legend{grid-template-columns:1fr}}
.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:.9rem}th,td{text-align:right;padding:.25rem .5rem;border-bottom:1px solid var(--line);white-space:nowrap;font-variant-numeric:tabular-nums}
th{color:var(--dim);font-weight:500}th:first-child,td:first-child{text-align:left;white-space:normal;overflow-wrap:anywhere;min-width:11rem;padding-left:0}
)";

/// The colours of the causes, in their order.
std::string coloursOf(bool dark) {
  std::string out;
  for (std::size_t i = 0; i < kCauseCount; ++i) {
    out += fmt::format(".c{0}{{fill:#{1:06x};background:#{1:06x}}}", i,
                       causeColour(static_cast<Cause>(i), dark) & 0xFFFFFF);
  }
  return out;
}

std::string styleSheet() {
  return fmt::format("{}{}\n@media (prefers-color-scheme:dark){{{}}}\n", kStyle, coloursOf(false), coloursOf(true));
}

std::string shortName(std::string_view name) {
  if (name.size() <= 120) return xmlText(name);
  const std::string plain = withoutScopes(name);
  return plain.size() <= 120 ? xmlText(plain) : xmlText(headOf(plain, 117)) + "…";
}

class Page {
 public:
  explicit Page(const Analysis& analysis) : analysis_(analysis) {}

  std::string render() {
    out_ = fmt::format(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
        "content=\"width=device-width,initial-scale=1\"><meta name=\"color-scheme\" content=\"light dark\">"
        "<title>Lacuna: {0}</title><style>{1}</style></head><body>\n<h1>{0}</h1><div class=\"dim\">{2}</div>\n"
        "<p class=\"verdict\">{3}</p>\n",
        xmlText(analysis_.store->path().filename().string()), styleSheet(), xmlText(describeRun(analysis_)),
        xmlText(verdict(analysis_)));
    if (const std::string cost = overheadLine(analysis_); !cost.empty())
      out_ += fmt::format("<p class=\"dim\">{} It is hatched in the charts, where it is large enough to see.</p>\n",
                          xmlText(cost));
    ledger();
    findings();
    steps();
    memory();
    kernels();
    sequences();
    operators();
    out_ += "</body></html>\n";
    return std::move(out_);
  }

 private:
  void heading(std::string_view text) { out_ += fmt::format("<h2>{}</h2>\n", text); }
  void bar(const Ledger& ledger, const Ledger& bands);
  void ledger();
  void findings();
  void steps();
  void memory();
  void memoryOf(const MemoryStats& memory, std::string_view where);
  void kernels();
  void sequences();
  void operators();

  const Analysis& analysis_;
  std::string out_;
};

/// What recording may have added is hatched at the end of each part.
void Page::bar(const Ledger& ledger, const Ledger& bands) {
  const auto total = static_cast<double>(std::max<std::int64_t>(1, ledger.totalNs()));
  out_ += "<div class=\"bar\" role=\"img\" aria-label=\"ledger\">";
  for (std::size_t i = 0; i < kCauseCount; ++i) {
    if (ledger.ns[i] <= 0) continue;
    const double percent = 100 * static_cast<double>(ledger.ns[i]) / total;
    const std::string band = humanBand(bands.ns[i], ledger.ns[i]);
    const double hatched = 100 * static_cast<double>(bands.ns[i]) / static_cast<double>(ledger.ns[i]);
    out_ += fmt::format("<i class=\"c{}\" style=\"width:{:.3f}%\" title=\"{}: {:.1f} %{}\">{}</i>", i, percent,
                        causeLabel(static_cast<Cause>(i)), percent, band.empty() ? "" : ", recording " + xmlText(band),
                        band.empty() ? "" : fmt::format("<u style=\"width:{:.2f}%\"></u>", std::min(100.0, hatched)));
  }
  out_ += "</div>\n";
}

void Page::ledger() {
  if (analysis_.devices.empty()) return;
  heading("Where the device's time goes");
  bar(analysis_.ledger, analysis_.bands.run);
  const auto total = static_cast<double>(std::max<std::int64_t>(1, analysis_.ledger.totalNs()));
  const Ledger step = analysis_.meanStepLedger();
  const Ledger stepBands = analysis_.meanStepBands();
  if (!analysis_.steps.all.empty()) {
    const auto [shares, times] = ledgerColumns(analysis_);
    out_ += fmt::format("<div class=\"axis\">shares {} · times in {}, on average</div>", shares, times);
  }
  out_ += "<ul class=\"legend\">";
  for (std::size_t i = 0; i < kCauseCount; ++i) {
    const std::int64_t ns = analysis_.ledger.ns[i];
    if (ns == 0 && static_cast<Cause>(i) != Cause::Unknown) continue;
    const std::string band = humanBand(stepBands.ns[i], step.ns[i]);
    out_ += fmt::format("<li><i class=\"c{}\"></i><b>{}</b><span>{}</span><span>{}{}</span>{}</li>", i,
                        causeLabel(static_cast<Cause>(i)), prof::shareText(static_cast<double>(ns) / total),
                        prof::timeText(step.ns[i]), analysis_.steps.all.empty() ? "" : " a step",
                        band.empty() ? "" : fmt::format("<span>{}</span>", xmlText(band)));
  }
  out_ += "</ul>\n";
  for (const std::string& line : {ledgerWindowLine(analysis_), unknownLine(analysis_), bottleneckLine(analysis_)}) {
    if (!line.empty()) out_ += fmt::format("<div class=\"dim\">{}</div>\n", xmlText(line));
  }
  if (analysis_.devices.size() < 2) return;
  for (const DeviceAccount& device : analysis_.devices) {
    out_ += fmt::format("<div class=\"dim\">{}{}{}{}</div>", device.label, device.name.empty() ? "" : " ",
                        xmlText(device.name), device.rank >= 0 ? fmt::format(", rank {}", device.rank) : "");
    bar(device.ledger, device.bands);
  }
}

void Page::findings() {
  heading("Findings");
  if (analysis_.findings.empty()) {
    std::string none = noFindings(analysis_);
    none.front() = 'N';
    out_ += fmt::format("<p>{}.</p>\n", xmlText(none));
  }
  for (const Finding& finding : analysis_.findings) {
    const bool fault = finding.kind == FindingKind::Fault;
    const std::string band = humanBand(finding.recordingNsPerStep, finding.costNsPerStep);
    const std::string title = band.empty() ? finding.title : fmt::format("{} ({})", finding.title, band);
    out_ += fmt::format("<div class=\"card{}\"><div class=\"tag\">{}</div><h3>{}</h3><p>{}{}</p>",
                        fault ? " fault" : "", fault ? "fault" : "opportunity", xmlText(title),
                        finding.knob.empty() ? "" : fmt::format("<code>{}</code> ", xmlText(finding.knob)),
                        xmlText(finding.advice));
    out_ += fmt::format("<p class=\"dim\">gain: {}</p></div>\n",
                        xmlText(describeGain(finding, analysis_.steps.all.empty() ? "in all" : "a step")));
  }
}

/// "step 12"; a marker that carries its number ("ProfilerStep#12") as it is.
std::string stepLabel(const Step& step) {
  const bool numbered = step.name.find_first_of("0123456789") != std::string::npos;
  return numbered ? xmlText(step.name) : fmt::format("{} {}", xmlText(step.name), step.index);
}

/// One column a step (at most some 200, later ones joined by their mean), coloured by the step's own ledger.
void Page::steps() {
  const Steps shown = shownSteps(analysis_);
  const auto& all = shown.all;
  if (all.empty()) return;
  heading(fmt::format("Steps: {} of {} (± {})", all.size(), prof::timeText(shown.medianNs()),
                      prof::timeText(shown.spreadNs())));
  const std::size_t first = shownRange(analysis_).first;
  constexpr double kWidth = 960, kHeight = 208, kBase = 178, kLeft = 132;
  const std::size_t group = (all.size() + 199) / 200;
  const std::size_t columns = (all.size() + group - 1) / group;
  std::int64_t longest = 1;
  std::vector<std::int64_t> durations;
  for (const Step& step : all) durations.push_back(step.durNs());
  std::sort(durations.begin(), durations.end());
  // A slow first step must not flatten the others; columns that leave the chart are cut.
  const std::int64_t most = durations.back();
  longest = std::max<std::int64_t>(1, std::min(most, 2 * durations[(durations.size() - 1) * 95 / 100]));
  const double width = (kWidth - kLeft) / static_cast<double>(columns);
  out_ += fmt::format(
      "<div class=\"axis\">↑ time per step, by cause · steps →</div><svg viewBox=\"0 0 {} {}\" "
      "role=\"img\" aria-label=\"time per step\">",
      kWidth, kHeight);
  out_ +=
      "<defs><pattern id=\"band\" width=\"4\" height=\"4\" patternUnits=\"userSpaceOnUse\" "
      "patternTransform=\"rotate(45)\"><rect width=\"1.5\" height=\"4\" fill=\"currentColor\"/></pattern></defs>";
  for (int tick = 0; tick <= 2; ++tick) {
    const double y = kBase - tick * (kBase - 12) / 2;
    out_ += fmt::format(
        "<line x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"currentColor\" stroke-opacity=\".15\"/><text "
        "class=\"dim\" x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>",
        kLeft, kWidth, y, y, kLeft - 6, y + 4, prof::timeText(longest * tick / 2));
  }
  for (std::size_t c = 0; c < columns; ++c) {
    Ledger ledger;
    std::int64_t dur = 0;
    std::int64_t recording = 0;
    const std::size_t end = std::min(all.size(), (c + 1) * group);
    for (std::size_t i = c * group; i < end; ++i) {
      ledger += analysis_.stepLedgers[first + i];
      prof::addTo(dur, all[i].durNs());
      prof::addTo(recording, analysis_.stepBandNs(first + i));
    }
    const auto count = static_cast<std::int64_t>(end - c * group);
    const double height =
        std::min(1.0, static_cast<double>(dur) / static_cast<double>(end - c * group) / static_cast<double>(longest)) *
        (kBase - 12);
    const double total = static_cast<double>(std::max<std::int64_t>(1, ledger.totalNs()));
    const double x = kLeft + static_cast<double>(c) * width;
    double y = kBase;
    const std::string bandText = humanBand(recording, dur);
    out_ += fmt::format("<g><title>{}: {}{}</title>", stepLabel(all[c * group]), prof::timeText(dur / count),
                        bandText.empty() ? "" : " " + xmlText(bandText));
    for (std::size_t i = 0; i < kCauseCount; ++i) {
      const double part = static_cast<double>(ledger.ns[i]) / total * height;
      if (part < 0.05) continue;
      y -= part;
      out_ += fmt::format("<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" class=\"c{}\"/>", x, y,
                          std::max(0.5, width * 0.85), part, i);
    }
    // What recording cost lies hatched over the top of the step.
    const double band =
        std::min(height, static_cast<double>(recording / count) / static_cast<double>(longest) * (kBase - 12));
    if (band >= 0.5)
      out_ += fmt::format("<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"url(#band)\"/>", x,
                          y, std::max(0.5, width * 0.85), band);
    out_ += "</g>";
  }
  out_ += fmt::format(
      "<text class=\"dim\" x=\"{}\" y=\"203\">{}</text><text class=\"dim\" x=\"{}\" y=\"203\" "
      "text-anchor=\"end\">{}</text></svg>\n",
      kLeft, stepLabel(all.front()), kWidth, stepLabel(all.back()));
}

/// Each device has its own curve and its own peak.
void Page::memory() {
  if (!analysis_.memory.present) return;
  if (analysis_.memoryStatsByDevice.empty()) memoryOf(analysis_.memory, "");
  for (std::size_t i = 0; i < analysis_.memoryStatsByDevice.size(); ++i)
    memoryOf(analysis_.memoryStatsByDevice[i], whoseMemory(analysis_, analysis_.memoryByDevice[i].device));
}

void Page::memoryOf(const MemoryStats& memory, std::string_view where) {
  if (memory.curve.size() < 2) return;
  heading(fmt::format("Memory{}{}: peak {}", where.empty() ? "" : " of ", where, prof::bytesText(memory.peakBytes)));
  constexpr double kWidth = 960, kHeight = 214, kBase = 190, kLeft = 132;
  const auto t0 = memory.curve.front().timeNs;
  const auto span = static_cast<double>(std::max<prof::TimeNs>(1, memory.curve.back().timeNs - t0));
  const auto peak = static_cast<double>(std::max<std::uint64_t>(1, memory.peakBytes));
  const auto x = [&](prof::TimeNs t) { return kLeft + static_cast<double>(t - t0) / span * (kWidth - kLeft); };
  const auto y = [&](std::uint64_t bytes) { return kBase - static_cast<double>(bytes) / peak * (kBase - 14); };
  std::string path = fmt::format("M{:.1f},{:.1f}", kLeft, kBase);
  for (const MemoryPoint& point : memory.curve) path += fmt::format("H{:.1f}V{:.1f}", x(point.timeNs), y(point.bytes));
  path += fmt::format("L{:.1f},{:.1f}Z", kWidth, kBase);
  out_ += fmt::format(
      "<div class=\"axis\">↑ bytes alive · time since the first allocation →</div><svg viewBox=\"0 0 {} "
      "{}\" role=\"img\" aria-label=\"memory over time\">",
      kWidth, kHeight);
  for (int tick = 0; tick <= 2; ++tick) {
    const auto bytes = memory.peakBytes / 2 * static_cast<std::uint64_t>(tick);
    out_ += fmt::format(
        "<line x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"currentColor\" stroke-opacity=\".15\"/><text "
        "class=\"dim\" x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>",
        kLeft, kWidth, y(bytes), y(bytes), kLeft - 6, y(bytes) + 4, prof::bytesText(bytes));
  }
  out_ += fmt::format(
      "<text class=\"dim\" x=\"{}\" y=\"209\">0</text><text class=\"dim\" x=\"{}\" y=\"209\" "
      "text-anchor=\"end\">{}</text>",
      kLeft, kWidth, prof::timeText(memory.curve.back().timeNs - t0));
  out_ += fmt::format("<path d=\"{}\" fill=\"#4c8eda\" fill-opacity=\".45\" stroke=\"#4c8eda\"/>", path);
  out_ +=
      fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\" fill=\"#d7263d\"><title>peak</title></circle></svg>\n",
                  x(std::clamp(memory.peakAtNs, t0, memory.curve.back().timeNs)), y(memory.peakBytes));
  out_ +=
      "<div class=\"scroll\"><table><tr><th>alive at the peak</th><th>role</th><th>size</th><th>allocated before the "
      "peak</th><th>freed behind it</th></tr>";
  for (std::size_t i = 0; i < std::min<std::size_t>(10, memory.live.size()); ++i) {
    const LiveTensor& tensor = memory.live[i];
    out_ += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>", shortName(liveName(tensor)),
                        roleWords(tensor.role), prof::bytesText(tensor.bytes), ageText(memory, i), stayText(memory, i));
  }
  out_ += "</table></div>\n";
}

void Page::kernels() {
  if (analysis_.kernels.empty()) return;
  heading("Kernels");
  std::int64_t total = 1;
  for (const KernelRow& row : analysis_.kernels) prof::addTo(total, row.totalNs);
  out_ +=
      "<div "
      "class=\"scroll\"><table><tr><th>kernel</th><th>count</th><th>total</th><th>±</th><th>share</th><th>mean</th></"
      "tr>";
  for (std::size_t i = 0; i < std::min<std::size_t>(15, analysis_.kernels.size()); ++i) {
    const KernelRow& row = analysis_.kernels[i];
    out_ += fmt::format(
        "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>", shortName(row.name), row.count,
        prof::timeText(row.totalNs), xmlText(humanBand(row.recordingNs, row.totalNs)),
        prof::shareText(static_cast<double>(row.totalNs) / static_cast<double>(total)), prof::timeText(row.meanNs()));
  }
  out_ += "</table></div>\n";
}

void Page::sequences() {
  const bool steps = !analysis_.steps.all.empty();
  for (const auto& [rows, title] :
       {std::pair(&analysis_.sequences.repeated, "Repeated sequences of kernels"),
        std::pair(&analysis_.sequences.pointwise, "Pointwise kernels one behind the other, which one could do")}) {
    if (rows->empty()) continue;
    heading(title);
    out_ += fmt::format(
        "<div class=\"scroll\"><table><tr><th>kernels in order</th><th>{}</th><th>on the "
        "device</th><th>gaps</th><th>share</th></tr>",
        steps ? "a step" : "in all");
    for (std::size_t i = 0; i < std::min<std::size_t>(8, rows->size()); ++i) {
      const SequenceRow& row = (*rows)[i];
      out_ += fmt::format("<tr><td>{}</td><td>{:.1f}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
                          shortName(sequenceText(*analysis_.store, row)), sequenceCountPerStep(analysis_, row.count),
                          prof::timeText(sequenceNsPerStep(analysis_, row.deviceNs)),
                          prof::timeText(sequenceNsPerStep(analysis_, row.gapNs)),
                          prof::shareText(sequenceShare(analysis_, row)));
    }
    out_ += "</table></div>\n";
  }
}

void Page::operators() {
  if (analysis_.operators.empty()) return;
  heading("Operators");
  out_ +=
      "<div class=\"scroll\"><table><tr><th>operator</th><th>calls</th><th>host</th><th>±</th><th>host "
      "self</th><th>±</th><th>device</th><th>±</th></tr>";
  for (std::size_t i = 0; i < std::min<std::size_t>(15, analysis_.operators.size()); ++i) {
    const OperatorRow& row = analysis_.operators[i];
    out_ += fmt::format(
        "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
        shortName(row.name), row.count, prof::timeText(row.totalNs), xmlText(humanBand(row.recordingNs, row.totalNs)),
        prof::timeText(row.selfNs), xmlText(humanBand(row.selfRecordingNs, row.selfNs)), prof::timeText(row.deviceNs),
        xmlText(humanBand(row.deviceRecordingNs, row.deviceNs)));
  }
  out_ += "</table></div>\n";
}

}  // namespace

std::string renderHtml(const Analysis& analysis) {
  return Page(analysis).render();
}

}  // namespace lacuna::analyzer
