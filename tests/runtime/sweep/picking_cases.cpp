// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "runtime/sweep/operator_case.h"

namespace lacuna::rt {
namespace {

/// Where the element with this number lies, and the number of the one that lies there.
Shape placeOf(std::int64_t number, const Shape& shape) {
  Shape place = shape;
  for (int d = shape.rank() - 1; d >= 0; --d) {
    place[d] = number % shape[d];
    number /= shape[d];
  }
  return place;
}
std::size_t numberOf(const Shape& place, const Shape& shape) {
  std::int64_t number = 0;
  for (int d = 0; d < shape.rank(); ++d) number = number * shape[d] + place[d];
  return static_cast<std::size_t>(number);
}

/// The values where `from` points to, for each place of `shape`.
Values picked(const Shape& shape, const std::function<double(Shape place)>& from) {
  Values out;
  for (std::int64_t i = 0; i < shape.numel(); ++i) out.push_back(from(placeOf(i, shape)));
  return out;
}

/// A dimension, as it may be given (counted from either end), and counted from the front.
struct Dim {
  int given;
  int at;
};
Dim someDim(SampleRandom& random, int rank) {
  const auto given = static_cast<int>(sizeIn(random, -rank, rank - 1));
  return {given, given < 0 ? given + rank : given};
}

/// An index into a tensor of `shape` along one dimension; along the others it may be shorter.
struct Indexed {
  Shape shape;
  Dim dim;
  Tensor index;
  /// The number of the element that the one at `place` of the index stands for.
  [[nodiscard]] std::size_t target(Shape place, const std::vector<std::int64_t>& values) const {
    place[dim.at] = values[numberOf(place, index.shape())];
    return numberOf(place, shape);
  }
};
/// With `once` no element is meant twice.
Indexed randomIndexed(SampleRandom& random, bool once) {
  const Shape shape = randomShape(random, 1, false);
  const Dim dim = someDim(random, shape.rank());
  Shape size = shape;
  for (int d = 0; d < shape.rank(); ++d)
    size[d] = d == dim.at ? sizeIn(random, 0, once ? shape[d] : 5) : sizeIn(random, 1, shape[d]);
  if (!once) return {shape, dim, indices(random, size, shape[dim.at])};
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < size.numel(); ++i) {
    const Shape place = placeOf(i, size);
    std::int64_t along = 0;
    for (const std::int64_t one : place) along += one;
    values.push_back(along % shape[dim.at]);
  }
  return {shape, dim, fromVector(values, size)};
}

Use gatherUse(SampleRandom& random) {
  const Indexed x = randomIndexed(random, false);
  const auto at = x.index.toVector<std::int64_t>();
  return {{any(random, x.shape)},
          [=](const Inputs& in) { return gather(in[0], x.dim.given, x.index.to(in[0].device())); },
          [=](const std::vector<Values>& v) {
            return picked(x.index.shape(),
                          [&](const Shape& place) { return v[0][x.target(place, at)]; });
          },
          x.index.shape()};
}
Use scatterUse(SampleRandom& random, bool adds) {
  // Without adding, which of several values wins is not defined.
  const Indexed x = randomIndexed(random, !adds);
  const auto at = x.index.toVector<std::int64_t>();
  return {{any(random, x.shape), any(random, x.index.shape())},
          [=](const Inputs& in) {
            const Tensor index = x.index.to(in[0].device());
            return adds ? scatterAdd(in[0], x.dim.given, index, in[1])
                        : scatter(in[0], x.dim.given, index, in[1]);
          },
          [=](const std::vector<Values>& v) {
            Values out = v[0];
            for (std::size_t i = 0; i < at.size(); ++i) {
              double& place =
                  out[x.target(placeOf(static_cast<std::int64_t>(i), x.index.shape()), at)];
              place = adds ? place + v[1][i] : v[1][i];
            }
            return out;
          },
          x.shape};
}
Use indexSelectUse(SampleRandom& random) {
  const Shape shape = randomShape(random, 1, false);
  const Dim dim = someDim(random, shape.rank());
  const Tensor index = indices(random, {sizeIn(random, 0, 6)}, shape[dim.at]);
  const auto at = index.toVector<std::int64_t>();
  Shape result = shape;
  result[dim.at] = index.numel();
  return {{any(random, shape)},
          [=](const Inputs& in) { return indexSelect(in[0], dim.given, index.to(in[0].device())); },
          [=](const std::vector<Values>& v) {
            return picked(result, [&](Shape place) {
              place[dim.at] = at[static_cast<std::size_t>(place[dim.at])];
              return v[0][numberOf(place, shape)];
            });
          },
          result};
}
Use embeddingUse(SampleRandom& random) {
  const Shape table{sizeIn(random, 1, 5), sizeIn(random, 1, 3)};
  const Tensor index = indices(random, randomShape(random), table[0]);
  const auto at = index.toVector<std::int64_t>();
  Shape result = index.shape();
  if (result.rank() == kMaxRank) result.erase(0);
  result.push(table[1]);
  return {{any(random, table)},
          [=](const Inputs& in) { return embedding(in[0], index.to(in[0].device())); },
          [=](const std::vector<Values>& v) {
            Values out;
            for (const std::int64_t row : at) {
              for (std::int64_t i = 0; i < table[1]; ++i)
                out.push_back(v[0][numberOf({row, i}, table)]);
            }
            return out;
          },
          result};
}

Use concatUse(SampleRandom& random) {
  Shape result = randomShape(random, 1, false);
  const Dim dim = someDim(random, result.rank());
  result[dim.at] = 0;
  std::vector<Arranged> parts;
  for (int i = 0; i < 3; ++i) {
    Shape shape = result;
    shape[dim.at] = sizeIn(random, 0, 3);
    parts.push_back(any(random, shape));
  }
  std::vector<Shape> shapes;
  for (const Arranged& part : parts) {
    result[dim.at] += part.shape[dim.at];
    shapes.push_back(part.shape);
  }
  return {parts, [=](const Inputs& in) { return concat(in, dim.given); },
          [=](const std::vector<Values>& v) {
            return picked(result, [&](Shape place) {
              std::size_t part = 0;
              for (; place[dim.at] >= shapes[part][dim.at]; ++part)
                place[dim.at] -= shapes[part][dim.at];
              return v[part][numberOf(place, shapes[part])];
            });
          },
          result};
}
Use stackUse(SampleRandom& random) {
  const Shape shape = randomShape(random);
  const Dim dim = someDim(random, shape.rank() + 1);
  Shape result = shape;
  result.insert(dim.at, 2);
  return {{any(random, shape), any(random, shape)},
          [=](const Inputs& in) { return stack(in, dim.given); },
          [=](const std::vector<Values>& v) {
            return picked(result, [&](Shape place) {
              const auto which = static_cast<std::size_t>(place[dim.at]);
              place.erase(dim.at);
              return v[which][numberOf(place, shape)];
            });
          },
          result};
}
/// The pieces, joined again the other way round.
Use splitUse(SampleRandom& random) {
  const Shape shape = randomShape(random, 1, false);
  const Dim dim = someDim(random, shape.rank());
  const std::int64_t piece = sizeIn(random, 1, 3);
  std::vector<std::int64_t> order;
  for (std::int64_t begin = (shape[dim.at] - 1) / piece * piece; begin >= 0; begin -= piece) {
    for (std::int64_t i = begin; i < std::min(begin + piece, shape[dim.at]); ++i)
      order.push_back(i);
  }
  return {{any(random, shape)},
          [=](const Inputs& in) {
            std::vector<Tensor> pieces = split(in[0], piece, dim.given);
            std::reverse(pieces.begin(), pieces.end());
            return concat(pieces, dim.given);
          },
          [=](const std::vector<Values>& v) {
            return picked(shape, [&](Shape place) {
              place[dim.at] = order[static_cast<std::size_t>(place[dim.at])];
              return v[0][numberOf(place, shape)];
            });
          },
          shape};
}
Use unbindUse(SampleRandom& random) {
  const Shape shape = randomShape(random, 1, false);
  const Dim dim = someDim(random, shape.rank());
  Shape result = shape;
  result.erase(dim.at);
  return {{any(random, shape)},
          [=](const Inputs& in) {
            const std::vector<Tensor> parts = unbind(in[0], dim.given);
            return parts.front() + parts.back();
          },
          [=](const std::vector<Values>& v) {
            return picked(result, [&](Shape place) {
              place.insert(dim.at, 0);
              const double first = v[0][numberOf(place, shape)];
              place[dim.at] = shape[dim.at] - 1;
              return first + v[0][numberOf(place, shape)];
            });
          },
          result};
}

Use selectUse(SampleRandom& random) {
  const Shape shape = randomShape(random, 1, false);
  const Dim dim = someDim(random, shape.rank());
  const std::int64_t index = sizeIn(random, -shape[dim.at], shape[dim.at] - 1);
  Shape result = shape;
  result.erase(dim.at);
  return {{any(random, shape)},
          [=](const Inputs& in) { return in[0].select(dim.given, index); },
          [=](const std::vector<Values>& v) {
            return picked(result, [&](Shape place) {
              place.insert(dim.at, index < 0 ? index + shape[dim.at] : index);
              return v[0][numberOf(place, shape)];
            });
          },
          result};
}
Use sliceUse(SampleRandom& random) {
  const Shape shape = randomShape(random, 1);
  const Dim dim = someDim(random, shape.rank());
  const std::int64_t size = shape[dim.at];
  const std::int64_t begin = sizeIn(random, -size - 1, size + 1);
  const std::int64_t end = sizeIn(random, -size - 1, size + 1);
  const std::int64_t step = sizeIn(random, 1, 3);
  std::vector<std::int64_t> taken;
  for (std::int64_t i = 0; i < size; ++i) {
    const std::int64_t first = std::max<std::int64_t>(0, begin < 0 ? begin + size : begin);
    const std::int64_t last = end < 0 ? end + size : end;
    if (i >= first && i < last && (i - first) % step == 0) taken.push_back(i);
  }
  Shape result = shape;
  result[dim.at] = static_cast<std::int64_t>(taken.size());
  return {{any(random, shape)},
          [=](const Inputs& in) { return in[0].slice(dim.given, begin, end, step); },
          [=](const std::vector<Values>& v) {
            return picked(result, [&](Shape place) {
              place[dim.at] = taken[static_cast<std::size_t>(place[dim.at])];
              return v[0][numberOf(place, shape)];
            });
          },
          result};
}
Use squeezeUse(SampleRandom& random) {
  Shape shape = randomShape(random, 1);
  const Dim dim = someDim(random, shape.rank());
  if (random.below(3) != 0) shape[dim.at] = 1;
  Shape result = shape;
  if (shape[dim.at] == 1) result.erase(dim.at);
  return {{any(random, shape)},
          [=](const Inputs& in) { return in[0].squeeze(dim.given); },
          [](const std::vector<Values>& v) { return v[0]; },
          result};
}
Use unsqueezeUse(SampleRandom& random) {
  const Shape shape = randomShape(random);
  const Dim dim = someDim(random, shape.rank() + 1);
  Shape result = shape;
  result.insert(dim.at, 1);
  return {{any(random, shape)},
          [=](const Inputs& in) { return in[0].unsqueeze(dim.given); },
          [](const std::vector<Values>& v) { return v[0]; },
          result};
}
Use transposeUse(SampleRandom& random) {
  const Shape shape = randomShape(random, 1);
  const Dim a = someDim(random, shape.rank());
  const Dim b = someDim(random, shape.rank());
  Shape result = shape;
  std::swap(result[a.at], result[b.at]);
  return {{any(random, shape)},
          [=](const Inputs& in) { return in[0].transpose(a.given, b.given); },
          [=](const std::vector<Values>& v) {
            return picked(result, [&](Shape place) {
              std::swap(place[a.at], place[b.at]);
              return v[0][numberOf(place, shape)];
            });
          },
          result};
}
Use flattenUse(SampleRandom& random) {
  const Shape shape = randomShape(random, 1);
  Dim from = someDim(random, shape.rank());
  Dim to = someDim(random, shape.rank());
  if (from.at > to.at) std::swap(from, to);
  Shape result;
  for (int d = 0; d < shape.rank(); ++d) {
    if (d > from.at && d <= to.at) {
      result[from.at] *= shape[d];
    } else {
      result.push(shape[d]);
    }
  }
  return {{any(random, shape)},
          [=](const Inputs& in) { return in[0].flatten(from.given, to.given); },
          [](const std::vector<Values>& v) { return v[0]; },
          result};
}
Use viewUse(SampleRandom& random) {
  return {
      {any(random, {sizeIn(random, 1, 3), 4, sizeIn(random, 1, 3)})},
      [](const Inputs& in) {
        const Tensor x = in[0].permute({2, 0, -2}).slice(-1, 0, 4, 3).flatten(0, 1).unsqueeze(0);
        return square(x.expand({2, x.size(1), 2}).contiguous().reshape({-1}));
      },
      {}};
}

}  // namespace

std::vector<OperatorCase> pickingCases() {
  return {
      {"gather", gatherUse, Work::Moves},
      {"scatter", [](SampleRandom& r) { return scatterUse(r, false); }, Work::Moves},
      {"scatter_add", [](SampleRandom& r) { return scatterUse(r, true); }, Work::Moves},
      {"index_select", indexSelectUse, Work::Moves},
      {"embedding", embeddingUse, Work::Moves},
      {"concat", concatUse, Work::Moves},
      {"stack", stackUse, Work::Moves},
      {"split", splitUse, Work::Moves},
      {"unbind", unbindUse, Work::Moves},
      {"select", selectUse, Work::Moves},
      {"slice", sliceUse, Work::Moves},
      {"squeeze", squeezeUse, Work::Moves},
      {"unsqueeze", unsqueezeUse, Work::Moves},
      {"transpose", transposeUse, Work::Moves},
      {"flatten", flattenUse, Work::Moves},
      {"views_of_views", viewUse},
  };
}

}  // namespace lacuna::rt
