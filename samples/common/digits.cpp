// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "common/digits.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numeric>
#include <random>
#include <span>
#include <stdexcept>
#include <string_view>

namespace lacuna::samples {

namespace {

/// Which of the segments top, upper left, upper right, middle, lower left, lower right, bottom a
/// digit has.
constexpr std::array<unsigned, 10> kSegments{0b1110111, 0b0010010, 0b1011101, 0b1011011, 0b0111010,
                                             0b1101011, 0b1101111, 0b1010010, 0b1111111, 0b1111011};

void draw(float* picture, unsigned segments, int dx, int dy, float strength) {
  const auto put = [&](int x, int y) {
    x += dx;
    y += dy;
    if (x >= 0 && x < 8 && y >= 0 && y < 8) picture[y * 8 + x] = strength;
  };
  const auto has = [segments](int bit) { return (segments >> (6 - bit) & 1U) != 0; };
  for (int i = 2; i <= 5; ++i) {
    if (has(0)) put(i, 1);
    if (has(3)) put(i, 3);
    if (has(6)) put(i, 6);
  }
  for (int i = 1; i <= 3; ++i) {
    if (has(1)) put(2, i);
    if (has(2)) put(5, i);
    if (has(4)) put(2, i + 3);
    if (has(5)) put(5, i + 3);
  }
}

// Not std::uniform_…_distribution: its values differ between standard libraries.
double uniform(std::mt19937_64& random) {
  return static_cast<double>(random() >> 11) * 0x1p-53;
}

std::vector<std::string> linesOf(const std::string& file) {
  gzFile input = ::gzopen(file.c_str(), "rb");
  if (input == nullptr) throw std::runtime_error(file + ": cannot be opened");
  std::string text;
  std::array<char, 65536> buffer{};
  int got = 0;
  while ((got = ::gzread(input, buffer.data(), buffer.size())) > 0)
    text.append(buffer.data(), static_cast<std::size_t>(got));
  const bool complete = ::gzclose(input) == Z_OK;  // nothing else shows that data end early
  if (got < 0 || !complete) throw std::runtime_error(file + ": is damaged or ends early (gzip)");
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (end > at) lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

}  // namespace

Digits syntheticDigits(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Digits out;
  out.pixels.resize(count * kDigitPixels);
  for (std::size_t i = 0; i < count; ++i) {
    const auto label = static_cast<std::int64_t>(random() % 10);
    float* picture = out.pixels.data() + i * kDigitPixels;
    draw(picture, kSegments[static_cast<std::size_t>(label)], static_cast<int>(random() % 3) - 1,
         static_cast<int>(random() % 2), static_cast<float>(9 + 7 * uniform(random)));
    for (int p = 0; p < kDigitPixels; ++p) {
      picture[p] =
          std::clamp(picture[p] + static_cast<float>(6 * uniform(random) - 3), 0.0F, 16.0F);
    }
    out.labels.push_back(label);
  }
  return out;
}

namespace {

/// The numbers of a line, which are that many and nothing else.
bool readNumbers(std::string_view line, std::span<double> values) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  const char* at = line.data();
  const char* const end = at + line.size();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0 && (at == end || *at++ != ',')) return false;
    const auto [next, error] = std::from_chars(at, end, values[i]);
    if (error != std::errc() || !std::isfinite(values[i])) return false;
    at = next;
  }
  return at == end;
}

}  // namespace

Digits readDigits(const std::string& file) {
  Digits out;
  const auto lines = linesOf(file);
  for (std::size_t n = 0; n < lines.size(); ++n) {
    const auto refuse = [&](const char* why) {
      throw std::runtime_error(file + ", line " + std::to_string(n + 1) + ": " + why);
    };
    std::array<double, kDigitPixels + 1> values{};
    if (!readNumbers(lines[n], values))
      refuse("expected 64 pixels and a label, separated by commas");
    const double label = values[kDigitPixels];
    if (label < 0 || label > 9 || label != std::floor(label)) refuse("the label is not 0 to 9");
    for (std::size_t i = 0; i < kDigitPixels; ++i)
      out.pixels.push_back(static_cast<float>(values[i]));
    out.labels.push_back(static_cast<std::int64_t>(label));
  }
  if (out.size() == 0) throw std::runtime_error(file + ": holds no pictures");
  return out;
}

Digits takeTestSet(Digits& all, std::uint64_t seed) {
  std::vector<std::size_t> order(all.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937_64 random(seed);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  Digits train;
  Digits test;
  for (std::size_t i = 0; i < order.size(); ++i) {
    Digits& to = i < order.size() * 4 / 5 ? train : test;
    const auto from = all.pixels.begin() + static_cast<std::ptrdiff_t>(order[i] * kDigitPixels);
    to.pixels.insert(to.pixels.end(), from, from + kDigitPixels);
    to.labels.push_back(all.labels[order[i]]);
  }
  all = std::move(train);
  return test;
}

}  // namespace lacuna::samples
