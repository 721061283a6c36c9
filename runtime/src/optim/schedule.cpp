// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/runtime/schedule.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tensor/trace.h"

namespace lacuna::rt::optim {

namespace {

/// From `from` to `to` along half a cosine, `at` being 0 to 1.
double halfCosine(double from, double to, double at) {
  return to + (from - to) * 0.5 * (1 + std::cos(M_PI * std::clamp(at, 0.0, 1.0)));
}

void needPositive(const char* what, double value) {
  if (!(value > 0)) fail(what, std::to_string(value) + " where a positive number is needed");
}

}  // namespace

Curve stepDecay(std::int64_t every, double gamma) {
  needPositive("stepDecay", static_cast<double>(every));
  return [=](std::int64_t step) {
    const std::int64_t decays = step / every;
    return std::pow(gamma, static_cast<double>(decays));
  };
}

Curve cosineDecay(std::int64_t total, double floor) {
  needPositive("cosineDecay", static_cast<double>(total));
  return [=](std::int64_t step) {
    return halfCosine(1, floor, static_cast<double>(step) / static_cast<double>(total));
  };
}

Curve warmUp(std::int64_t steps, Curve then) {
  needPositive("warmUp", static_cast<double>(steps));
  return [steps, then = std::move(then)](std::int64_t step) {
    if (step < steps) return static_cast<double>(step + 1) / static_cast<double>(steps);
    return then ? then(step - steps) : 1.0;
  };
}

Curve oneCycle(std::int64_t total, double rise, double start, double end) {
  needPositive("oneCycle", static_cast<double>(total));
  needPositive("oneCycle", start);
  needPositive("oneCycle", end);
  if (!(rise > 0 && rise < 1)) fail("oneCycle", "the rise is a share of the steps between 0 and 1");
  return [=](std::int64_t step) {
    const double top = rise * static_cast<double>(total);
    const auto at = static_cast<double>(step);
    if (at < top) return halfCosine(1 / start, 1, at / top);
    return halfCosine(1, 1 / (start * end), (at - top) / (static_cast<double>(total) - top));
  };
}

Schedule::Schedule(Optimizer& optimizer, Curve curve)
    : optimizer_(optimizer), curve_(std::move(curve)), rate_(optimizer.baseRate()) {
  if (!curve_) fail("Schedule", "the curve is empty");
  apply();
}

void Schedule::step() {
  if (graph::tracing()) return graph::onHost({}, [this] { step(); });
  ++steps_;
  apply();
}

void Schedule::setSteps(std::int64_t steps) {
  steps_ = steps;
  apply();
}

void Schedule::apply() {
  optimizer_.setRate(rate_ * curve_(steps_), rate_);
}

ReduceOnPlateau::ReduceOnPlateau(Optimizer& optimizer, PlateauOptions options)
    : optimizer_(optimizer),
      options_(options),
      best_(options.smallerIsBetter ? std::numeric_limits<double>::infinity()
                                    : -std::numeric_limits<double>::infinity()) {
  if (!(options.factor > 0 && options.factor < 1))
    fail("ReduceOnPlateau", "the factor must be between 0 and 1");
}

bool ReduceOnPlateau::isBetter(double value) const {
  if (std::isinf(best_)) return std::isfinite(value);
  const double margin = options_.threshold * std::abs(best_);
  return options_.smallerIsBetter ? value < best_ - margin : value > best_ + margin;
}

void ReduceOnPlateau::step(double value) {
  graph::leave("a ReduceOnPlateau gets a value in it; call its step() after the run");
  if (isBetter(value)) {
    best_ = value;
    bad_ = 0;
  } else if (cooling_ == 0) {
    ++bad_;
  }
  if (cooling_ > 0) --cooling_;
  if (bad_ <= options_.patience) return;
  const double reduced = std::max(options_.smallestRate, optimizer_.rate() * options_.factor);
  if (reduced < optimizer_.rate()) optimizer_.setRate(reduced);
  bad_ = 0;
  cooling_ = options_.cooldown;
}

}  // namespace lacuna::rt::optim
