// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <oneapi/dnnl/dnnl.h>
#include <algorithm>
#include <cmath>
#include <limits>

#include "backend/cpu/fast_math.h"
#include "backend/cpu/loops.h"
#include "backend/cpu/onednn.h"
#include "backend/nn_kernels.h"

/// Attention head by head, some rows of the score matrix at a time; the backward makes those rows
/// again. A head is the work of one thread, so sums do not depend on the number of threads; each
/// works in a share of the execution's workspace. Halves are widened to f32.
namespace lacuna::rt {

using cpu::WideT;
using kernel::AttentionArguments;

namespace {

constexpr std::int64_t kBlock = 64;  ///< rows of scores at a time

template <class W>
void productByLoop(bool ta, bool tb, std::int64_t m, std::int64_t n, std::int64_t k, W alpha,
                   const W* a, const W* b, bool add, W* c) {
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      W sum = 0;
      for (std::int64_t l = 0; l < k; ++l)
        sum += (ta ? a[l * m + i] : a[i * k + l]) * (tb ? b[j * k + l] : b[l * n + j]);
      c[i * n + j] = alpha * sum + (add ? c[i * n + j] : 0);
    }
  }
}

/// c [m, n] = alpha · a · b (+ c), row-major; a or b transposed.
void product(bool ta, bool tb, std::int64_t m, std::int64_t n, std::int64_t k, float alpha,
             const float* a, const float* b, bool add, float* c) {
  if (m == 0 || n == 0) return;
  if (cpu::inPlainLoops()) return productByLoop(ta, tb, m, n, k, alpha, a, b, add, c);
  if (k == 0) {  // the library refuses it
    if (!add) std::fill(c, c + m * n, 0.0F);
    return;
  }
  const dnnl_status_t status = dnnl_sgemm(ta ? 'T' : 'N', tb ? 'T' : 'N', m, n, k, alpha, a,
                                          ta ? m : k, b, tb ? k : n, add ? 1.0F : 0.0F, c, n);
  if (status != dnnl_success)
    throw Error("oneDNN's product failed with status " + std::to_string(status));
}

void product(bool ta, bool tb, std::int64_t m, std::int64_t n, std::int64_t k, double alpha,
             const double* a, const double* b, bool add, double* c) {
  productByLoop(ta, tb, m, n, k, alpha, a, b, add, c);
}

/// Cuts a piece of memory up, in whole cache lines; without one it only counts.
class Carving {
 public:
  explicit Carving(std::byte* memory = nullptr) : memory_(memory) {}
  template <class W>
  void take(W*& to, std::int64_t count) {
    to = memory_ == nullptr ? nullptr : reinterpret_cast<W*>(memory_ + bytes_);
    bytes_ += cpu::roundedToLines(static_cast<std::size_t>(count) * sizeof(W));
  }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  std::byte* memory_;
  std::size_t bytes_ = 0;
};

struct Sizes {
  std::int64_t rows, keys, features, width;  ///< rows: queries at a time; width: of a value

  Sizes(const View& query, const View& key, std::int64_t valueWidth)
      : rows(std::min(kBlock, query.shape[2])),
        keys(key.shape[2]),
        features(query.shape[3]),
        width(valueWidth) {}
};

/// The memory that a thread works in, for one head after the other.
template <class W>
struct ForwardRoom {
  W *query, *key, *value, *scores, *out;

  ForwardRoom(Carving& from, const Sizes& s) {
    from.take(query, s.rows * s.features);
    from.take(key, s.keys * s.features);
    from.take(value, s.keys * s.width);
    from.take(scores, s.rows * s.keys);
    from.take(out, s.rows * s.width);
  }
  static std::size_t bytes(const Sizes& sizes) {
    Carving counts;
    const ForwardRoom room(counts, sizes);
    return counts.bytes();
  }
};

template <class W>
struct BackwardRoom : ForwardRoom<W> {
  W *gradOut, *slopes, *gradQuery, *gradKey, *gradValue;

  BackwardRoom(Carving& from, const Sizes& s) : ForwardRoom<W>(from, s) {
    from.take(gradOut, s.rows * s.width);
    from.take(slopes, s.rows * s.keys);
    from.take(gradQuery, s.rows * s.features);
    from.take(gradKey, s.keys * s.features);
    from.take(gradValue, s.keys * s.width);
  }
  static std::size_t bytes(const Sizes& sizes) {
    Carving counts;
    const BackwardRoom room(counts, sizes);
    return counts.bytes();
  }
};

/// Rows of `width` from one place to the other, widened or narrowed; steps are from one row to the
/// next.
template <class To, class From>
LACUNA_RT_EVERY_WIDTH void copyRows(To* to, std::int64_t toStep, const From* from,
                                    std::int64_t fromStep, std::int64_t rows, std::int64_t width) {
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t i = 0; i < width; ++i)
      to[r * toStep + i] = To(static_cast<WideT<From>>(from[r * fromStep + i]));
  }
}

template <class T>
struct Head {
  using W = WideT<T>;
  std::int64_t batch, head;

  [[nodiscard]] std::int64_t offset(const View& view) const {
    return batch * view.strides[0] + head * view.strides[1];
  }
  /// Rows of the view, packed and widened.
  void load(W* to, const View& view, std::int64_t begin, std::int64_t end) const {
    const std::int64_t width = view.shape[3];
    const T* from = static_cast<const T*>(view.data) + offset(view);
    if (view.strides[3] == 1)
      return copyRows(to, width, from + begin * view.strides[2], view.strides[2], end - begin,
                      width);
    for (std::int64_t r = begin; r < end; ++r) {
      W* row = to + (r - begin) * width;
      for (std::int64_t i = 0; i < width; ++i)
        row[i] = static_cast<W>(from[r * view.strides[2] + i * view.strides[3]]);
    }
  }
  void store(const View& view, const W* from, std::int64_t begin, std::int64_t end) const {
    const std::int64_t width = view.shape[3];
    T* to = static_cast<T*>(view.data) + offset(view);
    if (view.strides[3] == 1)
      return copyRows(to + begin * view.strides[2], view.strides[2], from, width, end - begin,
                      width);
    for (std::int64_t r = begin; r < end; ++r) {
      const W* row = from + (r - begin) * width;
      for (std::int64_t i = 0; i < width; ++i)
        to[r * view.strides[2] + i * view.strides[3]] = T(row[i]);
    }
  }
};

/// Scores of rows begin … end with mask and causality in them; hidden ones are -infinity.
template <class T>
void scoresOf(WideT<T>* scores, const Head<T>& head, const WideT<T>* query, const WideT<T>* key,
              const View& mask, std::int64_t begin, std::int64_t end, std::int64_t keys,
              std::int64_t features, const AttentionArguments& a) {
  using W = WideT<T>;
  const std::int64_t rows = end - begin;
  product(false, true, rows, keys, features, static_cast<W>(a.scale), query, key, false, scores);
  for (std::int64_t r = 0; r < rows; ++r) {
    W* row = scores + r * keys;
    if (mask.data != nullptr) {
      const T* from =
          static_cast<const T*>(mask.data) + head.offset(mask) + (begin + r) * mask.strides[2];
      for (std::int64_t i = 0; i < keys; ++i) row[i] += static_cast<W>(from[i * mask.strides[3]]);
    }
    if (a.causal)
      std::fill(row + std::min(keys, begin + r + 1), row + keys,
                -std::numeric_limits<W>::infinity());
  }
}

/// Makes probabilities of a row of scores: exp(score - top) · share.
template <class W>
struct Normaliser {
  W top, share;
};

template <class W>
LACUNA_RT_EVERY_WIDTH Normaliser<W> softmaxRow(W* row, std::int64_t keys) {
  const auto at = [row](std::int64_t i) { return row[i]; };
  const W top = cpu::largestOf<W>(keys, at);
  if (top == -std::numeric_limits<W>::infinity()) {
    // Everything is hidden, so there is nothing to look at; or what is not is no number, which no
    // comparison finds.
    const bool hidden = std::none_of(row, row + keys, [](W score) { return std::isnan(score); });
    const W value = hidden ? W(0) : std::numeric_limits<W>::quiet_NaN();
    std::fill(row, row + keys, value);
    return {value, value};
  }
  for (std::int64_t i = 0; i < keys; ++i) row[i] = cpu::fastExp(row[i] - top);
  const W share = 1 / cpu::sumLanes<W>(keys, at);
  for (std::int64_t i = 0; i < keys; ++i) row[i] *= share;
  return {top, share};
}

/// The same, from what the forward found.
template <class W>
LACUNA_RT_EVERY_WIDTH void softmaxAgain(W* row, std::int64_t keys, Normaliser<W> n) {
  for (std::int64_t i = 0; i < keys; ++i) row[i] = cpu::fastExp(row[i] - n.top) * n.share;
}

template <class T>
void forwardHead(const Head<T>& head, const ForwardRoom<WideT<T>>& in, const View& out,
                 const View& sums, const View& query, const View& key, const View& value,
                 const View& mask, const AttentionArguments& a) {
  using W = WideT<T>;
  const std::int64_t queries = query.shape[2];
  const std::int64_t keys = key.shape[2];
  head.load(in.key, key, 0, keys);
  head.load(in.value, value, 0, keys);
  W* sum = static_cast<W*>(sums.data) + (head.batch * query.shape[1] + head.head) * queries * 2;
  for (std::int64_t begin = 0; begin < queries; begin += kBlock) {
    const std::int64_t end = std::min(queries, begin + kBlock);
    const std::int64_t seen =
        a.causal ? std::min(keys, end) : keys;  // later keys are hidden from all of these rows
    head.load(in.query, query, begin, end);
    scoresOf<T>(in.scores, head, in.query, in.key, mask, begin, end, seen, query.shape[3], a);
    for (std::int64_t r = begin; r < end; ++r) {
      const Normaliser<W> found = softmaxRow(in.scores + (r - begin) * seen, seen);
      sum[r * 2] = found.top;
      sum[r * 2 + 1] = found.share;
    }
    product(false, false, end - begin, value.shape[3], seen, W(1), in.scores, in.value, false,
            in.out);
    head.store(out, in.out, begin, end);
  }
}

/// The gradients of some rows of scores, before the scale: p · (g vᵀ - what the row's g and output
/// have in common).
template <class W>
LACUNA_RT_EVERY_WIDTH void slopeOfRow(W* slope, const W* p, std::int64_t keys, const W* g,
                                      const W* out, std::int64_t width) {
  const W along = cpu::sumLanes<W>(width, [g, out](std::int64_t i) { return g[i] * out[i]; });
  for (std::int64_t i = 0; i < keys; ++i) slope[i] = p[i] * (slope[i] - along);
}
template <class W>
void slopesOf(const BackwardRoom<W>& in, std::int64_t rows, std::int64_t keys, std::int64_t width) {
  product(false, true, rows, keys, width, W(1), in.gradOut, in.value, false, in.slopes);
  for (std::int64_t r = 0; r < rows; ++r)
    slopeOfRow(in.slopes + r * keys, in.scores + r * keys, keys, in.gradOut + r * width,
               in.out + r * width, width);
}

template <class T>
void backwardHead(const Head<T>& head, const BackwardRoom<WideT<T>>& in,
                  const kernel::AttentionGradients& gradients, const View& gradOut, const View& out,
                  const View& sums, const View& query, const View& key, const View& value,
                  const View& mask, const AttentionArguments& a) {
  using W = WideT<T>;
  const std::int64_t queries = query.shape[2];
  const std::int64_t keys = key.shape[2];
  const std::int64_t features = query.shape[3];
  const std::int64_t width = gradOut.shape[3];
  const bool ofQuery = gradients.query.data != nullptr;
  const bool ofKey = gradients.key.data != nullptr;
  const bool ofValue = gradients.value.data != nullptr;
  const W scale = static_cast<W>(a.scale);
  head.load(in.key, key, 0, keys);
  if (ofQuery || ofKey) head.load(in.value, value, 0, keys);
  if (ofKey) std::fill_n(in.gradKey, keys * features, W(0));
  if (ofValue) std::fill_n(in.gradValue, keys * width, W(0));
  const W* sum =
      static_cast<const W*>(sums.data) + (head.batch * query.shape[1] + head.head) * queries * 2;
  for (std::int64_t begin = 0; begin < queries; begin += kBlock) {
    const std::int64_t end = std::min(queries, begin + kBlock);
    const std::int64_t rows = end - begin;
    const std::int64_t seen = a.causal ? std::min(keys, end) : keys;
    head.load(in.query, query, begin, end);
    head.load(in.gradOut, gradOut, begin, end);
    scoresOf<T>(in.scores, head, in.query, in.key, mask, begin, end, seen, features, a);
    for (std::int64_t r = 0; r < rows; ++r) {
      const W* found = sum + (begin + r) * 2;
      softmaxAgain(in.scores + r * seen, seen, Normaliser<W>{found[0], found[1]});
    }
    if (ofValue)
      product(true, false, seen, width, rows, W(1), in.scores, in.gradOut, true, in.gradValue);
    if (!ofQuery && !ofKey) continue;
    head.load(in.out, out, begin, end);
    slopesOf<W>(in, rows, seen, width);
    if (ofQuery) {
      product(false, false, rows, features, seen, scale, in.slopes, in.key, false, in.gradQuery);
      head.store(gradients.query, in.gradQuery, begin, end);
    }
    if (ofKey)
      product(true, false, seen, features, rows, scale, in.slopes, in.query, true, in.gradKey);
  }
  if (ofKey) head.store(gradients.key, in.gradKey, 0, keys);
  if (ofValue) head.store(gradients.value, in.gradValue, 0, keys);
}

/// Threads among which the heads are shared out.
std::int64_t workersOf(const View& query) {
  return std::min<std::int64_t>(queueThreadCount(), query.shape[0] * query.shape[1]);
}

/// Bytes of the workspace: as many rooms as there are threads.
template <template <class> class Room>
std::size_t roomBytes(const View& query, const Sizes& sizes) {
  std::size_t bytes = 0;
  cpu::dispatchFloating(query.dtype,
                        [&](auto tag) { bytes = Room<WideT<decltype(tag)>>::bytes(sizes); });
  return bytes * static_cast<std::size_t>(workersOf(query));
}

/// Calls body(head, room) for all heads, each thread with a room of its own.
template <class T, template <class> class Room, class F>
void forHeads(const View& query, const Sizes& sizes, const View& workspace, const F& body) {
  const std::int64_t heads = query.shape[1];
  const std::int64_t all = query.shape[0] * heads;
  const std::int64_t workers = workersOf(query);
  const auto each = static_cast<std::int64_t>(Room<WideT<T>>::bytes(sizes));
  if (workers > 0 && workspace.shape.numel() < workers * each)
    throw Error("the workspace of attention is too small");
  parallelFor(workers, 1, [&](std::int64_t first, std::int64_t past) {
    for (std::int64_t worker = first; worker < past; ++worker) {
      Carving carving(static_cast<std::byte*>(workspace.data) + worker * each);
      const Room<WideT<T>> room(carving, sizes);
      for (std::int64_t i = all * worker / workers; i < all * (worker + 1) / workers; ++i)
        body(Head<T>{i / heads, i % heads}, room);
    }
  });
}

}  // namespace

std::size_t kernel::attentionWorkspace(const View& query, const View& key, const View& value) {
  return roomBytes<ForwardRoom>(query, {query, key, value.shape[3]});
}

std::size_t kernel::attentionGradWorkspace(const View& gradOut, const View& query,
                                           const View& key) {
  return roomBytes<BackwardRoom>(query, {query, key, gradOut.shape[3]});
}

void kernel::attention(const View& out, const View& sums, const View& query, const View& key,
                       const View& value, const View& mask, const AttentionArguments& arguments,
                       const View& workspace) {
  cpu::dispatchFloating(query.dtype, [&](auto tag) {
    using T = decltype(tag);
    forHeads<T, ForwardRoom>(query, {query, key, value.shape[3]}, workspace,
                             [&](const Head<T>& head, const ForwardRoom<WideT<T>>& room) {
                               forwardHead<T>(head, room, out, sums, query, key, value, mask,
                                              arguments);
                             });
  });
}

void kernel::attentionGrad(const AttentionGradients& gradients, const View& gradOut,
                           const View& out, const View& sums, const View& query, const View& key,
                           const View& value, const View& mask, const AttentionArguments& arguments,
                           const View& workspace) {
  cpu::dispatchFloating(query.dtype, [&](auto tag) {
    using T = decltype(tag);
    forHeads<T, BackwardRoom>(query, {query, key, gradOut.shape[3]}, workspace,
                              [&](const Head<T>& head, const BackwardRoom<WideT<T>>& room) {
                                backwardHead<T>(head, room, gradients, gradOut, out, sums, query,
                                                key, value, mask, arguments);
                              });
  });
}

}  // namespace lacuna::rt
