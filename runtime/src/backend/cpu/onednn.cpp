// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/onednn.h"

#include <cstdlib>

namespace lacuna::rt::cpu {

namespace {
constexpr std::size_t kAlignment = 4096;
}

Library& library() {
  thread_local Library own;
  return own;
}

Library::~Library() {
  std::free(scratch_);
}

void* Library::scratch(std::size_t bytes) {
  if (bytes > scratchBytes_) {
    std::free(scratch_);
    scratchBytes_ = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    scratch_ = std::aligned_alloc(kAlignment, scratchBytes_);
    if (scratch_ == nullptr) {
      scratchBytes_ = 0;
      throw Error("no memory for a scratch buffer of " + std::to_string(bytes) + " bytes");
    }
  }
  return scratch_;
}

dnnl::memory::data_type libraryType(DType type) {
  switch (type) {
    case DType::BF16:
      return dnnl::memory::data_type::bf16;
    case DType::F16:
      return dnnl::memory::data_type::f16;
    default:
      return dnnl::memory::data_type::f32;
  }
}

}  // namespace lacuna::rt::cpu
