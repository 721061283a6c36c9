// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "tune/page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/output.h"
#include "base/settings.h"
#include "lacuna/analyzer/text.h"
#include "lacuna/prof/amounts.h"

namespace lacuna::cli::tune {
namespace {

std::string predictedText(const Priced& priced) {
  return priced.predicted ? prof::shareText(priced.gainShare) : "unknown";
}

std::string measuredText(const Estimate& measured) {
  if (measured.pairs == 0) return "";
  // An interval wider than the step leaves everything possible. Two pairs that disagree give such a
  // one.
  constexpr double kWidest = 1;
  if (measured.known && measured.high - measured.low > kWidest)
    return fmt::format("{} (unsure)", prof::shareText(measured.share));
  if (!measured.known) return fmt::format("{} (one pair)", prof::shareText(measured.share));
  return fmt::format("{} ({:.1f} … {:.1f})", prof::shareText(measured.share),
                     prof::kPercent * measured.low, prof::kPercent * measured.high);
}

std::string reasonOf(const Judgement& judgement) {
  const std::string word(wordFor(judgement.verdict));
  if (judgement.why.empty()) return word;
  return fmt::format("{}: {}", word, analyzer::oneLine(judgement.why));
}

std::string stepText(double ns) {
  return prof::timeText(static_cast<std::int64_t>(ns));
}

/// A word of a command line, as a shell takes it for one.
std::string shellWord(std::string_view word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+=:@%,";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos)
    return std::string(word);
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string commandLine(const Session& session) {
  std::string line;
  for (const std::string& word : session.command)
    line += (line.empty() ? "" : " ") + shellWord(word);
  return analyzer::oneLine(line);
}

std::string verdictOf(const Session& session, const Result& result) {
  const Estimate* overall = result.overall ? &result.overall->measured : nullptr;
  if (!result.kept.empty()) {
    return fmt::format(
        "A step takes {} instead of {}: {} less, measured without recording in {} pairs of runs of "
        "{} steps.",
        stepText(result.endNs), stepText(result.beginNs), measuredText(*overall), overall->pairs,
        session.steps);
  }
  if (!result.unproven.empty()) {
    const std::string settings = collector::settingsText(result.unproven);
    if (overall == nullptr)
      return fmt::format(
          "{} helped, but there was no time to compare the beginning with the end: nothing is "
          "proven.",
          settings);
    return fmt::format(
        "The program stays as it is: {} helped one by one, but all of it against the beginning: "
        "{}.",
        settings, reasonOf(*result.overall));
  }
  if (result.beginNs > 0)
    return fmt::format(
        "The program stays as it is: nothing that was tried makes its step of {} shorter beyond "
        "the noise.",
        stepText(result.beginNs));
  return "The program stays as it is.";
}

std::string endingOf(const Result& result) {
  switch (result.ending) {
    case Ending::NothingLeft:
      return fmt::format(
          "Nothing else is predicted to take {} off a step; less could not be shown here.",
          prof::shareText(result.leastShare));
    case Ending::Budget: {
      std::vector<std::string> left;
      for (const Priced& priced : result.left)
        left.push_back(fmt::format("{} ({})", priced.setting.text(), predictedText(priced)));
      return fmt::format("The time was used up. Not tried: {}. Give it more with --budget.",
                         fmt::join(left, ", "));
    }
    case Ending::Interrupted:
      return "It was interrupted.";
    case Ending::Failed:
      return fmt::format("The program did not run any more as it had before: {}.",
                         analyzer::oneLine(result.problem));
  }
  return {};
}

/// Empty where nobody disturbed the runs.
std::string othersOf(const Result& result) {
  constexpr double kDisturb = 0.2;
  if (result.othersCores < kDisturb) return {};
  return fmt::format(
      "Other programs kept {:.1f} cores busy meanwhile, which widens the intervals; a quiet "
      "machine shows smaller gains.",
      result.othersCores);
}

const Try* tryOf(const Result& result, const collector::Setting& setting) {
  for (const Try& each : result.tries) {
    if (each.priced.setting == setting && each.judgement.verdict == Verdict::Kept) return &each;
  }
  return nullptr;
}

std::string tableText(const Result& result) {
  if (result.tries.empty()) return "Nothing was tried.\n";
  std::vector<std::array<std::string, 4>> rows{{"setting", "predicted", "measured", ""}};
  for (const Try& each : result.tries) {
    rows.push_back({each.priced.setting.text(), predictedText(each.priced),
                    measuredText(each.judgement.measured), reasonOf(each.judgement)});
  }
  std::array<std::size_t, 3> widths{};
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < widths.size(); ++i) {
      // A plus-minus sign has two bytes and one column.
      const auto wide = static_cast<std::size_t>(
          std::ranges::count_if(row[i], [](char c) { return (c & 0xC0) != 0x80; }));
      widths[i] = std::max(widths[i], wide);
    }
  }
  std::string text = "What a step becomes shorter by:\n";
  for (const auto& row : rows) {
    std::string line = " ";
    for (std::size_t i = 0; i < widths.size(); ++i) {
      const auto wide = static_cast<std::size_t>(
          std::ranges::count_if(row[i], [](char c) { return (c & 0xC0) != 0x80; }));
      line += " " + row[i] + std::string(widths[i] - wide, ' ') + " ";
    }
    line += " " + row[3];
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string estimateJson(const Estimate& estimate) {
  return fmt::format("{{\"share\": {:.5f}, \"low\": {:.5f}, \"high\": {:.5f}, \"pairs\": {}}}",
                     estimate.share, estimate.low, estimate.high, estimate.pairs);
}

std::string pricedJson(const Priced& priced) {
  return priced.predicted ? fmt::format("{{\"share\": {:.5f}, \"low\": {:.5f}, \"high\": {:.5f}}}",
                                        priced.gainShare, priced.lowShare, priced.highShare)
                          : "null";
}

std::string settingsJson(const Settings& settings) {
  return jsonList(settings,
                  [](const collector::Setting& setting) { return jsonString(setting.text()); });
}

std::string tryJson(const Try& each) {
  return fmt::format(
      "\n  {{\"setting\": {}, \"beside\": {}, \"predicted\": {}, \"measured\": {}, \"verdict\": "
      "{}, \"why\": {}, \"applied\": {}, \"places\": {}}}",
      jsonString(each.priced.setting.text()), settingsJson(each.beside), pricedJson(each.priced),
      each.judgement.measured.pairs > 0 ? estimateJson(each.judgement.measured) : "null",
      jsonString(wordFor(each.judgement.verdict)), jsonString(each.judgement.why),
      jsonString(each.where), jsonList(each.sites, jsonString));
}

std::string_view wordFor(Ending ending) {
  switch (ending) {
    case Ending::NothingLeft:
      return "nothing left";
    case Ending::Budget:
      return "budget";
    case Ending::Interrupted:
      return "interrupted";
    case Ending::Failed:
      return "failed";
  }
  return "";
}

constexpr std::string_view kStyle =
    "body{font:15px/1.5 system-ui,sans-serif;max-width:60em;margin:2em auto;padding:0 "
    "1em;color:#1b1f24;background:#fff}table{border-collapse:collapse}td,th{text-align:left;"
    "padding:.3em .8em;border-bottom:1px solid "
    "#d0d7de}td.n{text-align:right;white-space:nowrap}code{background:#f0f2f4;padding:.1em "
    ".3em}.bar{height:1.4em;background:#4878a8}.after{background:#3c8c5a}.dim{color:#57606a}@media("
    "prefers-color-scheme:dark){body{color:#e6edf3;background:#0d1117}td,th{border-color:#30363d}"
    "code{background:#161b22}.dim{color:#9198a1}}";

std::string barOf(std::string_view title, std::string_view kind, double ns, double longest) {
  return fmt::format(
      "<tr><td>{}</td><td class=\"n\">{}</td><td style=\"width:30em\"><div class=\"bar {}\" "
      "style=\"width:{:.1f}%\"></div></td></tr>\n",
      title, analyzer::xmlText(stepText(ns)), kind,
      longest > 0 ? prof::kPercent * ns / longest : 0);
}

}  // namespace

std::vector<std::string> scriptLines(const Result& result) {
  std::vector<std::string> lines;
  for (const collector::Setting& setting : result.kept) {
    const Try* each = tryOf(result, setting);
    std::string line;
    if (each != nullptr && !each->sites.empty())
      line = fmt::format("{}: ", fmt::join(each->sites, ", "));
    lines.push_back(line +
                    scriptLine(setting, each != nullptr ? each->language : Language::Python));
  }
  return lines;
}

std::string textOf(const Session& session, const Result& result) {
  std::string text =
      tableText(result) + "\n" + verdictOf(session, result) + "\n" + endingOf(result) + "\n";
  if (const std::string others = othersOf(result); !others.empty()) text += others + "\n";
  if (result.kept.empty()) return text;
  text += "\nIn the script:\n";
  for (const std::string& line : scriptLines(result)) text += "  " + analyzer::oneLine(line) + "\n";
  text += fmt::format("Or without a change to it:\n  lacuna run --set {} -- {}\n",
                      collector::settingsText(result.kept), commandLine(session));
  return text;
}

std::string jsonOf(const Session& session, const Result& result) {
  return fmt::format(
      "{{\"schema\": \"lacuna.tune/1\",\n \"command\": {},\n \"steps\": {},\n \"warm_up_steps\": "
      "{},\n \"seconds\": {:.1f},\n \"runs\": {},\n \"ending\": \"{}\",\n \"noise\": {:.5f},\n "
      "\"least_share\": {:.5f},\n \"others_cores\": {:.2f},\n \"begin_ns_per_step\": {:.0f},\n "
      "\"end_ns_per_step\": {:.0f},\n \"gain\": {},\n \"kept\": {},\n \"unproven\": {},\n "
      "\"script\": {},\n \"tries\": {},\n \"left\": {}}}\n",
      jsonList(session.command, jsonString), session.steps, session.warmUp, session.seconds,
      result.runs, wordFor(result.ending), result.noiseShare, result.leastShare, result.othersCores,
      result.beginNs, result.endNs,
      result.overall ? estimateJson(result.overall->measured) : "null", settingsJson(result.kept),
      settingsJson(result.unproven),
      jsonList(scriptLines(result), [](const std::string& line) { return jsonString(line); }),
      jsonList(result.tries, tryJson), jsonList(result.left, [](const Priced& priced) {
        return fmt::format("{{\"setting\": {}, \"predicted\": {}}}",
                           jsonString(priced.setting.text()), pricedJson(priced));
      }));
}

std::string htmlOf(const Session& session, const Result& result) {
  using analyzer::xmlText;
  std::string page = fmt::format(
      "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>Lacuna: "
      "tuning</title><style>{}</style></head><body>\n"
      "<h1>Tuning</h1><p><code>{}</code></p>\n<p>{}</p>\n",
      kStyle, xmlText(commandLine(session)), xmlText(verdictOf(session, result)));
  if (result.beginNs > 0) {
    const double longest = std::max(result.beginNs, result.endNs);
    page += "<table>\n" + barOf("A step before", "before", result.beginNs, longest) +
            barOf("and after", "after", result.endNs, longest) + "</table>\n";
  }
  page +=
      "<h2>Tried</h2><table><tr><th>setting</th><th>predicted</th><th>measured</th><th></th></"
      "tr>\n";
  for (const Try& each : result.tries) {
    page += fmt::format(
        "<tr><td><code>{}</code></td><td class=\"n\">{}</td><td "
        "class=\"n\">{}</td><td>{}</td></tr>\n",
        xmlText(each.priced.setting.text()), xmlText(predictedText(each.priced)),
        xmlText(measuredText(each.judgement.measured)), xmlText(reasonOf(each.judgement)));
  }
  page += fmt::format(
      "</table><p class=\"dim\">Shares of a step that it becomes shorter by; in brackets an "
      "interval that 19 of 20 lie in. {}</p>\n",
      xmlText(endingOf(result) + " " + othersOf(result)));
  if (!result.kept.empty()) {
    page += "<h2>In the script</h2><ul>\n";
    for (const std::string& line : scriptLines(result))
      page += fmt::format("<li><code>{}</code></li>\n", xmlText(line));
    page += "</ul>\n";
  }
  return page + "</body></html>\n";
}

}  // namespace lacuna::cli::tune
