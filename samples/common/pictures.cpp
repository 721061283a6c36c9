// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "common/pictures.h"

#include <array>
#include <cmath>
#include <cstring>
#include <vector>

namespace lacuna::samples {

namespace {

constexpr int kClasses = 10;
constexpr std::int64_t kCifarSize = 32;

/// Red, green and blue planes, and what they show.
struct Raw {
  std::vector<std::uint8_t> bytes;
  std::int64_t label = 0;
};

Raw draw(std::size_t index, std::int64_t size, std::uint64_t seed) {
  rt::SampleRandom random(seed * 0x9E3779B97F4A7C15U + index);
  Raw out;
  out.label = static_cast<std::int64_t>(random.below(kClasses));
  out.bytes.resize(static_cast<std::size_t>(3 * size * size));
  const double angle = M_PI * static_cast<double>(out.label % 5) / 5;
  const double period = out.label < 5 ? 4 : 9;
  const double phase = random.uniform() * 2 * M_PI;
  std::array<double, 3> colour{};
  for (double& c : colour) c = 0.4 + 0.6 * random.uniform();
  for (std::int64_t y = 0; y < size; ++y) {
    for (std::int64_t x = 0; x < size; ++x) {
      const double along =
          static_cast<double>(x) * std::cos(angle) + static_cast<double>(y) * std::sin(angle);
      const double wave =
          0.5 + 0.4 * std::sin(2 * M_PI * along / period + phase) + 0.1 * (random.uniform() - 0.5);
      for (std::int64_t c = 0; c < 3; ++c) {
        out.bytes[static_cast<std::size_t>((c * size + y) * size + x)] =
            static_cast<std::uint8_t>(255 * wave * colour[static_cast<std::size_t>(c)]);
      }
    }
  }
  return out;
}

/// A crop of the picture with four dark pixels around it, flipped or not, from bytes to about -1
/// … 1.
rt::Example augmented(const Raw& raw, std::int64_t size, rt::WorkerContext& context) {
  const rt::LoaderScope stage = context.stage(rt::LoaderStage::Augment, raw.bytes.size());
  constexpr std::int64_t kBorder = 4;
  const auto shiftY = static_cast<std::int64_t>(context.random.below(2 * kBorder + 1)) - kBorder;
  const auto shiftX = static_cast<std::int64_t>(context.random.below(2 * kBorder + 1)) - kBorder;
  const bool flip = context.random.below(2) == 1;
  rt::Example out{rt::emptyHost({3, size, size}, rt::DType::F32),
                  rt::emptyHost({}, rt::DType::I64)};
  auto* to = static_cast<float*>(out[0].data());
  for (std::int64_t c = 0; c < 3; ++c) {
    for (std::int64_t y = 0; y < size; ++y) {
      for (std::int64_t x = 0; x < size; ++x) {
        const std::int64_t fromY = y + shiftY;
        const std::int64_t fromX = (flip ? size - 1 - x : x) + shiftX;
        const bool inside = fromY >= 0 && fromY < size && fromX >= 0 && fromX < size;
        const int value =
            inside ? raw.bytes[static_cast<std::size_t>((c * size + fromY) * size + fromX)] : 0;
        *to++ = static_cast<float>(value) / 64.0F - 2.0F;
      }
    }
  }
  std::memcpy(out[1].data(), &raw.label, sizeof raw.label);
  return out;
}

}  // namespace

std::shared_ptr<const rt::Dataset> syntheticPictures(std::size_t count, std::int64_t size,
                                                     std::uint64_t seed) {
  return std::make_shared<rt::FunctionDataset>(
      count, [size, seed](std::size_t index, rt::WorkerContext& context) {
        Raw raw;
        {
          const rt::LoaderScope stage = context.stage(rt::LoaderStage::Decode);
          raw = draw(index, size, seed);
        }
        return augmented(raw, size, context);
      });
}

std::shared_ptr<const rt::Dataset> cifarPictures(const std::string& file) {
  const auto records = std::make_shared<rt::RecordFileDataset>(
      file, std::vector<rt::RecordField>{{{1}, rt::DType::U8},
                                         {{3, kCifarSize, kCifarSize}, rt::DType::U8}});
  return std::make_shared<rt::FunctionDataset>(
      records->size(), [records, file](std::size_t index, rt::WorkerContext& context) {
        const rt::Example example = records->get(index, context);
        const auto* bytes = static_cast<const std::uint8_t*>(example[1].data());
        const Raw raw{{bytes, bytes + example[1].numel()},
                      *static_cast<const std::uint8_t*>(example[0].data())};
        if (raw.label >= kClasses)
          throw rt::Error(file + ": record " + std::to_string(index) + " has the label " +
                          std::to_string(raw.label) +
                          ", not 0 to 9; is it CIFAR-10's binary form?");
        return augmented(raw, kCifarSize, context);
      });
}

}  // namespace lacuna::samples
