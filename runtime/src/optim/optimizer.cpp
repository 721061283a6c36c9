// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <charconv>
#include <cmath>
#include <unordered_set>

#include "autograd/scaled_loss.h"
#include "backend/backend.h"
#include "instrument/module_range.h"
#include "instrument/operator_recorder.h"
#include "instrument/own_knobs.h"
#include "instrument/settings.h"
#include "lacuna/runtime/instrument.h"
#include "lacuna/runtime/ops.h"
#include "lacuna/runtime/optim.h"
#include "optim/direction.h"
#include "tensor/node.h"
#include "tensor/trace.h"

namespace lacuna::rt::optim {

namespace {

/// Of memory that the update reads.
void* readData(const Tensor& tensor) {
  return tensor.defined() ? usedData(*tensor.impl()) : nullptr;
}

/// Of a parameter or a state that the update changes.
void* changedData(const Tensor& tensor) {
  if (!tensor.defined()) return nullptr;
  orderForWrite(*tensor.impl()->storage);
  return dataOf(*tensor.impl());
}

/// `first` and `second` may be undefined.
template <class Entry>
kernel::UpdateItem itemOf(const Entry& entry, const Tensor& first, const Tensor& second) {
  const bool hasMaster = entry.master.defined();
  kernel::UpdateItem item{changedData(hasMaster ? entry.master : entry.parameter),
                          readData(entry.gradient), changedData(first), changedData(second),
                          entry.parameter.numel()};
  if (!hasMaster) return item;
  item.held = changedData(entry.parameter);
  item.heldType = entry.parameter.dtype();
  item.gradientType = entry.gradient.dtype();
  return item;
}

/// The type in which these are updated.
template <class Entry>
DType typeOf(const std::vector<Entry>& entries) {
  return entries[0].master.defined() ? DType::F32 : entries[0].parameter.dtype();
}

/// Of an update that reads or writes weights and state `passes` times, and the gradient once.
template <class Entry>
std::size_t bytesOf(const Entry& entry, std::size_t passes) {
  const bool hasMaster = entry.master.defined();
  const std::size_t held = hasMaster ? 2 * entry.parameter.sizeBytes() : 0;
  return (hasMaster ? entry.master : entry.parameter).sizeBytes() * passes +
         entry.gradient.sizeBytes() + held;
}

/// 16-bit types have no room for squares, nor the digits for sums of them.
Tensor widened(const Tensor& x) {
  return itemSize(x.dtype()) == 2 ? x.to(DType::F32) : x;
}

void needsGradients(const char* op, const std::vector<Tensor>& parameters) {
  for (const Tensor& parameter : parameters) {
    const TensorImpl& impl = *checked(parameter);
    if (impl.autograd && impl.autograd->afterAccumulate)
      fail(op,
           "an optimizer updates these parameters within the backward (stepInBackward), so there "
           "are no gradients");
  }
}

}  // namespace

Optimizer::Optimizer(std::vector<Tensor> parameters)
    : first_(parameters.size()),
      second_(parameters.size()),
      updates_(parameters.size()),
      parameters_(std::move(parameters)),
      masters_(parameters_.size()) {
  std::unordered_set<const TensorImpl*> seen;
  for (const Tensor& parameter : parameters_) {
    if (!parameter.isLeaf() || !parameter.requiresGrad())
      fail("optimizer", "a parameter is no leaf that requires a gradient");
    if (!parameter.isContiguous()) fail("optimizer", "a parameter is not contiguous");
    if (!seen.insert(parameter.impl()).second)
      fail("optimizer", "a parameter is there twice; it would step twice");
  }
}

Optimizer::~Optimizer() {
  stepInBackward(false);
}

void Optimizer::stepInBackward(bool on) {
  if (on == inBackward_) return;
  if (on) {
    for (const Tensor& parameter : parameters_) {
      if (parameter.impl()->meta().afterAccumulate)
        fail("stepInBackward", "another optimizer updates one of the parameters already");
    }
  }
  graph::noteSetting();
  inBackward_ = on;
  iterationOpen_ = false;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    auto& hook = parameters_[i].impl()->meta().afterAccumulate;
    if (on) {
      hook = [this, i](Tensor&) { updateOne(i); };
    } else {
      hook = nullptr;
    }
  }
}

void Optimizer::keepMasters(bool on) {
  if (on == keepsMasters_) return;
  if (steps_ != 0)
    fail(kind(), "masters are kept, or not, from the first step on; call keepMasters() before it");
  keepsMasters_ = on;
}

bool Optimizer::hasMaster(std::size_t index) const {
  return keepsMasters_ && isShort(parameters_[index].dtype());
}

DType Optimizer::typeOfState(std::size_t index) const {
  return hasMaster(index) ? DType::F32 : parameters_[index].dtype();
}

Optimizer::Entry Optimizer::entryOf(std::size_t index) {
  const Tensor& parameter = parameters_[index];
  const Tensor gradient = parameter.grad();
  if (!hasMaster(index)) return {index, parameter, gradient.to(parameter.dtype()).contiguous()};
  const bool fits = gradient.dtype() == parameter.dtype() || gradient.dtype() == DType::F32;
  const bool fresh = !masters_[index].defined();
  const Tensor& master = stateOf(masters_, index, "master");
  if (fresh) Tensor(master).copy_(parameter);
  return {index, parameter, (fits ? gradient : gradient.to(DType::F32)).contiguous(), master};
}

void Optimizer::updateOne(std::size_t index) {
  if (graph::tracing()) [[unlikely]] {
    graph::onHost({parameters_[index]}, [this, index] { updateOne(index); });
    return parameters_[index].setGrad({});
  }
  if (tLossScaled) {
    fail(kind(),
         "the loss is scaled (GradScaler), but an optimizer that works within the backward would "
         "use the scaled gradients; call stepInBackward(false), or train in bf16, which needs no "
         "scaler");
  }
  const PhaseScope phase(Phase::Optimizer);
  const NoGrad noGrad;
  const OptimizerDirection direction;
  if (!iterationOpen_) {
    iterationOpen_ = true;
    ++steps_;
    updated_.assign(parameters_.size(), false);
  }
  if (updated_[index]) {
    fail(kind(),
         "a second backward before step(): an optimizer that works within the backward cannot add "
         "gradients up");
  }
  updated_[index] = true;
  const Tensor& parameter = parameters_[index];
  updateNow({entryOf(index)});
  parameter.setGrad({});
}

void Optimizer::updateNow(const std::vector<Entry>& entries) {
  for (const Entry& entry : entries) ++updates_[entry.index];
  update(entries);
  for (const Entry& entry : entries) {
    bumpVersion(entry.parameter);
    if (!instrument::recordingOperators()) [[likely]]
      continue;
    for (const Tensor& used :
         {entry.parameter, entry.gradient, entry.master, first_[entry.index], second_[entry.index]})
      instrument::recordUse(used);
  }
}

void Optimizer::step() {
  if (graph::tracing()) [[unlikely]]
    return graph::onHost(parameters_, [this] { step(); });
  const PhaseScope phase(Phase::Optimizer);
  if (!isAsSet_) [[unlikely]] {
    isAsSet_ = true;
    fused_ = instrument::switchAsSet("optimizer.fused", "rt::Optimizer", fused_);
  }
  instrument::reportSwitch(instrument::OwnKnob::Fused, fused_);
  const NoGrad noGrad;
  const OptimizerDirection direction;
  if (!iterationOpen_) ++steps_;
  iterationOpen_ = false;
  std::vector<std::vector<Entry>> groups;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (!parameters_[i].grad().defined()) continue;
    std::vector<Entry>* group = nullptr;
    for (auto& existing : groups) {
      const Tensor& other = existing[0].parameter;
      if (fused_ && other.dtype() == parameters_[i].dtype() &&
          other.device() == parameters_[i].device())
        group = &existing;
    }
    if (group == nullptr) group = &groups.emplace_back();
    group->push_back(entryOf(i));
  }
  for (const auto& group : groups) updateNow(group);
}

void Optimizer::zeroGrad(bool toNone) {
  toNone = instrument::clearsToNone(toNone);
  for (const Tensor& parameter : parameters_) clearGrad(parameter, toNone);
}

Tensor& Optimizer::stateOf(std::vector<Tensor>& states, std::size_t index, const char* name) {
  Tensor& state = states[index];
  const Tensor& parameter = parameters_[index];
  const DType type = typeOfState(index);
  if (!state.defined()) {
    const instrument::TensorName naming(internText(std::string(parameter.name()) + "." + name));
    state = zeros(parameter.shape(), {type, parameter.device(), Role::Optimizer});
  }
  if (state.dtype() != type) {
    fail(kind(), "a parameter is " + std::string(rt::name(parameter.dtype())) +
                     " now, and its state " + rt::name(state.dtype()) +
                     "; convert parameters (Module::to) before the first step");
  }
  return state;
}

std::vector<std::pair<std::string, Tensor>> Optimizer::state() const {
  std::vector<std::pair<std::string, Tensor>> out;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    out.emplace_back(std::to_string(i) + ".first", first_[i]);
    out.emplace_back(std::to_string(i) + ".second", second_[i]);
    if (keepsMasters_) out.emplace_back(std::to_string(i) + ".master", masters_[i]);
  }
  return out;
}

std::pair<std::size_t, std::vector<Tensor>*> Optimizer::placeOfState(const std::string& name) {
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), index);
  const std::string_view part(end, static_cast<std::size_t>(name.data() + name.size() - end));
  std::vector<Tensor>* const states = part == ".first"    ? &first_
                                      : part == ".second" ? &second_
                                      : part == ".master" ? &masters_
                                                          : nullptr;
  if (error != std::errc() || index >= parameters_.size() || states == nullptr)
    fail(kind(), "state '" + name + "' belongs to none of the " +
                     std::to_string(parameters_.size()) + " parameters");
  return {index, states};
}

void Optimizer::checkState(const std::string& name, const Tensor& tensor) {
  const auto [index, states] = placeOfState(name);
  if (!tensor.defined()) return;
  const Tensor& parameter = parameters_[index];
  if (states == &masters_ && !hasMaster(index)) {
    fail(kind(),
         "state '" + name + "' is a master, and this optimizer keeps none for a parameter of " +
             rt::name(parameter.dtype()) + "; convert the parameters and call keepMasters() first");
  }
  if (tensor.shape() != parameter.shape() || tensor.dtype() != typeOfState(index)) {
    const bool isOfMasters = isShort(parameter.dtype()) && tensor.dtype() == DType::F32;
    fail(kind(),
         "state '" + name + "' is " + rt::name(tensor.dtype()) + tensor.shape().toString() +
             " for a parameter " + rt::name(parameter.dtype()) + parameter.shape().toString() +
             (hasMaster(index) ? " with a master, whose state is f32" : "") +
             (isOfMasters && !hasMaster(index) ? "; to keep masters, call keepMasters() first"
                                               : ""));
  }
  if (tensor.isMeta() && !parameter.isMeta())
    fail(kind(), "state '" + name + "' is on meta, so it has no values");
}

void Optimizer::setState(const std::vector<std::pair<std::string, Tensor>>& state,
                         std::int64_t steps, const std::vector<std::int64_t>& updates) {
  if (steps < 0) fail(kind(), "a state after " + std::to_string(steps) + " steps");
  if (!updates.empty() && updates.size() != parameters_.size())
    fail(kind(), std::to_string(updates.size()) + " counts of updates for " +
                     std::to_string(parameters_.size()) + " parameters");
  for (const std::int64_t count : updates) {
    if (count < 0) fail(kind(), "a parameter after " + std::to_string(count) + " updates");
  }
  for (const auto& [name, tensor] : state) checkState(name, tensor);
  const NoGrad noGrad;
  for (auto* states : {&first_, &second_, &masters_}) states->assign(parameters_.size(), Tensor());
  for (const auto& [name, tensor] : state) {
    if (!tensor.defined()) continue;
    const auto [index, states] = placeOfState(name);
    const char* part = states == &first_ ? "first" : states == &second_ ? "second" : "master";
    stateOf(*states, index, part).copy_(tensor.to(parameters_[index].device()));
  }
  steps_ = steps;
  updates_ = updates;
  updates_.resize(parameters_.size());
  for (std::size_t i = 0; updates.empty() && i < parameters_.size(); ++i) {
    if (first_[i].defined() || second_[i].defined()) updates_[i] = steps;
  }
}

Sgd::Sgd(std::vector<Tensor> parameters, SgdOptions options)
    : Optimizer(std::move(parameters)), options_(options) {
  if (options.nesterov && options.momentum == 0) fail("sgd", "nesterov needs a momentum");
  setRate(options.rate);
}

void Sgd::update(const std::vector<Entry>& entries) {
  static const OpInfo kInfo{"sgd"};
  const Op op(kInfo, {});
  std::vector<kernel::UpdateItem> fresh, items;
  std::size_t bytes = 0;
  for (const Entry& entry : entries) {
    const bool first = options_.momentum != 0 && !first_[entry.index].defined();
    const Tensor momentum =
        options_.momentum != 0 ? stateOf(first_, entry.index, "momentum") : Tensor();
    (first ? fresh : items).push_back(itemOf(entry, momentum, {}));
    bytes += bytesOf(entry, momentum.defined() ? 4 : 2);
  }
  const kernel::SgdArguments arguments{
      rate_, options_.momentum, options_.dampening, options_.weightDecay, options_.nesterov, false};
  op.launch(
      entries[0].parameter.device(), {bytes},
      [fresh = std::move(fresh), items = std::move(items), arguments, type = typeOf(entries)] {
        kernel::SgdArguments starting = arguments;
        starting.firstStep = true;
        kernel::sgd(fresh.data(), fresh.size(), type, starting);
        kernel::sgd(items.data(), items.size(), type, arguments);
      });
}

Adam::Adam(std::vector<Tensor> parameters, AdamOptions options, Variant variant)
    : Optimizer(std::move(parameters)), options_(options), variant_(variant) {
  for (const double beta : {options.beta1, options.beta2}) {
    if (!(beta >= 0 && beta < 1))
      fail(Adam::kind(), "the beta " + std::to_string(beta) + " must be at least 0 and below 1");
  }
  setRate(options.rate);
}

const char* Adam::kind() const {
  constexpr std::array kNames{"adam", "adamw", "lamb"};
  return kNames[static_cast<std::size_t>(variant_)];
}

void Adam::update(const std::vector<Entry>& entries) {
  static const std::array<OpInfo, 3> kInfos{OpInfo{"adam"}, OpInfo{"adamw"}, OpInfo{"lamb"}};
  const Op op(kInfos[static_cast<std::size_t>(variant_)], {});
  const bool lamb = variant_ == Variant::Lamb;
  std::vector<kernel::UpdateItem> items;
  std::size_t bytes = 0;
  std::int64_t count = 0;  // of updates; nearly always the same for all parameters
  double correction1 = 1;
  double correction2 = 1;
  for (const Entry& entry : entries) {
    if (const std::int64_t own = updates_[entry.index]; own != count) {
      count = own;
      correction1 = 1 - std::pow(options_.beta1, static_cast<double>(own));
      correction2 = 1 - std::pow(options_.beta2, static_cast<double>(own));
    }
    const Tensor& mean = stateOf(first_, entry.index, "exp_avg");
    items.push_back(itemOf(entry, mean, stateOf(second_, entry.index, "exp_avg_sq")));
    items.back().correction1 = correction1;
    items.back().correction2 = correction2;
    bytes += bytesOf(entry, lamb ? 9 : 6);
  }
  const kernel::AdamArguments arguments{rate_,
                                        options_.beta1,
                                        options_.beta2,
                                        options_.epsilon,
                                        options_.weightDecay,
                                        variant_ != Variant::AddedDecay};
  op.launch(entries[0].parameter.device(), {bytes},
            [items = std::move(items), arguments, lamb, type = typeOf(entries)] {
              (lamb ? kernel::lamb : kernel::adam)(items.data(), items.size(), type, arguments);
            });
}

Tensor clipGradNorm(const std::vector<Tensor>& parameters, double maximum) {
  if (!(maximum >= 0))
    fail("clipGradNorm", "the bound " + std::to_string(maximum) + " is negative");
  needsGradients("clipGradNorm", parameters);
  const NoGrad noGrad;
  Tensor total;
  for (const Tensor& parameter : parameters) {
    if (!parameter.grad().defined()) continue;
    const Tensor squares = sum(square(widened(parameter.grad())));
    total = total.defined() ? add(total, squares) : squares;
  }
  if (!total.defined()) return zeros({});
  const Tensor norm = sqrt(total);
  const Tensor factor =
      clamp(div(full({}, maximum, {norm.dtype(), norm.device()}), add(norm, 1e-6)), 0, 1);
  for (const Tensor& parameter : parameters) {
    Tensor gradient = parameter.grad();
    if (!gradient.defined()) continue;
    if (itemSize(gradient.dtype()) > 2) {
      gradient.mul_(factor);
    } else {
      gradient.copy_(mul(gradient, factor));  // the factor may be too small for their type
    }
  }
  return norm;
}

void clipGradValue(const std::vector<Tensor>& parameters, double maximum) {
  if (!(maximum >= 0))
    fail("clipGradValue", "the bound " + std::to_string(maximum) + " is negative");
  needsGradients("clipGradValue", parameters);
  const NoGrad noGrad;
  for (const Tensor& parameter : parameters) {
    Tensor gradient = parameter.grad();
    if (gradient.defined()) gradient.copy_(clamp(gradient, -maximum, maximum));
  }
}

}  // namespace lacuna::rt::optim
