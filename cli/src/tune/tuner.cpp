// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "tune/tuner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <utility>

#include "lacuna/prof/amounts.h"

namespace lacuna::cli::tune {
namespace {

/// A share of the step. A setting that is predicted to bring less is not worth a minute of runs,
/// however quiet the machine is.
constexpr double kLeastGain = 0.01;
/// Other values of a knob that did not help twice are not tried.
constexpr std::ptrdiff_t kTriesOfAName = 2;
/// Runs of a comparison of two pairs, the least that decides anything.
constexpr double kRunsOfAComparison = 4;
/// Before the first run only the recorded one's time is known, which is longer.
constexpr double kRunsAtFirst = 2;
/// A run is expected to take as long as those before it; the longest of them is forgotten by and
/// by.
constexpr double kForgets = 0.7;

bool isKept(const Try& each) {
  return each.judgement.verdict == Verdict::Kept;
}

double meanStep(std::span<const Measured> runs) {
  double sum = 0;
  for (const Measured& run : runs) sum += run.nsPerStep;
  return runs.empty() ? 0 : sum / static_cast<double>(runs.size());
}

/// The places where one setting was applied.
std::vector<std::string> sitesOf(const collector::Setting& setting,
                                 std::span<const collector::SettingOutcome> outcomes) {
  std::vector<std::string> sites;
  for (const auto& outcome : outcomes) {
    if (outcome.setting != setting.text() ||
        outcome.kind != collector::SettingOutcome::Kind::Applied)
      continue;
    if (!outcome.site.empty() && std::ranges::find(sites, outcome.site) == sites.end())
      sites.push_back(outcome.site);
  }
  return sites;
}

/// The runtime names its things as C++ does.
Language languageOf(std::span<const collector::SettingOutcome> outcomes) {
  const auto isRuntimes = [](const collector::SettingOutcome& outcome) {
    return outcome.thing.starts_with("rt::");
  };
  return std::ranges::any_of(outcomes, isRuntimes) ? Language::Runtime : Language::Python;
}

bool isApplied(const collector::Setting& setting,
               std::span<const collector::SettingOutcome> outcomes) {
  return std::ranges::any_of(outcomes, [&](const auto& outcome) {
    return outcome.setting == setting.text() &&
           outcome.kind == collector::SettingOutcome::Kind::Applied;
  });
}

class Tuner {
 public:
  Tuner(Machine& machine, const Limits& limits, double secondsPerRun)
      : machine_(machine), limits_(limits), secondsPerRun_(secondsPerRun) {}

  prof::Result<Result> run() {
    while (goOn()) {
      auto priced = machine_.price(kept_);
      if (!priced) return priced.error();
      auto worth = worthTrying(*std::move(priced), result_.tries, leastShare());
      if (worth.empty()) break;
      if (machine_.secondsLeft() < secondsPerRun_ * runsNeeded()) {
        result_.ending = Ending::Budget;
        result_.left = std::move(worth);
        break;
      }
      attempt(worth.front());
    }
    if (!failure_.empty()) return prof::Error{failure_};
    if (result_.beginNs == 0) result_.beginNs = meanStep(alike_);
    confirm();
    if (!failure_.empty()) return prof::Error{failure_};
    result_.noiseShare = noise_.deviation();
    result_.leastShare = leastShare();
    if (result_.runs > 0) result_.othersCores = othersCores_ / static_cast<double>(result_.runs);
    return std::move(result_);
  }

 private:
  [[nodiscard]] bool goOn() const {
    return failure_.empty() && result_.ending == Ending::NothingLeft;
  }

  /// With the last comparison.
  [[nodiscard]] double runsNeeded() const {
    if (result_.runs == 0) return kRunsAtFirst;
    return 2 * kRunsOfAComparison;
  }

  /// The smallest gain that a comparison of all its pairs can show.
  [[nodiscard]] double leastShare() const {
    const double half = studentQuantile(limits_.mostPairs - 1) * noise_.deviation() /
                        std::sqrt(static_cast<double>(limits_.mostPairs));
    return std::max(kLeastGain, shareOf(half));
  }

  /// One run, or nothing where the comparison is over.
  std::optional<RunOutcome> runOnce(const Settings& settings, const std::string& what) {
    auto outcome = machine_.run(settings, what);
    if (!outcome) {
      result_.ending = Ending::Interrupted;
      return std::nullopt;
    }
    ++result_.runs;
    if (outcome->measured) {
      othersCores_ += outcome->measured->othersCores;
      const double usual = result_.runs == 1 ? 0 : kForgets * secondsPerRun_;
      secondsPerRun_ = std::max(usual, outcome->measured->seconds);
    }
    return outcome;
  }

  /// Without the change: where it ran before, what is known is worth printing.
  void fail(const std::string& why) {
    if (alike_.empty()) {
      failure_ = why;
      return;
    }
    result_.ending = Ending::Failed;
    result_.problem = why;
  }

  /// A B B A, so that a drift of the machine falls on both alike.
  static bool changedFirst(std::size_t pair) { return pair % 2 == 1; }

  /// Adds a pair. False where the comparison is over: interrupted, failed, or the setting does not
  /// do anything.
  bool addPair(Comparison& comparison, const Settings& before, const Settings& after,
               const std::string& what, Try* attempted, Verdict& verdict, std::string& why) {
    const std::size_t pair = comparison.before.size();
    for (const bool changed : {changedFirst(pair), !changedFirst(pair)}) {
      const auto outcome =
          runOnce(changed ? after : before,
                  fmt::format("{} {}, pair {}", changed ? "with" : "without", what, pair + 1));
      if (!outcome) return false;
      if (!outcome->measured && !changed) {
        fail(outcome->failure);
        return false;
      }
      if (!outcome->measured) {
        verdict = Verdict::Failed;
        why = outcome->failure;
        return false;
      }
      (changed ? comparison.after : comparison.before).push_back(*outcome->measured);
      if (!changed) alike_.push_back(*outcome->measured);
      if (!changed || attempted == nullptr || !attempted->where.empty()) continue;
      const auto line = collector::describe(attempted->priced.setting, outcome->outcomes);
      attempted->where = line.text;
      attempted->sites = sitesOf(attempted->priced.setting, outcome->outcomes);
      attempted->language = languageOf(outcome->outcomes);
      if (isApplied(attempted->priced.setting, outcome->outcomes)) continue;
      verdict = Verdict::NotApplied;
      why = line.text;
      return false;
    }
    return true;
  }

  /// Compares in rounds until it is decided, or there is no time for another pair.
  Judgement compare(const Settings& before, const Settings& after, const std::string& what,
                    Try* attempted, double reserve, Comparison& comparison) {
    Judgement judgement;
    while (comparison.before.size() < limits_.mostPairs) {
      const std::size_t made = comparison.before.size();
      const bool least = made >= limits_.leastPairs;
      const double runs = made == 0 ? 0 : 2;
      if (machine_.secondsLeft() < runs * secondsPerRun_ + (least ? reserve : 0)) break;
      Verdict verdict = Verdict::Unsure;
      std::string why;
      if (!addPair(comparison, before, after, what, attempted, verdict, why)) {
        judgement.verdict = verdict;
        judgement.why = why;
        return judgement;
      }
      judgement = judge(comparison, noise_, alike_, limits_);
      if (judgement.verdict != Verdict::Unsure) break;
    }
    noise_.add(comparison.pairs());
    if (judgement.verdict == Verdict::Unsure) judgement.why = "there was no time for more pairs";
    return judgement;
  }

  void attempt(const Priced& priced) {
    Try next;
    next.priced = priced;
    next.beside = kept_;
    machine_.report(fmt::format("trying {}{}", priced.setting.text(),
                                priced.predicted ? fmt::format(": predicted to take {} off a step",
                                                               prof::shareText(priced.gainShare))
                                                 : ""));
    const Settings after = with(kept_, priced.setting);
    Comparison comparison;
    const double reserve = secondsPerRun_ * kRunsOfAComparison;
    next.judgement = compare(kept_, after, priced.setting.text(), &next, reserve, comparison);
    if (next.judgement.verdict == Verdict::Kept) {
      kept_ = after;
      alike_.insert(alike_.end(), comparison.after.begin(), comparison.after.end());
    }
    if (result_.tries.empty() && !comparison.before.empty())
      result_.beginNs = meanStep(comparison.before);
    if (failure_.empty()) result_.tries.push_back(std::move(next));
  }

  /// The settings together must show the gain that each showed alone.
  void confirm() {
    if (kept_.empty()) {
      result_.endNs = result_.beginNs;
      return;
    }
    result_.endNs = result_.beginNs;
    result_.unproven = kept_;
    if (isCutShort() || machine_.secondsLeft() < secondsPerRun_ * kRunsOfAComparison) return;
    machine_.report(fmt::format("comparing the beginning with {}", collector::settingsText(kept_)));
    // Fresh pairs: those by which it was chosen look better than it is.
    Comparison comparison;
    const auto judgement = compare({}, kept_, "all that was kept", nullptr, 0, comparison);
    if (isCutShort() || comparison.after.empty()) return;
    result_.overall = judgement;
    result_.beginNs = meanStep(comparison.before);
    result_.endNs = meanStep(comparison.after);
    if (judgement.verdict == Verdict::Kept) result_.kept = std::exchange(result_.unproven, {});
  }

  [[nodiscard]] bool isCutShort() const {
    return result_.ending == Ending::Interrupted || result_.ending == Ending::Failed;
  }

  Machine& machine_;
  const Limits& limits_;
  double secondsPerRun_;
  Settings kept_;
  Noise noise_;
  double othersCores_ = 0;       ///< sum of all runs
  std::vector<Measured> alike_;  ///< all runs that were not rejected
  std::string failure_;          ///< of the unchanged program, which never ran
  Result result_;
};

}  // namespace

prof::Result<Result> tune(Machine& machine, const Limits& limits, double secondsPerRun) {
  return Tuner(machine, limits, secondsPerRun).run();
}

std::vector<Priced> worthTrying(std::vector<Priced> priced, std::span<const Try> tried,
                                double leastShare) {
  std::erase_if(priced, [&](const Priced& each) {
    const auto isSame = [&](const Try& old) {
      return old.priced.setting == each.setting && !isKept(old);
    };
    const auto isOfName = [&](const Try& old) {
      return old.priced.setting.name == each.setting.name && !isKept(old);
    };
    const auto cannot = [&](const Try& old) {
      return old.priced.setting.name == each.setting.name &&
             old.judgement.verdict == Verdict::NotApplied;
    };
    return (each.asked == Asked::No && each.gainShare <= leastShare) ||
           std::ranges::any_of(tried, isSame) ||
           std::ranges::count_if(tried, isOfName) >= kTriesOfAName ||
           std::ranges::any_of(tried, cannot);
  });
  const auto rank = [](const Priced& each) {
    return std::pair(each.asked == Asked::ByFault && !each.predicted, each.gainShare);
  };
  std::ranges::stable_sort(priced, std::ranges::greater(), rank);
  return priced;
}

Settings with(std::span<const collector::Setting> settings, const collector::Setting& more) {
  Settings out(settings.begin(), settings.end());
  std::erase_if(out, [&](const collector::Setting& old) { return old.name == more.name; });
  out.push_back(more);
  return out;
}

}  // namespace lacuna::cli::tune
