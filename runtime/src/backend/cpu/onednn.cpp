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

dnnl::primitive_attr inGivenMemory() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

dnnl::memory::desc scratchOf(const dnnl::primitive& primitive) {
  const dnnl_memory_desc_t* description =
      dnnl_primitive_desc_query_md(primitive.get_primitive_desc(), dnnl_query_scratchpad_md, 0);
  return description == nullptr ? dnnl::memory::desc() : dnnl::memory::desc(*description);
}

Library::~Library() {
  freeScratch();
}

void Library::freeScratch() {
  if (scratch_ == nullptr) return;
  externalMemory(scratch_, scratchBytes_, "oneDNN", false);
  std::free(scratch_);
  scratch_ = nullptr;
  scratchBytes_ = 0;
}

void* Library::memoryFor(const View& workspace, std::size_t bytes) {
  const auto given =
      static_cast<std::size_t>(workspace.data == nullptr ? 0 : workspace.shape.numel());
  if (bytes <= given) return workspace.data;
  if (bytes > scratchBytes_) {
    freeScratch();
    scratch_ = std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
    if (scratch_ == nullptr)
      throw Error("no memory for the " + std::to_string(bytes) + " bytes that oneDNN works in");
    scratchBytes_ = bytes;
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
