// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "whatif/core_sharing.h"
#include "whatif/scenario.h"

namespace lacuna::analyzer {

/// When batches become ready. As recorded: in time where the consumer did not wait, at the recorded
/// pace where it did, or as long after the consumer's asking as recorded where handing them over
/// takes so long. With a changed loader each worker takes the next batch when it is done, never
/// further ahead than the prefetch depth.
class LoaderLine {
 public:
  explicit LoaderLine(const Scenario& scenario);
  /// When a consumer that comes at `now` has its batch.
  std::int64_t take(const HostItem& item, std::int64_t now);
  /// The time in which the consumer starts or stops the workers. Each takes as long as another.
  [[nodiscard]] std::int64_t changeNs(const HostItem& item) const;

 private:
  std::int64_t recorded(const HostItem& item, std::int64_t now);

  const Scenario& scenario_;
  std::vector<std::int64_t> free_;
  std::vector<std::int64_t> taken_;
  std::int64_t ready_ = INT64_MIN;
  std::int64_t epochBeganAt_ = INT64_MIN / 2;
};

/// The host's program and the queues. Passes follow each other as the program's steps did.
class Replay {
 public:
  explicit Replay(const Scenario& scenario);

  /// Cuts everything that the next passes do to this window of the replay's time and hands it out.
  void draw(std::int64_t fromNs, std::int64_t toNs, std::vector<DrawnStep::Stretch>* into);
  Completions pass();
  [[nodiscard]] std::int64_t nowNs() const { return host_; }

 private:
  void play(const HostItem& item);
  void launch(const HostItem& item);
  void add(std::int64_t startNs, std::int64_t endNs, DrawnStep::Stretch stretch);

  const Scenario& scenario_;
  const Simulator::Model& base_;
  LoaderLine loader_;
  std::vector<std::int64_t> end_;
  std::vector<std::int64_t> queueEnd_;
  std::int64_t host_ = 0;
  std::int64_t last_ = 0;
  std::vector<DrawnStep::Stretch>* drawn_ = nullptr;
  std::int64_t from_ = 0;
  std::int64_t to_ = 0;
};

/// The typical step where the training and the loader's workers share the host's cores, and how
/// much longer its parts take than they were recorded.
struct SharedStep {
  std::int64_t ns = 0;
  Stretch by;
};
SharedStep onSharedCores(const Scenario& scenario);

/// The typical step of the replay, on shared cores. A changed loader is replayed twice: the first
/// pass fills its pipeline.
std::int64_t replay(const Scenario& scenario);

/// The same with cores for all.
std::int64_t replayUnshared(const Scenario& scenario);

}  // namespace lacuna::analyzer
