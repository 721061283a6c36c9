// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lacuna/runtime/ops.h"
#include "lacuna/runtime/tensor.h"

/// Modules: parameters, submodules and a forward. Calling a module opens a range with its path.
namespace lacuna::rt::nn {

class Module {
 public:
  Module() = default;
  virtual ~Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  /// Runs forward inside the module's range.
  Tensor operator()(const Tensor& x);
  [[nodiscard]] virtual const char* kind() const = 0;

  struct Named {
    std::string name;  ///< "0.weight"
    Tensor tensor;
  };
  /// Each once, under its first name, also where modules share it.
  [[nodiscard]] std::vector<Named> namedParameters() const;
  [[nodiscard]] std::vector<Tensor> parameters() const;
  [[nodiscard]] std::vector<Named> namedBuffers() const;
  /// Parameters, then buffers, under all of their names.
  [[nodiscard]] std::vector<Named> namedState() const;
  void train(bool on = true);
  void eval() { train(false); }
  [[nodiscard]] bool training() const { return training_; }
  void zeroGrad(bool toNone = true);
  /// Converts the parameters, and their gradients, to a floating type; all their handles see it.
  /// Buffers stay as they are, since statistics add up. Call it before an optimizer has stepped,
  /// and for training in bf16 or f16 let that keep masters (Optimizer::keepMasters). Throws, and
  /// changes nothing, where a parameter waits for a backward or shares its memory with another
  /// tensor.
  void to(DType type);
  /// Sets if the results of this module are computed again in the backward instead of kept
  /// (checkpoint()). The module must live until then.
  void setCheckpoint(bool on) { checkpoint_ = on; }
  /// Gives paths to submodules and full names to parameters, for traces and reports; the root is
  /// called `root`.
  void nameTree(const std::string& root = "");

 protected:
  virtual Tensor forward(const Tensor& x) = 0;
  /// The interned name of the module's range, for functions beside forward that open one; null
  /// while nobody listens.
  const void* rangeName();
  // A name identifies one tensor, or one submodule, of this module; a second one throws.
  Tensor& addParameter(const char* name, Tensor value);
  Tensor& addBuffer(const char* name, Tensor value);
  template <class M>
  std::shared_ptr<M> addModule(const std::string& name, std::shared_ptr<M> module) {
    addChild(name, module);
    return module;
  }

 private:
  void addChild(const std::string& name, std::shared_ptr<Module> child);
  void checkTensorName(const char* op, std::string_view name) const;
  void collect(const std::string& prefix, bool buffers, std::vector<Named>& out) const;
  struct Slot {
    const char* name;  ///< interned
    std::unique_ptr<Tensor> tensor;
  };
  std::vector<Slot> parameters_;
  std::vector<Slot> buffers_;
  std::vector<std::pair<std::string, std::shared_ptr<Module>>> children_;
  std::string path_;
  std::atomic<const void*> pathName_{nullptr};  ///< found by the first thread that needs it
  Tensor run(const Tensor& x);

  bool training_ = true;
  bool checkpoint_ = false;
};

class Linear : public Module {
 public:
  Linear(std::int64_t in, std::int64_t out, bool bias = true, Options options = {});
  [[nodiscard]] const char* kind() const override { return "Linear"; }
  Tensor weight, bias;

 protected:
  Tensor forward(const Tensor& x) override;
};

class Embedding : public Module {
 public:
  Embedding(std::int64_t entries, std::int64_t features, Options options = {});
  [[nodiscard]] const char* kind() const override { return "Embedding"; }
  Tensor weight;

 protected:
  Tensor forward(const Tensor& x) override;
};

class LayerNorm : public Module {
 public:
  explicit LayerNorm(const Shape& normalized, double epsilon = 1e-5, Options options = {});
  [[nodiscard]] const char* kind() const override { return "LayerNorm"; }
  Tensor weight, bias;

 protected:
  Tensor forward(const Tensor& x) override;

 private:
  Shape normalized_;
  double epsilon_;
};

class Relu : public Module {
 public:
  [[nodiscard]] const char* kind() const override { return "Relu"; }

 protected:
  Tensor forward(const Tensor& x) override { return relu(x); }
};

/// A module without parameters that applies one function.
#define LACUNA_RT_ACTIVATION(name, call)                              \
  class name : public Module {                                        \
   public:                                                            \
    [[nodiscard]] const char* kind() const override { return #name; } \
                                                                      \
   protected:                                                         \
    Tensor forward(const Tensor& x) override { return call; }         \
  };
LACUNA_RT_ACTIVATION(Sigmoid, sigmoid(x))
LACUNA_RT_ACTIVATION(Tanh, tanh(x))
LACUNA_RT_ACTIVATION(Gelu, gelu(x))
LACUNA_RT_ACTIVATION(Silu, silu(x))
LACUNA_RT_ACTIVATION(Softplus, softplus(x))
#undef LACUNA_RT_ACTIVATION

class LeakyRelu : public Module {
 public:
  explicit LeakyRelu(double slope = 0.01, double gain = 1) : slope_(slope), gain_(gain) {}
  [[nodiscard]] const char* kind() const override { return "LeakyRelu"; }

 protected:
  Tensor forward(const Tensor& x) override { return leakyRelu(x, slope_, gain_); }

 private:
  double slope_, gain_;
};

class Dropout : public Module {
 public:
  explicit Dropout(double probability) : probability_(probability) {}
  [[nodiscard]] const char* kind() const override { return "Dropout"; }

 protected:
  Tensor forward(const Tensor& x) override { return dropout(x, probability_, training()); }

 private:
  double probability_;
};

/// Runs its modules one after the other; they are called "0", "1", ….
class Sequential : public Module {
 public:
  Sequential() = default;
  template <class M, class... Args>
  Sequential& add(Args&&... args) {
    modules_.push_back(addModule(std::to_string(modules_.size()),
                                 std::make_shared<M>(std::forward<Args>(args)...)));
    return *this;
  }
  [[nodiscard]] const char* kind() const override { return "Sequential"; }

 protected:
  Tensor forward(const Tensor& x) override;

 private:
  std::vector<std::shared_ptr<Module>> modules_;
};

}  // namespace lacuna::rt::nn
