// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/runtime/autograd.h"
#include "lacuna/runtime/nn.h"
#include "tensor/tensor_impl.h"

namespace lacuna::rt::nn {

namespace {

[[noreturn]] void refuse(const std::string& name, const std::string& why) {
  fail("Module::to", "the parameter '" + name + "' " + why);
}

void checkConverts(const Module::Named& named) {
  const TensorImpl& impl = *named.tensor.impl();
  if (impl.autograd && impl.autograd->accumulate != nullptr)
    refuse(named.name,
           "waits for a backward in its present type; run that, or drop the loss, first");
  if (impl.storage->useCount() > 1)
    refuse(named.name,
           "shares its memory with another tensor, which would stay as it is; drop or clone() that "
           "first");
}

/// All handles of the parameter see the new values.
void convert(const Tensor& parameter, DType type) {
  TensorImpl& impl = *parameter.impl();
  Tensor fresh = empty(impl.shape, {type, parameter.device(), Role::Parameter});
  fresh.copy_(parameter.detach()).setName(parameter.name());
  dropKeptWeights(parameter);
  impl.storage = fresh.impl()->storage;
  impl.strides = fresh.strides();
  impl.offset = 0;
  impl.contiguous = true;
  impl.dtype = type;
  if (impl.autograd && impl.autograd->grad.defined())
    impl.autograd->grad = impl.autograd->grad.to(type);
}

}  // namespace

void Module::to(DType type) {
  if (!isFloating(type))
    fail("Module::to", std::string("parameters need a floating type, not ") + name(type));
  const NoGrad guard;
  const std::vector<Named> all = namedParameters();
  for (const Named& named : all) {
    if (named.tensor.dtype() != type) checkConverts(named);
  }
  for (const Named& named : all) {
    if (named.tensor.dtype() != type) convert(named.tensor, type);
  }
}

}  // namespace lacuna::rt::nn
