// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/runtime/shape.h"

#include <algorithm>

#include "lacuna/runtime/error.h"

namespace lacuna::rt {

void fail(const char* where, const std::string& what) {
  throw Error(std::string(where) + ": " + what);
}

Shape::Shape(std::span<const std::int64_t> dims) {
  if (dims.size() > static_cast<std::size_t>(kMaxRank)) {
    fail("shape", std::to_string(dims.size()) + " dimensions, at most 8 are supported");
  }
  std::copy(dims.begin(), dims.end(), dims_.begin());
  rank_ = static_cast<int>(dims.size());
}

Shape Shape::filled(int rank, std::int64_t value) {
  Shape shape;
  for (int i = 0; i < rank; ++i) shape.push(value);
  return shape;
}

void Shape::push(std::int64_t dim) {
  insert(rank_, dim);
}

void Shape::insert(int at, std::int64_t dim) {
  if (rank_ == kMaxRank) fail("shape", "more than 8 dimensions");
  std::copy_backward(dims_.begin() + at, dims_.begin() + rank_, dims_.begin() + rank_ + 1);
  dims_[static_cast<std::size_t>(at)] = dim;
  ++rank_;
}

void Shape::erase(int at) {
  std::copy(dims_.begin() + at + 1, dims_.begin() + rank_, dims_.begin() + at);
  --rank_;
}

Shape Shape::contiguousStrides() const {
  Shape strides = *this;
  std::int64_t step = 1;
  for (int i = rank_ - 1; i >= 0; --i) {
    strides[i] = step;
    step *= std::max<std::int64_t>((*this)[i], 1);
  }
  return strides;
}

std::string Shape::toString() const {
  std::string text = "[";
  for (int i = 0; i < rank_; ++i) text += (i != 0 ? "," : "") + std::to_string((*this)[i]);
  return text + "]";
}

namespace {

/// The size at `back` from the end of a shape that is stretched.
std::int64_t sizeFromEnd(const Shape& shape, int back) {
  return back <= shape.rank() ? shape[shape.rank() - back] : 1;
}

}  // namespace

bool canBroadcast(const Shape& a, const Shape& b) {
  for (int i = 1; i <= std::min(a.rank(), b.rank()); ++i) {
    const std::int64_t left = sizeFromEnd(a, i);
    const std::int64_t right = sizeFromEnd(b, i);
    if (left != right && left != 1 && right != 1) return false;
  }
  return true;
}

Shape broadcast(const char* op, const Shape& a, const Shape& b) {
  if (a == b) return a;
  if (!canBroadcast(a, b))
    fail(op, "shapes " + a.toString() + " and " + b.toString() + " cannot be broadcast together");
  const int rank = std::max(a.rank(), b.rank());
  Shape out = Shape::filled(rank, 1);
  for (int i = 1; i <= rank; ++i) {
    const std::int64_t left = sizeFromEnd(a, i);
    out[rank - i] = left == 1 ? sizeFromEnd(b, i) : left;
  }
  return out;
}

int normalizeDim(const char* op, std::int64_t dim, const Shape& shape, int added) {
  const int span = std::max(shape.rank() + added, 1);
  if (dim < -span || dim >= span) {
    fail(op, "dimension " + std::to_string(dim) + " of " + shape.toString() + "; it must lie in " +
                 std::to_string(-span) + " … " + std::to_string(span - 1));
  }
  return static_cast<int>(dim < 0 ? dim + span : dim);
}

}  // namespace lacuna::rt
