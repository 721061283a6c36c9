// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lacuna/runtime/tensor.h"

/// Define-by-run gradients. Every operator that takes a tensor with requiresGrad() records a node
/// with what its gradient depends on; backward() walks the nodes and drops what they saved. Graphs
/// belong to their tensors, and a backward runs on the calling thread. An Error that names the
/// operator is thrown for a second backward through a freed graph, and for a value that was changed
/// in place after it was saved. So it is for a gradient of the wrong shape, or one from a hook of
/// the wrong type or device.
namespace lacuna::rt {

/// States if operators of this thread record.
class GradMode {
 public:
  [[nodiscard]] static bool enabled();
  static void set(bool on);
};

class NoGrad {
 public:
  NoGrad() : before_(GradMode::enabled()) { GradMode::set(false); }
  ~NoGrad() { GradMode::set(before_); }
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;

 private:
  bool before_;
};

/// While one lives, operators remember where they ran (operator and module), and a backward that
/// makes a NaN or an infinity throws, naming the operator and the forward site. Slow: it waits for
/// the queue after every node.
class AnomalyMode {
 public:
  explicit AnomalyMode(bool on = true);
  ~AnomalyMode();
  [[nodiscard]] static bool enabled();

 private:
  bool before_;
};

struct BackwardOptions {
  bool retainGraph = false;  ///< keep what nodes saved, for another backward
  bool createGraph =
      false;  ///< record the backward itself, for double backward (implies retainGraph)
  bool allowUnused =
      false;  ///< grad(): an input that no root depends on gives an undefined gradient
};

/// Adds the gradients of the leaves that `roots` depend on to their grad(). `gradients` are
/// converted to the roots' types.
void backward(const std::vector<Tensor>& roots, const std::vector<Tensor>& gradients = {},
              BackwardOptions options = {});
/// The gradients of the roots with respect to `inputs`; grad() of leaves is left alone. Runs, and
/// frees, only what leads from the roots to the inputs, and computes no other gradients on the way.
[[nodiscard]] std::vector<Tensor> grad(const std::vector<Tensor>& roots,
                                       const std::vector<Tensor>& inputs,
                                       const std::vector<Tensor>& gradients = {},
                                       BackwardOptions options = {});

/// An operator of one's own, made of others, with a gradient of one's own:
///
///     const CustomFunction sign("straight_through_sign",  // ops.h has the sign itself
///         [](const auto& in) { return std::vector{rt::sign(in[0])}; },
///         [](const auto& in, const auto& out, const auto& g) { return std::vector{g[0]}; });
///     const Tensor y = sign({x})[0];
///
/// Traces, tables and errors call it, and its backward, by that name. May be used from several
/// threads.
class CustomFunction {
 public:
  /// Runs while no gradients are recorded. With an input that requires a gradient the results,
  /// which must be of one floating type then, require one, too. It may hand an input on, and must
  /// not change one in place.
  using Forward = std::function<std::vector<Tensor>(const std::vector<Tensor>& inputs)>;
  /// The gradients of the inputs, in their order and of their shapes and types; undefined where
  /// there is none. An output that no later gradient reached gets zeros as its gradient. Written in
  /// operators on what it is given, it has a gradient itself (BackwardOptions::createGraph).
  using Backward = std::function<std::vector<Tensor>(const std::vector<Tensor>& inputs,
                                                     const std::vector<Tensor>& outputs,
                                                     const std::vector<Tensor>& gradients)>;
  /// Throws where one of them is empty. Names are kept for good: take few.
  CustomFunction(std::string_view name, Forward forward, Backward backward);
  /// Keeps inputs and results for the backward while one is to come. Throws, naming the function,
  /// what does not fit.
  [[nodiscard]] std::vector<Tensor> operator()(const std::vector<Tensor>& inputs) const;

  struct Parts;

 private:
  std::shared_ptr<const Parts> parts_;
};

/// A part of a forward. It may use parameters and other tensors beside its inputs.
using CheckpointSegment = std::function<std::vector<Tensor>(const std::vector<Tensor>& inputs)>;
/// The segment's results. While gradients are recorded, nothing is kept for the backward but the
/// inputs (and the parameters, which are there anyway). The first gradient within the segment runs
/// it once more, with the same random numbers. Batch norm's running statistics are not moved again.
/// All other changes that the segment makes happen twice. Segments may lie within one another. The
/// segment is kept until then, so what it refers to has to live as long. A backward throws where an
/// input was changed in place meanwhile, or where the segment does something else the second time.
/// Knob `checkpoint`.
[[nodiscard]] std::vector<Tensor> checkpoint(const CheckpointSegment& segment,
                                             const std::vector<Tensor>& inputs);
[[nodiscard]] Tensor checkpoint(const std::function<Tensor(const Tensor&)>& segment,
                                const Tensor& input);

struct GradCheckOptions {
  double step = 1e-6;
  double absolute = 1e-5;
  double relative = 1e-3;
  bool second = false;  ///< also the gradient of the gradient
};
/// Compares the gradients of `function` at `inputs` (f64, requiring gradients) with central finite
/// differences. Returns an empty text, or what differs most.
[[nodiscard]] std::string gradcheck(
    const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& function,
    const std::vector<Tensor>& inputs, GradCheckOptions options = {});

}  // namespace lacuna::rt
