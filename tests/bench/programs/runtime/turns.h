// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace lacuna::drawn {

/// The time that a program trains: some seconds, or turns beside another program
/// (tests/bench/programs/pairs.py). A byte from one descriptor begins a turn. The turn's time and
/// iterations go to the other descriptor at its end. The first turn is warm-up.
class Turns {
 public:
  /// `turns`: "WAKE,ANSWER", the two descriptors; empty: `seconds`.
  Turns(const std::string& turns, double seconds);
  /// Behind each iteration: whether the training is over.
  bool over();

 private:
  void wait();
  [[nodiscard]] std::int64_t ns() const;

  std::chrono::steady_clock::time_point began_;
  double seconds_;
  int wake_ = -1, answer_ = -1;
  std::int64_t iterations_ = 0;
  bool isWarm_ = false;
};

}  // namespace lacuna::drawn
