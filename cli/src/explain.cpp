// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "explain.h"

#include <fmt/format.h>

#include <cmath>
#include <span>
#include <string_view>

#include "base/command.h"
#include "base/output.h"
#include "lacuna/analyzer/findings.h"
#include "lacuna/analyzer/report.h"
#include "lacuna/analyzer/text.h"
#include "lacuna/prof/amounts.h"

namespace lacuna::cli {
namespace {

using analyzer::Finding;
using analyzer::GainLimit;
using analyzer::GainSum;
using analyzer::NamedNumber;
using analyzer::Prediction;

constexpr std::size_t kReasonIndent = 6;

/// The layout of one account's lines, and whether its numbers are times or bytes.
struct Account {
  std::size_t labelColumns = 18;
  bool isBytes = false;

  [[nodiscard]] std::string amount(std::int64_t number) const {
    return isBytes ? prof::bytesText(number) : prof::timeText(number);
  }
  [[nodiscard]] std::string row(std::string_view label, std::string_view number,
                                std::string_view comment) const {
    const int column = 2 + static_cast<int>(labelColumns) + 10 + 2;
    return fmt::format("  {:<{}}{:>10}{}{}\n", label, labelColumns, number,
                       comment.empty() ? "" : "  ", fitted(comment, column));
  }
  [[nodiscard]] std::string line(std::string_view label, std::int64_t number,
                                 std::string_view comment) const {
    return row(label, amount(number), comment);
  }
};
/// For a step; and for a finding's gain, whose numbers have longer names.
constexpr Account kStepAccount;
constexpr std::size_t kTermColumns = 26;

std::string indented(std::string_view text) {
  return std::string(kReasonIndent, ' ') +
         wrapped(text, listColumns() - kReasonIndent, kReasonIndent) + '\n';
}

std::string text(const NamedNumber& constant) {
  return constant.name.empty() ? std::string()
                               : fmt::format(" ({} = {:g})", constant.name, constant.value);
}

/// A limit that was not reached is at least below the number, or at most above it.
std::string text(const Account& account, std::string_view label, const GainLimit& limit,
                 bool decides) {
  const std::string after = account.amount(limit.afterNs);
  const std::string effect = !limit.isHeld() ? "not reached"
                             : decides       ? fmt::format("decides: {}", after)
                                             : fmt::format("now {}", after);
  const std::string bound = fmt::format("{} {}, {}", limit.isMost ? "at most" : "at least",
                                        account.amount(limit.limitNs), effect);
  return account.line(label, limit.beforeNs, bound) +
         indented(fmt::format("{}{}", limit.reason, text(limit.constant)));
}

std::string text(const GainLimit& limit, bool decides) {
  const std::string_view of = textOf(limit.of);
  return text(kStepAccount,
              of == limit.name ? std::string(of) : fmt::format("{}: {}", of, limit.name), limit,
              decides);
}

std::string text(const Account& account, const GainSum::Term& term) {
  static constexpr std::string_view kSigns[]{"", "− ", "× ", "÷ ", "taken from "};
  const std::string number = term.isCount()
                                 ? prof::countText(static_cast<std::uint64_t>(term.value))
                                 : account.amount(term.value);
  return account.row(
      fmt::format("{}{}", kSigns[static_cast<std::size_t>(term.op)], term.name), number,
      term.op == GainSum::Op::Start ? std::string()
                                    : fmt::format("= {}", account.amount(term.after)));
}

std::string_view decidedBy(const GainSum& sum, bool isReplayed) {
  if (const GainLimit* decisive = sum.decisive()) return decisive->name;
  return isReplayed ? "replay" : "trace";
}

std::string text(const Account& account, std::string_view name, const GainSum& sum,
                 bool isReplayed) {
  std::string out;
  for (const GainSum::Term& term : sum.terms()) out += text(account, term);
  const GainLimit* decisive = sum.decisive();
  for (const GainLimit& limit : sum.limits())
    out += text(account, limit.name, limit, &limit == decisive);
  const bool isKnown = !sum.terms().empty();
  return out + account.line(name, sum.value(),
                            isKnown
                                ? fmt::format("decided by {}{}", decisive == nullptr ? "the " : "",
                                              decidedBy(sum, isReplayed))
                                : std::string("nothing is certain"));
}

std::string percent(double share) {
  return prof::shareText(std::abs(share));
}

std::string doubtText(const analyzer::PredictionDoubt& doubt) {
  const std::string width = fmt::format("± {:g} × {} of the step ({})", doubt.sigmas.value,
                                        percent(doubt.sigma()), doubt.sigmas.name);
  std::string out = fmt::format("  {:<{}}{}\n", "interval", kStepAccount.labelColumns,
                                fitted(width, 2 + static_cast<int>(kStepAccount.labelColumns)));
  out += indented(fmt::format("known error {}: {}", percent(doubt.knownError), doubt.knownFrom));
  out += indented(fmt::format(
      "miss of the unchanged replay {}, spread of the recorded steps {}, other programs {}",
      percent(doubt.miss), percent(doubt.noise), percent(doubt.others)));
  return out;
}

std::string json(const GainLimit& limit, std::string_view suffix = "ns") {
  const bool isNamed = !limit.constant.name.empty();
  return fmt::format(
      "{{\"name\": {}, \"of\": \"{}\", \"reason\": {}, \"constant\": {}, \"value\": {}, \"bound\": "
      "\"{}\", \"before_{}\": {}, \"limit_{}\": {}, \"after_{}\": {}, \"held\": {}}}",
      jsonString(limit.name), textOf(limit.of), jsonString(limit.reason),
      isNamed ? jsonString(limit.constant.name) : "null",
      isNamed ? fmt::format("{}", limit.constant.value) : "null",
      limit.isMost ? "at_most" : "at_least", suffix, limit.beforeNs, suffix, limit.limitNs, suffix,
      limit.afterNs, limit.isHeld());
}

std::string json(std::span<const GainLimit> limits, std::string_view suffix = "ns") {
  std::string out;
  for (const GainLimit& limit : limits) out += (out.empty() ? "" : ", ") + json(limit, suffix);
  return "[" + out + "]";
}

std::string json(const GainSum& sum, bool isReplayed, std::string_view suffix) {
  std::string terms;
  for (const GainSum::Term& term : sum.terms()) {
    terms += fmt::format(
        "{}{{\"name\": {}, \"op\": \"{}\", \"value\": {}, \"unit\": \"{}\", \"after_{}\": {}}}",
        terms.empty() ? "" : ", ", jsonString(term.name), textOf(term.op), term.value,
        term.isCount() ? "count" : suffix, suffix, term.after);
  }
  return fmt::format("{{\"terms\": [{}], \"limits\": {}, \"decided_by\": {}, \"result_{}\": {}}}",
                     terms, json(sum.limits(), suffix), jsonString(decidedBy(sum, isReplayed)),
                     suffix, sum.value());
}

std::string_view perStep(const analyzer::Analysis& analysis) {
  return analysis.steps.all.empty() ? "in all" : "a step";
}

}  // namespace

std::string explainedText(const Prediction& prediction) {
  const GainLimit* decisive = prediction.limits.decisive();
  std::string out = "how it was predicted\n";
  const Account& account = kStepAccount;
  out += account.line("recorded", prediction.measuredNsPerStep, "");
  out += account.line("replayed", prediction.baseNsPerStep, "unchanged");
  out += account.line("changed", prediction.playedNsPerStep,
                      "replayed with the change, before its limits");
  for (const GainLimit& limit : prediction.limits.all()) out += text(limit, &limit == decisive);
  out += doubtText(prediction.doubt);
  out += account.line("low end", prediction.lowNsPerStep, "");
  out += account.line("high end", prediction.highNsPerStep, "");
  out += account.line("result", prediction.predictedNsPerStep,
                      decisive == nullptr ? std::string("decided by the replay")
                                          : fmt::format("decided by {}{}", decisive->name,
                                                        text(decisive->constant)));
  return out;
}

std::string explainedJson(const Prediction& prediction) {
  const GainLimit* decisive = prediction.limits.decisive();
  const analyzer::PredictionDoubt& doubt = prediction.doubt;
  return fmt::format(
      "{{\"recorded_ns\": {}, \"replayed_ns\": {}, \"changed_ns\": {}, \"limits\": {}, "
      "\"decided_by\": {}, \"result_ns\": {}, \"interval\": {{\"low_ns\": {}, \"high_ns\": {}, "
      "\"sigmas\": {}, \"sigma\": {:.6f}, \"known_error\": {}, \"known_error_from\": {}, "
      "\"replay_miss\": {:.6f}, \"step_noise\": {:.6f}, \"other_programs\": {:.6f}}}}}",
      prediction.measuredNsPerStep, prediction.baseNsPerStep, prediction.playedNsPerStep,
      json(prediction.limits.all()),
      jsonString(decisive == nullptr ? std::string_view("replay") : decisive->name),
      prediction.predictedNsPerStep, prediction.lowNsPerStep, prediction.highNsPerStep,
      doubt.sigmas.value, doubt.sigma(), doubt.knownError, jsonString(doubt.knownFrom), doubt.miss,
      doubt.noise, doubt.others);
}

prof::Result<const Finding*> numberedFinding(const analyzer::Analysis& analysis,
                                             std::size_t number) {
  const std::size_t count = analysis.of<analyzer::Findings>().size();
  if (number >= 1 && number <= count) return &analysis.of<analyzer::Findings>()[number - 1];
  const std::string file = analysis.store->path().string();
  if (count == 0) {
    return prof::Error{fmt::format("--explain {}: {}: the report has no findings ({})", number,
                                   file, analyzer::noFindings(analysis))};
  }
  return prof::Error{fmt::format(
      "--explain {}: {}: the report has {}; lacuna report FILE --section findings numbers them",
      number, file, count == 1 ? "finding 1 alone" : fmt::format("findings 1 to {}", count))};
}

std::string explainedText(const analyzer::Analysis& analysis, std::size_t number,
                          const Finding& finding) {
  const auto head = [](std::string_view label, std::string_view words) {
    return wrapped(fmt::format("{}: {}", label, words), listColumns() - kReasonIndent,
                   kReasonIndent) +
           '\n';
  };
  std::string out = head(fmt::format("finding {}", number), analyzer::oneLine(finding.title)) +
                    head("gain", describeGain(finding, perStep(analysis)));
  if (finding.gainBasis == analyzer::GainBasis::None) return out;
  const analyzer::GainChain& chain = finding.gainChain;
  const bool isReplayed = chain.prediction.has_value();
  const Account account{.labelColumns = kTermColumns,
                        .isBytes = finding.gainBasis == analyzer::GainBasis::Bytes};
  if (isReplayed)
    out += head("change", analyzer::oneLine(chain.change)) + explainedText(*chain.prediction);
  out += "how the gain was computed\n" + text(account, "gain", chain.gain, isReplayed);
  if (finding.gainHighNsPerStep > 0) {
    out += "how its interval was computed\n" + text(account, "low end", chain.low, isReplayed) +
           text(account, "high end", chain.high, isReplayed);
  }
  return out;
}

std::string explainedJson(const analyzer::Analysis& analysis, std::size_t number,
                          const Finding& finding) {
  const analyzer::GainChain& chain = finding.gainChain;
  const bool isReplayed = chain.prediction.has_value();
  const bool isPredicted = finding.gainBasis != analyzer::GainBasis::None;
  const bool isBytes = finding.gainBasis == analyzer::GainBasis::Bytes;
  const auto sum = [&](const GainSum& of, bool isThere) {
    return isThere ? json(of, isReplayed, isBytes ? "bytes" : "ns") : std::string("null");
  };
  return fmt::format(
      "{{\"schema\": \"lacuna.explanation/1\", \"number\": {}, \"id\": {}, \"title\": {}, \"per\": "
      "\"{}\", \"gain_basis\": \"{}\", \"not_predicted\": {}, \"change\": {}, \"prediction\": {}, "
      "\"gain\": {}, \"low\": {}, \"high\": {}}}\n",
      number, jsonString(analyzer::findingKey(finding.id)), jsonString(finding.title),
      analysis.steps.all.empty() ? "run" : "step", gainBasisName(finding.gainBasis),
      jsonString(finding.notPredicted), jsonString(chain.change),
      isReplayed ? explainedJson(*chain.prediction) : "null", sum(chain.gain, isPredicted),
      sum(chain.low, isPredicted && !isBytes), sum(chain.high, isPredicted && !isBytes));
}

}  // namespace lacuna::cli
