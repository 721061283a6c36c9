// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/onednn.h"

#include <cstdlib>

#include "lacuna/runtime/instrument.h"

namespace lacuna::rt::cpu {

namespace {
constexpr std::size_t kAlignment = 4096;
}

Library& library() {
  thread_local Library own;
  return own;
}

Library::~Library() {
  freeScratch();
}

void Library::freeScratch() {
  if (scratch_ == nullptr) return;
  externalMemory(scratch_, scratchBytes_, "oneDNN", false);
  std::free(scratch_);
  scratch_ = nullptr;
}

void* Library::scratch(std::size_t bytes) {
  if (bytes > scratchBytes_) {
    freeScratch();
    scratchBytes_ = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    scratch_ = std::aligned_alloc(kAlignment, scratchBytes_);
    if (scratch_ == nullptr) {
      scratchBytes_ = 0;
      throw Error("no memory for a scratch buffer of " + std::to_string(bytes) + " bytes");
    }
    externalMemory(scratch_, scratchBytes_, "oneDNN", true);
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
