// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "lacuna/runtime/data.h"

namespace lacuna::samples {

/// Ten classes of small colour pictures, drawn when they are asked for: stripes of a direction and
/// width for each class, in random colours, with noise. Examples are {f32 [3, size, size] around 0,
/// i64 label}, augmented by a random crop and flip of the bytes, as real ones would be.
std::shared_ptr<const rt::Dataset> syntheticPictures(std::size_t count, std::int64_t size,
                                                     std::uint64_t seed);

/// Pictures of 32×32 in the binary form of CIFAR-10 (a label byte, then 3072 bytes of red, green
/// and blue), augmented alike. Throws rt::Error, naming the file, when it is not that.
std::shared_ptr<const rt::Dataset> cifarPictures(const std::string& file);

}  // namespace lacuna::samples
