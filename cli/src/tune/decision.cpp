// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "tune/decision.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lacuna/prof/amounts.h"

namespace lacuna::cli::tune {
namespace {

std::vector<double> lateLosses(std::span<const Measured> runs) {
  std::vector<double> all;
  for (const Measured& run : runs) {
    if (const auto loss = lateLoss(run)) all.push_back(*loss);
  }
  return all;
}

double meanOf(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double rangeOf(const std::vector<double>& values) {
  const auto [least, most] = std::ranges::minmax(values);
  return most - least;
}

/// Empty where the losses agree, as far as they are known. One run of each kind does not show how
/// much they vary.
std::string lossProblem(const Comparison& comparison, std::span<const Measured> alike,
                        const Limits& limits) {
  const std::vector<double> before = lateLosses(alike);
  const std::vector<double> after = lateLosses(comparison.after);
  if (before.empty() || after.empty() || !std::isfinite(meanOf(before))) return {};
  if (!std::isfinite(meanOf(after))) return "the loss is no number any more";
  if (before.size() < 2 || after.size() < 2) return {};
  const double tolerance = std::max(limits.lossShare * std::abs(meanOf(before)),
                                    limits.lossRanges * std::max(rangeOf(before), rangeOf(after)));
  const double change = meanOf(after) - meanOf(before);
  if (std::abs(change) <= tolerance) return {};
  return fmt::format(
      "the loss at the same steps is {:.4g} instead of {:.4g}, and {:.2g} would be usual",
      meanOf(after), meanOf(before), tolerance);
}

std::uint64_t mostOf(std::span<const Measured> runs, std::uint64_t Measured::*bytes) {
  std::uint64_t most = 0;
  for (const Measured& run : runs) most = std::max(most, run.*bytes);
  return most;
}

std::string memoryProblem(const Comparison& comparison, const Limits& limits) {
  const auto grew = [&](std::uint64_t Measured::*bytes, std::string_view what,
                        std::uint64_t room) -> std::string {
    const std::uint64_t before = mostOf(comparison.before, bytes),
                        after = mostOf(comparison.after, bytes);
    const auto share = static_cast<std::uint64_t>(limits.memoryShare * static_cast<double>(before));
    if (after <= before + std::max(share, room)) return {};
    return fmt::format("{} grows from {} to {}", what, prof::bytesText(before),
                       prof::bytesText(after));
  };
  std::string problem = grew(&Measured::hostBytes, "memory", limits.roomBytes);
  return problem.empty() ? grew(&Measured::deviceBytes, "the GPU's memory", 0) : problem;
}

}  // namespace

std::string_view wordFor(Verdict verdict) {
  switch (verdict) {
    case Verdict::Unsure:
      return "not decided";
    case Verdict::Kept:
      return "kept";
    case Verdict::NoGain:
      return "no gain beyond the noise";
    case Verdict::Slower:
      return "slower";
    case Verdict::LossChanged:
      return "changes the loss";
    case Verdict::MemoryGrew:
      return "takes more memory";
    case Verdict::NotApplied:
      return "not applied";
    case Verdict::Failed:
      return "the program fails";
  }
  return "";
}

std::vector<double> Comparison::pairs() const {
  std::vector<double> out;
  for (std::size_t i = 0; i < std::min(before.size(), after.size()); ++i)
    out.push_back(pairOf(before[i].nsPerStep, after[i].nsPerStep));
  return out;
}

std::optional<double> lateLoss(const Measured& run) {
  if (run.losses.empty()) return std::nullopt;
  const std::uint32_t half = run.losses.rbegin()->first / 2;
  double sum = 0;
  std::size_t count = 0;
  for (auto loss = run.losses.lower_bound(half); loss != run.losses.end(); ++loss, ++count)
    sum += loss->second;
  return sum / static_cast<double>(count);
}

Judgement judge(const Comparison& comparison, const Noise& noise, std::span<const Measured> alike,
                const Limits& limits) {
  Judgement out;
  const std::vector<double> pairs = comparison.pairs();
  out.measured = estimate(pairs, noise);
  out.why = lossProblem(comparison, alike, limits);
  if (!out.why.empty()) {
    out.verdict = Verdict::LossChanged;
  } else if (out.why = memoryProblem(comparison, limits); !out.why.empty()) {
    out.verdict = Verdict::MemoryGrew;
  } else if (pairs.size() < limits.leastPairs || !out.measured.known) {
    out.verdict = Verdict::Unsure;  // a single run may be disturbed
  } else if (out.measured.high < 0) {
    out.verdict = Verdict::Slower;
  } else if (out.measured.low > 0) {
    out.verdict = Verdict::Kept;
  } else if (pairs.size() >= limits.mostPairs) {
    out.verdict = Verdict::NoGain;
  }
  return out;
}

}  // namespace lacuna::cli::tune
