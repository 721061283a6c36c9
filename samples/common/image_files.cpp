// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "common/image_files.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <csetjmp>
#include <cstdio>
#include <cstring>

#ifdef LACUNA_SAMPLES_JPEG
#include <jpeglib.h>
#endif
#ifdef LACUNA_SAMPLES_PNG
#include <png.h>
#endif

namespace lacuna::samples {

namespace {

constexpr std::int64_t kMostPixels = std::int64_t{1} << 28;

[[noreturn]] void refuse(const std::string& file, const std::string& why) {
  throw rt::Error(file + ": " + why);
}

#ifdef LACUNA_SAMPLES_JPEG
/// libjpeg's way out of an error is a jump; no object with a destructor may be made between setjmp
/// and it.
struct JpegErrors {
  jpeg_error_mgr base;
  std::jmp_buf out;
  char text[JMSG_LENGTH_MAX];
};

void leaveJpeg(j_common_ptr info) {
  auto* errors = reinterpret_cast<JpegErrors*>(info->err);
  errors->base.format_message(info, errors->text);
  std::longjmp(errors->out, 1);
}

/// From cyan, magenta, yellow and black. Adobe's programs write how much is left of the light,
/// others how much ink there is.
void inksToColours(const std::uint8_t* inks, bool inverted, std::int64_t pixels, std::uint8_t* to) {
  const auto light = [inverted](std::uint8_t value) { return inverted ? value : 255 - value; };
  for (std::int64_t i = 0; i < pixels; ++i, inks += 4) {
    for (int c = 0; c < 3; ++c)
      *to++ = static_cast<std::uint8_t>((light(inks[c]) * light(inks[3]) + 127) / 255);
  }
}

/// False, with the reason in `errors`, when it is damaged.
bool readJpeg(jpeg_decompress_struct& info, JpegErrors& errors, std::span<const std::uint8_t> bytes,
              Picture& out) {
  info.err = jpeg_std_error(&errors.base);
  errors.base.error_exit = leaveJpeg;
  // Warnings, of a file that ends early for one, count as errors.
  errors.base.emit_message = [](j_common_ptr about, int level) {
    if (level < 0) leaveJpeg(about);
  };
  if (setjmp(errors.out) != 0) return false;
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, bytes.data(), static_cast<unsigned long>(bytes.size()));
  jpeg_read_header(&info, TRUE);
  const bool inks = info.jpeg_color_space == JCS_CMYK || info.jpeg_color_space == JCS_YCCK;
  info.out_color_space = inks ? JCS_CMYK : JCS_RGB;
  jpeg_start_decompress(&info);
  out.width = info.output_width;
  out.height = info.output_height;
  if (out.width * out.height > kMostPixels) {
    std::snprintf(errors.text, sizeof errors.text, "it has more than 2^28 pixels");
    return false;
  }
  out.bytes.resize(static_cast<std::size_t>(3 * out.width * out.height));
  JSAMPARRAY line = inks ? info.mem->alloc_sarray(reinterpret_cast<j_common_ptr>(&info),
                                                  JPOOL_IMAGE, 4 * info.output_width, 1)
                         : nullptr;
  while (info.output_scanline < info.output_height) {
    JSAMPROW row =
        out.bytes.data() + static_cast<std::size_t>(3 * out.width) * info.output_scanline;
    jpeg_read_scanlines(&info, inks ? line : &row, 1);
    if (inks) inksToColours(line[0], info.saw_Adobe_marker != 0, out.width, row);
  }
  jpeg_finish_decompress(&info);
  return true;
}

Picture decodeJpeg(const std::string& file, std::span<const std::uint8_t> bytes) {
  Picture out;
  jpeg_decompress_struct info{};
  JpegErrors errors{};
  const bool good = readJpeg(info, errors, bytes, out);
  jpeg_destroy_decompress(&info);
  if (!good) refuse(file, std::string("is no whole JPEG: ") + errors.text);
  return out;
}
#else
Picture decodeJpeg(const std::string& file, std::span<const std::uint8_t>) {
  refuse(file, "this build reads no JPEG; install libjpeg-dev and build again");
}
#endif

#ifdef LACUNA_SAMPLES_PNG
Picture decodePng(const std::string& file, std::span<const std::uint8_t> bytes) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  const auto damaged = [&] {
    const std::string why = image.message;
    png_image_free(&image);
    refuse(file, "is no whole PNG: " + why);
  };
  if (png_image_begin_read_from_memory(&image, bytes.data(), bytes.size()) == 0) damaged();
  image.format = PNG_FORMAT_RGB;
  image.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;  // without a gamma of its own: as 8 bits, and as
                                             // everybody reads it
  Picture out{image.width, image.height, {}};
  if (out.width * out.height > kMostPixels) {
    png_image_free(&image);
    refuse(file, "has more than 2^28 pixels");
  }
  out.bytes.resize(PNG_IMAGE_SIZE(image));
  const png_color black{};
  if (png_image_finish_read(&image, &black, out.bytes.data(), 0, nullptr) == 0) damaged();
  return out;
}
#else
Picture decodePng(const std::string& file, std::span<const std::uint8_t>) {
  refuse(file, "this build reads no PNG; install libpng-dev and build again");
}
#endif

/// Where a pixel of the scaled picture lies between two of the original.
struct Place {
  std::int64_t first, second;
  float share;  ///< of the second
};

std::vector<Place> placesOf(std::int64_t from, std::int64_t to) {
  std::vector<Place> out;
  for (std::int64_t i = 0; i < to; ++i) {
    const double at =
        (static_cast<double>(i) + 0.5) * static_cast<double>(from) / static_cast<double>(to) - 0.5;
    const double clamped = std::clamp(at, 0.0, static_cast<double>(from - 1));
    const auto first = static_cast<std::int64_t>(clamped);
    out.push_back({first, std::min(first + 1, from - 1),
                   static_cast<float>(clamped - static_cast<double>(first))});
  }
  return out;
}

rt::Tensor labelOf(std::int64_t label) {
  rt::Tensor out = rt::emptyHost({}, rt::DType::I64);
  std::memcpy(out.data(), &label, sizeof label);
  return out;
}

rt::Example prepared(const Picture& picture, std::int64_t size, Colours colours, std::int64_t label,
                     rt::WorkerContext& context) {
  const rt::LoaderScope stage = context.stage(rt::LoaderStage::Augment, picture.bytes.size());
  const std::int64_t shorter = size + size / 8;
  const std::int64_t least = std::min(picture.width, picture.height);
  const Picture fit = scaled(picture, std::max(shorter, picture.width * shorter / least),
                             std::max(shorter, picture.height * shorter / least));
  const auto top = static_cast<std::int64_t>(
      context.random.below(static_cast<std::uint64_t>(fit.height - size + 1)));
  const auto left = static_cast<std::int64_t>(
      context.random.below(static_cast<std::uint64_t>(fit.width - size + 1)));
  const bool flip = context.random.below(2) == 1;
  struct Scale {
    std::array<float, 3> mean, deviation;
  };
  constexpr Scale kImageNet{{0.485F, 0.456F, 0.406F}, {0.229F, 0.224F, 0.225F}};
  constexpr Scale kSymmetric{{0.5F, 0.5F, 0.5F}, {0.5F, 0.5F, 0.5F}};
  const Scale& scale = colours == Colours::ImageNet ? kImageNet : kSymmetric;
  rt::Tensor out = rt::emptyHost({3, size, size}, rt::DType::F32);
  auto* to = static_cast<float*>(out.data());
  for (std::size_t c = 0; c < 3; ++c) {
    for (std::int64_t y = 0; y < size; ++y) {
      for (std::int64_t x = 0; x < size; ++x) {
        const std::int64_t column = left + (flip ? size - 1 - x : x);
        const auto at = static_cast<std::size_t>(((top + y) * fit.width + column) * 3) + c;
        *to++ = (static_cast<float>(fit.bytes[at]) / 255 - scale.mean[c]) / scale.deviation[c];
      }
    }
  }
  return {out, labelOf(label)};
}

}  // namespace

Picture decodePicture(const std::string& file, std::span<const std::uint8_t> bytes) {
  constexpr std::array<std::uint8_t, 3> kJpeg{0xFF, 0xD8, 0xFF};
  constexpr std::array<std::uint8_t, 4> kPng{0x89, 'P', 'N', 'G'};
  const auto begins = [&](const auto& magic) {
    return bytes.size() >= magic.size() && std::equal(magic.begin(), magic.end(), bytes.begin());
  };
  if (begins(kJpeg)) return decodeJpeg(file, bytes);
  if (begins(kPng)) return decodePng(file, bytes);
  refuse(file, "is neither a JPEG nor a PNG");
}

Picture scaled(const Picture& picture, std::int64_t width, std::int64_t height) {
  const std::vector<Place> rows = placesOf(picture.height, height);
  const std::vector<Place> columns = placesOf(picture.width, width);
  Picture out{width, height,
              std::vector<std::uint8_t>(static_cast<std::size_t>(3 * width * height))};
  std::uint8_t* to = out.bytes.data();
  for (const Place& row : rows) {
    const std::uint8_t* above = picture.bytes.data() + row.first * picture.width * 3;
    const std::uint8_t* below = picture.bytes.data() + row.second * picture.width * 3;
    for (const Place& column : columns) {
      for (std::int64_t c = 0; c < 3; ++c) {
        const std::int64_t a = column.first * 3 + c;
        const std::int64_t b = column.second * 3 + c;
        const float upper = static_cast<float>(above[a]) * (1 - column.share) +
                            static_cast<float>(above[b]) * column.share;
        const float lower = static_cast<float>(below[a]) * (1 - column.share) +
                            static_cast<float>(below[b]) * column.share;
        *to++ = static_cast<std::uint8_t>(std::lround(upper * (1 - row.share) + lower * row.share));
      }
    }
  }
  return out;
}

std::shared_ptr<const rt::FolderDataset> folderPictures(const std::string& folder,
                                                        std::int64_t size, Colours colours) {
  return std::make_shared<rt::FolderDataset>(
      folder, std::vector<std::string>{".jpg", ".jpeg", ".png"},
      [size, colours](const rt::FolderItem& item, std::span<const std::uint8_t> bytes,
                      rt::WorkerContext& context) {
        Picture picture;
        {
          const rt::LoaderScope stage = context.stage(rt::LoaderStage::Decode, bytes.size());
          picture = decodePicture(item.path.string(), bytes);
        }
        return prepared(picture, size, colours, item.label, context);
      });
}

}  // namespace lacuna::samples
