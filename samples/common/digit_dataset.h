// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/digits.h"
#include "lacuna/runtime/data.h"

namespace lacuna::samples {

/// Digits as examples {f32 [64] from 0 to 1, i64 label}.
class DigitDataset : public rt::Dataset {
 public:
  /// The actions of a planted fault on a batch, named by its first example.
  struct Hooks {
    std::function<void(std::size_t)> onFetch;   ///< while the batch is fetched
    std::function<void(std::size_t)> onDecode;  ///< as a stage of its own after that
  };
  explicit DigitDataset(std::shared_ptr<const Digits> digits, Hooks hooks = {})
      : digits_(std::move(digits)), hooks_(std::move(hooks)) {}
  [[nodiscard]] std::size_t size() const override { return digits_->size(); }
  [[nodiscard]] rt::Example get(std::size_t index, rt::WorkerContext& context) const override;
  [[nodiscard]] std::optional<rt::Batch> getBatch(std::span<const std::size_t> indices,
                                                  rt::WorkerContext& context) const override;

 private:
  std::shared_ptr<const Digits> digits_;
  Hooks hooks_;
};

}  // namespace lacuna::samples
