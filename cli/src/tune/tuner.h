// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/settings.h"
#include "lacuna/collector/settings.h"
#include "lacuna/prof/result.h"
#include "tune/decision.h"

namespace lacuna::cli::tune {

using Settings = std::vector<collector::Setting>;

/// Why a setting is tried that nothing predicts to help: somebody named it, or the report names it
/// as the fix of a fault.
enum class Asked : std::uint8_t { No, ByName, ByFault };

/// A setting and what a replay, or a finding, predicts that it brings.
struct Priced {
  collector::Setting setting;
  double gainShare = 0;  ///< of the step as it would be without it
  double lowShare = 0, highShare = 0;
  bool predicted = true;  ///< false: nothing predicts it
  Asked asked = Asked::No;
};

/// The outcome of a run.
struct RunOutcome {
  std::optional<Measured> measured;  ///< nothing where the program failed
  std::string failure;               ///< then why
  std::vector<collector::SettingOutcome> outcomes;
};

/// The programs, the clock and the screen, as the tuner uses them.
class Machine {
 public:
  virtual ~Machine() = default;
  /// Runs the program. Nothing where it was interrupted.
  virtual std::optional<RunOutcome> run(std::span<const collector::Setting> settings,
                                        std::string_view what) = 0;
  /// The settings that can be added to `kept`, each with its predicted gain.
  virtual prof::Result<std::vector<Priced>> price(std::span<const collector::Setting> kept) = 0;
  [[nodiscard]] virtual double secondsLeft() = 0;
  /// A line for people.
  virtual void report(std::string_view text) = 0;
};

/// One setting that was tried.
struct Try {
  Priced priced;
  Judgement judgement;
  std::string where;  ///< what came of applying it: "loader.workers=4 (was 0) on 1 DataLoader
                      ///< (train.py:57)"
  Settings beside;    ///< what was kept before
  std::vector<std::string> sites;
  Language language = Language::Python;  ///< of the program where it was applied
};

/// Why there are no more tries.
enum class Ending : std::uint8_t { NothingLeft, Budget, Interrupted, Failed };

struct Result {
  std::vector<Try> tries;
  std::vector<Priced> left;  ///< priced above the noise, and not tried for lack of time
  Settings kept;             ///< empty where nothing helped or nothing is proven
  Settings unproven;         ///< helped on the way, but the last comparison did not show it
  Ending ending = Ending::NothingLeft;
  std::string problem;  ///< of Failed: the program did not run any more as it had before
  std::optional<Judgement>
      overall;  ///< the beginning against the end; nothing where nothing was kept, or no time left
  double beginNs = 0,
         endNs = 0;        ///< a step's mean in that comparison, or of all runs without a change
  double leastShare = 0;   ///< what is predicted to bring less was not tried at the end
  double noiseShare = 0;   ///< standard deviation of a pair's difference
  double othersCores = 0;  ///< that other programs kept busy during the runs, on average
  std::size_t runs = 0;
};

/// Tries the setting with the largest predicted gain in interleaved pairs of runs, keeps it where
/// it helps beyond the noise, and goes on from there. At last it compares the beginning with the
/// end; without proof the beginning stays. Fails where the unchanged program does.
prof::Result<Result> tune(Machine& machine, const Limits& limits, double secondsPerRun);

/// Those that are worth a try: not tried, of no name that failed twice, and above the noise or
/// asked for. Fixes of faults that nothing prices come first, then the largest gain.
std::vector<Priced> worthTrying(std::vector<Priced> priced, std::span<const Try> tried,
                                double leastShare);

/// `settings` with `more`, which takes the place of one of that name.
Settings with(std::span<const collector::Setting> settings, const collector::Setting& more);

}  // namespace lacuna::cli::tune
