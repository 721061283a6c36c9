// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "backend/cpu/loops.h"
#include "backend/cpu/picture.h"
#include "backend/nn_kernels.h"

/// Resampling of channels-last pictures: every output pixel is a weighted sum of input pixels,
/// channel by channel.
namespace lacuna::rt {

using cpu::Picture;
using cpu::WideT;
using kernel::Tap;
using kernel::UpFirDnArguments;

namespace {

template <class T>
void blend(const Picture& from, const T* x, T* to, std::int64_t image, const Tap& row,
           const Tap& column) {
  using W = WideT<T>;
  const T* a = x + from.pixel(image, row.first, column.first);
  if (row.weight == 0 && column.weight == 0) {  // zero times an infinite neighbour would be NaN
    std::copy_n(a, from.c, to);
    return;
  }
  const T* b = x + from.pixel(image, row.first, column.second);
  const T* c = x + from.pixel(image, row.second, column.first);
  const T* d = x + from.pixel(image, row.second, column.second);
  const W down = static_cast<W>(row.weight);
  const W right = static_cast<W>(column.weight);
  const W wa = (1 - down) * (1 - right);
  const W wb = (1 - down) * right;
  const W wc = down * (1 - right);
  const W wd = down * right;
  for (std::int64_t i = 0; i < from.c; ++i) {
    to[i] = T(wa * static_cast<W>(a[i]) + wb * static_cast<W>(b[i]) + wc * static_cast<W>(c[i]) +
              wd * static_cast<W>(d[i]));
  }
}

template <class T>
void spreadTap(const Picture& to, T* gradX, const T* from, std::int64_t image, std::int64_t h,
               std::int64_t w, WideT<T> weight) {
  if (weight == 0) return;
  T* out = gradX + to.pixel(image, h, w);
  for (std::int64_t i = 0; i < to.c; ++i) {
    out[i] = T(static_cast<WideT<T>>(out[i]) + weight * static_cast<WideT<T>>(from[i]));
  }
}

/// The taps of one output in one direction: filter[k] meets x[at] for k = first, first + step, ….
struct Reach {
  std::int64_t first, at, count;
};
Reach reachOf(std::int64_t out, std::int64_t size, std::int64_t taps, std::size_t axis,
              const UpFirDnArguments& a) {
  const std::int64_t up = a.up[axis];
  const std::int64_t origin = out * a.down[axis] - a.before[axis];
  std::int64_t first = ((-origin) % up + up) % up;
  if (origin + first < 0) first += (-origin - first + up - 1) / up * up;
  const std::int64_t at = (origin + first) / up;
  const std::int64_t byFilter = first < taps ? (taps - first + up - 1) / up : 0;
  return {first, at, std::max<std::int64_t>(0, std::min(byFilter, size - at))};
}

/// Rows of the filtered picture: the taps of a column first, for a whole line of x, and those of
/// the row from that. So a pixel takes twice as many products as the filter has taps, not their
/// square.
template <class T>
class RowFilter {
 public:
  using W = WideT<T>;
  RowFilter(const Picture& to, const Picture& from, const std::vector<double>& filter,
            const UpFirDnArguments& a)
      : to_(to), from_(from), a_(a), filter_(filter.begin(), filter.end()) {
    for (std::int64_t w = 0; w < to.w; ++w) columns_.push_back(reachOf(w, from.w, taps(), 1, a));
  }

  /// `line` and `sums` are what it works in.
  void run(T* y, const T* x, std::int64_t image, std::int64_t oh, std::vector<W>& line,
           std::vector<W>& sums) const {
    line.assign(static_cast<std::size_t>(from_.w * from_.c), W(0));
    const Reach row = reachOf(oh, from_.h, taps(), 0, a_);
    for (std::int64_t r = 0; r < row.count; ++r) {
      const W weight = filter_[static_cast<std::size_t>(row.first + r * a_.up[0])];
      const T* in = x + from_.pixel(image, row.at + r, 0);
      for (std::size_t i = 0; i < line.size(); ++i) line[i] += weight * static_cast<W>(in[i]);
    }
    T* out = y + to_.pixel(image, oh, 0);
    for (const Reach& column : columns_) {
      sums.assign(static_cast<std::size_t>(to_.c), W(0));
      for (std::int64_t c = 0; c < column.count; ++c) {
        const W weight = filter_[static_cast<std::size_t>(column.first + c * a_.up[1])];
        const W* in = line.data() + (column.at + c) * from_.c;
        for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += weight * in[i];
      }
      for (const W sum : sums) *out++ = T(sum);
    }
  }

 private:
  [[nodiscard]] std::int64_t taps() const { return static_cast<std::int64_t>(filter_.size()); }

  const Picture& to_;
  const Picture& from_;
  const UpFirDnArguments& a_;
  std::vector<W> filter_;
  std::vector<Reach> columns_;
};

std::int64_t rowGrain(const Picture& y) {
  return std::max<std::int64_t>(1, cpu::kGrain / std::max<std::int64_t>(1, y.w * y.c));
}

}  // namespace

void kernel::resample(const View& y, const View& x, const std::vector<Tap>& rows,
                      const std::vector<Tap>& columns) {
  const Picture to(y.shape);
  const Picture from(x.shape);
  cpu::dispatchFloating(y.dtype, [&](auto tag) {
    using T = decltype(tag);
    parallelFor(to.n * to.h, rowGrain(to), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) {
        for (std::int64_t w = 0; w < to.w; ++w) {
          blend(from, static_cast<const T*>(x.data),
                static_cast<T*>(y.data) + to.pixel(r / to.h, r % to.h, w), r / to.h,
                rows[static_cast<std::size_t>(r % to.h)], columns[static_cast<std::size_t>(w)]);
        }
      }
    });
  });
}

// Images are shared out among threads: within one, pixels are added to in the order of the outputs.
void kernel::resampleGrad(const View& gradX, const View& gradY, const std::vector<Tap>& rows,
                          const std::vector<Tap>& columns) {
  fill(gradX, 0);
  const Picture to(gradX.shape);
  const Picture from(gradY.shape);
  cpu::dispatchFloating(gradX.dtype, [&](auto tag) {
    using T = decltype(tag);
    using W = WideT<T>;
    auto* out = static_cast<T*>(gradX.data);
    parallelFor(from.n, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin * from.h; r < end * from.h; ++r) {
        const Tap& row = rows[static_cast<std::size_t>(r % from.h)];
        const auto down = static_cast<W>(row.weight);
        for (std::int64_t w = 0; w < from.w; ++w) {
          const Tap& column = columns[static_cast<std::size_t>(w)];
          const auto right = static_cast<W>(column.weight);
          const std::int64_t image = r / from.h;
          const T* g = static_cast<const T*>(gradY.data) + from.pixel(image, r % from.h, w);
          spreadTap(to, out, g, image, row.first, column.first, (1 - down) * (1 - right));
          spreadTap(to, out, g, image, row.first, column.second, (1 - down) * right);
          spreadTap(to, out, g, image, row.second, column.first, down * (1 - right));
          spreadTap(to, out, g, image, row.second, column.second, down * right);
        }
      }
    });
  });
}

void kernel::upFirDn(const View& y, const View& x, const std::vector<double>& filter,
                     const UpFirDnArguments& arguments) {
  const Picture to(y.shape);
  const Picture from(x.shape);
  cpu::dispatchFloating(y.dtype, [&](auto tag) {
    using T = decltype(tag);
    const RowFilter<T> rows(to, from, filter, arguments);
    parallelFor(to.n * to.h, rowGrain(to), [&](std::int64_t begin, std::int64_t end) {
      std::vector<WideT<T>> line;
      std::vector<WideT<T>> sums;
      for (std::int64_t r = begin; r < end; ++r)
        rows.run(static_cast<T*>(y.data), static_cast<const T*>(x.data), r / to.h, r % to.h, line,
                 sums);
    });
  });
}

}  // namespace lacuna::rt
