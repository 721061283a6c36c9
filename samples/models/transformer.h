// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "lacuna/runtime/nn.h"

/// A decoder-only language model with normalisation before each part.
namespace lacuna::samples {

struct TransformerOptions {
  std::int64_t vocabulary = 96;
  std::int64_t context = 128;  ///< longest sequence
  std::int64_t features = 256;
  std::int64_t heads = 4;
  int layers = 4;
  double dropout = 0;
  bool checkpoint = false;  ///< of each block, the input alone is kept for the backward
  rt::Options options = {};
};

/// Tokens i64 [n, time] to scores [n, time, vocabulary]; each place sees itself and what came
/// before.
std::shared_ptr<rt::nn::Module> makeTransformer(const TransformerOptions& options);

}  // namespace lacuna::samples
