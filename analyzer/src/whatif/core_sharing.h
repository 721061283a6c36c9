// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "whatif/scenario.h"

namespace lacuna::analyzer {

/// The time of each part of a step, as a multiple of its time alone on the host.
struct Stretch {
  double host = 1;   ///< one thread of the training
  double work = 1;   ///< operators of a CPU device
  double batch = 1;  ///< the computing part of a batch, on its worker
};

/// Number of cores that the training's threads and the loader's workers want.
struct CoreDemand {
  std::uint32_t cores = 0;
  std::uint32_t workers = 0;
  double busyShare = 0;  ///< of the time, that a worker computes
  std::uint32_t team = 1;
  double teamShare = 0;    ///< of the time, that the training computes with its whole team
  double singleShare = 0;  ///< of the time, that it computes on one thread
  double teamOfWork = 1;   ///< of the work's time, that the whole team computes
  double teamPower = 1;    ///< see CoreSharing::teamPower
};

/// Threads that want more cores than there are get an equal share each. Workers compute
/// independently of each other, so any number of them may be busy at a time.
Stretch stretchOf(const CoreDemand& demand);

/// The training and the loader's workers on the cores of one host, in the recorded run and in a
/// changed one.
class CoreSharing {
 public:
  /// True when the recording shows enough for this: numbers of cores and how much of a batch
  /// computes.
  static bool applies(const Scenario& scenario);
  explicit CoreSharing(const Scenario& scenario);

  /// Factors on the times of the scenario: how much longer than recorded its parts take in steps of
  /// this length.
  [[nodiscard]] Stretch against(std::int64_t stepNs) const;
  /// The same where no thread shares a core.
  [[nodiscard]] Stretch alone() const;
  /// Number of cores that all threads together want, in such steps.
  [[nodiscard]] double wantedCores(std::int64_t stepNs) const;

  /// A team that computes an operator waits for its slowest thread, so it advances only while all
  /// of its threads run. Two threads that each run a share s of the time run together for s² of it.
  /// Measured with a team of two on two cores, beside 1, 2 and 3 busy processes: convolutions
  /// took 2.5, 3.0 and 5.0 times as long, products 4.1, 4.0 and 14.6 times; the square
  /// gives 2.3, 4.0 and 6.3.
  static double teamPower(Bound bound);

 private:
  /// Times of a step.
  struct Load {
    double hostNs = 0;
    double workNs = 0;
    double batchNs = 0;  ///< that workers compute for all batches of a step
    std::uint32_t workers = 0;
  };

  [[nodiscard]] CoreDemand demandOf(const Load& load, double stepNs) const;

  std::uint32_t cores_;
  std::uint32_t team_;
  double teamOfWork_ = 1;
  double power_;
  Stretch recorded_;
  Load alone_;  ///< of the scenario, as if its threads never shared a core
};

/// The scenario with its parts stretched.
Scenario stretched(const Scenario& scenario, const Stretch& by);

}  // namespace lacuna::analyzer
