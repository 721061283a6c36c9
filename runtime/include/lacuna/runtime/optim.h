// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "lacuna/runtime/tensor.h"

/// Optimizers. A step is one execution per type of parameter (fused), or one per parameter (`fused
/// = false`).
namespace lacuna::rt::optim {

class Optimizer {
 public:
  explicit Optimizer(std::vector<Tensor> parameters);
  virtual ~Optimizer();
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  [[nodiscard]] virtual const char* kind() const = 0;

  /// Updates every parameter that has a gradient, inside the optimizer phase.
  void step();
  /// While on, a backward updates each parameter as soon as its gradient is complete and drops the
  /// gradient, so that no two of them are held at once. step() still belongs after each backward:
  /// it ends the iteration. Work that needs all gradients at once (clipping by norm, adding up over
  /// several backwards) throws an Error. So does a second optimizer for one of the parameters.
  void stepInBackward(bool on = true);
  [[nodiscard]] bool stepsInBackward() const { return inBackward_; }
  /// While on, parameters of bf16 and f16 have masters: their weights in f32, which the steps
  /// change, and which the parameters are rounded from. State and arithmetic are f32, so a step is
  /// that of f32 weights. A parameter that the program changes between two steps counts as it is
  /// then. Throws after the first step.
  void keepMasters(bool on = true);
  /// Drops the gradients, or fills them with zeros.
  void zeroGrad(bool toNone = true);
  [[nodiscard]] double rate() const { return rate_; }
  /// The rate that a schedule's curve multiplies: the last rate that no schedule set.
  [[nodiscard]] double baseRate() const { return baseRate_; }
  void setRate(double rate) { setRate(rate, rate); }
  void setRate(double rate, double base) {
    rate_ = rate;
    baseRate_ = base;
  }
  /// Knob `optimizer.fused`.
  void setFused(bool on) { fused_ = on; }
  [[nodiscard]] const std::vector<Tensor>& parameters() const { return parameters_; }
  [[nodiscard]] std::int64_t steps() const { return steps_; }
  /// State tensors in a fixed order, undefined where a parameter never had a gradient: for saving
  /// (see checkpoint.h).
  [[nodiscard]] std::vector<std::pair<std::string, Tensor>> state() const;
  /// Number of updates of each parameter: a step leaves those without a gradient as they are.
  [[nodiscard]] const std::vector<std::int64_t>& updates() const { return updates_; }
  /// Copies the state; what is not named is as if there had been no step. Without `updates`, a
  /// parameter that has state counts as updated by every step. Throws, and changes nothing, when a
  /// name, shape or type does not belong to this optimizer.
  void setState(const std::vector<std::pair<std::string, Tensor>>& state, std::int64_t steps,
                const std::vector<std::int64_t>& updates = {});

 protected:
  struct Entry {
    std::size_t index;
    Tensor parameter;
    Tensor gradient;     ///< of the parameter's type, or f32 beside a master
    Tensor master = {};  ///< undefined where there is none
  };
  /// Enqueues one execution that updates these parameters, all of one type and device.
  virtual void update(const std::vector<Entry>& entries) = 0;
  Tensor& stateOf(std::vector<Tensor>& states, std::size_t index, const char* name);

  std::vector<Tensor> first_, second_;
  double rate_ = 0;
  std::int64_t steps_ = 0;
  std::vector<std::int64_t> updates_;

 private:
  void updateNow(const std::vector<Entry>& entries);
  void updateOne(std::size_t index);
  [[nodiscard]] bool hasMaster(std::size_t index) const;
  [[nodiscard]] DType typeOfState(std::size_t index) const;
  Entry entryOf(std::size_t index);
  [[nodiscard]] std::pair<std::size_t, std::vector<Tensor>*> placeOfState(const std::string& name);
  void checkState(const std::string& name, const Tensor& tensor);

  std::vector<Tensor> parameters_, masters_;
  double baseRate_ = 0;
  bool fused_ = true;
  bool isAsSet_ = false;  ///< a setting from outside is applied
  bool inBackward_ = false;
  bool keepsMasters_ = false;
  bool iterationOpen_ = false;  ///< a backward has updated parameters since the last step()
  std::vector<bool> updated_;   ///< by that backward
};

struct SgdOptions {
  double rate = 0.01;
  double momentum = 0;
  double dampening = 0;
  double weightDecay = 0;
  bool nesterov = false;
};
class Sgd : public Optimizer {
 public:
  Sgd(std::vector<Tensor> parameters, SgdOptions options);
  [[nodiscard]] const char* kind() const override { return "sgd"; }

 protected:
  void update(const std::vector<Entry>& entries) override;

 private:
  SgdOptions options_;
};

struct AdamOptions {
  double rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weightDecay = 0;
};
/// Weight decay is added to the gradient.
class Adam : public Optimizer {
 public:
  Adam(std::vector<Tensor> parameters, AdamOptions options)
      : Adam(std::move(parameters), options, Variant::AddedDecay) {}
  [[nodiscard]] const char* kind() const override;

 protected:
  enum class Variant { AddedDecay, DecoupledDecay, Lamb };
  Adam(std::vector<Tensor> parameters, AdamOptions options, Variant variant);
  void update(const std::vector<Entry>& entries) override;

 private:
  AdamOptions options_;
  Variant variant_;
};
/// Weight decay shrinks the parameter itself.
class AdamW : public Adam {
 public:
  AdamW(std::vector<Tensor> parameters, AdamOptions options)
      : Adam(std::move(parameters), options, Variant::DecoupledDecay) {}
};

struct LambOptions {
  double rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-6;
  double weightDecay = 0.01;
};
/// Adam's direction with decoupled decay, made as long as the parameter itself (You et al., 2019):
/// for large batches.
class Lamb : public Adam {
 public:
  Lamb(std::vector<Tensor> parameters, LambOptions options)
      : Adam(std::move(parameters),
             {options.rate, options.beta1, options.beta2, options.epsilon, options.weightDecay},
             Variant::Lamb) {}
};

/// Scales all gradients so that their norm is at most `maximum`, which must not be negative; does
/// not wait for the queue. Returns the norm before. With a GradScaler, after its unscale().
Tensor clipGradNorm(const std::vector<Tensor>& parameters, double maximum);
/// Bounds every element of the gradients to [-maximum, maximum].
void clipGradValue(const std::vector<Tensor>& parameters, double maximum);

}  // namespace lacuna::rt::optim
