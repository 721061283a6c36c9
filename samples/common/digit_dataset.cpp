// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "common/digit_dataset.h"

#include <array>

namespace lacuna::samples {

rt::Example DigitDataset::get(std::size_t index, rt::WorkerContext& context) const {
  const std::array<std::size_t, 1> one{index};
  rt::Batch batch = *getBatch(one, context);
  return {batch[0].view({kDigitPixels}), batch[1].view({})};
}

std::optional<rt::Batch> DigitDataset::getBatch(std::span<const std::size_t> indices,
                                                rt::WorkerContext& context) const {
  if (hooks_.onFetch) hooks_.onFetch(indices.front());
  const auto count = static_cast<std::int64_t>(indices.size());
  const auto bytes = static_cast<std::uint64_t>(count * kDigitPixels) * sizeof(float);
  if (hooks_.onDecode) {
    const rt::LoaderScope decode = context.stage(rt::LoaderStage::Decode, bytes);
    hooks_.onDecode(indices.front());
  }
  const rt::LoaderScope collate = context.stage(rt::LoaderStage::Collate, bytes);
  rt::Batch out{rt::emptyHost({count, kDigitPixels}, rt::DType::F32),
                rt::emptyHost({count}, rt::DType::I64)};
  auto* pictures = static_cast<float*>(out[0].data());
  auto* labels = static_cast<std::int64_t*>(out[1].data());
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const float* from = digits_->pixels.data() + indices[i] * kDigitPixels;
    for (std::size_t p = 0; p < kDigitPixels; ++p) *pictures++ = from[p] / 16.0F;
    labels[i] = digits_->labels[indices[i]];
  }
  return out;
}

}  // namespace lacuna::samples
