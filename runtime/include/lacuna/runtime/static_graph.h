// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lacuna/runtime/tensor.h"

/// Runs of a function that launch again what a run before launched, without calling the operators.
namespace lacuna::rt {

struct StaticGraphStats {
  bool on = false;
  std::uint64_t traces = 0;    ///< runs of the function that were traced
  std::uint64_t replays = 0;   ///< runs that launched a trace again
  std::uint64_t plain = 0;     ///< runs that did neither
  std::uint64_t launches = 0;  ///< of the last replay's trace
  std::string reason;          ///< why a trace was last given up, or could not be used
};

/// Knob `static_graph`. docs/static-graph.md has the rules that a function must follow. A trace
/// refers to the tensors, modules and optimizers that the function uses. For one thread at a time.
class StaticGraph {
 public:
  using Function = std::function<std::vector<Tensor>(const std::vector<Tensor>& inputs)>;

  /// Off, run() only calls the function.
  explicit StaticGraph(bool on = true);
  ~StaticGraph();
  StaticGraph(const StaticGraph&) = delete;
  StaticGraph& operator=(const StaticGraph&) = delete;

  /// Runs the function, or launches again what it launched for inputs of these shapes and types and
  /// this key. The key stands for whatever else decides what the function does, such as "this run
  /// ends with a step of the optimizer". Results have no history. Throws what the function throws.
  std::vector<Tensor> run(const std::vector<Tensor>& inputs, const Function& function,
                          std::uint64_t key = 0);
  /// The same with one result.
  Tensor run(const std::vector<Tensor>& inputs,
             const std::function<Tensor(const std::vector<Tensor>& inputs)>& function,
             std::uint64_t key = 0);
  /// Drops all traces; the next run is traced again.
  void reset();
  [[nodiscard]] StaticGraphStats stats() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// For a part of a StaticGraph's function that is the host's work: runs it now, and at this place
/// of each replay. Operators in it are not part of the trace. Elsewhere it only runs.
void onHost(const std::function<void()>& action);

}  // namespace lacuna::rt
