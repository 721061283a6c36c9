// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "samples/common/image_files.h"
#include "support/programs.h"

#include <gmock/gmock.h>
#include <png.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <jpeglib.h>

namespace lacuna::samples {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;
using Bytes = std::vector<std::uint8_t>;

Bytes pngOf(const Bytes& rgb, std::uint32_t width, std::uint32_t height) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = width;
  image.height = height;
  image.format = PNG_FORMAT_RGB;
  png_alloc_size_t size = 0;
  png_image_write_to_memory(&image, nullptr, &size, 0, rgb.data(), 0, nullptr);
  Bytes out(size);
  png_image_write_to_memory(&image, out.data(), &size, 0, rgb.data(), 0, nullptr);
  out.resize(size);
  return out;
}

/// A PNG of 16 bits a channel, without a gamma.
Bytes deepPngOf(std::array<std::uint16_t, 3> pixel) {
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  Bytes out;
  png_set_write_fn(
      png, &out,
      [](png_structp to, png_bytep data, png_size_t size) {
        auto& bytes = *static_cast<Bytes*>(png_get_io_ptr(to));
        bytes.insert(bytes.end(), data, data + size);
      },
      nullptr);
  png_set_IHDR(png, info, 1, 1, 16, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_BASE, PNG_FILTER_TYPE_BASE);
  png_write_info(png, info);
  Bytes row;
  for (const std::uint16_t value : pixel) {
    row.push_back(static_cast<std::uint8_t>(value >> 8));
    row.push_back(static_cast<std::uint8_t>(value & 255));
  }
  png_write_row(png, row.data());
  png_write_end(png, nullptr);
  png_destroy_write_struct(&png, &info);
  return out;
}

/// The way the colours of a JPEG are given, how they are stored, and whether Adobe's marker is
/// there.
struct JpegKind {
  J_COLOR_SPACE given, stored;
  bool adobe = false;
};
constexpr JpegKind kColour{JCS_RGB, JCS_YCbCr};
constexpr JpegKind kGrey{JCS_GRAYSCALE, JCS_GRAYSCALE};

/// All pixels of one colour.
Bytes jpegOf(const Bytes& pixel, std::uint32_t width, std::uint32_t height,
             JpegKind kind = kColour) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* buffer = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &buffer, &size);
  info.image_width = width;
  info.image_height = height;
  info.input_components = static_cast<int>(pixel.size());
  info.in_color_space = kind.given;
  jpeg_set_defaults(&info);
  jpeg_set_colorspace(&info, kind.stored);
  info.write_Adobe_marker = kind.adobe ? TRUE : FALSE;
  jpeg_start_compress(&info, TRUE);
  Bytes row;
  for (std::uint32_t x = 0; x < width; ++x) row.insert(row.end(), pixel.begin(), pixel.end());
  JSAMPROW at = row.data();
  while (info.next_scanline < height) jpeg_write_scanlines(&info, &at, 1);
  jpeg_finish_compress(&info);
  Bytes out(buffer, buffer + size);
  jpeg_destroy_compress(&info);
  std::free(buffer);
  return out;
}

Bytes shortened(Bytes bytes) {
  bytes.resize(bytes.size() * 2 / 3);
  return bytes;
}

TEST(DecodePicture, GivesThePixelsOfAPng) {
  const Bytes pixels{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18};
  const Picture picture = decodePicture("a.png", pngOf(pixels, 3, 2));
  EXPECT_EQ(picture.width, 3);
  EXPECT_EQ(picture.height, 2);
  EXPECT_EQ(picture.bytes, pixels);
}

TEST(DecodePicture, GivesThePixelsOfAJpegInColourAndInGrey) {
  const Picture colour = decodePicture("a.jpg", jpegOf({200, 40, 90}, 21, 10));
  EXPECT_EQ(colour.width, 21);
  EXPECT_EQ(colour.height, 10);
  for (std::size_t i = 0; i < colour.bytes.size(); i += 3) {
    ASSERT_NEAR(colour.bytes[i], 200, 4);
    ASSERT_NEAR(colour.bytes[i + 1], 40, 4);
    ASSERT_NEAR(colour.bytes[i + 2], 90, 4);
  }
  const Picture grey = decodePicture("a.jpg", jpegOf({128}, 8, 8, kGrey));
  ASSERT_EQ(grey.bytes.size(), 3U * 64);
  for (const std::uint8_t value : grey.bytes) ASSERT_NEAR(value, 128, 2);
}

TEST(DecodePicture, ReadsPngsOf16BitsAsThoseOf8) {
  EXPECT_EQ(decodePicture("a.png", deepPngOf({0x8080, 0xffff, 0x1010})).bytes,
            (Bytes{0x80, 0xff, 0x10}));
}

TEST(DecodePicture, TurnsTheInksOfAJpegIntoColours) {
  const Bytes ink{255, 51, 0, 102};
  const Bytes light{0, 204, 255, 153};
  for (const auto& [pixel, kind] : {std::pair(ink, JpegKind{JCS_CMYK, JCS_CMYK, false}),
                                    std::pair(light, JpegKind{JCS_CMYK, JCS_CMYK, true}),
                                    std::pair(light, JpegKind{JCS_CMYK, JCS_YCCK, true})}) {
    const Picture picture = decodePicture("a.jpg", jpegOf(pixel, 9, 8, kind));
    ASSERT_EQ(picture.bytes.size(), 3U * 72);
    for (std::size_t i = 0; i < picture.bytes.size(); i += 3) {
      ASSERT_NEAR(picture.bytes[i], 0, 4);
      ASSERT_NEAR(picture.bytes[i + 1], 204 * 153 / 255, 4);
      ASSERT_NEAR(picture.bytes[i + 2], 153, 4);
    }
  }
}

TEST(DecodePicture, NamesAFileThatIsDamagedOrSomethingElse) {
  const Bytes noise(3 * 64 * 64, 77);
  Bytes png = shortened(pngOf(noise, 64, 64));
  EXPECT_THAT([&] { (void)decodePicture("x.png", png); },
              ThrowsMessage<rt::Error>(HasSubstr("x.png: is no whole PNG")));
  const Bytes jpeg = shortened(jpegOf({200, 40, 90}, 64, 64));
  EXPECT_THAT([&] { (void)decodePicture("x.jpg", jpeg); },
              ThrowsMessage<rt::Error>(HasSubstr("x.jpg: is no whole JPEG")));
  EXPECT_THAT(
      [&] {
        (void)decodePicture("x", Bytes{'G', 'I', 'F'});
      },
      ThrowsMessage<rt::Error>(HasSubstr("x: is neither a JPEG nor a PNG")));
  EXPECT_THROW((void)decodePicture("x", Bytes{}), rt::Error);
}

TEST(Scaled, BlendsNeighbours) {
  const Picture two{2, 1, {0, 0, 0, 100, 200, 40}};
  const Picture four = scaled(two, 4, 2);
  EXPECT_EQ(four.bytes.size(), 3U * 8);
  EXPECT_EQ(four.bytes[3], 25)
      << "a quarter of the way from the first pixel's centre to the second's";
  EXPECT_EQ(four.bytes[9 + 1], 200);
  EXPECT_EQ(scaled(two, 2, 1).bytes, two.bytes);
}

class PictureFolder : public testing::Test {
 protected:
  PictureFolder() {
    std::string folder = std::filesystem::temp_directory_path() / "lacuna-pictures-XXXXXX";
    folder_ = ::mkdtemp(folder.data());
    for (int i = 0; i < 4; ++i) {
      write("red", std::to_string(i) + ".jpg", jpegOf({230, 10, 20}, 40, 30));
      write("blue", std::to_string(i) + ".PNG", pngOf(Bytes(3 * 20 * 50, 9), 20, 50));
    }
  }
  ~PictureFolder() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, const std::string& file, const Bytes& bytes) {
    std::filesystem::create_directories(folder_ / name);
    std::ofstream(folder_ / name / file, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }
  std::pair<int, std::string> resnet(const std::string& flags) {
    return run("resnet", "--width 4 --size 16 " + flags);
  }
  std::pair<int, std::string> run(const std::string& sample, const std::string& flags) {
    const std::string command =
        test::program(sample) + " --batch 4 --data " + folder_.string() + " " + flags + " 2>&1";
    FILE* pipe = ::popen(command.c_str(), "r");
    std::string text;
    std::array<char, 4096> buffer{};
    while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), pipe))
      text.append(buffer.data(), got);
    return {WEXITSTATUS(::pclose(pipe)), text};
  }

  std::filesystem::path folder_;
};

TEST_F(PictureFolder, IsPreparedForTraining) {
  const auto pictures = folderPictures(folder_, 16);
  EXPECT_EQ(pictures->classes(), (std::vector<std::string>{"blue", "red"}));
  EXPECT_EQ(pictures->size(), 8U);
  rt::WorkerContext context(0, -1, 0, 1, nullptr);
  const rt::Example red = pictures->get(7, context);
  EXPECT_EQ(red[0].shape(), (rt::Shape{3, 16, 16}));
  EXPECT_EQ(*static_cast<const std::int64_t*>(red[1].data()), 1);
  EXPECT_NEAR(*static_cast<const float*>(red[0].data()), (230.0 / 255 - 0.485) / 0.229, 0.1);
}

TEST_F(PictureFolder, TrainsTheSample) {
  const auto [status, text] = resnet("--steps 12 --loader.workers 2");
  EXPECT_EQ(status, 0) << text;
  EXPECT_THAT(text, HasSubstr("8 pictures of 2 classes"));
  EXPECT_THAT(text, HasSubstr("step 11 loss"));
}

TEST_F(PictureFolder, TrainsTheDiscriminatorWithColoursAroundZero) {
  const auto pictures = folderPictures(folder_, 16, Colours::Symmetric);
  rt::WorkerContext context(0, -1, 0, 1, nullptr);
  const rt::Example red = pictures->get(7, context);
  EXPECT_NEAR(*static_cast<const float*>(red[0].data()), 230.0 / 127.5 - 1, 0.02);
  const auto [status, text] = run("stylegan2_discriminator", "--size 16 --channels 64 --steps 3");
  EXPECT_EQ(status, 0) << text;
  EXPECT_THAT(text, HasSubstr("8 pictures in " + folder_.string()));
  EXPECT_THAT(text, HasSubstr("step 2 loss"));
}

TEST_F(PictureFolder, WithADamagedPictureStopsTheSampleAndNamesIt) {
  write("red", "2.jpg", shortened(jpegOf({230, 10, 20}, 400, 300)));
  const auto [status, text] = resnet("--steps 12");
  EXPECT_EQ(status, 1);
  EXPECT_THAT(text, HasSubstr("red/2.jpg: is no whole JPEG"));
}

}  // namespace
}  // namespace lacuna::samples
