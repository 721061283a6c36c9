// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <vector>

#include "backend/cpu/loops.h"
#include "backend/nn_kernels.h"

/// Rows are normalised one by one; of pictures with their channels last, some groups of channels at
/// a time. Sums are cut into pieces of a fixed size and added up in their order, so that they are
/// the same for every number of threads.
namespace lacuna::rt {

using cpu::WideT;
using kernel::NormRows;

namespace {

constexpr std::int64_t kPieceRows = 64;

template <class W>
const W* valuesOf(const View& view) {
  return static_cast<const W*>(view.data);
}

std::int64_t rowGrain(const NormRows& at) {
  return std::max<std::int64_t>(1, cpu::kGrain / std::max<std::int64_t>(1, at.width));
}

/// The scale and shift of element i of row r: by channel of a group, or by place in the row.
template <class W>
struct Affine {
  const W* weight;
  const W* bias;
  const NormRows& at;
  [[nodiscard]] std::int64_t first(std::int64_t row) const {
    return row % at.groups * (at.width / at.inner);
  }
};

template <class T>
void normRow(T* y, const T* x, std::int64_t row, WideT<T> mean, WideT<T> rstd,
             const Affine<WideT<T>>& affine) {
  using W = WideT<T>;
  const NormRows& at = affine.at;
  const W* weight = affine.weight != nullptr ? affine.weight + affine.first(row) : nullptr;
  const W* bias = affine.bias != nullptr ? affine.bias + affine.first(row) : nullptr;
  if (at.inner == 1 && weight != nullptr && bias != nullptr) {
    for (std::int64_t i = 0; i < at.width; ++i)
      y[i] = T((static_cast<W>(x[i]) - mean) * rstd * weight[i] + bias[i]);
    return;
  }
  for (std::int64_t c = 0; c < at.width / at.inner; ++c) {
    const W scale = weight != nullptr ? weight[c] * rstd : rstd;
    const W shift = bias != nullptr ? bias[c] : W(0);
    for (std::int64_t i = c * at.inner; i < (c + 1) * at.inner; ++i)
      y[i] = T((static_cast<W>(x[i]) - mean) * scale + shift);
  }
}

/// Mean of a row, and one over its deviation.
template <class W>
struct RowMoments {
  W mean, rstd;
};

template <class T>
LACUNA_RT_EVERY_WIDTH RowMoments<WideT<T>> forwardRow(T* y, const T* x, std::int64_t row,
                                                      Affine<WideT<T>> affine, WideT<T> epsilon) {
  using W = WideT<T>;
  const std::int64_t width = affine.at.width;
  const W mean = cpu::sumLanes<W>(width, [x](std::int64_t i) { return static_cast<W>(x[i]); }) /
                 static_cast<W>(width);
  const W squares = cpu::sumLanes<W>(width, [x, mean](std::int64_t i) {
    const W d = static_cast<W>(x[i]) - mean;
    return d * d;
  });
  const W rstd = W(1) / std::sqrt(squares / static_cast<W>(width) + epsilon);
  normRow(y, x, row, mean, rstd, affine);
  return {mean, rstd};
}

template <class T>
void forward(const View& y, const View& mean, const View& rstd, const View& x, const View& weight,
             const View& bias, const NormRows& at, double epsilon) {
  using W = WideT<T>;
  const Affine<W> affine{valuesOf<W>(weight), valuesOf<W>(bias), at};
  parallelFor(at.rows, rowGrain(at), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      const RowMoments<W> found = forwardRow(static_cast<T*>(y.data) + r * at.width,
                                             static_cast<const T*>(x.data) + r * at.width, r,
                                             affine, static_cast<W>(epsilon));
      static_cast<W*>(mean.data)[r] = found.mean;
      static_cast<W*>(rstd.data)[r] = found.rstd;
    }
  });
}

/// `own` holds a row meanwhile.
template <class T>
LACUNA_RT_EVERY_WIDTH void gradRow(T* to, const T* g, const T* x, WideT<T>* own, std::int64_t row,
                                   RowMoments<WideT<T>> found, Affine<WideT<T>> affine) {
  using W = WideT<T>;
  const NormRows& at = affine.at;
  const W* scale = affine.weight != nullptr ? affine.weight + affine.first(row) : nullptr;
  if (scale == nullptr) {
    for (std::int64_t i = 0; i < at.width; ++i) own[i] = static_cast<W>(g[i]);
  } else if (at.inner == 1) {
    for (std::int64_t i = 0; i < at.width; ++i) own[i] = static_cast<W>(g[i]) * scale[i];
  } else {
    for (std::int64_t i = 0; i < at.width; ++i) own[i] = static_cast<W>(g[i]) * scale[i / at.inner];
  }
  const auto count = static_cast<W>(at.width);
  const W middle = found.mean;
  const W sum = cpu::sumLanes<W>(at.width, [own](std::int64_t i) { return own[i]; }) / count;
  const W product = cpu::sumLanes<W>(at.width,
                                     [own, x, middle](std::int64_t i) {
                                       return own[i] * (static_cast<W>(x[i]) - middle);
                                     }) /
                    count;
  const W slope = product * found.rstd * found.rstd;
  for (std::int64_t i = 0; i < at.width; ++i)
    to[i] = T(found.rstd * (own[i] - sum - (static_cast<W>(x[i]) - middle) * slope));
}

template <class T>
void gradInput(const View& gradX, const View& gradY, const View& x, const View& mean,
               const View& rstd, const View& weight, const NormRows& at) {
  using W = WideT<T>;
  const Affine<W> affine{valuesOf<W>(weight), nullptr, at};
  parallelFor(at.rows, rowGrain(at), [&](std::int64_t begin, std::int64_t end) {
    std::vector<W> own(static_cast<std::size_t>(at.width));
    for (std::int64_t r = begin; r < end; ++r) {
      gradRow(static_cast<T*>(gradX.data) + r * at.width,
              static_cast<const T*>(gradY.data) + r * at.width,
              static_cast<const T*>(x.data) + r * at.width, own.data(), r,
              RowMoments<W>{valuesOf<W>(mean)[r], valuesOf<W>(rstd)[r]}, affine);
    }
  });
}

/// Adds a row's share of the gradients of weight and bias.
template <class T>
LACUNA_RT_EVERY_WIDTH void addRow(WideT<T>* __restrict gradWeight, WideT<T>* __restrict gradBias,
                                  const T* g, const T* x, WideT<T> mean, WideT<T> rstd,
                                  NormRows at) {
  using W = WideT<T>;
  if (at.inner == 1) {
    for (std::int64_t i = 0; i < at.width; ++i) {
      const W d = static_cast<W>(g[i]);
      gradWeight[i] += d * (static_cast<W>(x[i]) - mean) * rstd;
      gradBias[i] += d;
    }
    return;
  }
  for (std::int64_t c = 0; c < at.width / at.inner; ++c) {
    const T* own = g + c * at.inner;
    const T* from = x + c * at.inner;
    gradBias[c] +=
        cpu::sumLanes<W>(at.inner, [&](std::int64_t i) { return static_cast<W>(own[i]); });
    gradWeight[c] += rstd * cpu::sumLanes<W>(at.inner, [&](std::int64_t i) {
                       return static_cast<W>(own[i]) * (static_cast<W>(from[i]) - mean);
                     });
  }
}

template <class T>
void gradAffine(const View& gradWeight, const View& gradBias, const View& gradY, const View& x,
                const View& mean, const View& rstd, const NormRows& at) {
  using W = WideT<T>;
  const auto channels = static_cast<std::size_t>(at.groups * (at.width / at.inner));
  const std::int64_t pieces = (at.rows + kPieceRows - 1) / kPieceRows;
  std::vector<W> partial(static_cast<std::size_t>(pieces) * 2 * channels);
  parallelFor(pieces, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t piece = begin; piece < end; ++piece) {
      W* own = partial.data() + static_cast<std::size_t>(piece) * 2 * channels;
      for (std::int64_t r = piece * kPieceRows; r < std::min(at.rows, (piece + 1) * kPieceRows);
           ++r) {
        const std::int64_t first = r % at.groups * (at.width / at.inner);
        addRow(own + first, own + channels + static_cast<std::size_t>(first),
               static_cast<const T*>(gradY.data) + r * at.width,
               static_cast<const T*>(x.data) + r * at.width, valuesOf<W>(mean)[r],
               valuesOf<W>(rstd)[r], at);
      }
    }
  });
  for (std::size_t c = 0; c < channels; ++c) {
    double weight = 0;
    double bias = 0;
    for (std::size_t piece = 0; piece < static_cast<std::size_t>(pieces); ++piece) {
      weight += static_cast<double>(partial[piece * 2 * channels + c]);
      bias += static_cast<double>(partial[(piece * 2 + 1) * channels + c]);
    }
    static_cast<W*>(gradWeight.data)[c] = static_cast<W>(weight);
    static_cast<W*>(gradBias.data)[c] = static_cast<W>(bias);
  }
}

constexpr std::int64_t kChannelsAtOnce = 16;  ///< a line of memory, in f32
constexpr std::int64_t kPiecePixels = 64;

/// Some groups of one picture that has its channels last.
struct PictureGroups {
  std::int64_t start;         ///< their first element in memory
  std::int64_t channels;      ///< of the picture: from one pixel to the next
  std::int64_t first, count;  ///< channels of these groups
  std::int64_t each;          ///< channels of a group
  std::int64_t row;           ///< number of the first group's statistics

  [[nodiscard]] std::int64_t rowOf(std::int64_t channel) const { return row + channel / each; }
};

/// Calls body(PictureGroups) on pieces that fill lines of memory where groups are narrow.
template <class Body>
void forPictureGroups(const NormRows& at, const Body& body) {
  const std::int64_t each = at.width / at.inner;
  const std::int64_t together =
      std::max<std::int64_t>(1, kChannelsAtOnce / std::max<std::int64_t>(1, each));
  const std::int64_t pieces = (at.groups + together - 1) / together;
  const std::int64_t grain =
      std::max<std::int64_t>(1, cpu::kGrain / std::max<std::int64_t>(1, at.width * together));
  const std::int64_t channels = at.groups * each;
  parallelFor(at.rows / at.groups * pieces, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t image = i / pieces;
      const std::int64_t group = i % pieces * together;
      const std::int64_t count = std::min(together, at.groups - group) * each;
      body(PictureGroups{image * at.inner * channels + group * each, channels, group * each, count,
                         each, image * at.groups + group});
    }
  });
}

template <class W, class F>
LACUNA_RT_EVERY_WIDTH void addPixels(double* sums, W* piece, std::int64_t pixels,
                                     std::int64_t channels, F term) {
  for (std::int64_t begin = 0; begin < pixels; begin += kPiecePixels) {
    std::fill(piece, piece + channels, W(0));
    cpu::addRows(piece, std::min(pixels - begin, kPiecePixels), channels,
                 [&](std::int64_t p, std::int64_t c) { return term(begin + p, c); });
    for (std::int64_t c = 0; c < channels; ++c) sums[c] += static_cast<double>(piece[c]);
  }
}
/// For each channel the sum of term(pixel, channel).
template <class W, class F>
std::vector<double> overPixels(std::int64_t pixels, std::int64_t channels, const F& term) {
  std::vector<double> sums(static_cast<std::size_t>(channels));
  std::vector<W> piece(sums.size());
  addPixels(sums.data(), piece.data(), pixels, channels, term);
  return sums;
}

/// to[pixel · step + channel] = of(pixel, channel).
template <class T, class F>
LACUNA_RT_EVERY_WIDTH void mapPixels(T* to, std::int64_t step, std::int64_t pixels,
                                     std::int64_t channels, F of) {
  for (std::int64_t p = 0; p < pixels; ++p) {
    for (std::int64_t c = 0; c < channels; ++c) to[p * step + c] = T(of(p, c));
  }
}

/// For each channel the mean of its group over `width` elements, from the sums of channels.
template <class W>
std::vector<W> meansOfGroups(const std::vector<double>& sums, std::int64_t each,
                             std::int64_t width) {
  std::vector<W> means(sums.size());
  const auto step = static_cast<std::size_t>(each);
  for (std::size_t first = 0; first < sums.size(); first += step) {
    double sum = 0;
    for (std::size_t c = first; c < first + step; ++c) sum += sums[c];
    for (std::size_t c = first; c < first + step; ++c)
      means[c] = static_cast<W>(sum / static_cast<double>(width));
  }
  return means;
}

template <class T>
void forwardPictures(const View& y, const View& mean, const View& rstd, const View& x,
                     const View& weight, const View& bias, const NormRows& at, double epsilon) {
  using W = WideT<T>;
  forPictureGroups(at, [&](const PictureGroups& some) {
    const T* from = static_cast<const T*>(x.data) + some.start;
    const std::int64_t step = some.channels;
    const auto value = [from, step](std::int64_t p, std::int64_t c) {
      return static_cast<W>(from[p * step + c]);
    };
    const std::vector<W> means =
        meansOfGroups<W>(overPixels<W>(at.inner, some.count, value), some.each, at.width);
    const W* middle = means.data();
    const auto square = [value, middle](std::int64_t p, std::int64_t c) {
      const W d = value(p, c) - middle[c];
      return d * d;
    };
    const std::vector<W> squares =
        meansOfGroups<W>(overPixels<W>(at.inner, some.count, square), some.each, at.width);
    std::vector<W> scales(squares.size());
    std::vector<W> shifts(squares.size());
    W* scale = scales.data();
    W* shift = shifts.data();
    for (std::int64_t c = 0; c < some.count; ++c) {
      const W inverse =
          W(1) / std::sqrt(squares[static_cast<std::size_t>(c)] + static_cast<W>(epsilon));
      static_cast<W*>(mean.data)[some.rowOf(c)] = middle[c];
      static_cast<W*>(rstd.data)[some.rowOf(c)] = inverse;
      scale[c] = weight.data != nullptr ? valuesOf<W>(weight)[some.first + c] * inverse : inverse;
      shift[c] = bias.data != nullptr ? valuesOf<W>(bias)[some.first + c] : W(0);
    }
    mapPixels(static_cast<T*>(y.data) + some.start, step, at.inner, some.count,
              [=](std::int64_t p, std::int64_t c) {
                return (value(p, c) - middle[c]) * scale[c] + shift[c];
              });
  });
}

/// The sum over pictures of each channel's share.
template <class W>
void addPictures(const View& to, const std::vector<double>& shares, std::size_t channels,
                 std::size_t offset) {
  for (std::size_t c = 0; c < channels; ++c) {
    double sum = 0;
    for (std::size_t i = offset + c; i < shares.size(); i += 2 * channels) sum += shares[i];
    static_cast<W*>(to.data)[c] = static_cast<W>(sum);
  }
}

template <class T>
void gradPictures(const View& gradX, const View& gradWeight, const View& gradBias,
                  const View& gradY, const View& x, const View& mean, const View& rstd,
                  const View& weight, const NormRows& at) {
  using W = WideT<T>;
  const std::int64_t channels = at.groups * (at.width / at.inner);
  std::vector<double> shares(
      static_cast<std::size_t>(at.rows / at.groups * 2 * channels));  // of weights, of biases
  forPictureGroups(at, [&](const PictureGroups& some) {
    const T* from = static_cast<const T*>(x.data) + some.start;
    const T* slope = static_cast<const T*>(gradY.data) + some.start;
    std::vector<W> factors(static_cast<std::size_t>(some.count) * 3);
    W* middle = factors.data();
    W* inverse = middle + some.count;
    W* scale = inverse + some.count;
    for (std::int64_t c = 0; c < some.count; ++c) {
      middle[c] = valuesOf<W>(mean)[some.rowOf(c)];
      inverse[c] = valuesOf<W>(rstd)[some.rowOf(c)];
      scale[c] = weight.data != nullptr ? valuesOf<W>(weight)[some.first + c] : W(1);
    }
    const std::int64_t step = some.channels;
    const auto centred = [from, step, middle](std::int64_t p, std::int64_t c) {
      return static_cast<W>(from[p * step + c]) - middle[c];
    };
    const auto given = [slope, step](std::int64_t p, std::int64_t c) {
      return static_cast<W>(slope[p * step + c]);
    };
    std::vector<double> sums = overPixels<W>(at.inner, some.count, given);
    std::vector<double> products = overPixels<W>(
        at.inner, some.count,
        [given, centred](std::int64_t p, std::int64_t c) { return given(p, c) * centred(p, c); });
    double* own = shares.data() + some.row / at.groups * 2 * channels + some.first;
    for (std::int64_t c = 0; c < some.count; ++c) {
      const auto i = static_cast<std::size_t>(c);
      own[c] = products[i] * static_cast<double>(inverse[c]);
      own[channels + c] = sums[i];
      sums[i] *= static_cast<double>(scale[c]);
      products[i] *= static_cast<double>(scale[c]);
    }
    if (gradX.data == nullptr) return;
    const std::vector<W> sumMeans = meansOfGroups<W>(sums, some.each, at.width);
    const std::vector<W> productMeans = meansOfGroups<W>(products, some.each, at.width);
    const W* along = sumMeans.data();
    const W* across = productMeans.data();
    mapPixels(static_cast<T*>(gradX.data) + some.start, step, at.inner, some.count,
              [=](std::int64_t p, std::int64_t c) {
                const W turn = centred(p, c) * across[c] * inverse[c] * inverse[c];
                return inverse[c] * (given(p, c) * scale[c] - along[c] - turn);
              });
  });
  if (gradWeight.data == nullptr) return;
  addPictures<W>(gradWeight, shares, static_cast<std::size_t>(channels), 0);
  addPictures<W>(gradBias, shares, static_cast<std::size_t>(channels),
                 static_cast<std::size_t>(channels));
}

}  // namespace

void kernel::layerNorm(const View& y, const View& mean, const View& rstd, const View& x,
                       const View& weight, const View& bias, const NormRows& rows, double epsilon) {
  cpu::dispatchFloating(x.dtype, [&](auto tag) {
    using T = decltype(tag);
    if (rows.channelsLast) return forwardPictures<T>(y, mean, rstd, x, weight, bias, rows, epsilon);
    forward<T>(y, mean, rstd, x, weight, bias, rows, epsilon);
  });
}

void kernel::layerNormGrad(const View& gradX, const View& gradWeight, const View& gradBias,
                           const View& gradY, const View& x, const View& mean, const View& rstd,
                           const View& weight, const NormRows& rows) {
  cpu::dispatchFloating(x.dtype, [&](auto tag) {
    using T = decltype(tag);
    if (rows.channelsLast)
      return gradPictures<T>(gradX, gradWeight, gradBias, gradY, x, mean, rstd, weight, rows);
    // The affine gradients first: gradX may lie where gradY does.
    if (gradWeight.data != nullptr) gradAffine<T>(gradWeight, gradBias, gradY, x, mean, rstd, rows);
    if (gradX.data != nullptr) gradInput<T>(gradX, gradY, x, mean, rstd, weight, rows);
  });
}

}  // namespace lacuna::rt
