// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/runtime/grad_scaler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "autograd/scaled_loss.h"
#include "backend/backend.h"
#include "instrument/observer.h"
#include "lacuna/runtime/instrument.h"
#include "lacuna/runtime/ops.h"
#include "lacuna/runtime/optim.h"
#include "ops/shared.h"
#include "optim/direction.h"
#include "tensor/node.h"
#include "tensor/trace.h"

namespace lacuna::rt {

thread_local constinit bool tLossScaled = false;

}  // namespace lacuna::rt

namespace lacuna::rt::optim {

namespace {

constexpr const char* kScaler = "GradScaler";

void scaleLossBackward(Node& n, const Tensor* g, Tensor* out) {
  tLossScaled = true;
  out[0] = mul(g[0], n.doubles[0]).to(static_cast<DType>(n.ints[0]));
}
const OpInfo kScaleLoss{"scale_loss", scaleLossBackward};

/// Factors that f32 holds, and one over them too.
double withinF32(double factor) {
  constexpr double kLeast = std::numeric_limits<float>::min();
  constexpr double kMost = std::numeric_limits<float>::max();
  return std::clamp(factor, kLeast, kMost);
}

void checkFactor(double factor) {
  if (!(factor > 0) || !std::isfinite(factor))
    fail(kScaler, "the factor " + std::to_string(factor) + " must be positive and finite");
}

void check(const GradScalerOptions& options) {
  checkFactor(options.factor);
  if (!(options.growth >= 1) || !std::isfinite(options.growth))
    fail(kScaler, "the growth " + std::to_string(options.growth) + " must be at least 1");
  if (!(options.backoff > 0 && options.backoff <= 1))
    fail(kScaler,
         "the backoff " + std::to_string(options.backoff) + " must be above 0 and at most 1");
  if (options.growthInterval < 1)
    fail(kScaler, "a growth after " + std::to_string(options.growthInterval) +
                      " updates; it must be at least 1");
}

void* elementsOf(const Tensor& tensor) {
  return usedData(*tensor.impl());
}

/// The place for the unscaled gradient of a parameter: the gradient itself, or new memory in its
/// place.
Tensor placeOfUnscaled(const Tensor& parameter, const Tensor& gradient) {
  const bool stays =
      gradient.dtype() != DType::F16 && gradient.isContiguous() && !gradient.requiresGrad();
  if (stays) return gradient;
  const DType type = gradient.dtype() == DType::F16 ? DType::F32 : gradient.dtype();
  return parameter.impl()->meta().grad =
             empty(gradient.shape(), {type, gradient.device(), Role::Gradient});
}

/// Enqueues the one pass over all gradients. Undefined where there is none with values.
Tensor unscaleGradients(const std::vector<Tensor>& parameters, double factor) {
  static const OpInfo kInfo{"unscale"};
  const NoGrad noGrad;
  const OptimizerDirection direction;
  const Op op(kInfo, {});
  std::vector<kernel::UnscaleItem> items;
  std::vector<Tensor> inputs;  // live until the execution is enqueued
  std::size_t bytes = 0;
  for (const Tensor& parameter : parameters) {
    const Tensor given = parameter.grad();
    if (!given.defined()) continue;
    const Tensor from = given.detach().contiguous();
    const Tensor to = placeOfUnscaled(parameter, given);
    bumpVersion(to);
    if (to.isMeta()) continue;
    items.push_back({elementsOf(to), elementsOf(from), to.numel(), to.dtype(), from.dtype()});
    bytes += from.sizeBytes() + to.sizeBytes();
    inputs.push_back(from);
  }
  if (items.empty()) return {};
  Tensor infinite = empty({}, {DType::F32, kCpu, Role::Workspace});
  op.launch(kCpu, {bytes},
            [items = std::move(items), factor, found = static_cast<float*>(elementsOf(infinite))] {
              kernel::unscale(items.data(), items.size(), factor, found);
            });
  return infinite;
}

}  // namespace

GradScaler::GradScaler(GradScalerOptions options) : options_(options), state_{options.factor, 0} {
  check(options);
  state_.factor = withinF32(state_.factor);
}

Tensor GradScaler::scale(const Tensor& loss) {
  needsDefined("scale_loss", "the loss", loss);
  if (!options_.enabled) return loss;
  if (!isFloating(loss.dtype()))
    fail("scale_loss", std::string("the loss is ") + name(loss.dtype()));
  graph::expect("the factor of the loss has changed",
                [this, factor = state_.factor] { return state_.factor == factor; });
  if (std::exchange(reported_, state_.factor) != state_.factor)
    instrument::lossScale(state_.factor);
  const Tensor* const inputs[] = {&loss};
  Op op(Op::MadeOfOthers(), kScaleLoss, inputs);
  Tensor out = [&] {
    const NoGrad guard;
    return mul(loss.to(wideType(loss.dtype())), state_.factor);
  }();
  if (Node* node = op.record({&loss}, {&out})) {
    node->doubles[0] = state_.factor;
    node->ints[0] = static_cast<std::int64_t>(loss.dtype());
  }
  return out;
}

GradScaler::Progress* GradScaler::progressOf(const Optimizer& optimizer) {
  const auto found = std::find_if(progress_.begin(), progress_.end(),
                                  [&](const Progress& p) { return p.optimizer == &optimizer; });
  return found == progress_.end() ? nullptr : &*found;
}

GradScaler::Progress& GradScaler::unscaled(Optimizer& optimizer) {
  if (Progress* known = progressOf(optimizer)) return *known;
  if (optimizer.stepsInBackward()) {
    fail(kScaler,
         "the optimizer updates within the backward, before an infinite gradient can be seen; call "
         "stepInBackward(false), or train in bf16, which needs no scaler");
  }
  return progress_.emplace_back(
      Progress{&optimizer, unscaleGradients(optimizer.parameters(), 1 / state_.factor)});
}

void GradScaler::unscale(Optimizer& optimizer) {
  if (!options_.enabled) return;
  if (graph::tracing()) [[unlikely]]
    return graph::onHost(optimizer.parameters(), [this, &optimizer] { unscale(optimizer); });
  if (const Progress* known = progressOf(optimizer)) {
    fail(kScaler, known->stepped
                      ? "unscale() after step(); call it before, or update() first"
                      : "unscale() twice for one optimizer; call update() once per step");
  }
  unscaled(optimizer);
}

bool GradScaler::foundInfinite(Progress& progress) {
  return progress.infinite.defined() && progress.infinite.item() != 0;
}

bool GradScaler::step(Optimizer& optimizer) {
  if (!options_.enabled) {
    optimizer.step();
    return true;
  }
  if (graph::tracing()) [[unlikely]] {
    const auto stepped = std::make_shared<bool>();
    graph::onHost(optimizer.parameters(),
                  [this, &optimizer, stepped] { *stepped = step(optimizer); });
    return *stepped;
  }
  Progress& progress = unscaled(optimizer);
  if (progress.stepped)
    fail(kScaler, "step() twice for one optimizer; call update() after each step");
  progress.stepped = true;
  if (foundInfinite(progress)) {
    const PhaseScope skipped(Phase::SkippedOptimizer);
    return false;
  }
  progress.infinite = {};
  optimizer.step();
  return true;
}

void GradScaler::update() {
  if (!options_.enabled) return;
  if (graph::tracing()) [[unlikely]]
    return graph::onHost({}, [this] { update(); });
  if (progress_.empty()) fail(kScaler, "update() without a step() since the last one");
  const bool infinite = std::any_of(progress_.begin(), progress_.end(), foundInfinite);
  progress_.clear();
  const double before = state_.factor;
  if (infinite) {
    state_ = {withinF32(before * options_.backoff), 0};
  } else if (++state_.finiteUpdates >= options_.growthInterval) {
    const double grown = before * options_.growth;
    state_ = {withinF32(grown) == grown ? grown : before, 0};
  }
}

void GradScaler::setState(State state) {
  checkFactor(state.factor);
  if (state.finiteUpdates < 0) fail(kScaler, std::to_string(state.finiteUpdates) + " updates");
  state_ = {withinF32(state.factor), state.finiteUpdates};
  progress_.clear();
}

}  // namespace lacuna::rt::optim
