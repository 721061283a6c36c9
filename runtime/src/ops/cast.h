// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lacuna/runtime/autocast.h"
#include "lacuna/runtime/tensor.h"

/// The work of operators within an Autocast: each names what it takes in another type, and calls
/// itself with that.
namespace lacuna::rt {

extern thread_local constinit bool tAutocast;
extern thread_local constinit DType tAutocastType;  ///< of products, while tAutocast

/// True when these are to be taken in the short type, which one of them has not. None is where one
/// has a type that it must not replace.
template <class... Tensors>
bool takesShort(const Tensors&... inputs) {
  if (!tAutocast) [[likely]]
    return false;
  const auto fits = [](const Tensor& x) {
    return !x.defined() || x.dtype() == DType::F32 || isShort(x.dtype());
  };
  return (fits(inputs) && ...) && ((inputs.defined() && inputs.dtype() != tAutocastType) || ...);
}
/// In the short type. A weight that is used again before it changes is not converted again. The
/// owner that can drop its copy in time keeps it: the scope for a weight with history, the weight's
/// own memory for one without.
Tensor shortOf(const Tensor& x);
/// Lets go what the scope keeps. A backward frees the graph that it belongs to.
void forgetShortCopies();

/// True when one of these is to be taken in f32.
template <class... Tensors>
bool takesWide(const Tensors&... inputs) {
  if (!tAutocast) [[likely]]
    return false;
  return ((inputs.defined() && isShort(inputs.dtype())) || ...);
}
inline Tensor wideOf(const Tensor& x) {
  return takesWide(x) ? x.to(DType::F32) : x;
}

}  // namespace lacuna::rt
