// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "turns.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "samples/common/flags.h"

namespace lacuna::drawn {
namespace {

struct Length {
  double seconds;
  std::int64_t iterations;
};
constexpr Length kWarmUp{1, 10}, kTurn{0.3, 3};

}  // namespace

Turns::Turns(const std::string& turns, double seconds)
    : began_(std::chrono::steady_clock::now()), seconds_(seconds) {
  if (turns.empty()) return;
  if (std::sscanf(turns.c_str(), "%d,%d", &wake_, &answer_) != 2)
    samples::usageError("--turns takes two file descriptors, as in 5,6");
  wait();
}

std::int64_t Turns::ns() const {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now() - began_).count();
}

void Turns::wait() {
  char byte = 0;
  if (read(wake_, &byte, 1) != 1) std::exit(0);
  began_ = std::chrono::steady_clock::now();
  iterations_ = 0;
}

bool Turns::over() {
  ++iterations_;
  const double seconds = static_cast<double>(ns()) / 1e9;
  if (wake_ < 0) return seconds >= seconds_;
  const Length least = isWarm_ ? kTurn : kWarmUp;
  if (seconds < least.seconds || iterations_ < least.iterations) return false;
  isWarm_ = true;
  if (dprintf(answer_, "%lld %lld\n", static_cast<long long>(ns()),
              static_cast<long long>(iterations_)) < 0)
    return true;
  wait();
  return false;
}

}  // namespace lacuna::drawn
