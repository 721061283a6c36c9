// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <optional>

#include "backend/backend.h"
#include "lacuna/runtime/ops.h"
#include "lacuna/runtime/random.h"
#include "ops/cast.h"
#include "ops/shared.h"
#include "tensor/layout.h"
#include "tensor/node.h"

namespace lacuna::rt {

namespace {

void checkIndex(const char* op, const Tensor& index) {
  if (index.dtype() != DType::I64)
    fail(op, std::string("the index must be i64, not ") + name(index.dtype()));
}

void indexSelectBackward(Node& n, const Tensor* g, Tensor* out);
void indexAddBackward(Node& n, const Tensor* g, Tensor* out);
const OpInfo kIndexSelect{"index_select", indexSelectBackward};
const OpInfo kIndexAdd{"index_add", indexAddBackward};
const OpInfo kEmbedding{"embedding", indexSelectBackward};

Tensor select(const OpInfo& info, const Tensor& source, int dim, const Tensor& at) {
  checkIndex(info.name.text, at);
  sameDevice(info.name.text, {&source, &at});
  if (source.rank() - 1 + at.rank() > kMaxRank)
    fail(info.name.text, "an index " + at.shape().toString() + " into " +
                             source.shape().toString() + " would give more than " +
                             std::to_string(kMaxRank) + " dimensions");
  const Tensor x = source.contiguous();
  const Tensor index = at.contiguous();
  Op op(info, {&x, &index});
  Shape shape;
  for (int d = 0; d < dim; ++d) shape.push(x.shape()[d]);
  for (const std::int64_t size : index.shape()) shape.push(size);
  for (int d = dim + 1; d < x.rank(); ++d) shape.push(x.shape()[d]);
  Tensor out = empty(shape, {x.dtype(), x.device()});
  op.launch(x.device(), {out.sizeBytes() * 2 + index.sizeBytes()},
            [to = viewOf(out), from = viewOf(x), where = viewOf(index), dim] {
              kernel::indexSelect(to, from, where, dim);
            });
  if (Node* node = op.record({&x}, {&out})) {
    node->shapes = {x.shape()};
    node->ints[0] = dim;
    node->save(index);
  }
  return out;
}

/// Zeros of `shape` plus values at `index` of `dim`: the gradient of select.
Tensor indexAdd(const Shape& shape, int dim, const Tensor& index, const Tensor& given) {
  const Tensor values = given.contiguous();
  Op op(kIndexAdd, {&values, &index});
  Tensor out = zeros(shape, {values.dtype(), values.device()});
  op.launch(out.device(), {out.sizeBytes() + values.sizeBytes() * 2},
            [to = viewOf(out), where = viewOf(index), from = viewOf(values), dim] {
              kernel::indexAdd(to, where, from, dim);
            });
  if (Node* node = op.record({&values}, {&out})) {
    node->ints[0] = dim;
    node->save(index);
  }
  return out;
}

void indexSelectBackward(Node& n, const Tensor* g, Tensor* out) {
  const DType type = g[0].dtype();
  out[0] = indexAdd(n.shapes[0], static_cast<int>(n.ints[0]), n.unpack(0), g[0].to(wideType(type)))
               .to(type);
}
void indexAddBackward(Node& n, const Tensor* g, Tensor* out) {
  out[0] = select(kIndexSelect, g[0], static_cast<int>(n.ints[0]), n.unpack(0));
}

void gatherBackward(Node& n, const Tensor* g, Tensor* out) {
  const DType type = wideType(n.dtype);
  const Tensor none = zeros(n.shapes[0], {type, n.device});
  out[0] = scatterAdd(none, static_cast<int>(n.ints[0]), n.unpack(0), g[0].to(type)).to(n.dtype);
}
void scatterAddBackward(Node& n, const Tensor* g, Tensor* out) {
  if (n.wanted(0)) out[0] = g[0];
  if (n.wanted(1)) out[1] = gather(g[0], static_cast<int>(n.ints[0]), n.unpack(0));
}
void scatterBackward(Node& n, const Tensor* g, Tensor* out) {
  const Tensor index = n.unpack(0);
  const int dim = static_cast<int>(n.ints[0]);
  if (n.wanted(0)) out[0] = scatter(g[0], dim, index, zeros(index.shape(), {n.dtype, n.device}));
  if (n.wanted(1)) out[1] = gather(g[0], dim, index);
}

/// The index must not be larger than what it picks from or places into, except along `dim`.
void checkIndexed(const Op& op, const Tensor& x, int dim, const Tensor& index) {
  checkIndex(op.name(), index);
  if (x.rank() == 0) op.fail("a tensor without dimensions, [], has none to index; view it as [1]");
  bool fits = x.rank() == index.rank();
  for (int d = 0; fits && d < x.rank(); ++d) fits = d == dim || index.shape()[d] <= x.shape()[d];
  if (!fits)
    op.fail("an index " + index.shape().toString() + " along dimension " + std::to_string(dim) +
            " of " + x.shape().toString());
}

Tensor place(const OpInfo& info, bool adds, const Tensor& x, int dim, const Tensor& index,
             const Tensor& values) {
  Op op(info, {&x, &values, &index});
  const int at = normalizeDim(op.name(), dim, x.shape());
  checkIndexed(op, x, at, index);
  if (values.shape() != index.shape() || values.dtype() != x.dtype()) {
    op.fail("values " + values.shape().toString() + " for an index " + index.shape().toString() +
            ", or of another type");
  }
  sameDevice(op.name(), {&x, &index, &values});
  Tensor out = emptyLike(x);
  op.launch(
      x.device(), {x.sizeBytes() * 2 + values.sizeBytes()},
      [to = viewOf(out), base = viewOf(x), where = viewOf(index), from = viewOf(values), at, adds] {
        kernel::copy(to, base);
        adds ? kernel::scatterAdd(to, where, from, at) : kernel::scatter(to, where, from, at);
      });
  if (Node* node = op.record({&x, &values}, {&out})) {
    node->ints[0] = at;
    node->save(index);
  }
  return out;
}

void concatBackward(Node& n, const Tensor* g, Tensor* out) {
  const int dim = static_cast<int>(n.ints[0]);
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < n.shapes.size(); ++i) {
    const std::int64_t end = begin + n.shapes[i][dim];
    if (n.wanted(i)) out[i] = g[0].slice(dim, begin, end);
    begin = end;
  }
}

void unbindBackward(Node& n, const Tensor* g, Tensor* out) {
  out[0] = stack({g, g + n.outputShapes.size()}, static_cast<int>(n.ints[0]));
}

/// x · scale where `kept` is true, and zero elsewhere, whatever x is there.
Tensor keptOf(const Tensor& x, const Tensor& kept, double scale) {
  return where(kept, mul(x, scale), zeros({}, {x.dtype(), x.device()}));
}

void needPartsDefined(const char* op, const std::vector<Tensor>& parts) {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!parts[i].defined()) failUndefined(op, "part " + std::to_string(i));
  }
}

void dropoutBackward(Node& n, const Tensor* g, Tensor* out) {
  out[0] = keptOf(g[0], n.unpack(0), n.doubles[0]);
}

/// Within an Autocast, floating parts of different types in the widest of them; nothing elsewhere.
std::optional<std::vector<Tensor>> inWidestType(const std::vector<Tensor>& parts) {
  if (!tAutocast) [[likely]]
    return std::nullopt;
  const auto fits = [&](const Tensor& part) { return isFloating(part.dtype()); };
  if (!std::all_of(parts.begin(), parts.end(), fits)) return std::nullopt;
  DType type = parts[0].dtype();
  for (const Tensor& part : parts) type = promote(type, part.dtype());
  const auto same = [&](const Tensor& part) { return part.dtype() == type; };
  if (std::all_of(parts.begin(), parts.end(), same)) return std::nullopt;
  std::vector<Tensor> wide;
  for (const Tensor& part : parts) wide.push_back(part.to(type));
  return wide;
}

}  // namespace

Tensor embedding(const Tensor& weight, const Tensor& index) {
  needsDefined("embedding", "weight, index", weight, index);
  if (weight.rank() != 2)
    fail("embedding", "the weight must be [entries,features], not " + weight.shape().toString());
  return select(kEmbedding, weight, 0, index);
}

Tensor indexSelect(const Tensor& x, int dim, const Tensor& index) {
  needsDefined("index_select", "x, index", x, index);
  if (index.rank() != 1)
    fail("index_select", "the index must have one dimension, not " + index.shape().toString());
  if (x.rank() == 0)
    fail("index_select", "a tensor without dimensions, [], has none to index; view it as [1]");
  return select(kIndexSelect, x, normalizeDim("index_select", dim, x.shape()), index);
}

Tensor gather(const Tensor& x, int dim, const Tensor& index) {
  needsDefined("gather", "x, index", x, index);
  static const OpInfo kInfo{"gather", gatherBackward};
  Op op(kInfo, {&x, &index});
  const int at = normalizeDim(op.name(), dim, x.shape());
  checkIndexed(op, x, at, index);
  sameDevice(op.name(), {&x, &index});
  Tensor out = empty(index.shape(), {x.dtype(), x.device()});
  op.launch(x.device(), {out.sizeBytes() * 2 + index.sizeBytes()},
            [to = viewOf(out), from = viewOf(x), where = viewOf(index), at] {
              kernel::gather(to, from, where, at);
            });
  if (Node* node = op.record({&x}, {&out})) {
    node->shapes = {x.shape()};
    node->ints[0] = at;
    node->save(index);
  }
  return out;
}

Tensor scatter(const Tensor& x, int dim, const Tensor& index, const Tensor& values) {
  needsDefined("scatter", "x, index, values", x, index, values);
  static const OpInfo kInfo{"scatter", scatterBackward};
  return place(kInfo, false, x, dim, index, values);
}

Tensor scatterAdd(const Tensor& x, int dim, const Tensor& index, const Tensor& values) {
  needsDefined("scatter_add", "x, index, values", x, index, values);
  static const OpInfo kInfo{"scatter_add", scatterAddBackward};
  const DType type = wideType(x.dtype());
  if (type != x.dtype() && values.dtype() == x.dtype())
    return scatterAdd(x.to(type), dim, index, values.to(type)).to(x.dtype());
  return place(kInfo, true, x, dim, index, values);
}

Tensor concat(const std::vector<Tensor>& parts, int dim) {
  needPartsDefined("concat", parts);
  static const OpInfo kInfo{"concat", concatBackward};
  if (parts.empty()) fail("concat", "no tensors");
  if (const auto wide = inWidestType(parts)) [[unlikely]]
    return concat(*wide, dim);
  std::vector<const Tensor*> inputs;
  for (const Tensor& part : parts) inputs.push_back(&part);
  Op op(kInfo, inputs);
  const int at = normalizeDim(op.name(), dim, parts[0].shape());
  if (parts[0].rank() == 0)
    op.fail("tensors without dimensions, [], have none to be joined along; stack() them");
  Shape shape = parts[0].shape();
  for (std::size_t i = 1; i < parts.size(); ++i) {
    Shape other = parts[i].shape();
    if (other.rank() == shape.rank()) shape[at] += std::exchange(other[at], shape[at]);
    if (other.rank() == shape.rank()) other[at] = shape[at];
    if (other != shape || parts[i].dtype() != parts[0].dtype()) {
      op.fail("part " + std::to_string(i) + " is " + name(parts[i].dtype()) +
              parts[i].shape().toString() + ", part 0 " + name(parts[0].dtype()) +
              parts[0].shape().toString());
    }
  }
  sameDevice(op.name(), inputs);
  const Options options{parts[0].dtype(), parts[0].device()};
  // Pictures stay in the order in which the next convolution reads them.
  const bool pictures = !parts[0].isContiguous() && isChannelsLast(parts[0]);
  Tensor out = pictures ? emptyChannelsLast(shape, options) : empty(shape, options);
  std::vector<std::pair<View, View>> copies;
  std::int64_t begin = 0;
  for (const Tensor& part : parts) {
    const std::int64_t end = begin + part.size(at);
    copies.emplace_back(viewOf(out.slice(at, begin, end)), viewOf(part));
    begin = end;
  }
  op.launch(out.device(), {out.sizeBytes() * 2, 0, LACUNA_RT_EXECUTION_COPY},
            [copies = std::move(copies)] {
              for (const auto& [to, from] : copies) kernel::copy(to, from);
            });
  Tensor* outputs[] = {&out};
  if (Node* node = op.record(inputs, outputs)) {
    node->ints[0] = at;
    for (const Tensor& part : parts) node->shapes.push_back(part.shape());
  }
  return out;
}

Tensor stack(const std::vector<Tensor>& parts, int dim) {
  needPartsDefined("stack", parts);
  if (parts.empty()) fail("stack", "no tensors");
  const Shape& shape = parts[0].shape();
  const int at = normalizeDim("stack", dim, shape, 1);
  if (shape.rank() == kMaxRank)
    fail("stack", shape.toString() + " has " + std::to_string(kMaxRank) +
                      " dimensions, and none may have more");
  std::vector<Tensor> raised;
  raised.reserve(parts.size());
  for (const Tensor& part : parts) {
    if (part.shape() != shape)
      fail("stack", "part " + std::to_string(raised.size()) + " is " + part.shape().toString() +
                        ", part 0 " + shape.toString());
    raised.push_back(part.unsqueeze(at));
  }
  return concat(raised, at);
}

std::vector<Tensor> split(const Tensor& x, std::int64_t size, int dim) {
  needsDefined("split", "x", x);
  if (size < 1) fail("split", "pieces of " + std::to_string(size) + " of " + x.shape().toString());
  const int at = normalizeDim("split", dim, x.shape());
  if (x.rank() == 0) fail("split", "a tensor without dimensions, [], has none to be cut along");
  std::vector<Tensor> pieces;
  for (std::int64_t begin = 0; begin < x.size(at); begin += size)
    pieces.push_back(x.slice(at, begin, std::min(begin + size, x.size(at))));
  return pieces;
}

Tensor dropout(const Tensor& x, double probability, bool training) {
  needsDefined("dropout", "x", x);
  static const OpInfo kInfo{"dropout", dropoutBackward};
  if (!(probability >= 0 && probability < 1))
    fail("dropout", "the probability " + std::to_string(probability) + " must lie in [0, 1)");
  if (!training || probability == 0) return x;
  if (!isFloating(x.dtype()))
    fail("dropout", std::string("needs a floating type, not ") + name(x.dtype()));
  Op op(kInfo, {&x});
  const double scale = 1 / (1 - probability);
  Tensor kept;
  Tensor out;
  {
    const NoGrad guard;
    kept = less(full({}, probability, {DType::F32, x.device()}),
                rand(x.shape(), {DType::F32, x.device()}));
    out = keptOf(x.detach(), kept, scale);
  }
  if (Node* node = op.record({&x}, {&out})) {
    node->doubles[0] = scale;
    node->save(kept);
  }
  return out;
}

std::vector<Tensor> unbind(const Tensor& x, int dim) {
  needsDefined("unbind", "x", x);
  static const OpInfo kInfo{"unbind", unbindBackward};
  const int at = normalizeDim("unbind", dim, x.shape());
  if (x.rank() == 0)
    fail("unbind", "a tensor without dimensions, [], has none to be taken apart along");
  std::vector<Tensor> parts;
  std::vector<Tensor*> outputs;
  {
    const NoGrad guard;
    for (std::int64_t i = 0; i < x.size(at); ++i) parts.push_back(x.select(at, i));
  }
  if (!recording() || !x.requiresGrad() || parts.empty()) return parts;
  for (Tensor& part : parts) outputs.push_back(&part);
  const Tensor* input = &x;
  Op op(kInfo, {&x});
  if (Node* node = op.record({&input, 1}, outputs)) node->ints[0] = at;
  return parts;
}

}  // namespace lacuna::rt
