// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/widened_conv.h"

#include <algorithm>

#include "backend/cpu/widened.h"

namespace lacuna::rt::cpu {

namespace {

using Pass = kernel::ConvPass;

/// Pictures that are widened at a time: some MiB of them, in parts that are as good as equal.
/// Depends on shapes alone, so that equal runs give equal numbers.
std::int64_t picturesOfAPart(const View& x, const View& y) {
  constexpr std::int64_t kMostElements = std::int64_t{2} << 20;
  const std::int64_t pictures = x.shape[0];
  const std::int64_t parts =
      std::clamp((x.shape.numel() + y.shape.numel()) / kMostElements, std::int64_t{1}, pictures);
  return (pictures + parts - 1) / parts;
}

/// The operands of a part in f32, each in the order of its own. With several parts the gradients of
/// the weights are added up: `sum` and `sumBias`.
struct WideOperands {
  View x, y, weight, bias, sum, sumBias;
  WideOperands(Widening& widening, Pass pass, const View& ownX, const View& ownY,
               const View& ownWeight, bool hasBias, std::int64_t pictures)
      : x(widening.add(part(ownX.shape, pictures), ownX.strides)),
        y(widening.add(part(ownY.shape, pictures), ownY.strides)),
        weight(widening.add(ownWeight.shape, ownWeight.strides)) {
    const Shape biasShape{ownY.shape[1]};
    if (hasBias) bias = widening.add(biasShape, {1});
    if (pass != Pass::Weights || pictures >= ownX.shape[0]) return;
    sum = widening.add(ownWeight.shape, ownWeight.strides);
    if (hasBias) sumBias = widening.add(biasShape, {1});
  }

 private:
  static Shape part(Shape shape, std::int64_t pictures) {
    shape[0] = pictures;
    return shape;
  }
};

View picturesOf(View view, std::int64_t from, std::int64_t count) {
  view.data = static_cast<std::byte*>(view.data) +
              from * view.strides[0] * static_cast<std::int64_t>(itemSize(view.dtype));
  view.shape[0] = count;
  return view;
}

void addTo(const View& sum, const View& part) {
  kernel::binary(kernel::Binary::Add, sum, sum, part, 1);
}

class WidenedConv {
 public:
  WidenedConv(Pass pass, const View& x, const View& y, const View& weight, const View& bias,
              const kernel::ConvArguments& arguments, const View& workspace)
      : pass_(pass),
        x_(x),
        y_(y),
        weight_(weight),
        bias_(bias),
        arguments_(arguments),
        pictures_(picturesOfAPart(x, y)),
        widening_(workspace),
        wide_(widening_, pass, x, y, weight, bias.data != nullptr, pictures_) {}

  void run() {
    if (pass_ != Pass::Weights) kernel::copy(wide_.weight, weight_);
    if (pass_ == Pass::Forward && bias_.data != nullptr) kernel::copy(wide_.bias, bias_);
    for (std::int64_t from = 0; from < x_.shape[0]; from += pictures_)
      part(from, std::min(pictures_, x_.shape[0] - from));
    if (pass_ != Pass::Weights) return;
    kernel::copy(weight_, wide_.weight);
    if (bias_.data != nullptr) kernel::copy(bias_, wide_.bias);
  }

 private:
  void part(std::int64_t from, std::int64_t count) {
    const View x = picturesOf(wide_.x, 0, count);
    const View y = picturesOf(wide_.y, 0, count);
    const View ownX = picturesOf(x_, from, count);
    const View ownY = picturesOf(y_, from, count);
    if (pass_ != Pass::Data) kernel::copy(x, ownX);
    if (pass_ != Pass::Forward) kernel::copy(y, ownY);
    if (pass_ == Pass::Forward) {
      kernel::convForward(y, x, wide_.weight, wide_.bias, arguments_, widening_.rest(), nullptr);
      kernel::copy(ownY, y);
    } else if (pass_ == Pass::Data) {
      kernel::convBackwardData(x, y, wide_.weight, arguments_, widening_.rest());
      kernel::copy(ownX, x);
    } else {
      weightsOfPart(x, y, from == 0);
    }
  }

  void weightsOfPart(const View& x, const View& y, bool first) {
    const View& weight = first ? wide_.weight : wide_.sum;
    const View& bias = first ? wide_.bias : wide_.sumBias;
    kernel::convBackwardWeights(weight, bias, x, y, arguments_, widening_.rest());
    if (first) return;
    addTo(wide_.weight, weight);
    if (bias.data != nullptr) addTo(wide_.bias, bias);
  }

  Pass pass_;
  const View &x_, &y_, &weight_, &bias_;
  const kernel::ConvArguments& arguments_;
  std::int64_t pictures_;
  Widening widening_;
  WideOperands wide_;
};

}  // namespace

std::size_t widenedConvWorkspace(Pass pass, const View& x, const View& y, const View& weight,
                                 bool bias, const kernel::ConvArguments& arguments) {
  const std::int64_t pictures = picturesOfAPart(x, y);
  Widening widening;
  const WideOperands wide(widening, pass, x, y, weight, bias, pictures);
  const std::int64_t last = x.shape[0] % pictures;
  std::size_t own = kernel::convWorkspace(pass, wide.x, wide.y, wide.weight, bias, arguments);
  if (last != 0) {
    own = std::max(
        own, kernel::convWorkspace(pass, picturesOf(wide.x, 0, last), picturesOf(wide.y, 0, last),
                                   wide.weight, bias, arguments));
  }
  return widening.bytes() + own;
}

void widenedConv(Pass pass, const View& x, const View& y, const View& weight, const View& bias,
                 const kernel::ConvArguments& arguments, const View& workspace) {
  WidenedConv(pass, x, y, weight, bias, arguments, workspace).run();
}

}  // namespace lacuna::rt::cpu
