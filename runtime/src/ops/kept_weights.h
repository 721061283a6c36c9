// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "backend/nn_kernels.h"
#include "tensor/tensor_impl.h"

/// A forward that records nothing uses the same weights again and again, so their copies, in the
/// library's order or in a 16-bit type, are kept with their memory. They end with the version that
/// they were made of; a forward that records drops them, too, since training changes the weights
/// with every step and needs the memory.
namespace lacuna::rt {

struct KeptWeights {
  std::shared_ptr<kernel::ArrangedWeights>
      arranged;  ///< in `memory`; of the copy in a 16-bit type there is none
  Tensor memory;
  std::uint32_t version = 0;  ///< and what else of the weights the copy was made of
  std::int64_t offset = 0;
  Shape shape;
  int queue = 0;  ///< for whose executions it was made
};

/// The copy in that order of a contiguous parameter; a new one is filled by the first execution.
/// Whoever enqueues holds it until then. Null where the order is the weights' own, where the
/// program may write the weights unseen (Storage::lent), where they are no parameter, and where
/// there is no memory for it.
std::shared_ptr<KeptWeights> keptWeights(const Tensor& weight, const kernel::WeightOrder& order);
/// `x` in a 16-bit type, without history: the copy that is kept, where `x` is a parameter that may
/// have one.
Tensor keptShort(const Tensor& x, DType type);

}  // namespace lacuna::rt
