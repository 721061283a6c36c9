// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "lacuna/runtime/random.h"
#include "lacuna/runtime/tensor.h"

/// The operations that a backend must have. A kernel runs on the queue of its device, gets plain
/// views and allocates nothing; shapes and types were checked by the operator that enqueued it.
namespace lacuna::rt {

struct View {
  void* data = nullptr;
  Shape shape;
  Shape strides;
  DType dtype = DType::F32;
};
View viewOf(const Tensor& tensor);

namespace kernel {

enum class Unary : std::uint8_t {
  Neg,
  Abs,
  Exp,
  Log,
  Log1p,
  Sqrt,
  Rsqrt,
  Reciprocal,
  Square,
  Sin,
  Cos,
  Tanh,
  Sigmoid,
  Relu,
  Gelu,
  GeluTanh,
  Silu,
  Softplus,
  Erf,
  Sign,
  Floor,
  Ceil,
  Round,
  Elu,
  Clamp,
  PowScalar,
  AddScalar,
  MulScalar,
  DivScalar,
  LogicalNot,
  IsFinite
};
enum class Binary : std::uint8_t {
  Add,
  Sub,
  Mul,
  Div,
  Pow,
  Maximum,
  Minimum,
  ReluGrad,
  TanhGrad,
  SigmoidGrad,
  GeluGrad,
  GeluTanhGrad,
  SiluGrad,
  EluGrad,
  Equal,
  NotEqual,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  And,
  Or
};
inline bool isComparison(Binary op) {
  return op >= Binary::Equal;
}
enum class Reduce : std::uint8_t { Sum, Mean, Max, Min };

void fill(const View& out, double value);
void arange(const View& out);
/// Converts and broadcasts (zero strides of `from`).
void copy(const View& out, const View& from);
void unary(Unary op, const View& out, const View& x, double p, double q);
/// a and b are broadcast by zero strides; out has their type, or bool for comparisons. Add and Sub
/// scale b by alpha.
void binary(Binary op, const View& out, const View& a, const View& b, double alpha);
/// Adds x, of a 16-bit type, to a sum of its shape in f32.
void addWidened(const View& sum, const View& x);
void where(const View& out, const View& condition, const View& a, const View& b);
/// out has x's rank, with size 1 where it was reduced.
/// The sum of integers is i64, their mean f32; else out has x's type.
void reduce(Reduce op, const View& out, const View& x);
void argReduce(bool max, const View& out, const View& x, int dim);
/// Batched: [.., m, k] × [.., k, n] of any strides; out contiguous. Adds to out when `accumulate`.
void matmul(const View& out, const View& a, const View& b, bool accumulate, const View& workspace);
/// Bytes that it works in beside these, which it is given as a view of them (of nothing, where
/// there are none). May be asked on any thread.
std::size_t matmulWorkspace(const View& out, const View& a, const View& b, bool accumulate);
void uniform(const View& out, RandomState state, double low, double high);
void normal(const View& out, RandomState state, double mean, double deviation);
void randint(const View& out, RandomState state, std::int64_t low, std::int64_t high);

/// Over the last dimension of contiguous views.
void softmax(const View& out, const View& x, bool logarithm);
void softmaxGrad(const View& gradX, const View& gradOut, const View& out, bool logarithm);
struct CrossEntropyArguments {
  double smoothing;
  std::int64_t ignore;
  bool mean;
};
/// x [n, c], target i64 [n]; loss [1] is the mean, or sum, over targets other than ignore. The
/// classes' weights [c], f64 for f64 and f32 for all others, may be empty.
void crossEntropy(const View& loss, const View& logProbabilities, const View& x, const View& target,
                  const View& weight, const CrossEntropyArguments& arguments);
void crossEntropyGrad(const View& gradX, const View& gradLoss, const View& logProbabilities,
                      const View& target, const View& weight,
                      const CrossEntropyArguments& arguments);
void indexSelect(const View& out, const View& x, const View& index, int dim);
void indexAdd(const View& out, const View& index, const View& values, int dim);
void gather(const View& out, const View& x, const View& index, int dim);
void scatterAdd(const View& out, const View& index, const View& values, int dim);
/// Writes rather than adds.
void scatter(const View& out, const View& index, const View& values, int dim);

/// One parameter of a fused update; all contiguous, of one type. A parameter of a 16-bit type may
/// have a master in f32: then `parameter`, its state and the arithmetic are f32, and `held` gets
/// the rounded values. A master counts where it rounds to what `held` holds; where the program has
/// written another value there, the update begins at that.
struct UpdateItem {
  void* parameter;
  const void* gradient;
  void* first;   ///< momentum, or Adam's first moment
  void* second;  ///< Adam's second moment
  std::int64_t count;
  double correction1 = 1,
         correction2 = 1;  ///< of Adam's moments, for how often this parameter was updated
  void* held = nullptr;    ///< of `heldType`; null without a master
  DType heldType = DType::F32,
        gradientType = DType::F32;  ///< with a master; the gradient's is heldType or f32
};
struct SgdArguments {
  double rate, momentum, dampening, decay;
  bool nesterov, firstStep;
};
struct AdamArguments {
  double rate, beta1, beta2, epsilon, decay;
  bool decoupled;
};
void sgd(const UpdateItem* items, std::size_t count, DType dtype, const SgdArguments& arguments);
void adam(const UpdateItem* items, std::size_t count, DType dtype, const AdamArguments& arguments);
/// Adam's direction, scaled per parameter to that parameter's norm.
void lamb(const UpdateItem* items, std::size_t count, DType dtype, const AdamArguments& arguments);

/// A gradient to be multiplied, in place or into f32.
struct UnscaleItem {
  void* to;
  const void* from;
  std::int64_t count;
  DType toType, fromType;
};
/// `infinite` becomes 1 where a product is infinite or NaN, and else 0.
void unscale(const UnscaleItem* items, std::size_t count, double factor, float* infinite);

}  // namespace kernel
}  // namespace lacuna::rt
