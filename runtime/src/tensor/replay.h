// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "lacuna/runtime/random.h"
#include "tensor/node.h"

/// The parts that checkpoint() needs to run a segment of a forward again. The segment's nodes hold
/// numbers instead of the tensors that they would save. The first node whose backward asks for a
/// tensor runs the segment. The numbers stand for the tensors that are saved then, in the same
/// order. The segment's graph stays the one of the forward, so hooks, grad() and gradients of
/// gradients are what they are without.
namespace lacuna::rt {

class Replay : public std::enable_shared_from_this<Replay> {
 public:
  Replay(CheckpointSegment segment, const std::vector<Tensor>& inputs);

  /// Runs the segment in the forward.
  std::vector<Tensor> forward(const std::vector<Tensor>& inputs);
  /// True when `tensor` is one that a backward can have without a replay: a parameter.
  [[nodiscard]] bool staysAnyway(const Tensor& tensor) const;
  /// Takes note of a tensor that would be saved, or saves it when this is the replay. Its number.
  std::uint32_t take(const Tensor& tensor);
  /// The tensor with that number, checked; runs the segment where it has not been run again yet.
  Tensor get(std::uint32_t number);
  /// Nobody asks for that one any more.
  void drop(std::uint32_t number);

 private:
  struct Described {
    Shape shape;
    DType dtype;
  };
  struct Kept {
    Tensor tensor;  ///< without history
    std::uint32_t version = 0;
  };
  struct Input {
    Kept kept;
    std::shared_ptr<Replay>
        outer;  ///< of a segment within another: that one makes it again, under this number
    std::uint32_t number = 0;
    bool requiresGrad = false;
  };
  Input keep(const Tensor& input) const;
  static Tensor again(const Input& input);
  static Tensor checked(const Kept& kept, const char* what);
  void run();

  CheckpointSegment segment_;
  std::vector<Input> inputs_;
  std::vector<const TensorImpl*> given_;  ///< while the segment runs: what it was called with
  std::vector<Described> taken_;          ///< in the forward
  std::vector<Kept> made_;                ///< in the replay
  RandomState random_;
  const Name* module_;
  bool autocast_;
  DType autocastType_;
  bool replays_ = false;
};

/// The segment that runs on this thread; null outside of any.
extern thread_local constinit Replay* tReplay;
/// True while a segment is run again: what its forward changed beside its results has been changed
/// already.
bool replaying();

}  // namespace lacuna::rt
