// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "backend/cpu/fast_math.h"
#include "backend/cpu/loops.h"

namespace lacuna::rt {

using cpu::WideT;

namespace {

struct Rows {
  std::int64_t count, width, grain;
};
Rows rowsOf(const View& x) {
  const std::int64_t width = x.shape.rank() == 0 ? 1 : x.shape[x.shape.rank() - 1];
  const std::int64_t count = width == 0 ? 0 : x.shape.numel() / width;
  return {count, width,
          std::max<std::int64_t>(1, cpu::kGrain / 4 / std::max<std::int64_t>(1, width))};
}

template <class T>
LACUNA_RT_EVERY_WIDTH void logSoftmaxRow(T* y, const T* x, std::int64_t width, bool logarithm) {
  using W = WideT<T>;
  const W top = cpu::largestOf<W>(width, [x](std::int64_t i) { return static_cast<W>(x[i]); });
  const auto power = [x, top](std::int64_t i) { return cpu::fastExp(static_cast<W>(x[i]) - top); };
  if (logarithm) {
    // The sum's logarithm, added to a large score, would be rounded away.
    const W logarithmOfSum = std::log(cpu::sumLanes<W>(width, power));
    for (std::int64_t i = 0; i < width; ++i) y[i] = T(static_cast<W>(x[i]) - top - logarithmOfSum);
  } else if constexpr (std::is_same_v<T, W>) {
    // An exponential costs more than all else: it waits in the result for the sum.
    for (std::int64_t i = 0; i < width; ++i) y[i] = power(i);
    const W sum = cpu::sumLanes<W>(width, [y](std::int64_t i) { return y[i]; });
    for (std::int64_t i = 0; i < width; ++i) y[i] /= sum;
  } else {
    const W sum = cpu::sumLanes<W>(width, power);
    for (std::int64_t i = 0; i < width; ++i) y[i] = T(power(i) / sum);
  }
}

template <class T>
LACUNA_RT_EVERY_WIDTH void softmaxGradRow(T* dx, const T* dy, const T* y, std::int64_t width,
                                          bool logarithm) {
  using W = WideT<T>;
  const auto slope = [dy](std::int64_t i) { return static_cast<W>(dy[i]); };
  const auto value = [y](std::int64_t i) { return static_cast<W>(y[i]); };
  if (logarithm) {
    const W sum = cpu::sumLanes<W>(width, slope);
    for (std::int64_t i = 0; i < width; ++i) dx[i] = T(slope(i) - cpu::fastExp(value(i)) * sum);
  } else {
    const W sum =
        cpu::sumLanes<W>(width, [slope, value](std::int64_t i) { return slope(i) * value(i); });
    for (std::int64_t i = 0; i < width; ++i) dx[i] = T(value(i) * (slope(i) - sum));
  }
}

/// The divisor of a mean: the number of targets that count, or the sum of the weights of their
/// classes.
template <class W>
double totalOf(const View& target, const W* weights, std::int64_t classes, std::int64_t ignore) {
  const auto* labels = static_cast<const std::int64_t*>(target.data);
  const std::int64_t rows = target.shape.numel();
  if (weights == nullptr)
    return static_cast<double>(rows - std::count(labels, labels + rows, ignore));
  double total = 0;
  for (std::int64_t r = 0; r < rows; ++r) {
    // A label that is no class was an error of the forward.
    if (labels[r] != ignore && labels[r] >= 0 && labels[r] < classes)
      total += static_cast<double>(weights[labels[r]]);
  }
  return total;
}

void checkLabels(const std::int64_t* labels, std::int64_t rows, std::int64_t classes,
                 std::int64_t ignore) {
  for (std::int64_t r = 0; r < rows; ++r) {
    if (labels[r] == ignore || (labels[r] >= 0 && labels[r] < classes)) continue;
    throw Error("cross_entropy: target " + std::to_string(labels[r]) + " of sample " +
                std::to_string(r) + " is not one of " + std::to_string(classes) + " classes");
  }
}

template <class T>
double lossOfRow(const T* logs, const WideT<T>* weights, std::int64_t classes, std::int64_t label,
                 double smoothing) {
  const auto at = [logs, weights](std::int64_t c) {
    const auto value = static_cast<double>(static_cast<WideT<T>>(logs[c]));
    return weights == nullptr ? value : value * static_cast<double>(weights[c]);
  };
  double loss = -(1 - smoothing) * at(label);
  for (std::int64_t c = 0; smoothing != 0 && c < classes; ++c)
    loss -= smoothing / static_cast<double>(classes) * at(c);
  return loss;
}

/// The probability that a class should have: all, or what smoothing leaves it, times its weight if
/// there are any.
template <class W>
struct Wanted {
  const W* weights;
  std::int64_t label;
  W floor, rest;

  W operator()(std::int64_t c) const {
    const W plain = floor + (c == label ? rest : W(0));
    return weights == nullptr ? plain : plain * weights[c];
  }
};

template <class T>
LACUNA_RT_EVERY_WIDTH void crossEntropyGradRow(T* to, const T* logs, std::int64_t classes,
                                               Wanted<WideT<T>> wanted, WideT<T> scale) {
  using W = WideT<T>;
  const W all = wanted.weights == nullptr ? W(1) : cpu::sumLanes<W>(classes, wanted);
  const auto slope = [logs, all, scale](std::int64_t c, W want) {
    return T((cpu::fastExp(static_cast<W>(logs[c])) * all - want) * scale);
  };
  const T ofLabel = slope(wanted.label, wanted(wanted.label));
  if (wanted.weights == nullptr) {
    for (std::int64_t c = 0; c < classes; ++c) to[c] = slope(c, wanted.floor);
  } else {
    for (std::int64_t c = 0; c < classes; ++c) to[c] = slope(c, wanted.floor * wanted.weights[c]);
  }
  to[wanted.label] = ofLabel;
}

}  // namespace

void kernel::softmax(const View& out, const View& x, bool logarithm) {
  cpu::dispatchFloating(x.dtype, [&](auto tag) {
    using T = decltype(tag);
    const Rows rows = rowsOf(x);
    parallelFor(rows.count, rows.grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) {
        logSoftmaxRow(static_cast<T*>(out.data) + r * rows.width,
                      static_cast<const T*>(x.data) + r * rows.width, rows.width, logarithm);
      }
    });
  });
}

void kernel::softmaxGrad(const View& gradX, const View& gradOut, const View& out, bool logarithm) {
  cpu::dispatchFloating(out.dtype, [&](auto tag) {
    using T = decltype(tag);
    const Rows rows = rowsOf(out);
    parallelFor(rows.count, rows.grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin * rows.width; r < end * rows.width; r += rows.width) {
        softmaxGradRow(static_cast<T*>(gradX.data) + r, static_cast<const T*>(gradOut.data) + r,
                       static_cast<const T*>(out.data) + r, rows.width, logarithm);
      }
    });
  });
}

void kernel::crossEntropy(const View& loss, const View& logProbabilities, const View& x,
                          const View& target, const View& weight,
                          const CrossEntropyArguments& arguments) {
  softmax(logProbabilities, x, true);
  const auto* labels = static_cast<const std::int64_t*>(target.data);
  const std::int64_t rows = x.shape[0];
  const std::int64_t classes = x.shape[1];
  checkLabels(labels, rows, classes, arguments.ignore);
  cpu::dispatchFloating(x.dtype, [&](auto tag) {
    using T = decltype(tag);
    using W = WideT<T>;
    const auto* weights = static_cast<const W*>(weight.data);
    std::vector<double> losses(static_cast<std::size_t>(rows));
    parallelFor(rows, rowsOf(x).grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) {
        if (labels[r] == arguments.ignore) continue;
        const T* logs = static_cast<const T*>(logProbabilities.data) + r * classes;
        losses[static_cast<std::size_t>(r)] =
            lossOfRow(logs, weights, classes, labels[r], arguments.smoothing);
      }
    });
    double sum = 0;
    for (const double each : losses) sum += each;
    if (arguments.mean) sum /= totalOf(target, weights, classes, arguments.ignore);
    *static_cast<T*>(loss.data) = T(static_cast<W>(sum));
  });
}

void kernel::crossEntropyGrad(const View& gradX, const View& gradLoss, const View& logProbabilities,
                              const View& target, const View& weight,
                              const CrossEntropyArguments& arguments) {
  const auto* labels = static_cast<const std::int64_t*>(target.data);
  const std::int64_t classes = gradX.shape[1];
  cpu::dispatchFloating(gradX.dtype, [&](auto tag) {
    using T = decltype(tag);
    using W = WideT<T>;
    const auto* weights = static_cast<const W*>(weight.data);
    const double total = arguments.mean ? totalOf(target, weights, classes, arguments.ignore) : 1.0;
    const double share = total == 0 ? 0 : 1 / total;
    const W scale = static_cast<W>(*static_cast<const T*>(gradLoss.data)) * static_cast<W>(share);
    const W floor = static_cast<W>(arguments.smoothing / static_cast<double>(classes));
    const W rest = static_cast<W>(1 - arguments.smoothing);
    parallelFor(gradX.shape[0], rowsOf(gradX).grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) {
        T* to = static_cast<T*>(gradX.data) + r * classes;
        const T* logs = static_cast<const T*>(logProbabilities.data) + r * classes;
        if (labels[r] == arguments.ignore) {
          std::fill(to, to + classes, T(W(0)));
        } else {
          crossEntropyGradRow(to, logs, classes, Wanted<W>{weights, labels[r], floor, rest}, scale);
        }
      }
    });
  });
}

}  // namespace lacuna::rt
