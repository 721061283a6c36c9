// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "lacuna/runtime/ops_image.h"
#include "runtime/sweep/operator_case.h"

namespace lacuna::rt {
namespace {

struct ConvPlan {
  std::int64_t n, in, out, h, w, kh, kw, stride, padding, dilation, groups;
};
ConvPlan convPlan(SampleRandom& random) {
  ConvPlan p{};
  p.groups = sizeIn(random, 1, 2);
  p.n = sizeIn(random, 0, 2);
  p.in = p.groups * sizeIn(random, 1, 2);
  p.out = p.groups * sizeIn(random, 1, 2);
  p.h = sizeIn(random, 3, 6);
  p.w = sizeIn(random, 5, 6);
  p.kh = sizeIn(random, 1, 2);
  p.kw = sizeIn(random, 1, 3);
  p.stride = sizeIn(random, 1, 2);
  p.dilation = sizeIn(random, 1, 2);
  // Padding on both sides of a window of one pixel could leave nothing of a transposed picture.
  p.padding = std::min(p.kh, p.kw) > 1 ? sizeIn(random, 0, 1) : 0;
  return p;
}
Values convolved(const ConvPlan& p, const Values& x, const Values& weight, const Values& bias) {
  Values out;
  const std::int64_t oh = (p.h + 2 * p.padding - p.dilation * (p.kh - 1) - 1) / p.stride + 1;
  const std::int64_t ow = (p.w + 2 * p.padding - p.dilation * (p.kw - 1) - 1) / p.stride + 1;
  const std::int64_t share = p.in / p.groups;
  for (std::int64_t at = 0; at < p.n * p.out * oh * ow; ++at) {
    const std::int64_t column = at % ow;
    const std::int64_t row = at / ow % oh;
    const std::int64_t o = at / ow / oh % p.out;
    const std::int64_t image = at / ow / oh / p.out;
    double total = bias[static_cast<std::size_t>(o)];
    for (std::int64_t tap = 0; tap < share * p.kh * p.kw; ++tap) {
      const std::int64_t kx = tap % p.kw;
      const std::int64_t ky = tap / p.kw % p.kh;
      const std::int64_t c = o / (p.out / p.groups) * share + tap / p.kw / p.kh;
      const std::int64_t y = row * p.stride - p.padding + ky * p.dilation;
      const std::int64_t z = column * p.stride - p.padding + kx * p.dilation;
      if (y < 0 || y >= p.h || z < 0 || z >= p.w) continue;
      total += x[static_cast<std::size_t>(((image * p.in + c) * p.h + y) * p.w + z)] *
               weight[static_cast<std::size_t>(o * share * p.kh * p.kw + tap)];
    }
    out.push_back(total);
  }
  return out;
}
Use convUse(SampleRandom& random) {
  const ConvPlan p = convPlan(random);
  const Conv2dOptions options{
      .stride = p.stride, .padding = p.padding, .dilation = p.dilation, .groups = p.groups};
  return {{any(random, {p.n, p.in, p.h, p.w}), any(random, {p.out, p.in / p.groups, p.kh, p.kw}),
           any(random, {p.out})},
          [=](const Inputs& in) { return conv2d(in[0], in[1], in[2], options); },
          [=](const std::vector<Values>& v) { return convolved(p, v[0], v[1], v[2]); }};
}
/// <conv(x), y> = <x, transposed(y)> for the same weight.
Use convTransposeUse(SampleRandom& random) {
  ConvPlan p = convPlan(random);
  p.n = std::max<std::int64_t>(p.n, 1);
  const std::int64_t reach = p.dilation * (p.kh - 1) + 1 - 2 * p.padding;
  const std::int64_t across = p.dilation * (p.kw - 1) + 1 - 2 * p.padding;
  const std::int64_t oh = sizeIn(random, 2, 3);
  const std::int64_t ow = sizeIn(random, 2, 3);
  p.h = (oh - 1) * p.stride + reach;
  p.w = (ow - 1) * p.stride + across;
  const ConvTranspose2dOptions options{
      .stride = p.stride, .padding = p.padding, .dilation = p.dilation, .groups = p.groups};
  const Tensor x = randomBase(random, {p.n, p.in, p.h, p.w}, -1, 1);
  return {{any(random, {p.n, p.out, oh, ow}), any(random, {p.out, p.in / p.groups, p.kh, p.kw})},
          [=](const Inputs& in) {
            return sum(convTranspose2d(in[0], in[1], {}, options) *
                       x.to(in[0].device()).to(in[0].dtype()));
          },
          [=](const std::vector<Values>& v) {
            const Values forward =
                convolved(p, x.toVector<double>(), v[1], Values(static_cast<std::size_t>(p.out)));
            double total = 0;
            for (std::size_t i = 0; i < forward.size(); ++i) total += forward[i] * v[0][i];
            return Values{total};
          }};
}

/// Windows along one direction of a picture.
struct Windows {
  std::int64_t size, window, stride, padding;
  bool ceilMode;
  struct One {
    std::int64_t begin, end;  ///< end: cut off where the padding ends
  };
  [[nodiscard]] std::vector<One> all() const {
    const std::int64_t last = size + padding;
    std::vector<One> out;
    std::int64_t begin = -padding;
    for (; begin + window <= last; begin += stride) out.push_back({begin, begin + window});
    if (ceilMode && out.back().end != last && begin < size)
      out.push_back({begin, std::min(begin + window, last)});
    return out;
  }
};
double pooled(const Values& x, std::int64_t plane, const Windows& rows, const Windows& columns,
              Windows::One down, Windows::One across, bool largest, bool countPadding) {
  double most = -1e9;
  double total = 0;
  std::int64_t inside = 0;
  for (std::int64_t y = std::max<std::int64_t>(down.begin, 0); y < std::min(down.end, rows.size);
       ++y) {
    for (std::int64_t z = std::max<std::int64_t>(across.begin, 0);
         z < std::min(across.end, columns.size); ++z) {
      const double value = x[static_cast<std::size_t>((plane * rows.size + y) * columns.size + z)];
      most = std::max(most, value);
      total += value;
      ++inside;
    }
  }
  if (largest) return most;
  const std::int64_t all = (down.end - down.begin) * (across.end - across.begin);
  return total / static_cast<double>(countPadding ? all : inside);
}
Use poolUse(SampleRandom& random, bool largest) {
  const bool ceilMode = random.below(2) == 0;
  const bool countPadding = random.below(2) == 0;
  const auto some = [&](std::int64_t size) {
    const std::int64_t window = sizeIn(random, 1, 3);
    return Windows{size, window, sizeIn(random, 1, 3), sizeIn(random, 0, window / 2), ceilMode};
  };
  const Windows rows = some(sizeIn(random, 3, 6));
  const Windows columns = some(sizeIn(random, 3, 5));
  const std::int64_t n = sizeIn(random, 0, 2);
  const Pool2dOptions options{.window = {rows.window, columns.window},
                              .stride = {rows.stride, columns.stride},
                              .padding = {rows.padding, columns.padding},
                              .countPadding = countPadding,
                              .ceilMode = ceilMode};
  return {{distinct(random, {n, 2, rows.size, columns.size})},
          [=](const Inputs& in) {
            return largest ? maxPool2d(in[0], options) : avgPool2d(in[0], options);
          },
          [=](const std::vector<Values>& v) {
            Values out;
            for (std::int64_t plane = 0; plane < 2 * n; ++plane) {
              for (const auto down : rows.all()) {
                for (const auto across : columns.all())
                  out.push_back(
                      pooled(v[0], plane, rows, columns, down, across, largest, countPadding));
              }
            }
            return out;
          },
          Shape{n, 2, static_cast<std::int64_t>(rows.all().size()),
                static_cast<std::int64_t>(columns.all().size())}};
}

Use resampleUse(SampleRandom& random) {
  const Extent size(sizeIn(random, 1, 6), sizeIn(random, 1, 6));
  const auto mode = random.below(2) == 0 ? Interpolation::Nearest : Interpolation::Bilinear;
  return {{any(random, {sizeIn(random, 0, 2), sizeIn(random, 1, 2), sizeIn(random, 2, 4),
                        sizeIn(random, 2, 4)})},
          [=](const Inputs& in) {
            return interpolate(blur2d(in[0], {0.25, 0.5, 0.25}), size, mode) +
                   interpolate(
                       upFirDn2d(in[0], {1, 2, 1}, {.up = 2, .down = 1, .before = 2, .after = 1}),
                       size, mode);
          },
          {}};
}
Use adaptiveUse(SampleRandom& random) {
  return {{any(random, {sizeIn(random, 1, 2), 2, sizeIn(random, 2, 5), sizeIn(random, 2, 5)})},
          [](const Inputs& in) { return adaptiveAvgPool2d(in[0], 2); },
          {}};
}
}  // namespace

std::vector<OperatorCase> pictureCases() {
  return {
      {"conv2d", convUse, Work::Multiplies},
      {"conv_transpose2d", convTransposeUse, Work::Multiplies},
      {"max_pooling", [](SampleRandom& r) { return poolUse(r, true); }},
      {"average_pooling", [](SampleRandom& r) { return poolUse(r, false); }},
      {"adaptive_pooling", adaptiveUse},
      {"resampling", resampleUse},
  };
}

}  // namespace lacuna::rt
