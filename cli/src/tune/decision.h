// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tune/statistics.h"

namespace lacuna::cli::tune {

/// The measurements of one run of the program.
struct Measured {
  double nsPerStep = 0;  ///< mean of its steady steps, from one's end to the next one's
  std::map<std::uint32_t, double> losses;  ///< by step; may be empty
  std::uint64_t hostBytes = 0;             ///< most that one process had
  std::uint64_t deviceBytes = 0;           ///< 0 where no GPU was used
  double othersCores = 0;                  ///< that other programs kept busy meanwhile
  double seconds = 0;                      ///< of the whole run, start included
};

enum class Verdict : std::uint8_t {
  Unsure,       ///< more pairs may decide
  Kept,         ///< faster beyond the noise
  NoGain,       ///< not faster beyond the noise
  Slower,       ///< slower beyond the noise
  LossChanged,  ///< it learns something else
  MemoryGrew,
  NotApplied,  ///< the program has nothing to apply it to, or PyTorch refuses
  Failed,      ///< the program does not run with it
};
std::string_view wordFor(Verdict verdict);

/// A comparison so far: runs without the change and with it, in pairs.
struct Comparison {
  std::vector<Measured> before, after;

  [[nodiscard]] std::vector<double> pairs() const;
};

struct Judgement {
  Verdict verdict = Verdict::Unsure;
  Estimate measured;
  std::string why;  ///< of LossChanged and MemoryGrew, with figures
};

/// Limits of a comparison. Their reasons are in docs/tune.md.
struct Limits {
  std::size_t leastPairs = 2;
  std::size_t mostPairs = 6;
  double lossShare = 0.05;      ///< of the loss; more where runs without a change differ by more
  double lossRanges = 3;        ///< that many times as much as runs without a change differ
  double memoryShare = 0.1;     ///< of what the process had
  std::uint64_t roomBytes = 0;  ///< that the process may grow by on the host in any case
};

/// `alike` are runs whose losses should agree with those before the change: all that were not
/// rejected.
Judgement judge(const Comparison& comparison, const Noise& noise, std::span<const Measured> alike,
                const Limits& limits);

/// The mean loss of a run over the second half of the steps; nothing where it has none.
std::optional<double> lateLoss(const Measured& run);

}  // namespace lacuna::cli::tune
