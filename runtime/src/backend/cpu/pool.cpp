// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <vector>

#include "backend/cpu/loops.h"
#include "backend/cpu/picture.h"
#include "backend/nn_kernels.h"

/// Poolings of channels-last pictures: the innermost loop runs over the channels of one pixel.
namespace lacuna::rt {

using cpu::Picture;
using cpu::WideT;
using kernel::PoolArguments;

namespace {

struct Window {
  std::int64_t begin[2], end[2];  ///< inside the picture
  std::int64_t origin[2];         ///< may lie in the padding
  [[nodiscard]] std::int64_t size() const { return (end[0] - begin[0]) * (end[1] - begin[1]); }
};

Window windowAt(const PoolArguments& a, const Picture& x, std::int64_t oh, std::int64_t ow) {
  Window out;
  const std::int64_t at[2] = {oh, ow};
  const std::int64_t limit[2] = {x.h, x.w};
  for (std::size_t i = 0; i < 2; ++i) {
    out.origin[i] = at[i] * a.stride[i] - a.padding[i];
    out.begin[i] = std::max<std::int64_t>(out.origin[i], 0);
    out.end[i] = std::min(out.origin[i] + a.window[i], limit[i]);
  }
  return out;
}

Window adaptiveWindow(const Picture& x, const Picture& y, std::int64_t oh, std::int64_t ow) {
  Window out;
  const std::int64_t at[2] = {oh, ow};
  const std::int64_t from[2] = {x.h, x.w};
  const std::int64_t to[2] = {y.h, y.w};
  for (int i = 0; i < 2; ++i) {
    out.begin[i] = at[i] * from[i] / to[i];
    out.end[i] = ((at[i] + 1) * from[i] + to[i] - 1) / to[i];
  }
  return out;
}

/// Calls body(image, oh) for the rows of y; a row is as much work as is read of x for it, or
/// written.
template <class Body>
void forRows(const Picture& y, const Picture& x, const Body& body) {
  const std::int64_t each = std::max(x.h * x.w * x.c / std::max<std::int64_t>(1, y.h), y.w * y.c);
  const std::int64_t grain =
      std::max<std::int64_t>(1, cpu::kGrain / std::max<std::int64_t>(1, each));
  parallelFor(y.n * y.h, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) body(r / y.h, r % y.h);
  });
}
/// The same by whole images, for where rows share pixels of x.
template <class Body>
void forImages(const Picture& y, const Body& body) {
  parallelFor(y.n, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t image = begin; image < end; ++image) {
      for (std::int64_t oh = 0; oh < y.h; ++oh) body(image, oh);
    }
  });
}

/// One pixel of a window, for all channels: what is larger than the best until now, with its place.
template <class T, class I>
LACUNA_RT_EVERY_WIDTH void takeLarger(WideT<T>* best, I* where, const T* from, I place,
                                      std::int64_t channels) {
  for (std::int64_t c = 0; c < channels; ++c) {
    const auto value = static_cast<WideT<T>>(from[c]);
    const bool better = value > best[c] || value != value;
    best[c] = better ? value : best[c];
    where[c] = better ? place : where[c];
  }
}

template <class T, class I>
void maxRow(const Picture& y, const Picture& x, const PoolArguments& a, T* out, I* which,
            const T* in, std::int64_t image, std::int64_t oh) {
  std::vector<WideT<T>> best(static_cast<std::size_t>(y.c));
  std::vector<I> where(static_cast<std::size_t>(y.c));
  for (std::int64_t ow = 0; ow < y.w; ++ow) {
    const Window window = windowAt(a, x, oh, ow);
    std::fill(best.begin(), best.end(), -std::numeric_limits<WideT<T>>::infinity());
    const auto first =
        (window.begin[0] - window.origin[0]) * a.window[1] + window.begin[1] - window.origin[1];
    std::fill(where.begin(), where.end(), static_cast<I>(first));
    for (std::int64_t h = window.begin[0]; h < window.end[0]; ++h) {
      for (std::int64_t w = window.begin[1]; w < window.end[1]; ++w) {
        const T* from = in + x.pixel(image, h, w);
        const auto place =
            static_cast<I>((h - window.origin[0]) * a.window[1] + w - window.origin[1]);
        takeLarger(best.data(), where.data(), from, place, y.c);
      }
    }
    const std::int64_t to = y.pixel(image, oh, ow);
    for (std::size_t c = 0; c < best.size(); ++c)
      out[to + static_cast<std::int64_t>(c)] = T(best[c]);
    if (which != nullptr) std::copy(where.begin(), where.end(), which + to);
  }
}

template <class F>
void dispatchPlace(const View& which, F&& f) {
  if (which.dtype == DType::I32) return f(std::int32_t{});
  return f(std::uint8_t{});
}

/// Calls move(index in y, index in x, channels) pixel by pixel for each output's place; the place
/// is per channel.
template <class T, class I, class Move>
void moveMaxima(const Picture& y, const Picture& x, const PoolArguments& a, const I* which,
                const Move& move) {
  forImages(y, [&](std::int64_t image, std::int64_t oh) {
    for (std::int64_t ow = 0; ow < y.w; ++ow) {
      const std::int64_t to = y.pixel(image, oh, ow);
      for (std::int64_t c = 0; c < y.c; ++c) {
        const auto place = static_cast<std::int64_t>(which[to + c]);
        const std::int64_t h = oh * a.stride[0] - a.padding[0] + place / a.window[1];
        const std::int64_t w = ow * a.stride[1] - a.padding[1] + place % a.window[1];
        move(to + c, x.pixel(image, h, w) + c);
      }
    }
  });
}

template <class T>
LACUNA_RT_EVERY_WIDTH void addPixel(WideT<T>* sums, const T* from, std::int64_t channels) {
  for (std::int64_t c = 0; c < channels; ++c) sums[c] += static_cast<WideT<T>>(from[c]);
}
template <class T>
LACUNA_RT_EVERY_WIDTH void addShare(T* to, const T* from, WideT<T> share, std::int64_t channels) {
  for (std::int64_t c = 0; c < channels; ++c)
    to[c] = T(static_cast<WideT<T>>(to[c]) + static_cast<WideT<T>>(from[c]) * share);
}

template <class T>
void averageRow(const Picture& y, const Picture& x, const Window& window, std::int64_t divisor,
                T* to, const T* in, std::int64_t image, std::vector<WideT<T>>& sums) {
  std::fill(sums.begin(), sums.end(), WideT<T>(0));
  for (std::int64_t h = window.begin[0]; h < window.end[0]; ++h) {
    for (std::int64_t w = window.begin[1]; w < window.end[1]; ++w)
      addPixel(sums.data(), in + x.pixel(image, h, w), y.c);
  }
  const auto share = WideT<T>(1) / static_cast<WideT<T>>(divisor);
  for (std::int64_t c = 0; c < y.c; ++c) to[c] = T(sums[static_cast<std::size_t>(c)] * share);
}

template <class T>
void spreadPixel(const Picture& x, const Window& window, std::int64_t divisor, T* out,
                 const T* from, std::int64_t image) {
  const auto share = WideT<T>(1) / static_cast<WideT<T>>(divisor);
  for (std::int64_t h = window.begin[0]; h < window.end[0]; ++h) {
    for (std::int64_t w = window.begin[1]; w < window.end[1]; ++w)
      addShare(out + x.pixel(image, h, w), from, share, x.c);
  }
}

std::int64_t divisorOf(const PoolArguments& a, const Picture& x, const Window& window) {
  if (!a.countPadding) return std::max<std::int64_t>(1, window.size());
  // Padding counts, but not what a window reaches beyond it.
  const std::int64_t h =
      std::min(window.origin[0] + a.window[0], x.h + a.padding[0]) - window.origin[0];
  const std::int64_t w =
      std::min(window.origin[1] + a.window[1], x.w + a.padding[1]) - window.origin[1];
  return h * w;
}

/// windowOf(oh, ow) gives the window and its divisor.
template <class WindowOf>
void averages(const View& y, const View& x, const WindowOf& windowOf) {
  const Picture to(y.shape);
  const Picture from(x.shape);
  cpu::dispatchFloating(y.dtype, [&](auto tag) {
    using T = decltype(tag);
    forRows(to, from, [&](std::int64_t image, std::int64_t oh) {
      std::vector<WideT<T>> sums(static_cast<std::size_t>(to.c));
      for (std::int64_t ow = 0; ow < to.w; ++ow) {
        const auto [window, divisor] = windowOf(oh, ow);
        averageRow(to, from, window, divisor, static_cast<T*>(y.data) + to.pixel(image, oh, ow),
                   static_cast<const T*>(x.data), image, sums);
      }
    });
  });
}

template <class WindowOf>
void spread(const View& gradX, const View& gradY, const WindowOf& windowOf) {
  kernel::fill(gradX, 0);
  const Picture from(gradY.shape);
  const Picture to(gradX.shape);
  cpu::dispatchFloating(gradX.dtype, [&](auto tag) {
    using T = decltype(tag);
    forImages(from, [&](std::int64_t image, std::int64_t oh) {
      for (std::int64_t ow = 0; ow < from.w; ++ow) {
        const auto [window, divisor] = windowOf(oh, ow);
        spreadPixel(to, window, divisor, static_cast<T*>(gradX.data),
                    static_cast<const T*>(gradY.data) + from.pixel(image, oh, ow), image);
      }
    });
  });
}

struct Share {
  Window window;
  std::int64_t divisor;
};
auto fixedWindows(const PoolArguments& a, const Picture& x) {
  return [a, x](std::int64_t oh, std::int64_t ow) {
    const Window window = windowAt(a, x, oh, ow);
    return Share{window, divisorOf(a, x, window)};
  };
}
auto evenWindows(const Picture& x, const Picture& y) {
  return [x, y](std::int64_t oh, std::int64_t ow) {
    const Window window = adaptiveWindow(x, y, oh, ow);
    return Share{window, window.size()};
  };
}

}  // namespace

void kernel::maxPool(const View& y, const View& which, const View& x,
                     const PoolArguments& arguments) {
  const Picture to(y.shape);
  const Picture from(x.shape);
  cpu::dispatchFloating(y.dtype, [&](auto tag) {
    using T = decltype(tag);
    dispatchPlace(which, [&](auto place) {
      using I = decltype(place);
      forRows(to, from, [&](std::int64_t image, std::int64_t oh) {
        maxRow(to, from, arguments, static_cast<T*>(y.data), static_cast<I*>(which.data),
               static_cast<const T*>(x.data), image, oh);
      });
    });
  });
}

void kernel::maxPoolGrad(const View& gradX, const View& gradY, const View& which,
                         const PoolArguments& arguments) {
  fill(gradX, 0);
  cpu::dispatchFloating(gradX.dtype, [&](auto tag) {
    using T = decltype(tag);
    dispatchPlace(which, [&](auto place) {
      using I = decltype(place);
      auto* to = static_cast<T*>(gradX.data);
      const auto* from = static_cast<const T*>(gradY.data);
      moveMaxima<T>(Picture(gradY.shape), Picture(gradX.shape), arguments,
                    static_cast<const I*>(which.data), [&](std::int64_t y, std::int64_t x) {
                      to[x] = T(static_cast<WideT<T>>(to[x]) + static_cast<WideT<T>>(from[y]));
                    });
    });
  });
}

void kernel::maxPoolGather(const View& y, const View& x, const View& which,
                           const PoolArguments& arguments) {
  cpu::dispatchFloating(y.dtype, [&](auto tag) {
    using T = decltype(tag);
    dispatchPlace(which, [&](auto place) {
      using I = decltype(place);
      auto* to = static_cast<T*>(y.data);
      const auto* from = static_cast<const T*>(x.data);
      moveMaxima<T>(Picture(y.shape), Picture(x.shape), arguments,
                    static_cast<const I*>(which.data),
                    [&](std::int64_t target, std::int64_t source) { to[target] = from[source]; });
    });
  });
}

void kernel::avgPool(const View& y, const View& x, const PoolArguments& arguments) {
  averages(y, x, fixedWindows(arguments, Picture(x.shape)));
}
void kernel::avgPoolGrad(const View& gradX, const View& gradY, const PoolArguments& arguments) {
  spread(gradX, gradY, fixedWindows(arguments, Picture(gradX.shape)));
}
void kernel::adaptiveAvgPool(const View& y, const View& x) {
  averages(y, x, evenWindows(Picture(x.shape), Picture(y.shape)));
}
void kernel::adaptiveAvgPoolGrad(const View& gradX, const View& gradY) {
  spread(gradX, gradY, evenWindows(Picture(gradX.shape), Picture(gradY.shape)));
}

}  // namespace lacuna::rt
