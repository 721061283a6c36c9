// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lacuna/runtime/data_folder.h"

namespace lacuna::samples {

/// Rows of red, green and blue bytes, pixel after pixel.
struct Picture {
  std::int64_t width = 0;
  std::int64_t height = 0;
  std::vector<std::uint8_t> bytes;
};

/// Decodes a JPEG or a PNG, recognised by its first bytes; grey ones too, and JPEGs in inks (CMYK);
/// transparency over black. Throws rt::Error, naming `file`, when it is neither, is damaged, or
/// this build lacks the library for it.
Picture decodePicture(const std::string& file, std::span<const std::uint8_t> bytes);

/// Scales to another size, blending the two nearest pixels of either direction. Meant for up to
/// about half the size.
Picture scaled(const Picture& picture, std::int64_t width, std::int64_t height);

/// The scale of the colours: mean and deviation of ImageNet's removed, or -1 for the darkest and 1
/// for the brightest.
enum class Colours : std::uint8_t { ImageNet, Symmetric };

/// Pictures in one folder per class, prepared for training as is customary. Each is scaled so that
/// the shorter side is an eighth longer than `size`. Then a random square is cut from it, flipped
/// or not. Examples are {f32 [3, size, size], i64 label}.
std::shared_ptr<const rt::FolderDataset> folderPictures(const std::string& folder,
                                                        std::int64_t size,
                                                        Colours colours = Colours::ImageNet);

}  // namespace lacuna::samples
