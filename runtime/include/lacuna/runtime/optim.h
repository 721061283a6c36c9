// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "lacuna/runtime/tensor.h"

/// Optimizers. A step is one execution per type of parameter (fused), or one per parameter (`fused = false`).
namespace lacuna::rt::optim {

class Optimizer {
 public:
  explicit Optimizer(std::vector<Tensor> parameters);
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// Updates every parameter that has a gradient, inside the optimizer phase.
  void step();
  /// Drops the gradients, or fills them with zeros.
  void zeroGrad(bool toNone = true);
  [[nodiscard]] double rate() const { return rate_; }
  void setRate(double rate) { rate_ = rate; }
  /// Knob `optimizer.fused`.
  void setFused(bool on) { fused_ = on; }
  [[nodiscard]] const std::vector<Tensor>& parameters() const { return parameters_; }
  [[nodiscard]] std::int64_t steps() const { return steps_; }
  /// State tensors in a fixed order, undefined where a parameter never had a gradient: for saving.
  [[nodiscard]] std::vector<std::pair<std::string, Tensor>> state() const;
  void setState(const std::vector<std::pair<std::string, Tensor>>& state, std::int64_t steps);

 protected:
  struct Entry {
    std::size_t index;
    Tensor parameter;
    Tensor gradient;
  };
  /// Enqueues one execution that updates these parameters, all of one type and device.
  virtual void update(const std::vector<Entry>& entries) = 0;
  Tensor& stateOf(std::vector<Tensor>& states, std::size_t index, const char* name);

  std::vector<Tensor> first_, second_;
  double rate_ = 0;
  std::int64_t steps_ = 0;

 private:
  std::vector<Tensor> parameters_;
  bool fused_ = true;
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
  Adam(std::vector<Tensor> parameters, AdamOptions options) : Adam(std::move(parameters), options, false) {}

 protected:
  Adam(std::vector<Tensor> parameters, AdamOptions options, bool decoupled);
  void update(const std::vector<Entry>& entries) override;

 private:
  AdamOptions options_;
  bool decoupled_;
};
/// Weight decay shrinks the parameter itself.
class AdamW : public Adam {
 public:
  AdamW(std::vector<Tensor> parameters, AdamOptions options) : Adam(std::move(parameters), options, true) {}
};

/// Scales all gradients so that their norm is at most `maximum`; does not wait for the queue. Returns the norm before.
Tensor clipGradNorm(const std::vector<Tensor>& parameters, double maximum);
/// Bounds every element of the gradients to [-maximum, maximum].
void clipGradValue(const std::vector<Tensor>& parameters, double maximum);

}  // namespace lacuna::rt::optim
