// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/backend.h"
#include "lacuna/runtime/ops.h"
#include "ops/cast.h"
#include "ops/shared.h"
#include "tensor/node.h"

namespace lacuna::rt {

namespace {

const OpInfo kSoftmaxGrad{"softmax_grad"};
const OpInfo kCrossEntropyGrad{"cross_entropy_grad"};

// Recorded gradients of 16-bit types are computed in f32, as the kernels do without recording.
void softmaxBackward(Node& n, const Tensor* g, Tensor* out) {
  const Tensor y = n.unpack(0);
  if (recording()) {
    const Tensor wide = y.to(wideType(y.dtype()));
    const Tensor slope = g[0].to(wide.dtype());
    out[0] = mul(wide, sub(slope, sum(mul(slope, wide), {-1}, true))).to(y.dtype());
    return;
  }
  const Tensor gradient = g[0].contiguous();
  Op op(kSoftmaxGrad, {&gradient, &y});
  out[0] = emptyLike(y);
  op.launch(y.device(), {y.sizeBytes() * 3},
            [to = viewOf(out[0]), from = viewOf(gradient), held = viewOf(y)] {
              kernel::softmaxGrad(to, from, held, false);
            });
}

void logSoftmaxBackward(Node& n, const Tensor* g, Tensor* out) {
  const Tensor y = n.unpack(0);
  if (recording()) {
    const Tensor wide = y.to(wideType(y.dtype()));
    const Tensor slope = g[0].to(wide.dtype());
    out[0] = sub(slope, mul(exp(wide), sum(slope, {-1}, true))).to(y.dtype());
    return;
  }
  const Tensor gradient = g[0].contiguous();
  Op op(kSoftmaxGrad, {&gradient, &y});
  out[0] = emptyLike(y);
  op.launch(y.device(), {y.sizeBytes() * 3},
            [to = viewOf(out[0]), from = viewOf(gradient), held = viewOf(y)] {
              kernel::softmaxGrad(to, from, held, true);
            });
}

Tensor runSoftmax(const OpInfo& info, const Tensor& x, int dim, bool logarithm) {
  needsDefined(info.name.text, "x", x);
  if (takesWide(x)) [[unlikely]]
    return runSoftmax(info, wideOf(x), dim, logarithm);
  const int at = normalizeDim(info.name.text, dim, x.shape());
  if (!isFloating(x.dtype()))
    fail(info.name.text, std::string("needs a floating type, not ") + name(x.dtype()));
  if (x.rank() > 0 && at != x.rank() - 1)
    return runSoftmax(info, x.transpose(at, -1), -1, logarithm).transpose(at, -1);
  const Tensor packed = x.contiguous();
  Op op(info, {&packed});
  Tensor y = emptyLike(packed);
  op.launch(
      x.device(), {x.sizeBytes() * 2, static_cast<std::uint64_t>(x.numel()) * 4},
      [to = viewOf(y), from = viewOf(packed), logarithm] { kernel::softmax(to, from, logarithm); });
  if (Node* node = op.record({&packed}, {&y})) node->saveOutput(y);
  return y;
}

const OpInfo kLogSoftmax{"log_softmax", logSoftmaxBackward};

/// The log-probabilities that a cross entropy kept, as the logSoftmax of its scores: with the
/// scores' edge, but without their memory. Its node has the cross entropy's sequence number, so a
/// backward reaches it after its users and before the makers of the scores.
Tensor differentiableLogs(const Node& n, const Tensor& held) {
  const TensorImpl& impl = *held.impl();
  Tensor logs = makeView(impl.storage, impl.shape, impl.strides, impl.offset, impl.dtype);
  auto node = Ref<Node>::adopt(new Node);
  node->info = &kLogSoftmax;
  node->sequence = n.sequence;
  node->module = n.module;
  node->dtype = held.dtype();
  node->device = held.device();
  node->edges.push_back(n.edges[0]);
  node->outputShapes.push_back(held.shape());
  node->saveOutput(logs);
  if (n.forwardSite) node->forwardSite = std::make_unique<std::string>(*n.forwardSite);
  AutogradMeta& meta = logs.impl()->meta();
  meta.requiresGrad = true;
  meta.gradFn = std::move(node);
  return logs;
}

/// (probabilities · all that is wanted - wanted) · share of the row, from operators that have
/// gradients themselves.
Tensor differentiableGrad(Node& n, const Tensor& gradient) {
  const Tensor held = differentiableLogs(n, n.unpack(0));
  const Tensor logs = held.to(wideType(held.dtype()));
  const Tensor target = n.unpack(1);
  const std::int64_t rows = logs.size(0);
  const std::int64_t classes = logs.size(1);
  const Options like{logs.dtype(), logs.device()};
  const Tensor counts =
      notEqual(target, full({}, static_cast<double>(n.ints[0]), {DType::I64, logs.device()}));
  const Tensor label = where(counts, target, zeros({}, {DType::I64, logs.device()}));
  const double floor = n.doubles[0] / static_cast<double>(classes);
  Tensor wanted = scatter(full({rows, classes}, floor, like), 1, label.view({rows, 1}),
                          full({rows, 1}, floor + 1 - n.doubles[0], like));
  Tensor likely = exp(logs);
  Tensor total = counts.to(DType::F64);
  if (n.saved.size() > 2) {
    const Tensor weight = n.unpack(2);
    wanted = mul(wanted, weight);
    likely = mul(likely, sum(wanted, {1}, true));
    total = mul(total, indexSelect(weight, 0, label).to(DType::F64));
  }
  Tensor share = counts.to(DType::F64);
  if (n.ints[1] != 0) {
    total = sum(total);
    const Tensor nothing = zeros({}, {DType::F64, logs.device()});
    share = where(equal(total, nothing), nothing, div(share, total));
  }
  const Tensor scale = mul(share.to(logs.dtype()).view({rows, 1}), gradient.to(logs.dtype()));
  return mul(sub(likely, wanted), scale).to(held.dtype());
}

void crossEntropyBackward(Node& n, const Tensor* g, Tensor* out) {
  if (recording()) {
    out[0] = differentiableGrad(n, g[0]);
    return;
  }
  const Tensor held = n.unpack(0);
  const Tensor target = n.unpack(1);
  const Tensor weight = n.saved.size() > 2 ? n.unpack(2) : Tensor();
  Op op(kCrossEntropyGrad, {&held});
  out[0] = emptyLike(held);
  const kernel::CrossEntropyArguments arguments{n.doubles[0], n.ints[0], n.ints[1] != 0};
  op.launch(held.device(), {held.sizeBytes() * 2},
            [to = viewOf(out[0]), from = viewOf(g[0]), logs = viewOf(held), labels = viewOf(target),
             w = viewOrNone(weight),
             arguments] { kernel::crossEntropyGrad(to, from, logs, labels, w, arguments); });
}

/// The checks of losses of classes.
void checkClasses(const char* op, const Tensor& scores, const Tensor& target,
                  const Tensor& weight) {
  Shape wanted = scores.shape();
  if (wanted.rank() >= 2) wanted.erase(1);
  if (scores.rank() < 2 || target.shape() != wanted) {
    fail(op, "scores " + scores.shape().toString() + " and targets " + target.shape().toString() +
                 "; expected [n,classes,…] and [n,…]");
  }
  if (target.dtype() != DType::I64)
    fail(op, std::string("targets must be i64, not ") + name(target.dtype()));
  if (!isFloating(scores.dtype()))
    fail(op, std::string("scores must be floating, not ") + name(scores.dtype()));
  sameDevice(op, {&scores, &target, &weight});
  if (!weight.defined()) return;
  const Shape classes{scores.size(1)};
  if (weight.shape() != classes || !isFloating(weight.dtype())) {
    fail(op, std::string("weights ") + name(weight.dtype()) + " " + weight.shape().toString() +
                 " for scores " + scores.shape().toString() +
                 "; expected a floating one for each class, " + classes.toString());
  }
  if (weight.requiresGrad() && recording())
    fail(op, "the weights of classes have no gradient; detach them");
}

/// [n, classes, …] as [rows, classes]; of channels-last pictures that is their memory as it is.
Tensor classesLast(const Tensor& scores) {
  Shape order{0};
  for (int d = 2; d < scores.rank(); ++d) order.push(d);
  order.push(1);
  const std::int64_t classes = scores.size(1);
  const std::int64_t rows = classes == 0 ? 0 : scores.numel() / classes;
  return scores.permute(order).reshape({rows, classes});
}

Tensor reduced(const Tensor& values, Reduction reduction) {
  return reduction == Reduction::Mean ? mean(values) : sum(values);
}

void sameShapes(const char* op, const Tensor& x, const Tensor& target) {
  needsDefined(op, "x, target", x, target);
  if (x.shape() != target.shape()) {
    fail(op, "prediction " + x.shape().toString() + " and target " + target.shape().toString() +
                 " differ");
  }
}

void checkPositiveWeight(const Tensor& x, const Tensor& weight) {
  const char* op = "bce_with_logits";
  sameDevice(op, {&x, &weight});
  if (broadcast(op, x.shape(), weight.shape()) != x.shape() || !isFloating(weight.dtype())) {
    fail(op, std::string("positive weights ") + name(weight.dtype()) + " " +
                 weight.shape().toString() + " for predictions " + x.shape().toString() +
                 "; expected floating ones that stretch to them");
  }
}

}  // namespace

Tensor softmax(const Tensor& x, int dim) {
  static const OpInfo kInfo{"softmax", softmaxBackward};
  return runSoftmax(kInfo, x, dim, false);
}

Tensor logSoftmax(const Tensor& x, int dim) {
  return runSoftmax(kLogSoftmax, x, dim, true);
}

Tensor crossEntropy(const Tensor& scores, const Tensor& target, Reduction reduction,
                    double labelSmoothing, std::int64_t ignore, const Tensor& weight) {
  needsDefined("cross_entropy", "scores, target", scores, target);
  static const OpInfo kInfo{"cross_entropy", crossEntropyBackward};
  if (takesWide(scores)) [[unlikely]]
    return crossEntropy(wideOf(scores), target, reduction, labelSmoothing, ignore, weight);
  checkClasses("cross_entropy", scores, target, weight);
  if (!(labelSmoothing >= 0 && labelSmoothing <= 1))
    fail("cross_entropy",
         "the label smoothing " + std::to_string(labelSmoothing) + " must lie in [0, 1]");
  if (scores.rank() > 2)
    return crossEntropy(classesLast(scores), target.reshape({target.numel()}), reduction,
                        labelSmoothing, ignore, weight);
  const Tensor x = scores.contiguous();
  const Tensor labels = target.contiguous();
  const Tensor weights =
      weight.defined() ? weight.detach().to(wideType(x.dtype())).contiguous() : Tensor();
  Op op(kInfo, {&x, &labels});
  const kernel::CrossEntropyArguments arguments{labelSmoothing, ignore,
                                                reduction == Reduction::Mean};
  Tensor logs = emptyLike(x);
  Tensor loss = empty({}, {x.dtype(), x.device()});
  op.launch(x.device(), {x.sizeBytes() * 2, static_cast<std::uint64_t>(x.numel()) * 4},
            [to = viewOf(loss), held = viewOf(logs), from = viewOf(x), wanted = viewOf(labels),
             w = viewOrNone(weights),
             arguments] { kernel::crossEntropy(to, held, from, wanted, w, arguments); });
  if (Node* node = op.record({&x, &labels}, {&loss})) {
    node->save(logs);
    node->save(labels);
    if (weights.defined()) node->save(weights);
    node->doubles[0] = labelSmoothing;
    node->ints = {ignore, arguments.mean ? 1 : 0};
  }
  return loss;
}

Tensor nllLoss(const Tensor& logProbabilities, const Tensor& target, Reduction reduction,
               std::int64_t ignore, const Tensor& weight) {
  needsDefined("nll_loss", "logProbabilities, target", logProbabilities, target);
  static const OpInfo kInfo{"nll_loss"};
  if (takesWide(logProbabilities)) [[unlikely]]
    return nllLoss(wideOf(logProbabilities), target, reduction, ignore, weight);
  const CompositeOp op(kInfo, {&logProbabilities, &target});
  checkClasses("nll_loss", logProbabilities, target, weight);
  const Tensor logs =
      logProbabilities.rank() > 2 ? classesLast(logProbabilities) : logProbabilities;
  const Tensor labels = target.reshape({target.numel()});
  const Options index{DType::I64, logs.device()};
  const Options wide{wideType(logs.dtype()), logs.device()};
  const Tensor counts = notEqual(labels, full({}, static_cast<double>(ignore), index));
  const Tensor label = where(counts, labels, zeros({}, index));
  Tensor shares = counts.to(wide.dtype);
  if (weight.defined()) shares = mul(shares, indexSelect(weight.detach().to(wide.dtype), 0, label));
  const Tensor picked = gather(logs, 1, label.unsqueeze(1)).squeeze(1).to(wide.dtype);
  Tensor loss = neg(sum(mul(where(counts, picked, zeros({}, wide)), shares)));
  if (reduction == Reduction::Mean) loss = div(loss, sum(shares));
  return loss.to(logs.dtype());
}

Tensor mseLoss(const Tensor& x, const Tensor& target, Reduction reduction) {
  sameShapes("mse_loss", x, target);
  if (takesWide(x, target)) [[unlikely]]
    return mseLoss(wideOf(x), wideOf(target), reduction);
  return reduced(square(sub(x, target)), reduction);
}

Tensor l1Loss(const Tensor& x, const Tensor& target, Reduction reduction) {
  sameShapes("l1_loss", x, target);
  if (takesWide(x, target)) [[unlikely]]
    return l1Loss(wideOf(x), wideOf(target), reduction);
  return reduced(abs(sub(x, target)), reduction);
}

Tensor bceWithLogits(const Tensor& x, const Tensor& target, Reduction reduction,
                     const Tensor& positiveWeight) {
  sameShapes("bce_with_logits", x, target);
  if (takesWide(x, target)) [[unlikely]]
    return bceWithLogits(wideOf(x), wideOf(target), reduction, positiveWeight);
  // log(1 + e^-|x|) + ((x ≥ 0) - t) · x: no large numbers that cancel, on either side. Where x is 0
  // the two kinks have the same sign, and the gradient is right there too.
  const Tensor positive = greaterEqual(x, zeros({}, {x.dtype(), x.device()})).to(x.dtype());
  const Tensor small = softplus(mul(x, add(mul(positive, -2), 1)));
  if (!positiveWeight.defined())
    return reduced(add(small, mul(x, sub(positive, target))), reduction);
  checkPositiveWeight(x, positiveWeight);
  // The same with weights of the two answers; each is exact where the target is 0 or 1.
  const Tensor yes = mul(target, positiveWeight.to(x.dtype()));
  const Tensor no = sub(ones({}, {x.dtype(), x.device()}), target);  // which may be bool
  const Tensor slope = sub(mul(positive, no), mul(add(neg(positive), 1), yes));
  return reduced(add(mul(add(no, yes), small), mul(x, slope)), reduction);
}

}  // namespace lacuna::rt
