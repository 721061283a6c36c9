// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <oneapi/dnnl/dnnl.h>
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "backend/cpu/fast_math.h"
#include "backend/cpu/loops.h"
#include "backend/nn_kernels.h"

/// Attention head by head, some rows of the score matrix at a time; the backward makes those rows again. A head is the
/// work of one thread, so sums do not depend on the number of threads. Halves are widened to f32.
namespace lacuna::rt {

using cpu::WideT;
using kernel::AttentionArguments;

namespace {

constexpr std::int64_t kBlock = 64;  ///< rows of scores at a time

/// c [m, n] = alpha · a · b (+ c), row-major; a or b transposed.
void product(bool ta, bool tb, std::int64_t m, std::int64_t n, std::int64_t k, float alpha, const float* a,
             const float* b, bool add, float* c) {
  if (m == 0 || n == 0) return;
  if (k == 0) {  // the library refuses it
    if (!add) std::fill(c, c + m * n, 0.0F);
    return;
  }
  const dnnl_status_t status =
      dnnl_sgemm(ta ? 'T' : 'N', tb ? 'T' : 'N', m, n, k, alpha, a, ta ? m : k, b, tb ? k : n, add ? 1.0F : 0.0F, c, n);
  if (status != dnnl_success) throw Error("oneDNN's product failed with status " + std::to_string(status));
}

void product(bool ta, bool tb, std::int64_t m, std::int64_t n, std::int64_t k, double alpha, const double* a,
             const double* b, bool add, double* c) {
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::int64_t l = 0; l < k; ++l)
        sum += (ta ? a[l * m + i] : a[i * k + l]) * (tb ? b[j * k + l] : b[l * n + j]);
      c[i * n + j] = alpha * sum + (add ? c[i * n + j] : 0);
    }
  }
}

template <class T>
struct Head {
  using W = WideT<T>;
  std::int64_t batch, head;

  [[nodiscard]] std::int64_t offset(const View& view) const { return batch * view.strides[0] + head * view.strides[1]; }
  /// Rows of the view, packed and widened.
  void load(std::vector<W>& to, const View& view, std::int64_t begin, std::int64_t end) const {
    const std::int64_t width = view.shape[3];
    to.resize(static_cast<std::size_t>((end - begin) * width));
    const T* from = static_cast<const T*>(view.data) + offset(view);
    for (std::int64_t r = begin; r < end; ++r) {
      W* row = to.data() + (r - begin) * width;
      for (std::int64_t i = 0; i < width; ++i) row[i] = static_cast<W>(from[r * view.strides[2] + i * view.strides[3]]);
    }
  }
  void store(const View& view, const std::vector<W>& from, std::int64_t begin, std::int64_t end) const {
    const std::int64_t width = view.shape[3];
    T* to = static_cast<T*>(view.data) + offset(view);
    for (std::int64_t r = begin; r < end; ++r) {
      const W* row = from.data() + (r - begin) * width;
      for (std::int64_t i = 0; i < width; ++i) to[r * view.strides[2] + i * view.strides[3]] = T(row[i]);
    }
  }
};

/// Scores of rows begin … end with mask and causality in them; hidden ones are -infinity.
template <class T>
void scoresOf(std::vector<WideT<T>>& scores, const Head<T>& head, const std::vector<WideT<T>>& query,
              const std::vector<WideT<T>>& key, const View& mask, std::int64_t begin, std::int64_t end,
              std::int64_t keys, std::int64_t features, const AttentionArguments& a) {
  using W = WideT<T>;
  const std::int64_t rows = end - begin;
  scores.resize(static_cast<std::size_t>(rows * keys));
  product(false, true, rows, keys, features, static_cast<W>(a.scale), query.data(), key.data(), false, scores.data());
  for (std::int64_t r = 0; r < rows; ++r) {
    W* row = scores.data() + r * keys;
    if (mask.data != nullptr) {
      const T* from = static_cast<const T*>(mask.data) + head.offset(mask) + (begin + r) * mask.strides[2];
      for (std::int64_t i = 0; i < keys; ++i) row[i] += static_cast<W>(from[i * mask.strides[3]]);
    }
    if (a.causal) std::fill(row + std::min(keys, begin + r + 1), row + keys, -std::numeric_limits<W>::infinity());
  }
}

/// What makes probabilities of a row of scores: exp(score - top) · share.
template <class W>
struct Normaliser {
  W top, share;
};

template <class W>
LACUNA_RT_EVERY_WIDTH Normaliser<W> softmaxRow(W* row, std::int64_t keys) {
  W top = -std::numeric_limits<W>::infinity();
  for (std::int64_t i = 0; i < keys; ++i) top = std::max(top, row[i]);
  if (top == -std::numeric_limits<W>::infinity()) {
    // Everything is hidden, so there is nothing to look at; or what is not is no number, which no comparison finds.
    const bool hidden = std::none_of(row, row + keys, [](W score) { return std::isnan(score); });
    const W value = hidden ? W(0) : std::numeric_limits<W>::quiet_NaN();
    std::fill(row, row + keys, value);
    return {value, value};
  }
  for (std::int64_t i = 0; i < keys; ++i) row[i] = cpu::fastExp(row[i] - top);
  W sum = 0;
  for (std::int64_t i = 0; i < keys; ++i) sum += row[i];
  const W share = 1 / sum;
  for (std::int64_t i = 0; i < keys; ++i) row[i] *= share;
  return {top, share};
}

/// The same, from what the forward found.
template <class W>
LACUNA_RT_EVERY_WIDTH void softmaxAgain(W* row, std::int64_t keys, Normaliser<W> n) {
  for (std::int64_t i = 0; i < keys; ++i) row[i] = cpu::fastExp(row[i] - n.top) * n.share;
}

template <class T>
void forwardHead(const Head<T>& head, const View& out, const View& sums, const View& query, const View& key,
                 const View& value, const View& mask, const AttentionArguments& a) {
  using W = WideT<T>;
  const std::int64_t queries = query.shape[2];
  const std::int64_t keys = key.shape[2];
  thread_local std::vector<W> q, k, v, scores, result;
  head.load(k, key, 0, keys);
  head.load(v, value, 0, keys);
  W* sum = static_cast<W*>(sums.data) + (head.batch * query.shape[1] + head.head) * queries * 2;
  for (std::int64_t begin = 0; begin < queries; begin += kBlock) {
    const std::int64_t end = std::min(queries, begin + kBlock);
    const std::int64_t seen = a.causal ? std::min(keys, end) : keys;  // later keys are hidden from all of these rows
    head.load(q, query, begin, end);
    scoresOf<T>(scores, head, q, k, mask, begin, end, seen, query.shape[3], a);
    for (std::int64_t r = begin; r < end; ++r) {
      const Normaliser<W> found = softmaxRow(scores.data() + (r - begin) * seen, seen);
      sum[r * 2] = found.top;
      sum[r * 2 + 1] = found.share;
    }
    result.resize(static_cast<std::size_t>((end - begin) * value.shape[3]));
    product(false, false, end - begin, value.shape[3], seen, W(1), scores.data(), v.data(), false, result.data());
    head.store(out, result, begin, end);
  }
}

/// The gradients of some rows of scores, before the scale: p · (g vᵀ - what the row's g and output have in common).
template <class W>
void slopesOf(std::vector<W>& slopes, const std::vector<W>& probabilities, const std::vector<W>& gradOut,
              const std::vector<W>& out, const std::vector<W>& value, std::int64_t rows, std::int64_t keys,
              std::int64_t width) {
  slopes.resize(probabilities.size());
  product(false, true, rows, keys, width, W(1), gradOut.data(), value.data(), false, slopes.data());
  for (std::int64_t r = 0; r < rows; ++r) {
    W along = 0;
    for (std::int64_t i = r * width; i < (r + 1) * width; ++i)
      along += gradOut[static_cast<std::size_t>(i)] * out[static_cast<std::size_t>(i)];
    W* slope = slopes.data() + r * keys;
    const W* p = probabilities.data() + r * keys;
    for (std::int64_t i = 0; i < keys; ++i) slope[i] = p[i] * (slope[i] - along);
  }
}

template <class T>
void backwardHead(const Head<T>& head, const kernel::AttentionGradients& gradients, const View& gradOut,
                  const View& out, const View& sums, const View& query, const View& key, const View& value,
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
  thread_local std::vector<W> q, k, v, g, o, scores, slopes, gradQ, gradK, gradV;
  head.load(k, key, 0, keys);
  if (ofQuery || ofKey) head.load(v, value, 0, keys);
  if (ofKey) gradK.assign(k.size(), W(0));
  if (ofValue) gradV.assign(static_cast<std::size_t>(keys * width), W(0));
  const W* sum = static_cast<const W*>(sums.data) + (head.batch * query.shape[1] + head.head) * queries * 2;
  for (std::int64_t begin = 0; begin < queries; begin += kBlock) {
    const std::int64_t end = std::min(queries, begin + kBlock);
    const std::int64_t rows = end - begin;
    const std::int64_t seen = a.causal ? std::min(keys, end) : keys;
    head.load(q, query, begin, end);
    head.load(g, gradOut, begin, end);
    scoresOf<T>(scores, head, q, k, mask, begin, end, seen, features, a);
    for (std::int64_t r = 0; r < rows; ++r) {
      const W* found = sum + (begin + r) * 2;
      softmaxAgain(scores.data() + r * seen, seen, Normaliser<W>{found[0], found[1]});
    }
    if (ofValue) product(true, false, seen, width, rows, W(1), scores.data(), g.data(), true, gradV.data());
    if (!ofQuery && !ofKey) continue;
    head.load(o, out, begin, end);
    slopesOf<W>(slopes, scores, g, o, v, rows, seen, width);
    if (ofQuery) {
      gradQ.resize(q.size());
      product(false, false, rows, features, seen, scale, slopes.data(), k.data(), false, gradQ.data());
      head.store(gradients.query, gradQ, begin, end);
    }
    if (ofKey) product(true, false, seen, features, rows, scale, slopes.data(), q.data(), true, gradK.data());
  }
  if (ofKey) head.store(gradients.key, gradK, 0, keys);
  if (ofValue) head.store(gradients.value, gradV, 0, keys);
}

template <class T, class F>
void forHeads(const View& query, const F& body) {
  const std::int64_t heads = query.shape[1];
  parallelFor(query.shape[0] * heads, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) body(Head<T>{i / heads, i % heads});
  });
}

}  // namespace

void kernel::attention(const View& out, const View& sums, const View& query, const View& key, const View& value,
                       const View& mask, const AttentionArguments& arguments) {
  cpu::dispatchFloating(query.dtype, [&](auto tag) {
    using T = decltype(tag);
    forHeads<T>(query,
                [&](const Head<T>& head) { forwardHead<T>(head, out, sums, query, key, value, mask, arguments); });
  });
}

void kernel::attentionGrad(const AttentionGradients& gradients, const View& gradOut, const View& out, const View& sums,
                           const View& query, const View& key, const View& value, const View& mask,
                           const AttentionArguments& arguments) {
  cpu::dispatchFloating(query.dtype, [&](auto tag) {
    using T = decltype(tag);
    forHeads<T>(query, [&](const Head<T>& head) {
      backwardHead<T>(head, gradients, gradOut, out, sums, query, key, value, mask, arguments);
    });
  });
}

}  // namespace lacuna::rt
