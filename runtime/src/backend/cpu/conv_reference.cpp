// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/conv_reference.h"

namespace lacuna::rt::cpu {

namespace {

template <class T>
T& at(const View& view, std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) {
  const Shape& s = view.strides;
  return static_cast<T*>(view.data)[a * s[0] + b * s[1] + c * s[2] + d * s[3]];
}

/// Calls f(T{}); what is empty may be of any type.
template <class F>
void withType(DType type, const F& f) {
  return type == DType::F32 ? f(float{}) : f(double{});
}

/// Calls body(n, output channel, input channel, channel within its group, oh, ow, h, w, kh, kw) for
/// every product.
template <class Body>
void forEachProduct(const View& x, const View& y, const View& weight,
                    const kernel::ConvArguments& a, const Body& body) {
  const std::int64_t outputs = weight.shape[0] / a.groups;
  const std::int64_t inputs = weight.shape[1];
  for (std::int64_t n = 0; n < y.shape[0]; ++n)
    for (std::int64_t co = 0; co < y.shape[1]; ++co)
      for (std::int64_t oh = 0; oh < y.shape[2]; ++oh)
        for (std::int64_t ow = 0; ow < y.shape[3]; ++ow)
          for (std::int64_t kh = 0; kh < weight.shape[2]; ++kh)
            for (std::int64_t kw = 0; kw < weight.shape[3]; ++kw) {
              const std::int64_t h = oh * a.stride[0] - a.padding[0] + kh * a.dilation[0];
              const std::int64_t w = ow * a.stride[1] - a.padding[1] + kw * a.dilation[1];
              if (h < 0 || h >= x.shape[2] || w < 0 || w >= x.shape[3]) continue;
              for (std::int64_t i = 0; i < inputs; ++i)
                body(n, co, co / outputs * inputs + i, i, oh, ow, h, w, kh, kw);
            }
}

}  // namespace

void referenceConvForward(const View& y, const View& x, const View& weight, const View& bias,
                          const kernel::ConvArguments& arguments) {
  kernel::fill(y, 0);
  withType(x.dtype, [&](auto tag) {
    using T = decltype(tag);
    forEachProduct(
        x, y, weight, arguments,
        [&](auto n, auto co, auto ci, auto i, auto oh, auto ow, auto h, auto w, auto kh, auto kw) {
          at<T>(y, n, co, oh, ow) += at<T>(x, n, ci, h, w) * at<T>(weight, co, i, kh, kw);
        });
  });
  if (bias.data == nullptr) return;
  View channel = bias;
  channel.shape = {1, bias.shape[0], 1, 1};
  channel.strides = {0, bias.strides[0], 0, 0};
  kernel::binary(kernel::Binary::Add, y, y, channel, 1);
}

void referenceConvBackwardData(const View& gradX, const View& gradY, const View& weight,
                               const kernel::ConvArguments& arguments) {
  kernel::fill(gradX, 0);
  withType(gradX.dtype, [&](auto tag) {
    using T = decltype(tag);
    forEachProduct(
        gradX, gradY, weight, arguments,
        [&](auto n, auto co, auto ci, auto i, auto oh, auto ow, auto h, auto w, auto kh, auto kw) {
          at<T>(gradX, n, ci, h, w) += at<T>(gradY, n, co, oh, ow) * at<T>(weight, co, i, kh, kw);
        });
  });
}

void referenceConvBackwardWeights(const View& gradWeight, const View& gradBias, const View& x,
                                  const View& gradY, const kernel::ConvArguments& arguments) {
  kernel::fill(gradWeight, 0);
  withType(x.dtype, [&](auto tag) {
    using T = decltype(tag);
    forEachProduct(
        x, gradY, gradWeight, arguments,
        [&](auto n, auto co, auto ci, auto i, auto oh, auto ow, auto h, auto w, auto kh, auto kw) {
          at<T>(gradWeight, co, i, kh, kw) += at<T>(gradY, n, co, oh, ow) * at<T>(x, n, ci, h, w);
        });
  });
  if (gradBias.data == nullptr) return;
  View out = gradBias;
  out.shape = {1, gradBias.shape[0], 1, 1};
  out.strides = {0, gradBias.strides[0], 0, 0};
  kernel::reduce(kernel::Reduce::Sum, out, gradY);
}

}  // namespace lacuna::rt::cpu
