// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "lacuna/runtime/data.h"
#include "lacuna/runtime/nn.h"
#include "plan.h"

namespace lacuna::drawn {

inline constexpr std::int64_t kClasses = 10, kVocabulary = 200, kRows = 2000;

std::shared_ptr<rt::nn::Module> makeNetwork(const Plan& plan);
/// The loss of a batch that the family of the plan takes.
rt::Tensor lossOf(const Plan& plan, rt::nn::Module& network, const rt::Tensor& inputs,
                  const rt::Tensor& targets);

/// Made-up batches, with what the plan's faults do to their preparation.
class Batches : public rt::Dataset {
 public:
  explicit Batches(const Plan& plan) : plan_(plan) {}
  [[nodiscard]] std::size_t size() const override { return 1 << 16; }
  [[nodiscard]] rt::Example get(std::size_t index, rt::WorkerContext& context) const override;
  [[nodiscard]] std::optional<rt::Batch> getBatch(std::span<const std::size_t> indices,
                                                  rt::WorkerContext& context) const override;
  /// A batch without its preparation.
  [[nodiscard]] rt::Batch make(std::int64_t count, std::uint64_t seed) const;

 private:
  const Plan& plan_;
};

}  // namespace lacuna::drawn
