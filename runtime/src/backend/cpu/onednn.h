// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <unordered_map>

#include "backend/backend.h"

/// What the kernels that call oneDNN share. Executions of one queue run one after the other; synchronous mode runs them
/// on several threads, so everything here belongs to its thread.
namespace lacuna::rt::cpu {

struct Library {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  /// Memory for the length of one execution; grows to the largest that was asked for. Told to tools as external memory.
  void* scratch(std::size_t bytes);

  ~Library();

 private:
  void freeScratch();
  void* scratch_ = nullptr;
  std::size_t scratchBytes_ = 0;
};
Library& library();

dnnl::memory::data_type libraryType(DType type);

/// A key of plain bytes for a cache of primitives.
class PlanKey {
 public:
  template <class T>
  PlanKey& put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  PlanKey& put(const Shape& shape) {
    bytes_.push_back(static_cast<char>(shape.rank()));
    bytes_.append(reinterpret_cast<const char*>(shape.begin()), static_cast<std::size_t>(shape.rank()) * 8);
    return *this;
  }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

}  // namespace lacuna::rt::cpu
