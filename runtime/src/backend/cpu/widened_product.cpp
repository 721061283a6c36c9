// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/widened_product.h"

#include <algorithm>
#include <array>

#include "backend/cpu/widened.h"

namespace lacuna::rt::cpu {

namespace {

/// Sizes of a block, or places of one: of matrices, and of rows, columns and depth in them.
struct Extents {
  std::int64_t matrices, rows, columns, depth;
};

// Some 3.5 MiB in all. An element is widened once for the rows, or the columns, of a block, which
// is some 1 % of the arithmetic that it is used for.
constexpr Extents kMost{1, 256, 512, 1024};
constexpr std::int64_t kMostElements =
    kMost.rows * kMost.depth + kMost.depth * kMost.columns + kMost.rows * kMost.columns;

bool isStretched(const View& view, int dim) {
  return view.strides[dim] == 0 && view.shape[dim] != 1;
}

/// The product as blocks see it: its last batch dimension and its matrices.
Extents extentsOf(const View& out, const View& a) {
  const int rank = out.shape.rank();
  return {rank > 2 ? out.shape[rank - 3] : 1, out.shape[rank - 2], out.shape[rank - 1],
          a.shape[rank - 1]};
}

/// Several whole matrices where they are small, else a part of one. Depends on shapes alone, so
/// that equal runs give equal numbers.
Extents blockOf(const Extents& all) {
  Extents block{1, std::min(all.rows, kMost.rows), std::min(all.columns, kMost.columns),
                std::min(all.depth, kMost.depth)};
  const bool whole =
      block.rows == all.rows && block.columns == all.columns && block.depth == all.depth;
  const std::int64_t each =
      block.rows * block.depth + block.depth * block.columns + block.rows * block.columns;
  if (whole) block.matrices = std::clamp<std::int64_t>(kMostElements / each, 1, all.matrices);
  return block;
}

/// A block of one operand in f32, its matrices in the order that those of `like` have. One that
/// stands for many is there once.
View wideBlock(Widening& widening, const View& like, std::int64_t matrices, std::int64_t rows,
               std::int64_t columns) {
  const int rank = like.shape.rank();
  const bool byColumns = like.strides[rank - 1] != 1 && like.strides[rank - 2] == 1;
  const bool once = rank > 2 && isStretched(like, rank - 3);
  return widening.add({matrices, rows, columns},
                      {once ? 0 : rows * columns, byColumns ? 1 : columns, byColumns ? rows : 1});
}

/// The operands of one block in f32, in memory that starts at `widening`'s next place.
struct WideBlock {
  View out, a, b;
  WideBlock(Widening& widening, const View& left, const View& right, const Extents& size)
      : out(widening.add({size.matrices, size.rows, size.columns},
                         {size.rows * size.columns, size.columns, 1})),
        a(wideBlock(widening, left, size.matrices, size.rows, size.depth)),
        b(wideBlock(widening, right, size.matrices, size.depth, size.columns)) {}
};

/// A part of an operand, without the batch dimensions before the last one, which `base` has taken.
View partOf(const View& view, std::int64_t base, std::int64_t matrix, std::int64_t row,
            std::int64_t column, const Shape& shape) {
  const int rank = view.shape.rank();
  const std::int64_t step = rank > 2 ? view.strides[rank - 3] : 0;
  const std::int64_t offset =
      base + matrix * step + row * view.strides[rank - 2] + column * view.strides[rank - 1];
  return {
      static_cast<std::byte*>(view.data) + offset * static_cast<std::int64_t>(itemSize(view.dtype)),
      shape,
      {step, view.strides[rank - 2], view.strides[rank - 1]},
      view.dtype};
}

/// Matrices that stand for many are copied once.
void copyBlock(View to, View from) {
  if (to.strides[0] == 0) to.shape[0] = from.shape[0] = 1;
  kernel::copy(to, from);
}

/// Elements before the matrices with that number among the dimensions before the last batch
/// dimension.
std::int64_t baseOf(const View& view, const Shape& shape, std::int64_t number) {
  std::int64_t base = 0;
  for (int d = shape.rank() - 4; d >= 0; --d) {
    base += number % shape[d] * view.strides[d];
    number /= shape[d];
  }
  return base;
}

/// The blocks along one dimension, first of their common size and then the rest.
template <class F>
void forBlocks(std::int64_t all, std::int64_t most, const F& body) {
  for (std::int64_t at = 0; at < all; at += most) body(at, std::min(most, all - at));
}

class BlockedProduct {
 public:
  BlockedProduct(const View& out, const View& a, const View& b, bool accumulate,
                 const View& workspace)
      : out_(out), a_(a), b_(b), accumulate_(accumulate), workspace_(workspace) {}

  void run() const {
    const Extents all = extentsOf(out_, a_);
    const Extents most = blockOf(all);
    const std::int64_t each = all.matrices * all.rows * all.columns;
    for (std::int64_t number = 0; number < out_.shape.numel() / each; ++number) {
      forBlocks(all.matrices, most.matrices, [&](std::int64_t matrix, std::int64_t matrices) {
        forBlocks(all.columns, most.columns, [&](std::int64_t column, std::int64_t columns) {
          forBlocks(all.rows, most.rows, [&](std::int64_t row, std::int64_t rows) {
            block(number, {matrix, row, column, 0}, {matrices, rows, columns, most.depth},
                  all.depth);
          });
        });
      });
    }
  }

 private:
  /// One block of the result, over the whole depth.
  void block(std::int64_t number, const Extents& at, const Extents& size,
             std::int64_t depth) const {
    const View target = partOf(out_, baseOf(out_, out_.shape, number), at.matrices, at.rows,
                               at.columns, {size.matrices, size.rows, size.columns});
    const std::int64_t baseA = baseOf(a_, out_.shape, number);
    const std::int64_t baseB = baseOf(b_, out_.shape, number);
    View sum;
    forBlocks(depth, size.depth, [&](std::int64_t from, std::int64_t deep) {
      Widening widening(workspace_);
      const WideBlock wide(widening, a_, b_, {size.matrices, size.rows, size.columns, deep});
      sum = wide.out;
      copyBlock(wide.a,
                partOf(a_, baseA, at.matrices, at.rows, from, {size.matrices, size.rows, deep}));
      copyBlock(wide.b, partOf(b_, baseB, at.matrices, from, at.columns,
                               {size.matrices, deep, size.columns}));
      if (accumulate_ && from == 0) kernel::copy(wide.out, target);
      kernel::matmul(wide.out, wide.a, wide.b, accumulate_ || from > 0, widening.rest());
    });
    kernel::copy(target, sum);
  }

  const View &out_, &a_, &b_;
  bool accumulate_;
  const View& workspace_;
};

/// The sizes that blocks have along a dimension: the common one, and that of the last.
std::array<std::int64_t, 2> sizesAlong(std::int64_t all, std::int64_t most) {
  return {most, all % most == 0 ? most : all % most};
}

}  // namespace

std::size_t widenedProductWorkspace(const View& out, const View& a, const View& b,
                                    bool accumulate) {
  const Extents all = extentsOf(out, a);
  const Extents most = blockOf(all);
  std::size_t bytes = 0;
  const auto need = [&](const Extents& size, bool adds) {
    Widening widening;
    const WideBlock wide(widening, a, b, size);
    bytes =
        std::max(bytes, widening.bytes() + kernel::matmulWorkspace(wide.out, wide.a, wide.b, adds));
  };
  for (const std::int64_t matrices : sizesAlong(all.matrices, most.matrices)) {
    for (const std::int64_t rows : sizesAlong(all.rows, most.rows)) {
      for (const std::int64_t columns : sizesAlong(all.columns, most.columns)) {
        need({matrices, rows, columns, most.depth}, accumulate);
        if (all.depth > most.depth)
          for (const std::int64_t depth : sizesAlong(all.depth, most.depth))
            need({matrices, rows, columns, depth}, true);
      }
    }
  }
  return bytes;
}

void widenedProduct(const View& out, const View& a, const View& b, bool accumulate,
                    const View& workspace) {
  BlockedProduct(out, a, b, accumulate, workspace).run();
}

}  // namespace lacuna::rt::cpu
