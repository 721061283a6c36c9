// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "backend/nn_kernels.h"
#include "lacuna/runtime/ops.h"
#include "lacuna/runtime/ops_image.h"
#include "ops/shared.h"
#include "tensor/layout.h"
#include "tensor/node.h"

namespace lacuna::rt {

namespace {

using kernel::Tap;
using kernel::UpFirDnArguments;

struct Taps {
  std::vector<Tap> rows, columns;
};

std::vector<Tap> tapsOf(std::int64_t from, std::int64_t to, Interpolation mode, bool alignCorners) {
  std::vector<Tap> taps;
  for (std::int64_t o = 0; o < to; ++o) {
    if (mode == Interpolation::Nearest) {
      const std::int64_t at = o * from / to;
      taps.push_back({at, at, 0});
      continue;
    }
    const auto scale = static_cast<double>(from) / static_cast<double>(to);
    double place = (static_cast<double>(o) + 0.5) * scale - 0.5;
    if (alignCorners)
      place = to > 1 ? static_cast<double>(o * (from - 1)) / static_cast<double>(to - 1) : 0;
    place = std::max(place, 0.0);
    const auto first = std::min(static_cast<std::int64_t>(place), from - 1);
    taps.push_back({first, std::min(first + 1, from - 1), place - static_cast<double>(first)});
  }
  return taps;
}

// Interpolation is linear: its gradient spreads by the same taps, and the gradient of that
// interpolates again.
void interpolateBackward(Node& n, const Tensor* g, Tensor* out);
void spreadPictureBackward(Node& n, const Tensor* g, Tensor* out);
const OpInfo kInterpolate{"interpolate", interpolateBackward};
const OpInfo kInterpolateGrad{"interpolate_grad", spreadPictureBackward};

Tensor runTaps(const OpInfo& info, const Tensor& x, const Shape& shape,
               const std::shared_ptr<const Taps>& taps) {
  Op op(info, {&x});
  const bool spreads = &info == &kInterpolateGrad;
  const Tensor picture = asChannelsLast(x);
  Tensor out = emptyChannelsLast(shape, {x.dtype(), x.device()});
  op.launch(x.device(),
            {x.sizeBytes() + out.sizeBytes(), static_cast<std::uint64_t>(out.numel()) * 8},
            [to = viewOf(out), from = viewOf(picture), taps, spreads] {
              spreads ? kernel::resampleGrad(to, from, taps->rows, taps->columns)
                      : kernel::resample(to, from, taps->rows, taps->columns);
            });
  if (Node* node = op.record({&x}, {&out})) {
    node->shapes = {x.shape()};
    node->extra = std::const_pointer_cast<Taps>(taps);
  }
  return out;
}

void interpolateBackward(Node& n, const Tensor* g, Tensor* out) {
  const DType type = g[0].dtype();
  const auto taps = std::static_pointer_cast<const Taps>(n.extra);
  out[0] = runTaps(kInterpolateGrad, g[0].to(wideType(type)), n.shapes[0], taps).to(type);
}
void spreadPictureBackward(Node& n, const Tensor* g, Tensor* out) {
  out[0] = runTaps(kInterpolate, g[0], n.shapes[0], std::static_pointer_cast<const Taps>(n.extra));
}

using Filter = std::shared_ptr<std::vector<double>>;

void filterBackward(Node& n, const Tensor* g, Tensor* out);
const OpInfo kUpFirDn{"up_fir_dn2d", filterBackward};

Tensor runFilter(const Tensor& x, const Filter& filter, const Shape& shape,
                 const UpFirDnArguments& a) {
  Op op(kUpFirDn, {&x});
  const Tensor picture = asChannelsLast(x);
  Tensor out = emptyChannelsLast(shape, {x.dtype(), x.device()});
  const auto taps = static_cast<std::uint64_t>(filter->size() * filter->size()) /
                    static_cast<std::uint64_t>(a.up[0] * a.up[1]);
  op.launch(x.device(),
            {x.sizeBytes() + out.sizeBytes(), static_cast<std::uint64_t>(out.numel()) * 2 * taps},
            [to = viewOf(out), from = viewOf(picture), filter, a] {
              kernel::upFirDn(to, from, *filter, a);
            });
  if (Node* node = op.record({&x}, {&out})) {
    node->ints = {a.up[0], a.up[1], a.down[0], a.down[1], a.before[0], a.before[1]};
    node->shapes = {x.shape()};
    node->extra = filter;
  }
  return out;
}

// The transposed filter: steps change roles and the taps turn round.
void filterBackward(Node& n, const Tensor* g, Tensor* out) {
  const auto forward = std::static_pointer_cast<std::vector<double>>(n.extra);
  const auto last = static_cast<std::int64_t>(forward->size()) - 1;
  const auto& i = n.ints;
  const UpFirDnArguments a{{i[2], i[3]}, {i[0], i[1]}, {last - i[4], last - i[5]}};
  const auto turned = std::make_shared<std::vector<double>>(forward->rbegin(), forward->rend());
  out[0] = runFilter(g[0], turned, n.shapes[0], a);
}

}  // namespace

Tensor interpolate(const Tensor& x, Extent size, Interpolation mode, bool alignCorners) {
  needsDefined("interpolate", "x", x);
  checkPicture("interpolate", x);
  if (size.height < 1 || size.width < 1 || x.size(2) == 0 || x.size(3) == 0)
    fail("interpolate", "input " + x.shape().toString() + " to " + show(size));
  const auto taps =
      std::make_shared<const Taps>(Taps{tapsOf(x.size(2), size.height, mode, alignCorners),
                                        tapsOf(x.size(3), size.width, mode, alignCorners)});
  return runTaps(kInterpolate, x, {x.size(0), x.size(1), size.height, size.width}, taps);
}

Tensor upFirDn2d(const Tensor& x, const std::vector<double>& filter, UpFirDnOptions options) {
  needsDefined("up_fir_dn2d", "x", x);
  const char* op = "up_fir_dn2d";
  checkPicture(op, x);
  if (filter.empty()) fail(op, "the filter for " + x.shape().toString() + " is empty");
  const UpFirDnArguments a{{options.up.height, options.up.width},
                           {options.down.height, options.down.width},
                           {options.before.height, options.before.width}};
  const std::array<std::int64_t, 2> after{options.after.height, options.after.width};
  const auto taps = static_cast<std::int64_t>(filter.size());
  Shape shape = x.shape();
  for (std::size_t i = 0; i < 2; ++i) {
    if (a.up[i] < 1 || a.down[i] < 1)
      fail(op, "up " + show(options.up) + " and down " + show(options.down) + " of " +
                   x.shape().toString() + " must be at least 1");
    const std::int64_t room =
        x.size(2 + static_cast<int>(i)) * a.up[i] + a.before[i] + after[i] - taps;
    if (room < 0)
      fail(op, "the filter of " + std::to_string(taps) + " is longer than the padded input " +
                   x.shape().toString());
    shape[2 + static_cast<int>(i)] = room / a.down[i] + 1;
  }
  // A convolution in the strict sense: the taps run against the picture.
  return runFilter(x, std::make_shared<std::vector<double>>(filter.rbegin(), filter.rend()), shape,
                   a);
}

Tensor blur2d(const Tensor& x, const std::vector<double>& filter) {
  needsDefined("blur2d", "x", x);
  const auto taps = static_cast<std::int64_t>(filter.size());
  return upFirDn2d(x, filter, {.before = taps / 2, .after = (taps - 1) / 2});
}

}  // namespace lacuna::rt
