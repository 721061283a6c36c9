// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lacuna/runtime/tensor.h"

/// Random numbers from a counter (Philox 4x32-10). Element i of the n-th draw depends on seed, n
/// and i alone, so results are the same for every number of threads.
namespace lacuna::rt {

/// One counter for the process, safe from any thread. The numbers depend on the seed and on the
/// order of the draws, not on the number of threads that compute them.
void manualSeed(std::uint64_t seed);
struct RandomState {
  std::uint64_t seed = 0;
  std::uint64_t draws = 0;  ///< what has been drawn since
};
/// For saving, and going on from there.
[[nodiscard]] RandomState randomState();
void setRandomState(RandomState state);

[[nodiscard]] Tensor rand(const Shape& shape, Options options = {});  ///< uniform in [0, 1)
[[nodiscard]] Tensor uniform(const Shape& shape, double low, double high, Options options = {});
[[nodiscard]] Tensor randn(const Shape& shape,
                           Options options = {});  ///< normal, mean 0, deviation 1
/// Whole numbers, uniform in [low, high).
[[nodiscard]] Tensor randint(std::int64_t low, std::int64_t high, const Shape& shape,
                             Options options = {DType::I64});
/// 0 … count - 1 in a random order, as i64.
[[nodiscard]] Tensor randperm(std::int64_t count);
/// In place: uniform in [low, high).
Tensor& uniform_(Tensor& tensor, double low, double high);
Tensor& normal_(Tensor& tensor, double mean, double deviation);

}  // namespace lacuna::rt
