// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "timeline/palette.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace lacuna::gui {

namespace {

constexpr Theme kDark{true,       0xFF14171C, 0xFF1A1E25, 0xFF232933, 0xFF303744, 0xFF20252E,
                      0xFFE8EBF0, 0xFF98A2B3, 0xFF5AA9FF, 0xFF3FBF8F, 0xFFF0B44C, 0xFFF0766A};
constexpr Theme kLight{false,      0xFFF6F7F9, 0xFFFFFFFF, 0xFFEDF0F4, 0xFFD3D9E2, 0xFFE6EAF0,
                       0xFF1B2430, 0xFF5B6778, 0xFF1769D2, 0xFF14805A, 0xFFA66300, 0xFFC2362B};

/// The eight hues of Okabe and Ito, softened for large areas.
constexpr std::array<Colour, 8> kChartDark{0xFF5BA8DC, 0xFFE0A33E, 0xFF33AD88, 0xFFD78CBA,
                                           0xFFDE7548, 0xFFEDE275, 0xFF4C7FD0, 0xFF707988};
constexpr std::array<Colour, 8> kChartLight{0xFF4A9BD4, 0xFFDB9310, 0xFF12936C, 0xFFC878A6,
                                            0xFFC8531C, 0xFFDCCF3C, 0xFF2A63B8, 0xFF5A6472};

Colour fromHsl(double hue, double saturation, double lightness) {
  const auto channel = [&](double n) {
    const double k = std::fmod(n + hue / 30, 12);
    const double a = saturation * std::min(lightness, 1 - lightness);
    const double v = lightness - a * std::max(-1.0, std::min({k - 3, 9 - k, 1.0}));
    return static_cast<Colour>(std::lround(v * 255));
  };
  return 0xFF000000 | channel(0) << 16 | channel(8) << 8 | channel(4);
}

double luminance(Colour colour) {
  const auto linear = [](Colour c) {
    const double v = (c & 0xFF) / 255.0;
    return v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * linear(colour >> 16) + 0.7152 * linear(colour >> 8) + 0.0722 * linear(colour);
}

}  // namespace

const Theme& theme(bool dark) {
  return dark ? kDark : kLight;
}

Colour nameColour(std::string_view name, bool dark) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : name) {
    if (c >= '0' && c <= '9') continue;
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  hash ^= hash >> 29;
  hash *= 0xbf58476d1ce4e5b9;
  hash ^= hash >> 32;
  // Hues that stay apart and calm side by side; loud magentas and pure reds are left to warnings.
  static constexpr std::array<double, 14> kHues{8,   24,  38,  52,  88,  128, 152,
                                                172, 190, 204, 218, 236, 262, 330};
  const double hue = kHues[hash % kHues.size()];
  const double tone = static_cast<double>((hash >> 8) % 3) - 1;
  return dark ? fromHsl(hue, 0.38, 0.58 + 0.07 * tone) : fromHsl(hue, 0.48, 0.70 + 0.06 * tone);
}

Colour kindColour(analyzer::WorkKind kind, bool dark) {
  using analyzer::WorkKind;
  const auto& chart = dark ? kChartDark : kChartLight;
  switch (kind) {
    case WorkKind::Host:
      return chart[0];
    case WorkKind::Copy:
      return chart[1];
    case WorkKind::Compute:
      return chart[2];
    case WorkKind::Communication:
      return chart[3];
    case WorkKind::Synchronisation:
      return chart[4];
    case WorkKind::Loader:
      return chart[5];
    case WorkKind::Memset:
      return chart[6];
    case WorkKind::Call:
      return chart[7];
  }
  return chart[0];
}

Colour chartColour(std::size_t n, bool dark) {
  const auto& chart = dark ? kChartDark : kChartLight;
  return chart[n % chart.size()];
}

Colour counterColour(std::string_view label, std::size_t place, bool dark) {
  using analyzer::kRoleCurve, analyzer::kRoleCurves;
  if (label == analyzer::kMemoryCurve) return theme(dark).accent;
  if (!label.starts_with(kRoleCurve)) return chartColour(place, dark);
  const auto* role =
      std::find(kRoleCurves.begin(), kRoleCurves.end(), label.substr(kRoleCurve.size()));
  return role == kRoleCurves.end()
             ? chartColour(place, dark)
             : roleColour(static_cast<prof::MemoryRole>(role - kRoleCurves.begin()), dark);
}

Colour roleColour(prof::MemoryRole role, bool dark) {
  using prof::MemoryRole;
  switch (role) {
    case MemoryRole::Parameter:
      return chartColour(0, dark);
    case MemoryRole::Gradient:
      return chartColour(3, dark);
    case MemoryRole::Activation:
      return chartColour(2, dark);
    case MemoryRole::Optimizer:
      return chartColour(1, dark);
    case MemoryRole::Input:
      return chartColour(5, dark);
    case MemoryRole::Workspace:
      return chartColour(4, dark);
    case MemoryRole::Communication:
      return chartColour(6, dark);
    case MemoryRole::Cached:
      return causeColour(analyzer::Cause::Unknown, dark);  // as pale as what nobody knows of
    case MemoryRole::Other:
      return chartColour(7, dark);
  }
  return chartColour(7, dark);
}

Colour inkOn(Colour background) {
  // Where contrast with black and with white is equal: (1.05 / (L + 0.05)) = ((L + 0.05) / 0.05).
  return luminance(background) > 0.179 ? 0xFF10141A : 0xFFFFFFFF;
}

}  // namespace lacuna::gui
