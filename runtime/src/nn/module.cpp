// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "instrument/module_range.h"
#include "instrument/observer.h"
#include "instrument/settings.h"
#include "lacuna/runtime/autocast.h"
#include "lacuna/runtime/autograd.h"
#include "lacuna/runtime/nn.h"
#include "lacuna/runtime/random.h"
#include "nn/init.h"
#include "tensor/node.h"
#include "tensor/trace.h"

#include <cmath>
#include <unordered_set>

namespace lacuna::rt::nn {

const void* Module::rangeName() {
  if (instrument::sinks() == 0 && !AnomalyMode::enabled()) [[likely]]
    return nullptr;
  const void* name = pathName_.load(std::memory_order_acquire);
  if (name == nullptr) {
    name = internName(path_.empty() ? kind() : path_);
    pathName_.store(name, std::memory_order_release);
  }
  return name;
}

namespace {

/// While a module runs that a setting of `amp` may be for: the outermost one of a training.
thread_local bool tInsideModule = false;

/// Runs it as the setting wants.
template <class Run>
Tensor withAmpAsSet(Run&& run) {
  const bool chosen = Autocast::enabled();
  const bool wanted = instrument::ampAsSet("outermost rt::Module", chosen);
  const Autocast cast = chosen && wanted ? Autocast(Autocast::type()) : Autocast(wanted);
  tInsideModule = true;
  struct Outside {
    ~Outside() { tInsideModule = false; }
  } const outside;
  Tensor out = run();
  // The rest is computed in full precision, as the program would do it.
  return out.dtype() == DType::BF16 && !chosen ? out.to(DType::F32) : out;
}

}  // namespace

Tensor Module::operator()(const Tensor& x) {
  if (!tInsideModule && instrument::settingOf("amp") && training_ && GradMode::enabled())
      [[unlikely]]
    return withAmpAsSet([&] { return (*this)(x); });
  const void* name = rangeName();
  if (name == nullptr) [[likely]]
    return run(x);
  const instrument::ModuleRange range(*static_cast<const Name*>(name));
  return run(x);
}

Tensor Module::run(const Tensor& x) {
  if (!checkpoint_) [[likely]]
    return forward(x);
  return checkpoint([this](const Tensor& again) { return forward(again); }, x);
}

void Module::collect(const std::string& prefix, bool buffers, std::vector<Named>& out) const {
  for (const Slot& slot : buffers ? buffers_ : parameters_)
    out.push_back({prefix + slot.name, *slot.tensor});
  for (const auto& [name, child] : children_) child->collect(prefix + name + ".", buffers, out);
}

namespace {

std::vector<Module::Named> eachOnce(std::vector<Module::Named> all) {
  std::unordered_set<const TensorImpl*> seen;
  std::erase_if(all, [&seen](const Module::Named& named) {
    return !seen.insert(named.tensor.impl()).second;
  });
  return all;
}

}  // namespace

std::vector<Module::Named> Module::namedParameters() const {
  std::vector<Named> out;
  collect("", false, out);
  return eachOnce(std::move(out));
}

std::vector<Module::Named> Module::namedBuffers() const {
  std::vector<Named> out;
  collect("", true, out);
  return eachOnce(std::move(out));
}

std::vector<Module::Named> Module::namedState() const {
  std::vector<Named> out;
  collect("", false, out);
  collect("", true, out);
  return out;
}

std::vector<Tensor> Module::parameters() const {
  std::vector<Tensor> out;
  for (Named& named : namedParameters()) out.push_back(std::move(named.tensor));
  return out;
}

void Module::train(bool on) {
  if (training_ != on) graph::noteSetting();
  training_ = on;
  for (const auto& child : children_) child.second->train(on);
}

void Module::zeroGrad(bool toNone) {
  toNone = instrument::clearsToNone(toNone);
  for (const Tensor& parameter : parameters()) clearGrad(parameter, toNone);
}

void Module::nameTree(const std::string& root) {
  path_ = root;
  pathName_ = nullptr;
  const std::string prefix = root.empty() ? "" : root + ".";
  for (const Slot& slot : parameters_) slot.tensor->setName(prefix + slot.name);
  for (const Slot& slot : buffers_) slot.tensor->setName(prefix + slot.name);
  for (const auto& [name, child] : children_) child->nameTree(prefix + name);
}

void Module::checkTensorName(const char* op, std::string_view name) const {
  for (const auto* slots : {&parameters_, &buffers_}) {
    for (const Slot& slot : *slots) {
      if (slot.name == name)
        fail(op, "the module has a parameter or a buffer '" + std::string(name) + "' already");
    }
  }
}

Tensor& Module::addParameter(const char* name, Tensor value) {
  checkTensorName("addParameter", name);
  value.setRole(Role::Parameter).setName(name).setRequiresGrad();
  parameters_.push_back({internText(name), std::make_unique<Tensor>(std::move(value))});
  return *parameters_.back().tensor;
}

Tensor& Module::addBuffer(const char* name, Tensor value) {
  checkTensorName("addBuffer", name);
  value.setRole(Role::Parameter).setName(name);
  buffers_.push_back({internText(name), std::make_unique<Tensor>(std::move(value))});
  return *buffers_.back().tensor;
}

void Module::addChild(const std::string& name, std::shared_ptr<Module> child) {
  for (const auto& [other, module] : children_) {
    if (other == name) fail("addModule", "the module has a submodule '" + name + "' already");
  }
  children_.emplace_back(name, std::move(child));
}

Linear::Linear(std::int64_t in, std::int64_t out, bool withBias, Options options) {
  const double bound = 1 / std::sqrt(static_cast<double>(in));
  weight = addParameter("weight", uniformParameter("weight", {out, in}, bound, options));
  if (withBias) bias = addParameter("bias", uniformParameter("bias", {out}, bound, options));
}
Tensor Linear::forward(const Tensor& x) {
  return linear(x, weight, bias);
}

Embedding::Embedding(std::int64_t entries, std::int64_t features, Options options) {
  options.role = Role::Parameter;
  const instrument::TensorName naming("weight");
  weight = addParameter("weight", randn({entries, features}, options));
}
Tensor Embedding::forward(const Tensor& x) {
  return embedding(weight, x);
}

LayerNorm::LayerNorm(const Shape& normalized, double epsilon, Options options)
    : normalized_(normalized), epsilon_(epsilon) {
  weight = addParameter("weight", filledParameter("weight", normalized, 1, options));
  bias = addParameter("bias", filledParameter("bias", normalized, 0, options));
}
Tensor LayerNorm::forward(const Tensor& x) {
  return layerNorm(x, normalized_, weight, bias, epsilon_);
}

Tensor Sequential::forward(const Tensor& x) {
  Tensor value = x;
  for (const auto& module : modules_) value = (*module)(value);
  return value;
}

}  // namespace lacuna::rt::nn
