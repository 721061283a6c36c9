#!/usr/bin/env bash
# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
#
# Writes the seeds of fuzz_elf anew: small libraries that this machine's compiler makes, and names of kernels.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/corpus/elf"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cat >"$folder/sum.cpp" <<'CODE'
namespace net {
template <class T>
struct Layer {
  T weight;
  __attribute__((noinline)) T forward(T value) { return value * weight; }
};
static __attribute__((noinline, used)) int hidden(int value) { return value + 1; }
}  // namespace net
extern "C" int sum(int value) { return net::Layer<int>{value}.forward(net::hidden(value)); }
extern "C" int alias(int value) __attribute__((alias("sum")));
CODE

# A program of kind NAME: {1, places - 1} and the file.
library() {
  local name=$1
  shift
  (cd "$folder" && "${CXX:-g++}" -O1 -fno-asynchronous-unwind-tables -nostdlib -Wl,-z,noseparate-code "-ffile-prefix-map=$folder=." "$@" sum.cpp -o "$name")
  { printf '\x01\x0f'; cat "$folder/$name"; } >"$name"
}
library lines -shared -fPIC -g1 -Wl,--build-id
library compressed-lines -shared -fPIC -g1 -gz -Wl,--build-id
library old-lines -shared -fPIC -g1 -gdwarf-4 -gno-variable-location-views -Wl,--build-id=md5
library no-lines -shared -fPIC -Wl,--build-id
library stripped -shared -fPIC -s -Wl,--build-id
library nameless -shared -fPIC -Wl,--build-id=none
library object -c -g1

# A name: {0} and the text.
name() { printf '\x00%s' "$2" >"$1"; }
name kernel 'void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, at::detail::Array<char*, 3> >(int, at::native::CUDAFunctor_add<float>, at::detail::Array<char*, 3>)'
name kernel-anonymous 'void (anonymous namespace)::reduce<(anonymous namespace)::Sum<float>, 512>(float const*, float*)'
name kernel-library 'ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)'
name kernel-lambda 'void run<main::{lambda(int)#1}::operator()(int) const::{lambda()#2}>(std::function<void ()>)'
name kernel-plain 'ampere_sgemm_128x64_nn'
name kernel-unbalanced 'void a::b<c<(d>)>::e ( '
