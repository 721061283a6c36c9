// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <vector>

#include "backend/cpu/loops.h"
#include "backend/nn_kernels.h"

/// Batch normalisation. Rows are cut into pieces of a size that depends on the shape alone. Each
/// piece has sums of its own, added up in the order of the pieces. So the result is the same for
/// every number of threads.
namespace lacuna::rt {

using cpu::WideT;
using kernel::ChannelLayout;

namespace {

/// Pieces small enough for a piece to be read twice from the cache.
constexpr std::int64_t kPieceElements = 16384;

struct Pieces {
  std::int64_t size, count;
  explicit Pieces(const ChannelLayout& at)
      : size(std::max<std::int64_t>(
            at.inner > 1 ? 1 : 32,
            kPieceElements / std::max<std::int64_t>(1, at.channels * at.inner))),
        count((at.rows + size - 1) / size) {}
  [[nodiscard]] std::int64_t begin(std::int64_t piece) const { return piece * size; }
  [[nodiscard]] std::int64_t end(std::int64_t piece, std::int64_t rows) const {
    return std::min(rows, (piece + 1) * size);
  }
};

template <class F>
void forPieces(const Pieces& pieces, const F& body) {
  parallelFor(pieces.count, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t piece = begin; piece < end; ++piece) body(piece);
  });
}

/// Mean and sum of squared deviations of a piece, by channel.
template <class W, class T>
void momentsOfPiece(const T* x, const ChannelLayout& at, std::int64_t begin, std::int64_t end,
                    W* mean, W* squares) {
  const std::int64_t channels = at.channels;
  const auto count = static_cast<W>((end - begin) * at.inner);
  std::fill(mean, mean + channels, W(0));
  std::fill(squares, squares + channels, W(0));
  for (std::int64_t r = begin; r < end; ++r) {
    const T* row = x + r * channels * at.inner;
    if (at.inner == 1) {
      for (std::int64_t c = 0; c < channels; ++c) mean[c] += static_cast<W>(row[c]);
    } else {
      for (std::int64_t c = 0; c < channels; ++c) {
        W sum = 0;
        for (std::int64_t i = 0; i < at.inner; ++i) sum += static_cast<W>(row[c * at.inner + i]);
        mean[c] += sum;
      }
    }
  }
  for (std::int64_t c = 0; c < channels; ++c) mean[c] /= count;
  for (std::int64_t r = begin; r < end; ++r) {
    const T* row = x + r * channels * at.inner;
    if (at.inner == 1) {
      for (std::int64_t c = 0; c < channels; ++c) {
        const W d = static_cast<W>(row[c]) - mean[c];
        squares[c] += d * d;
      }
    } else {
      for (std::int64_t c = 0; c < channels; ++c) {
        W sum = 0;
        for (std::int64_t i = 0; i < at.inner; ++i) {
          const W d = static_cast<W>(row[c * at.inner + i]) - mean[c];
          sum += d * d;
        }
        squares[c] += sum;
      }
    }
  }
}

struct Moments {
  std::vector<double> mean, squares;
};

/// Chan's formula for joining the moments of two samples, piece after piece.
template <class W>
Moments joinPieces(const std::vector<W>& partial, const Pieces& pieces, const ChannelLayout& at) {
  const auto channels = static_cast<std::size_t>(at.channels);
  Moments all{std::vector<double>(channels), std::vector<double>(channels)};
  double seen = 0;
  for (std::int64_t piece = 0; piece < pieces.count; ++piece) {
    const auto count =
        static_cast<double>((pieces.end(piece, at.rows) - pieces.begin(piece)) * at.inner);
    const W* mean = partial.data() + static_cast<std::size_t>(piece) * 2 * channels;
    const W* squares = mean + channels;
    const double share = count / (seen + count);
    for (std::size_t c = 0; c < channels; ++c) {
      const double delta = static_cast<double>(mean[c]) - all.mean[c];
      all.mean[c] += delta * share;
      all.squares[c] += static_cast<double>(squares[c]) + delta * delta * seen * share;
    }
    seen += count;
  }
  return all;
}

void follow(const View& running, std::size_t channel, double value, double momentum) {
  if (running.data == nullptr) return;
  cpu::dispatchFloating(running.dtype, [&](auto tag) {
    using T = decltype(tag);
    T& kept =
        static_cast<T*>(running.data)[static_cast<std::int64_t>(channel) * running.strides[0]];
    kept = T(static_cast<WideT<T>>(
        (1 - momentum) * static_cast<double>(static_cast<WideT<T>>(kept)) + momentum * value));
  });
}

template <class T>
void statistics(const View& mean, const View& rstd, const View& runningMean, const View& runningVar,
                const View& x, const ChannelLayout& at, double momentum, double epsilon) {
  using W = WideT<T>;
  const Pieces pieces(at);
  const auto channels = static_cast<std::size_t>(at.channels);
  std::vector<W> partial(static_cast<std::size_t>(pieces.count) * 2 * channels);
  forPieces(pieces, [&](std::int64_t piece) {
    W* own = partial.data() + static_cast<std::size_t>(piece) * 2 * channels;
    momentsOfPiece(static_cast<const T*>(x.data), at, pieces.begin(piece),
                   pieces.end(piece, at.rows), own, own + channels);
  });
  const Moments all = joinPieces(partial, pieces, at);
  const auto count = static_cast<double>(at.rows * at.inner);
  for (std::size_t c = 0; c < channels; ++c) {
    static_cast<W*>(mean.data)[c] = static_cast<W>(all.mean[c]);
    static_cast<W*>(rstd.data)[c] = static_cast<W>(1 / std::sqrt(all.squares[c] / count + epsilon));
    follow(runningMean, c, all.mean[c], momentum);
    follow(runningVar, c, all.squares[c] / (count - 1), momentum);
  }
}

template <class W>
const W* valuesOf(const View& view) {
  return static_cast<const W*>(view.data);
}

/// Calls body(element, channel); the inner loop vectorises either way.
template <class T, class F>
void mapChannels(const ChannelLayout& at, const F& body) {
  const std::int64_t row = at.channels * at.inner;
  const std::int64_t grain =
      std::max<std::int64_t>(1, cpu::kGrain / std::max<std::int64_t>(1, row));
  parallelFor(at.rows, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      if (at.inner == 1) {
        for (std::int64_t c = 0; c < at.channels; ++c) body(r * row + c, c);
      } else {
        for (std::int64_t c = 0; c < at.channels; ++c) {
          for (std::int64_t i = 0; i < at.inner; ++i) body(r * row + c * at.inner + i, c);
        }
      }
    }
  });
}

template <class T>
void apply(const View& y, const View& x, const View& mean, const View& rstd, const View& weight,
           const View& bias, const ChannelLayout& at) {
  using W = WideT<T>;
  const auto channels = static_cast<std::size_t>(at.channels);
  std::vector<W> scale(channels);
  std::vector<W> shift(channels, W(0));
  for (std::size_t c = 0; c < channels; ++c) {
    scale[c] = valuesOf<W>(rstd)[c] * (weight.data != nullptr ? valuesOf<W>(weight)[c] : W(1));
    if (bias.data != nullptr) shift[c] = valuesOf<W>(bias)[c];
  }
  auto* to = static_cast<T*>(y.data);
  const auto* from = static_cast<const T*>(x.data);
  mapChannels<T>(at, [to, from, s = scale.data(), b = shift.data(), m = valuesOf<W>(mean)](
                         std::int64_t i, std::int64_t c) {
    to[i] = T((static_cast<W>(from[i]) - m[c]) * s[c] + b[c]);
  });
}

/// Sums of gradY and of gradY · (x - mean) over a piece.
template <class W, class T>
void gradSumsOfPiece(const T* dy, const T* x, const W* mean, const ChannelLayout& at,
                     std::int64_t begin, std::int64_t end, W* sums, W* products) {
  const std::int64_t channels = at.channels;
  std::fill(sums, sums + channels, W(0));
  std::fill(products, products + channels, W(0));
  for (std::int64_t r = begin; r < end; ++r) {
    const T* dyRow = dy + r * channels * at.inner;
    const T* xRow = x + r * channels * at.inner;
    if (at.inner == 1) {
      for (std::int64_t c = 0; c < channels; ++c) {
        const W g = static_cast<W>(dyRow[c]);
        sums[c] += g;
        products[c] += g * (static_cast<W>(xRow[c]) - mean[c]);
      }
      continue;
    }
    for (std::int64_t c = 0; c < channels; ++c) {
      W sum = 0;
      W product = 0;
      for (std::int64_t i = c * at.inner; i < (c + 1) * at.inner; ++i) {
        const W g = static_cast<W>(dyRow[i]);
        sum += g;
        product += g * (static_cast<W>(xRow[i]) - mean[c]);
      }
      sums[c] += sum;
      products[c] += product;
    }
  }
}

template <class T>
struct Gradient {
  using W = WideT<T>;
  std::vector<double> sums, products;

  Gradient(const View& gradY, const View& x, const View& mean, const ChannelLayout& at)
      : sums(static_cast<std::size_t>(at.channels)), products(sums) {
    const Pieces pieces(at);
    const std::size_t channels = sums.size();
    std::vector<W> partial(static_cast<std::size_t>(pieces.count) * 2 * channels);
    forPieces(pieces, [&](std::int64_t piece) {
      W* own = partial.data() + static_cast<std::size_t>(piece) * 2 * channels;
      gradSumsOfPiece(static_cast<const T*>(gradY.data), static_cast<const T*>(x.data),
                      valuesOf<W>(mean), at, pieces.begin(piece), pieces.end(piece, at.rows), own,
                      own + channels);
    });
    for (std::size_t piece = 0; piece < static_cast<std::size_t>(pieces.count); ++piece) {
      const W* own = partial.data() + piece * 2 * channels;
      for (std::size_t c = 0; c < channels; ++c) sums[c] += static_cast<double>(own[c]);
      for (std::size_t c = 0; c < channels; ++c)
        products[c] += static_cast<double>(own[channels + c]);
    }
  }
};

template <class T>
void gradient(const View& gradX, const View& gradWeight, const View& gradBias, const View& gradY,
              const View& x, const View& mean, const View& rstd, const View& weight,
              const ChannelLayout& at, bool training) {
  using W = WideT<T>;
  const Gradient<T> sum(gradY, x, mean, at);
  const auto channels = static_cast<std::size_t>(at.channels);
  const auto count = static_cast<double>(at.rows * at.inner);
  std::vector<W> scale(channels);
  std::vector<W> constant(channels);
  std::vector<W> slope(channels);
  for (std::size_t c = 0; c < channels; ++c) {
    const auto r = static_cast<double>(valuesOf<W>(rstd)[c]);
    static_cast<W*>(gradWeight.data)[c] = static_cast<W>(sum.products[c] * r);
    static_cast<W*>(gradBias.data)[c] = static_cast<W>(sum.sums[c]);
    scale[c] = valuesOf<W>(rstd)[c] * (weight.data != nullptr ? valuesOf<W>(weight)[c] : W(1));
    constant[c] = static_cast<W>(training ? sum.sums[c] / count : 0.0);
    slope[c] = static_cast<W>(training ? sum.products[c] * r * r / count : 0.0);
  }
  if (gradX.data == nullptr) return;
  auto* to = static_cast<T*>(gradX.data);
  const auto* dy = static_cast<const T*>(gradY.data);
  const auto* from = static_cast<const T*>(x.data);
  mapChannels<T>(at, [to, dy, from, s = scale.data(), k = constant.data(), p = slope.data(),
                      m = valuesOf<W>(mean)](std::int64_t i, std::int64_t c) {
    to[i] = T(s[c] * (static_cast<W>(dy[i]) - k[c] - (static_cast<W>(from[i]) - m[c]) * p[c]));
  });
}

}  // namespace

void kernel::batchNormStatistics(const View& mean, const View& rstd, const View& runningMean,
                                 const View& runningVar, const View& x, const ChannelLayout& layout,
                                 double momentum, double epsilon) {
  cpu::dispatchFloating(x.dtype, [&](auto tag) {
    statistics<decltype(tag)>(mean, rstd, runningMean, runningVar, x, layout, momentum, epsilon);
  });
}

void kernel::inverseDeviation(const View& rstd, const View& variance, double epsilon) {
  cpu::dispatchFloating(rstd.dtype, [&](auto tag) {
    using T = decltype(tag);
    for (std::int64_t c = 0; c < rstd.shape.numel(); ++c) {
      const auto value =
          static_cast<double>(static_cast<WideT<T>>(static_cast<const T*>(variance.data)[c]));
      static_cast<T*>(rstd.data)[c] = T(static_cast<WideT<T>>(1 / std::sqrt(value + epsilon)));
    }
  });
}

void kernel::batchNormApply(const View& y, const View& x, const View& mean, const View& rstd,
                            const View& weight, const View& bias, const ChannelLayout& layout) {
  cpu::dispatchFloating(
      x.dtype, [&](auto tag) { apply<decltype(tag)>(y, x, mean, rstd, weight, bias, layout); });
}

void kernel::batchNormGrad(const View& gradX, const View& gradWeight, const View& gradBias,
                           const View& gradY, const View& x, const View& mean, const View& rstd,
                           const View& weight, const ChannelLayout& layout, bool training) {
  cpu::dispatchFloating(x.dtype, [&](auto tag) {
    gradient<decltype(tag)>(gradX, gradWeight, gradBias, gradY, x, mean, rstd, weight, layout,
                            training);
  });
}

}  // namespace lacuna::rt
