// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "support/small_trace.h"

namespace lacuna::test {

/// A training whose steps take 10 ms each, 1 ms of it after the step's marker; other work goes in
/// between. Times in milliseconds.
class TrainingPhases {
 public:
  static constexpr std::int64_t kStepMs = 10;

  TrainingPhases& steps(int count) {
    for (int i = 0; i < count; ++i) {
      markedStep(nowMs_);
      nowMs_ += kStepMs;
    }
    return *this;
  }
  /// A phase for so long.
  TrainingPhases& phase(std::string_view name, std::int64_t ms) {
    range(nowMs_, nowMs_ + ms, name);
    return pause(ms);
  }
  TrainingPhases& pause(std::int64_t ms) {
    nowMs_ += ms;
    return *this;
  }
  /// So many batches, each asked for and then computed for 5 ms.
  TrainingPhases& evaluation(int batches, std::int64_t waitMs = 5) {
    for (int i = 0; i < batches; ++i) phase("load", waitMs).phase("evaluation", 5);
    return *this;
  }
  /// An evaluation that is part of the next step's marker: asking for its first batch began the
  /// step.
  TrainingPhases& evaluationThatOpensAStep(int batches) {
    const std::int64_t fromMs = nowMs_;
    evaluation(batches);
    markedStep(fromMs, nowMs_);
    return pause(kStepMs);
  }
  /// A phase inside of the step that comes next.
  TrainingPhases& inNextStep(std::int64_t atMs, std::int64_t ms, std::string_view name) {
    range(nowMs_ + atMs, nowMs_ + atMs + ms, name);
    return *this;
  }
  [[nodiscard]] std::int64_t nowMs() const { return nowMs_; }
  analyzer::Analysis analysed(const analyzer::AnalysisOptions& options = {}) {
    return trace.analysed(options);
  }

  SmallTrace trace;

 private:
  static constexpr std::int64_t kUsPerMs = 1'000;

  void markedStep(std::int64_t fromMs) { markedStep(fromMs, fromMs); }
  /// The marker begins first; the training is after that.
  void markedStep(std::int64_t fromMs, std::int64_t trainsFromMs) {
    trace.step(fromMs * kUsPerMs, (trainsFromMs + kStepMs - 1) * kUsPerMs);
    range(trainsFromMs, trainsFromMs + 1, "load");
    range(trainsFromMs + 2, trainsFromMs + 4, "forward");
    range(trainsFromMs + 4, trainsFromMs + 8, "backward");
    range(trainsFromMs + 8, trainsFromMs + 9, "optimizer");
    trace.launched((trainsFromMs + 2) * kUsPerMs, (trainsFromMs + 2) * kUsPerMs + 10,
                   (trainsFromMs + 2) * kUsPerMs + 20, (trainsFromMs + 9) * kUsPerMs, "gemm");
  }
  void range(std::int64_t fromMs, std::int64_t untilMs, std::string_view name) {
    trace.range(fromMs * kUsPerMs, untilMs * kUsPerMs, name, "phase");
  }

  std::int64_t nowMs_ = 0;
};

}  // namespace lacuna::test
