// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "explain.h"

#include <fmt/format.h>

#include <cmath>
#include <string_view>

#include "output.h"

namespace lacuna::cli {
namespace {

using analyzer::GainLimit;
using analyzer::NamedNumber;
using analyzer::Prediction;

constexpr std::size_t kExplainColumns = 80;
constexpr std::size_t kReasonIndent = 6;
constexpr std::size_t kLabelColumns = 18;

std::string line(std::string_view label, std::int64_t ns, std::string_view comment) {
  return fmt::format("  {:<{}}{:>10}{}{}\n", label, kLabelColumns, humanDuration(ns), comment.empty() ? "" : "  ",
                     comment);
}

std::string indented(std::string_view text) {
  return std::string(kReasonIndent, ' ') + wrapped(text, kExplainColumns - kReasonIndent, kReasonIndent) + '\n';
}

std::string text(const NamedNumber& constant) {
  return constant.name.empty() ? std::string() : fmt::format(" ({} = {:g})", constant.name, constant.value);
}

/// Whether the limit is a least time; one that was not reached lies below the time.
bool isLeast(const GainLimit& limit) {
  return limit.of != GainLimit::Of::Pieces && limit.of != GainLimit::Of::Warming;
}

std::string text(const GainLimit& limit, bool decides) {
  const std::string effect = !limit.isHeld() ? "not reached"
                             : decides       ? fmt::format("decides: {}", humanDuration(limit.afterNs))
                                             : fmt::format("now {}", humanDuration(limit.afterNs));
  const std::string bound =
      fmt::format("{} {}, {}", isLeast(limit) ? "at least" : "at most", humanDuration(limit.limitNs), effect);
  const std::string_view of = textOf(limit.of);
  return line(of == limit.name ? std::string(of) : fmt::format("{}: {}", of, limit.name), limit.beforeNs, bound) +
         indented(fmt::format("{}{}", limit.reason, text(limit.constant)));
}

std::string percent(double share) {
  return fmt::format("{:.1f} %", 100 * std::abs(share));
}

std::string doubtText(const analyzer::PredictionDoubt& doubt) {
  std::string out = fmt::format("  {:<{}}± {:g} × {} of the step ({})\n", "interval", kLabelColumns, doubt.sigmas.value,
                                percent(doubt.sigma()), doubt.sigmas.name);
  out += indented(fmt::format("known error {}: {}", percent(doubt.knownError), doubt.knownFrom));
  out += indented(fmt::format("miss of the unchanged replay {}, spread of the recorded steps {}, other programs {}",
                              percent(doubt.miss), percent(doubt.noise), percent(doubt.others)));
  return out;
}

std::string json(const GainLimit& limit) {
  const bool isNamed = !limit.constant.name.empty();
  return fmt::format(
      "{{\"name\": {}, \"of\": \"{}\", \"reason\": {}, \"constant\": {}, \"value\": {}, \"before_ns\": {}, "
      "\"limit_ns\": "
      "{}, \"after_ns\": {}, \"held\": {}}}",
      jsonString(limit.name), textOf(limit.of), jsonString(limit.reason),
      isNamed ? jsonString(limit.constant.name) : "null", isNamed ? fmt::format("{}", limit.constant.value) : "null",
      limit.beforeNs, limit.limitNs, limit.afterNs, limit.isHeld());
}

}  // namespace

std::string explainedText(const Prediction& prediction) {
  const GainLimit* decisive = prediction.limits.decisive();
  std::string out = "how it was predicted\n";
  out += line("recorded", prediction.measuredNsPerStep, "");
  out += line("replayed", prediction.baseNsPerStep, "unchanged");
  out += line("changed", prediction.playedNsPerStep, "replayed with the change, before its limits");
  for (const GainLimit& limit : prediction.limits.all()) out += text(limit, &limit == decisive);
  out += doubtText(prediction.doubt);
  out += line("result", prediction.predictedNsPerStep,
              decisive == nullptr ? std::string("decided by the replay")
                                  : fmt::format("decided by {}{}", decisive->name, text(decisive->constant)));
  return out;
}

std::string explainedJson(const Prediction& prediction) {
  const GainLimit* decisive = prediction.limits.decisive();
  const analyzer::PredictionDoubt& doubt = prediction.doubt;
  std::string limits;
  for (const GainLimit& limit : prediction.limits.all()) limits += (limits.empty() ? "" : ", ") + json(limit);
  return fmt::format(
      "{{\"recorded_ns\": {}, \"replayed_ns\": {}, \"changed_ns\": {}, \"limits\": [{}], \"decided_by\": {}, "
      "\"result_ns\": {}, \"interval\": {{\"sigmas\": {}, \"sigma\": {:.6f}, \"known_error\": {}, "
      "\"known_error_from\": "
      "{}, \"replay_miss\": {:.6f}, \"step_noise\": {:.6f}, \"other_programs\": {:.6f}}}}}",
      prediction.measuredNsPerStep, prediction.baseNsPerStep, prediction.playedNsPerStep, limits,
      jsonString(decisive == nullptr ? std::string_view("replay") : decisive->name), prediction.predictedNsPerStep,
      doubt.sigmas.value, doubt.sigma(), doubt.knownError, jsonString(doubt.knownFrom), doubt.miss, doubt.noise,
      doubt.others);
}

}  // namespace lacuna::cli
