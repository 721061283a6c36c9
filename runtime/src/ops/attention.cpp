// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "backend/nn_kernels.h"
#include "lacuna/runtime/autograd.h"
#include "lacuna/runtime/ops.h"
#include "ops/cast.h"
#include "ops/shared.h"
#include "tensor/layout.h"
#include "tensor/node.h"

namespace lacuna::rt {

namespace {

using kernel::AttentionArguments;

constexpr double kHidden = -std::numeric_limits<double>::infinity();

/// [.., time, features] as [batch, heads, time, features]; without history. `lead` is what stands
/// before time.
View fourDimensions(const Tensor& x, const Shape& lead) {
  View view = viewOf(x);
  view.shape = view.strides = Shape{};
  const int extra = lead.rank();
  for (int d = 0; d < 2 - extra; ++d) {
    view.shape.push(1);
    view.strides.push(0);
  }
  for (int d = 0; d < x.rank(); ++d) {
    view.shape.push(x.shape()[d]);
    view.strides.push(x.strides()[d]);
  }
  return view;
}

Shape leadOf(const Tensor& x) {
  Shape lead = x.shape();
  lead.erase(lead.rank() - 1);
  lead.erase(lead.rank() - 1);
  return lead;
}

bool stretchesTo(const Shape& shape, const Shape& wanted) {
  const int extra = wanted.rank() - shape.rank();
  for (int d = 0; d < shape.rank(); ++d) {
    if (extra < 0 || (shape[d] != 1 && shape[d] != wanted[d + extra])) return false;
  }
  return true;
}

View maskView(const Tensor& mask, const Tensor& query, const Tensor& key) {
  if (!mask.defined()) return {};
  Shape shape = leadOf(query);
  shape.push(query.size(-2));
  shape.push(key.size(-2));
  return fourDimensions(mask.detach().expand(shape), leadOf(query));
}

/// Memory for a result shaped like x. Where x has its heads side by side in memory, so has the
/// result: then joining the heads again needs no copy.
Tensor emptyLikeHeads(const Shape& shape, const Tensor& x) {
  const Options options{x.dtype(), x.device()};
  if (shape.rank() != 4 || x.strides()[1] >= x.strides()[2]) return empty(shape, options);
  const std::int64_t token = shape[1] * shape[3];
  return emptyStrided(shape, {shape[2] * token, shape[3], token, 1}, options);
}

/// The memory that the kernel works in comes from the allocator, and ends with the execution.
template <class Bytes>
Tensor workspaceOn(Device device, const Bytes& bytes) {
  return device.type == DeviceType::Cpu ? emptyWorkspace(bytes(), device) : Tensor();
}

Tensor hideLater(const Tensor& scores) {
  const Options options{DType::I64, scores.device()};
  const Tensor later = less(arange(scores.size(-2), options).unsqueeze(1),
                            arange(scores.size(-1), options).unsqueeze(0));
  return where(later, full({}, kHidden, {scores.dtype(), scores.device()}), scores);
}

/// softmax over keys, and zeros for a query from which all of them are hidden.
Tensor probabilitiesOf(const Tensor& scores) {
  if (scores.size(-1) == 0) return scores;
  const Options like{scores.dtype(), scores.device()};
  const Tensor blind = equal(max(scores.detach(), {-1}, true), full({}, kHidden, like));
  const Tensor none = zeros({}, like);
  return where(blind, none, softmax(where(blind, none, scores), -1));
}

/// The values that a mask adds to the scores, in the queries' type: false hides.
Tensor addedBy(const Tensor& mask, DType type) {
  if (mask.dtype() != DType::Bool) return mask.detach().to(type);
  const Options like{type, mask.device()};
  return where(mask.detach(), zeros({}, like), full({}, kHidden, like));
}

// The saved tensors: query, key and sums; value and output where the gradient of the query or the
// key is needed, as it alone depends on them; and the mask, if there is one.
constexpr std::size_t kSums = 2;
constexpr std::size_t kValue = 3;
constexpr std::size_t kOutput = 4;

bool keepsValue(const Node& n) {
  return n.needs(0) || n.needs(1);
}

Tensor keptMask(Node& n) {
  const std::size_t slot = keepsValue(n) ? kOutput + 1 : kValue;
  return n.saved.size() > slot ? n.unpack(slot) : Tensor();
}

/// The gradients as differentiable operators, for gradients of gradients. 16-bit types compute in
/// f32, as without recording.
void recordedAttentionBackward(Node& n, const Tensor& gradOut, Tensor* out) {
  const Tensor given = n.unpack(0);
  const DType type = wideType(given.dtype());
  const Tensor g = gradOut.to(type);
  const Tensor q = given.to(type);
  const Tensor k = n.unpack(1).to(type);
  const double scale = n.doubles[0];
  const Tensor mask = keptMask(n);
  Tensor scores = matmul(q, k.t()) * scale;
  if (mask.defined()) scores = add(scores, mask.to(type));
  if (n.ints[0] != 0) scores = hideLater(scores);
  const Tensor p = probabilitiesOf(scores);
  if (n.wanted(2)) out[2] = matmul(p.t(), g).to(given.dtype());
  if (!n.wanted(0) && !n.wanted(1)) return;
  const Tensor slope = matmul(g, n.unpack(kValue).to(type).t());
  const Tensor inner = mul(p, slope - sum(mul(slope, p), {-1}, true)) * scale;
  if (n.wanted(0)) out[0] = matmul(inner, k).to(given.dtype());
  if (n.wanted(1)) out[1] = matmul(inner.t(), q).to(given.dtype());
}

/// The scores are always made again; the rest is for the gradients that are asked for.
Work gradientWork(const Node& n, const Tensor& gradOut, const Tensor& key) {
  std::uint64_t written = 0;
  for (std::size_t i = 0; i < 3; ++i) written += n.wanted(i) ? 1U : 0U;
  const bool ofScores = n.wanted(0) || n.wanted(1);
  const auto product =
      static_cast<std::uint64_t>(gradOut.numel()) * static_cast<std::uint64_t>(key.size(-2)) * 2;
  return {gradOut.sizeBytes() * ((ofScores ? 5U : 3U) + written),
          product * ((ofScores ? 2U : 1U) + written)};
}

void attentionBackward(Node& n, const Tensor* g, Tensor* out) {
  if (recording()) return recordedAttentionBackward(n, g[0], out);
  static const OpInfo kInfo{"attention_grad"};
  const Op op(kInfo, {&g[0]});
  const Tensor query = n.unpack(0);
  const Tensor key = n.unpack(1);
  const Tensor sums = n.unpack(kSums);
  const Tensor value = keepsValue(n) ? n.unpack(kValue) : Tensor();
  const Tensor result = keepsValue(n) ? n.unpack(kOutput) : Tensor();
  const Tensor mask = keptMask(n);
  const Shape lead = leadOf(query);
  Shape valueShape = key.shape();
  valueShape[valueShape.rank() - 1] = g[0].size(-1);
  if (n.wanted(0)) out[0] = emptyLikeHeads(query.shape(), query);
  if (n.wanted(1)) out[1] = emptyLikeHeads(key.shape(), key);
  if (n.wanted(2)) out[2] = emptyLikeHeads(valueShape, value.defined() ? value : key);
  const auto viewOrNothing = [&lead](const Tensor& x) {
    return x.defined() ? fourDimensions(x, lead) : View{};
  };
  const AttentionArguments arguments{n.doubles[0], n.ints[0] != 0};
  const View gradOut = fourDimensions(g[0], lead), q = fourDimensions(query, lead),
             k = fourDimensions(key, lead);
  const Tensor workspace =
      workspaceOn(g[0].device(), [&] { return kernel::attentionGradWorkspace(gradOut, q, k); });
  op.launch(
      g[0].device(), gradientWork(n, g[0], key),
      [grads = kernel::AttentionGradients{viewOrNothing(out[0]), viewOrNothing(out[1]),
                                          viewOrNothing(out[2])},
       gradOut, held = viewOrNothing(result), s = viewOf(sums), q, k, v = viewOrNothing(value),
       m = maskView(mask, query, key), arguments, memory = viewOrNone(workspace)] {
        kernel::attentionGrad(grads, gradOut, held, s, q, k, v, m, arguments, memory);
      });
}

void check(const Op& op, const Tensor& query, const Tensor& key, const Tensor& value,
           const Tensor& mask) {
  const auto shapes = [&] {
    return "query " + query.shape().toString() + ", key " + key.shape().toString() + ", value " +
           value.shape().toString();
  };
  if (query.rank() < 2 || query.rank() != key.rank() || key.rank() != value.rank() ||
      leadOf(query) != leadOf(key) || leadOf(key) != leadOf(value) ||
      query.size(-1) != key.size(-1) || key.size(-2) != value.size(-2)) {
    op.fail(shapes() +
            " do not fit: they must be [..,time,features], keys as long as queries and as many as "
            "values");
  }
  if (query.dtype() != key.dtype() || key.dtype() != value.dtype() || !isFloating(query.dtype()))
    op.fail(std::string("query is ") + name(query.dtype()) + ", key " + name(key.dtype()) +
            ", value " + name(value.dtype()) + "; they must be the same floating type");
  if (query.device() != key.device() || key.device() != value.device())
    op.fail("query is on " + toString(query.device()) + ", key on " + toString(key.device()) +
            ", value on " + toString(value.device()));
  if (!mask.defined()) return;
  Shape scores = leadOf(query);
  scores.push(query.size(-2));
  scores.push(key.size(-2));
  if (!stretchesTo(mask.shape(), scores))
    op.fail("the mask " + mask.shape().toString() + " does not stretch to the scores " +
            scores.toString());
  if (mask.device() != query.device())
    op.fail("query is on " + toString(query.device()) + ", the mask on " + toString(mask.device()));
  if (mask.dtype() != DType::Bool && !isFloating(mask.dtype()))
    op.fail(std::string("the mask is ") + name(mask.dtype()) +
            "; it must be bool (true is seen) or floating (added)");
  if (mask.requiresGrad() && recording()) op.fail("the mask has no gradient; detach it");
}

}  // namespace

Tensor attention(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
                 bool causal, double scale) {
  needsDefined("attention", "query, key, value", query, key, value);
  static const OpInfo kInfo{"attention", attentionBackward};
  if (takesShort(query, key, value)) [[unlikely]]
    return attention(shortOf(query), shortOf(key), shortOf(value), mask, causal, scale);
  if (query.rank() > 4 && key.rank() == query.rank() && value.rank() == query.rank()) {
    if (mask.defined())
      fail("attention",
           "a mask is taken for up to four dimensions, not " + query.shape().toString());
    const auto flat = [](const Tensor& x) { return x.reshape({1, -1, x.size(-2), x.size(-1)}); };
    Shape shape = query.shape();
    shape[shape.rank() - 1] = value.size(-1);
    return attention(flat(query), flat(key), flat(value), {}, causal, scale).reshape(shape);
  }
  Op op(kInfo, {&query, &key, &value});
  check(op, query, key, value, mask);
  const Shape lead = leadOf(query);
  const Tensor added = mask.defined() ? addedBy(mask, query.dtype()) : Tensor();
  const DType type = wideType(query.dtype());
  Shape shape = query.shape();
  Tensor sums = empty({lead.numel(), query.size(-2), 2}, {type, query.device()});
  shape[shape.rank() - 1] = value.size(-1);
  Tensor out = emptyLikeHeads(shape, query);
  const auto width = static_cast<double>(std::max<std::int64_t>(1, query.size(-1)));
  const AttentionArguments arguments{scale != 0 ? scale : 1 / std::sqrt(width), causal};
  const auto products =
      static_cast<std::uint64_t>(out.numel()) * static_cast<std::uint64_t>(key.size(-2));
  const View q = fourDimensions(query, lead), k = fourDimensions(key, lead),
             v = fourDimensions(value, lead);
  const Tensor workspace =
      workspaceOn(query.device(), [&] { return kernel::attentionWorkspace(q, k, v); });
  op.launch(query.device(), {out.sizeBytes() * 4, products * 4},
            [o = fourDimensions(out, lead), s = viewOf(sums), q, k, v,
             m = maskView(added, query, key), arguments, memory = viewOrNone(workspace)] {
              kernel::attention(o, s, q, k, v, m, arguments, memory);
            });
  if (Node* node = op.record({&query, &key, &value}, {&out})) {
    node->doubles[0] = arguments.scale;
    node->ints[0] = causal ? 1 : 0;
    node->save(query);
    node->save(key);
    node->save(sums);
    if (keepsValue(*node)) {
      node->save(value);
      node->saveOutput(out);
    }
    if (added.defined()) node->save(added);
  }
  return out;
}

}  // namespace lacuna::rt
