// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "backend/backend.h"
#include "backend/rows.h"
#include "lacuna/runtime/ops.h"
#include "ops/cast.h"
#include "ops/numbers.h"
#include "ops/shared.h"
#include "tensor/layout.h"
#include "tensor/node.h"

namespace lacuna::rt {

using kernel::Binary;
using kernel::Unary;

namespace {

/// Elementwise work on memory that is one row for all operands: a task of few bytes, whatever the
/// rank.
struct BinaryRow {
  void* to;
  void* x;
  void* y;
  std::int64_t count;
  double alpha;
  Binary kind;
  DType dtype;

  void operator()() const { kernel::binaryRow(kind, dtype, to, x, y, count, alpha); }
  void launch(const Op& op, Device device) const {
    const auto bytes = static_cast<std::uint64_t>(count) * itemSize(dtype);
    op.launch(device,
              {3 * bytes, static_cast<std::uint64_t>(count), LACUNA_RT_EXECUTION_COMPUTE,
               count <= kernel::kSmallRow},
              *this);
  }
};

enum class Keep : std::uint8_t { Nothing, Input, Output };

bool takesIntegers(Unary kind) {
  switch (kind) {
    case Unary::Neg:
    case Unary::Abs:
    case Unary::Square:
    case Unary::Relu:
    case Unary::Sign:
    case Unary::Clamp:
    case Unary::PowScalar:
    case Unary::AddScalar:
    case Unary::MulScalar:
    case Unary::LogicalNot:
    case Unary::IsFinite:
      return true;
    default:
      return false;
  }
}

/// As wideOf(), without another handle.
Tensor widened(Tensor x) {
  if (!takesWide(x)) [[likely]]
    return x;
  return x.to(DType::F32);
}

// NOLINTNEXTLINE(performance-unnecessary-value-param): the last handle of x lends the result its
// memory
Tensor runUnary(const OpInfo& info, Unary kind, Tensor x, Keep keep, double p = 0, double q = 0) {
  needsDefined(info.name.text, "x", x);
  Op op(info, {&x});
  const bool test = kind == Unary::LogicalNot || kind == Unary::IsFinite;
  if (isInteger(x.dtype()) && !takesIntegers(kind))
    op.fail(std::string("needs a floating type, not ") + name(x.dtype()));
  if (!test) checkNumbers(op.name(), x.dtype());
  const bool keepsInput = op.needsGrad() && keep == Keep::Input;
  Tensor y = test         ? empty(x.shape(), {DType::Bool, x.device()})
             : keepsInput ? emptyLike(x)
                          : op.donateOrEmptyLike(x);
  op.launch(
      x.device(), {x.sizeBytes() + y.sizeBytes(), static_cast<std::uint64_t>(x.numel())},
      [kind, to = viewOf(y), from = viewOf(x), p, q] { kernel::unary(kind, to, from, p, q); });
  if (test) return y;
  if (Node* node = op.record({&x}, {&y})) {
    node->doubles = {p, q, 0, 0};
    if (keep == Keep::Input) node->save(x);
    if (keep == Keep::Output) node->saveOutput(y);
  }
  return y;
}

/// The general case: memory in any order, operands stretched to a common shape.
Tensor launchBroadcast(const Op& op, Binary kind, const Tensor& a, const Tensor& b, double alpha) {
  sameDevice(op.name(), {&a, &b});
  const Shape shape = broadcast(op.name(), a.shape(), b.shape());
  Tensor out = emptyInOrderOf(shape, kernel::isComparison(kind) ? DType::Bool : a.dtype(), a, b);
  op.launch(
      a.device(),
      {a.sizeBytes() + b.sizeBytes() + out.sizeBytes(), static_cast<std::uint64_t>(out.numel())},
      [kind, to = viewOf(out), x = viewOf(a), y = viewOf(b), alpha] {
        kernel::binary(kind, to, x, y, alpha);
      });
  return out;
}

Tensor runBinary(const OpInfo& info, Binary kind, const Tensor& a, const Tensor& b, bool keepA,
                 bool keepB, double alpha = 1) {
  needsDefined(info.name.text, "a, b", a, b);
  if (a.dtype() != b.dtype()) {
    const DType type = promote(a.dtype(), b.dtype());
    return runBinary(info, kind, a.to(type), b.to(type), keepA, keepB, alpha);
  }
  const bool comparison = kernel::isComparison(kind);
  if (!comparison) checkNumbers(info.name.text, a.dtype());
  const bool row = !comparison && sameRow(*a.impl(), *b.impl());
  Op op(info, {&a, &b}, row && a.numel() <= kernel::kSmallRow);
  Tensor out;
  if (row) [[likely]] {
    out = emptyLikeFlat(*a.impl());
    BinaryRow{dataOf(*out.impl()),
              usedData(*a.impl()),
              usedData(*b.impl()),
              out.numel(),
              alpha,
              kind,
              a.dtype()}
        .launch(op, a.device());
  } else {
    out = launchBroadcast(op, kind, a, b, alpha);
  }
  if (comparison) return out;
  if (Node* node = op.record({&a, &b}, {&out})) {
    node->shapes = {a.shape(), b.shape()};
    node->doubles[0] = alpha;
    if (keepA) node->save(a);
    if (keepB) node->save(b);
  }
  return out;
}

/// gradient ∘ saved, in one pass; only for a backward that is not recorded itself.
Tensor fused(const OpInfo& info, Binary kind, const Tensor& gradient, const Tensor& saved,
             double alpha = 1) {
  return runBinary(info, kind, gradient, saved, false, false, alpha);
}

const OpInfo kFused{"elementwise_grad"};

/// The tensor that takes a gradient's place where there is none. (Times zero, an infinite one would
/// be NaN.)
Tensor noneOf(const Tensor& gradient) {
  return zeros({}, {gradient.dtype(), gradient.device()});
}

#define LACUNA_RT_BACKWARD(function) \
  void function([[maybe_unused]] Node& n, [[maybe_unused]] const Tensor* g, Tensor* out)

LACUNA_RT_BACKWARD(addBackward) {
  if (n.wanted(0)) out[0] = sumTo(g[0], n.shapes[0]);
  if (n.wanted(1)) out[1] = sumTo(n.doubles[0] == 1 ? g[0] : mul(g[0], n.doubles[0]), n.shapes[1]);
}
LACUNA_RT_BACKWARD(subBackward) {
  if (n.wanted(0)) out[0] = sumTo(g[0], n.shapes[0]);
  if (n.wanted(1)) out[1] = neg(sumTo(g[0], n.shapes[1]));
}
LACUNA_RT_BACKWARD(mulBackward) {
  // a is saved where b needs a gradient, and b, after it, where a does.
  if (n.wanted(0)) out[0] = sumTo(mul(g[0], n.unpack(n.needs(1) ? 1 : 0)), n.shapes[0]);
  if (n.wanted(1)) out[1] = sumTo(mul(g[0], n.unpack(0)), n.shapes[1]);
}
LACUNA_RT_BACKWARD(divBackward) {
  const Tensor b = n.unpack(n.needs(1) ? 1 : 0);  // a is saved, before it, where b needs a gradient
  if (n.wanted(0)) out[0] = sumTo(div(g[0], b), n.shapes[0]);
  // Divided twice: the square of b may not fit where the gradient does.
  if (n.wanted(1)) out[1] = sumTo(neg(mul(g[0], div(div(n.unpack(0), b), b))), n.shapes[1]);
}
LACUNA_RT_BACKWARD(powBackward) {
  const Tensor a = n.unpack(0);
  const Tensor b = n.unpack(1);
  const Options like{a.dtype(), a.device()};
  const Tensor none = zeros({}, like);
  const Tensor one = ones({}, like);
  const Tensor atZero = equal(a, none);
  // Zero times what is infinite there is zero: b at 0^0, and the logarithm of zero.
  if (n.wanted(0)) {
    const Tensor exponent = where(logicalAnd(atZero, equal(b, none)), one, b);
    out[0] = sumTo(mul(g[0], mul(b, pow(a, exponent - 1))), n.shapes[0]);
  }
  if (n.wanted(1)) {
    const Tensor base = where(logicalAnd(atZero, greaterEqual(b, none)), one, a);
    out[1] = sumTo(mul(g[0], mul(pow(a, b), log(base))), n.shapes[1]);
  }
}
LACUNA_RT_BACKWARD(extremeBackward) {
  const Tensor a = n.unpack(0);
  const Tensor b = n.unpack(1);
  const Tensor firstWins = n.ints[0] != 0 ? greaterEqual(a, b) : lessEqual(a, b);
  if (n.wanted(0)) out[0] = sumTo(where(firstWins, g[0], noneOf(g[0])), n.shapes[0]);
  if (n.wanted(1)) out[1] = sumTo(where(firstWins, noneOf(g[0]), g[0]), n.shapes[1]);
}
LACUNA_RT_BACKWARD(whereBackward) {
  const Tensor condition = n.unpack(0);
  const Tensor none = noneOf(g[0]);
  if (n.wanted(1)) out[1] = sumTo(where(condition, g[0], none), n.shapes[0]);
  if (n.wanted(2)) out[2] = sumTo(where(condition, none, g[0]), n.shapes[1]);
}
LACUNA_RT_BACKWARD(addScalarBackward) {
  out[0] = g[0];
}
LACUNA_RT_BACKWARD(mulScalarBackward) {
  out[0] = mul(g[0], n.doubles[0]);
}
LACUNA_RT_BACKWARD(divScalarBackward) {
  out[0] = div(g[0], n.doubles[0]);
}
LACUNA_RT_BACKWARD(powScalarBackward) {
  const double e = n.doubles[0];
  if (e == 0) return zeroBackward(n, g, out);
  out[0] = mul(g[0], mul(pow(n.unpack(0), e - 1), e));
}
LACUNA_RT_BACKWARD(negBackward) {
  out[0] = neg(g[0]);
}
LACUNA_RT_BACKWARD(absBackward) {
  out[0] = mul(g[0], sign(n.unpack(0)));
}
LACUNA_RT_BACKWARD(expBackward) {
  out[0] = mul(g[0], n.unpack(0));
}
LACUNA_RT_BACKWARD(logBackward) {
  out[0] = div(g[0], n.unpack(0));
}
LACUNA_RT_BACKWARD(log1pBackward) {
  out[0] = div(g[0], add(n.unpack(0), 1));
}
LACUNA_RT_BACKWARD(sqrtBackward) {
  out[0] = mul(div(g[0], n.unpack(0)), 0.5);
}
LACUNA_RT_BACKWARD(rsqrtBackward) {
  const Tensor y = n.unpack(0);
  out[0] = mul(mul(g[0], mul(square(y), y)), -0.5);
}
LACUNA_RT_BACKWARD(reciprocalBackward) {
  out[0] = neg(mul(g[0], square(n.unpack(0))));
}
LACUNA_RT_BACKWARD(squareBackward) {
  out[0] = mul(mul(g[0], n.unpack(0)), 2);
}
LACUNA_RT_BACKWARD(sinBackward) {
  out[0] = mul(g[0], cos(n.unpack(0)));
}
LACUNA_RT_BACKWARD(cosBackward) {
  out[0] = neg(mul(g[0], sin(n.unpack(0))));
}
LACUNA_RT_BACKWARD(erfBackward) {
  out[0] = mul(mul(g[0], exp(neg(square(n.unpack(0))))), 1.12837916709551257390);
}
/// gradient · slope(saved), from operators that have gradients themselves. 16-bit types compute in
/// f32 and are rounded once, as fused() does it.
template <class Slope>
Tensor timesSlope(const Tensor& gradient, const Tensor& saved, const Slope& slope) {
  const DType type = wideType(saved.dtype());
  const Tensor factor = slope(saved.to(type));
  return mul(gradient.to(type), factor).to(saved.dtype());
}
LACUNA_RT_BACKWARD(tanhBackward) {
  const Tensor y = n.unpack(0);
  out[0] = recording()
               ? timesSlope(g[0], y, [](const Tensor& at) { return add(neg(square(at)), 1); })
               : fused(kFused, Binary::TanhGrad, g[0], y);
}
LACUNA_RT_BACKWARD(sigmoidBackward) {
  const Tensor y = n.unpack(0);
  out[0] = recording()
               ? timesSlope(g[0], y, [](const Tensor& at) { return mul(at, add(neg(at), 1)); })
               : fused(kFused, Binary::SigmoidGrad, g[0], y);
}
LACUNA_RT_BACKWARD(reluBackward) {
  const Tensor y = n.unpack(0);
  out[0] = recording() ? where(greater(y, noneOf(y)), g[0], noneOf(g[0]))
                       : fused(kFused, Binary::ReluGrad, g[0], y);
}
/// The sign of the output is that of the input unless alpha is negative; then the input is kept.
LACUNA_RT_BACKWARD(eluBackward) {
  const Tensor kept = n.unpack(0);
  const double alpha = n.doubles[0];
  if (alpha >= 0 && !recording()) {
    out[0] = fused(kFused, Binary::EluGrad, g[0], kept, alpha);
    return;
  }
  out[0] = timesSlope(g[0], kept, [alpha](const Tensor& at) {
    const Options like{at.dtype(), at.device()};
    const Tensor below = alpha < 0 ? mul(exp(clamp(at, -INFINITY, 0)), alpha) : add(at, alpha);
    return where(greater(at, zeros({}, like)), ones({}, like), below);
  });
}
LACUNA_RT_BACKWARD(geluBackward) {
  const Tensor x = n.unpack(0);
  if (!recording()) {
    out[0] = fused(kFused, Binary::GeluGrad, g[0], x);
    return;
  }
  out[0] = timesSlope(g[0], x, [](const Tensor& at) {
    const Tensor cdf = mul(add(erf(mul(at, M_SQRT1_2)), 1), 0.5);
    const Tensor density = mul(exp(mul(square(at), -0.5)), 0.39894228040143267794);
    return add(cdf, mul(at, density));
  });
}
LACUNA_RT_BACKWARD(geluTanhBackward) {
  const Tensor x = n.unpack(0);
  if (!recording()) {
    out[0] = fused(kFused, Binary::GeluTanhGrad, g[0], x);
    return;
  }
  out[0] = timesSlope(g[0], x, [](const Tensor& at) {
    constexpr double kScale = 0.79788456080286535588;
    const Tensor t = tanh(mul(add(at, mul(mul(square(at), at), 0.044715)), kScale));
    const Tensor slope = mul(add(mul(square(at), 3 * 0.044715), 1), kScale);
    const Tensor inner = mul(mul(at, add(neg(square(t)), 1)), slope);
    return mul(add(add(t, 1), inner), 0.5);
  });
}
LACUNA_RT_BACKWARD(siluBackward) {
  const Tensor x = n.unpack(0);
  if (!recording()) {
    out[0] = fused(kFused, Binary::SiluGrad, g[0], x);
    return;
  }
  out[0] = timesSlope(g[0], x, [](const Tensor& at) {
    const Tensor s = sigmoid(at);
    return mul(s, add(mul(at, add(neg(s), 1)), 1));
  });
}
LACUNA_RT_BACKWARD(softplusBackward) {
  out[0] = mul(g[0], sigmoid(n.unpack(0)));
}
LACUNA_RT_BACKWARD(clampBackward) {
  const Tensor x = n.unpack(0);
  const Options options{x.dtype(), x.device()};
  const Tensor inside = logicalAnd(greaterEqual(x, full({}, n.doubles[0], options)),
                                   lessEqual(x, full({}, n.doubles[1], options)));
  out[0] = where(inside, g[0], noneOf(g[0]));
}

}  // namespace

Tensor add(const Tensor& a, const Tensor& b, double alpha) {
  needsDefined("add", "a, b", a, b);
  static const OpInfo kInfo{"add", addBackward};
  if (alpha != 1 && isInteger(promote(a.dtype(), b.dtype()))) {
    if (!isWhole(alpha))
      fail("add",
           "integers times " + std::to_string(alpha) + " would be cut off; convert them first");
    checkFits("add", alpha, promote(a.dtype(), b.dtype()));
  }
  return runBinary(kInfo, Binary::Add, a, b, false, false, alpha);
}
Tensor sub(const Tensor& a, const Tensor& b) {
  static const OpInfo kInfo{"sub", subBackward};
  return runBinary(kInfo, Binary::Sub, a, b, false, false);
}
Tensor mul(const Tensor& a, const Tensor& b) {
  static const OpInfo kInfo{"mul", mulBackward};
  return runBinary(kInfo, Binary::Mul, a, b, b.requiresGrad(), a.requiresGrad());
}
Tensor div(const Tensor& a, const Tensor& b) {
  needsDefined("div", "a, b", a, b);
  static const OpInfo kInfo{"div", divBackward};
  const DType type = promote(a.dtype(), b.dtype());
  if (isInteger(type)) return div(a.to(DType::F32), b.to(DType::F32));
  return runBinary(kInfo, Binary::Div, a, b, b.requiresGrad(), true);
}
Tensor pow(const Tensor& a, const Tensor& b) {
  if (takesWide(a, b)) [[unlikely]]
    return pow(wideOf(a), wideOf(b));
  static const OpInfo kInfo{"pow", powBackward};
  return runBinary(kInfo, Binary::Pow, a, b, true, true);
}
Tensor maximum(const Tensor& a, const Tensor& b) {
  static const OpInfo kInfo{"maximum", extremeBackward};
  Tensor out = runBinary(kInfo, Binary::Maximum, a, b, true, true);
  if (out.requiresGrad()) out.impl()->autograd->gradFn->ints[0] = 1;
  return out;
}
Tensor minimum(const Tensor& a, const Tensor& b) {
  static const OpInfo kInfo{"minimum", extremeBackward};
  return runBinary(kInfo, Binary::Minimum, a, b, true, true);
}

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  needsDefined("where", "condition, a, b", condition, a, b);
  static const OpInfo kInfo{"where", whereBackward};
  if (a.dtype() != b.dtype()) {
    const DType type = promote(a.dtype(), b.dtype());
    return where(condition, a.to(type), b.to(type));
  }
  Op op(kInfo, {&condition, &a, &b});
  if (condition.dtype() != DType::Bool)
    op.fail(std::string("the condition must be bool, not ") + name(condition.dtype()));
  sameDevice(op.name(), {&condition, &a, &b});
  const Shape shape =
      broadcast(op.name(), condition.shape(), broadcast(op.name(), a.shape(), b.shape()));
  const bool chosenLies =
      a.shape() == shape || b.shape() == shape;  // else the order is that of the condition
  Tensor out =
      emptyInOrderOf(shape, a.dtype(), chosenLies ? a : condition, chosenLies ? b : condition);
  op.launch(a.device(), {a.sizeBytes() + b.sizeBytes() + out.sizeBytes()},
            [to = viewOf(out), c = viewOf(condition), x = viewOf(a), y = viewOf(b)] {
              kernel::where(to, c, x, y);
            });
  if (Node* node = op.record({&condition, &a, &b}, {&out})) {
    node->shapes = {a.shape(), b.shape()};
    node->save(condition);
  }
  return out;
}

#define LACUNA_RT_COMPARISON(function, text, kind)             \
  Tensor function(const Tensor& a, const Tensor& b) {          \
    static const OpInfo kInfo{text};                           \
    return runBinary(kInfo, Binary::kind, a, b, false, false); \
  }
LACUNA_RT_COMPARISON(equal, "equal", Equal)
LACUNA_RT_COMPARISON(notEqual, "not_equal", NotEqual)
LACUNA_RT_COMPARISON(less, "less", Less)
LACUNA_RT_COMPARISON(lessEqual, "less_equal", LessEqual)
LACUNA_RT_COMPARISON(greater, "greater", Greater)
LACUNA_RT_COMPARISON(greaterEqual, "greater_equal", GreaterEqual)
LACUNA_RT_COMPARISON(logicalAnd, "logical_and", And)
LACUNA_RT_COMPARISON(logicalOr, "logical_or", Or)

#define LACUNA_RT_UNARY(function, text, kind, backwardFunction, keep) \
  Tensor function(Tensor x) {                                         \
    static const OpInfo kInfo{text, backwardFunction};                \
    return runUnary(kInfo, Unary::kind, std::move(x), Keep::keep);    \
  }
/// One whose results leave the range of f16, or lose their digits in bf16: within an Autocast it
/// computes in f32.
#define LACUNA_RT_WIDE_UNARY(function, text, kind, backwardFunction, keep)  \
  Tensor function(Tensor x) {                                               \
    static const OpInfo kInfo{text, backwardFunction};                      \
    return runUnary(kInfo, Unary::kind, widened(std::move(x)), Keep::keep); \
  }
LACUNA_RT_UNARY(neg, "neg", Neg, negBackward, Nothing)
LACUNA_RT_UNARY(abs, "abs", Abs, absBackward, Input)
LACUNA_RT_WIDE_UNARY(exp, "exp", Exp, expBackward, Output)
LACUNA_RT_WIDE_UNARY(log, "log", Log, logBackward, Input)
LACUNA_RT_WIDE_UNARY(log1p, "log1p", Log1p, log1pBackward, Input)
LACUNA_RT_UNARY(sqrt, "sqrt", Sqrt, sqrtBackward, Output)
LACUNA_RT_WIDE_UNARY(rsqrt, "rsqrt", Rsqrt, rsqrtBackward, Output)
LACUNA_RT_WIDE_UNARY(reciprocal, "reciprocal", Reciprocal, reciprocalBackward, Output)
LACUNA_RT_WIDE_UNARY(square, "square", Square, squareBackward, Input)
LACUNA_RT_UNARY(sin, "sin", Sin, sinBackward, Input)
LACUNA_RT_UNARY(cos, "cos", Cos, cosBackward, Input)
LACUNA_RT_UNARY(erf, "erf", Erf, erfBackward, Input)
LACUNA_RT_UNARY(tanh, "tanh", Tanh, tanhBackward, Output)
LACUNA_RT_UNARY(sigmoid, "sigmoid", Sigmoid, sigmoidBackward, Output)
LACUNA_RT_UNARY(relu, "relu", Relu, reluBackward, Output)
LACUNA_RT_UNARY(silu, "silu", Silu, siluBackward, Input)
LACUNA_RT_WIDE_UNARY(softplus, "softplus", Softplus, softplusBackward, Input)
LACUNA_RT_UNARY(sign, "sign", Sign, zeroBackward, Nothing)
LACUNA_RT_UNARY(floor, "floor", Floor, zeroBackward, Nothing)
LACUNA_RT_UNARY(ceil, "ceil", Ceil, zeroBackward, Nothing)
LACUNA_RT_UNARY(round, "round", Round, zeroBackward, Nothing)

Tensor logicalNot(const Tensor& x) {
  static const OpInfo kInfo{"logical_not"};
  return runUnary(kInfo, Unary::LogicalNot, x, Keep::Nothing);
}
Tensor isFinite(const Tensor& x) {
  static const OpInfo kInfo{"is_finite"};
  return runUnary(kInfo, Unary::IsFinite, x, Keep::Nothing);
}
Tensor add(const Tensor& a, double b) {
  needsDefined("add_scalar", "a", a);
  static const OpInfo kInfo{"add_scalar", addScalarBackward};
  return runUnary(kInfo, Unary::AddScalar, meeting("add_scalar", a, b), Keep::Nothing, b);
}
Tensor mul(const Tensor& a, double b) {
  needsDefined("mul_scalar", "a", a);
  static const OpInfo kInfo{"mul_scalar", mulScalarBackward};
  return runUnary(kInfo, Unary::MulScalar, meeting("mul_scalar", a, b), Keep::Nothing, b);
}
Tensor div(const Tensor& a, double b) {
  needsDefined("div_scalar", "a", a);
  static const OpInfo kInfo{"div_scalar", divScalarBackward};
  return runUnary(kInfo, Unary::DivScalar, meeting(a, false), Keep::Nothing, b);
}
Tensor pow(const Tensor& a, double exponent) {
  needsDefined("pow_scalar", "a", a);
  static const OpInfo kInfo{"pow_scalar", powScalarBackward};
  Tensor x = meeting(wideOf(a), isWhole(exponent));
  if (isInteger(x.dtype()) && (exponent < 0 || exponent >= 0x1p63))
    fail("pow_scalar", std::string(name(x.dtype())) + " to the power of " +
                           std::to_string(exponent) + "; convert it to a floating type first");
  return runUnary(kInfo, Unary::PowScalar, std::move(x), Keep::Input, exponent);
}
Tensor elu(Tensor x, double alpha) {
  static const OpInfo kInfo{"elu", eluBackward};
  return runUnary(kInfo, Unary::Elu, std::move(x), alpha < 0 ? Keep::Input : Keep::Output, alpha);
}
Tensor gelu(Tensor x, bool tanhApproximation) {
  static const OpInfo kExact{"gelu", geluBackward};
  static const OpInfo kTanh{"gelu", geluTanhBackward};
  return tanhApproximation ? runUnary(kTanh, Unary::GeluTanh, std::move(x), Keep::Input)
                           : runUnary(kExact, Unary::Gelu, std::move(x), Keep::Input);
}
Tensor clamp(Tensor x, double low, double high) {
  needsDefined("clamp", "x", x);
  static const OpInfo kInfo{"clamp", clampBackward};
  x = meeting(std::move(x), std::trunc(low) == low && std::trunc(high) == high);
  return runUnary(kInfo, Unary::Clamp, std::move(x), Keep::Input, low, high);
}

Tensor& Tensor::add_(const Tensor& other, double alpha) {
  needsDefined("add_", "the tensor, other", *this, other);
  static const OpInfo kInfo{"add_", addBackward};
  if (other.dtype() != dtype()) {
    checkKeepsFraction("add_", *this, other);
    return add_(other.to(dtype()), alpha);
  }
  if (overlaps(*this, other)) return add_(other.clone(), alpha);
  Op op(kInfo, {this, &other});
  checkNumbers(op.name(), dtype());
  if (alpha != 1) checkMeets(op.name(), *this, alpha);
  if (device() != other.device()) sameDevice(op.name(), {this, &other});
  if (shape() != other.shape() && broadcast(op.name(), shape(), other.shape()) != shape()) {
    op.fail("the other tensor " + other.shape().toString() + " does not fit into " +
            shape().toString());
  }
  beginInPlaceOnEach(op, *this);
  if (sameRow(*impl_, *other.impl())) {
    void* to = usedData(*impl_);
    BinaryRow{to, to, usedData(*other.impl()), numel(), alpha, Binary::Add, dtype()}.launch(
        op, device());
  } else {
    op.launch(device(), {sizeBytes() * 2 + other.sizeBytes()},
              [to = viewOf(*this), y = viewOf(other), alpha] {
                kernel::binary(Binary::Add, to, to, y, alpha);
              });
  }
  if (Node* node = op.record({this, &other}, {this})) {
    node->shapes = {shape(), other.shape()};
    node->doubles[0] = alpha;
  }
  return *this;
}

Tensor& Tensor::mul_(const Tensor& other) {
  needsDefined("mul_", "the tensor, other", *this, other);
  static const OpInfo kInfo{"mul_"};
  if (other.dtype() != dtype()) {
    checkKeepsFraction("mul_", *this, other);
    return mul_(other.to(dtype()));
  }
  if (overlaps(*this, other)) return mul_(other.clone());
  const Op op(kInfo, {this, &other});
  checkNumbers(op.name(), dtype());
  if (op.needsGrad()) op.fail("it records no gradient; use mul()");
  sameDevice(op.name(), {this, &other});
  if (broadcast(op.name(), shape(), other.shape()) != shape()) {
    op.fail("the other tensor " + other.shape().toString() + " does not fit into " +
            shape().toString());
  }
  beginInPlaceOnEach(op, *this);
  op.launch(device(), {sizeBytes() * 2 + other.sizeBytes()},
            [to = viewOf(*this), y = viewOf(other)] { kernel::binary(Binary::Mul, to, to, y, 1); });
  return *this;
}

Tensor& Tensor::mul_(double factor) {
  needsDefined("mul_", "the tensor", *this);
  static const OpInfo kInfo{"mul_", mulScalarBackward};
  Op op(kInfo, {this});
  checkMeets(op.name(), *this, factor);
  beginInPlaceOnEach(op, *this);
  op.launch(device(), {sizeBytes() * 2},
            [to = viewOf(*this), factor] { kernel::unary(Unary::MulScalar, to, to, factor, 0); });
  if (Node* node = op.record({this}, {this})) node->doubles[0] = factor;
  return *this;
}

}  // namespace lacuna::rt
