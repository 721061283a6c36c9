// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>

#include "backend/backend.h"
#include "backend/cpu/bounded_cache.h"
#include "backend/cpu/parallel.h"
#include "lacuna/runtime/backend.h"

/// Things that the kernels that call oneDNN share. Executions of one queue run one after the other;
/// synchronous mode runs them on several threads, so everything here belongs to its thread.
namespace lacuna::rt::cpu {

/// True when work that the library can do goes through plain loops all the same.
inline bool inPlainLoops() {
  return backend() == Backend::Reference;
}

struct Library {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};

  /// The memory that an execution works in: the workspace that it was given. The library may want
  /// more than it answered when it was asked; then it is memory of this thread, which tools see as
  /// external.
  void* memoryFor(const View& workspace, std::size_t bytes);

  Library() = default;
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library();

 private:
  void freeScratch();
  void* scratch_ = nullptr;
  std::size_t scratchBytes_ = 0;
};
Library& library();

/// For primitives that work in memory given to their execution, not in the library's own. This
/// memory comes from the allocator like any other, and counts for limits, statistics and tools.
dnnl::primitive_attr inGivenMemory();

/// The memory that a primitive itself works in.
dnnl::memory::desc scratchOf(const dnnl::primitive& primitive);

/// `bytes` in whole cache lines.
inline std::size_t roundedToLines(std::size_t bytes) {
  constexpr std::size_t kLine = 64;
  return (bytes + kLine - 1) / kLine * kLine;
}

dnnl::memory::data_type libraryType(DType type);

/// A key of plain bytes for a cache of primitives.
class PlanKey {
 public:
  PlanKey() { bytes_.reserve(256); }
  template <class T>
  PlanKey& put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  PlanKey& put(const Shape& shape) {
    bytes_.push_back(static_cast<char>(shape.rank()));
    bytes_.append(reinterpret_cast<const char*>(shape.begin()),
                  static_cast<std::size_t>(shape.rank()) * 8);
    return *this;
  }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

/// The choices that executions will make, by the key of their primitive. For the thread that
/// enqueues: what the library chooses depends on the number of threads, so it is asked as the
/// queue's thread will ask.
template <class Value>
class AskedAhead {
 public:
  template <class Ask>
  const Value& find(PlanKey key, const Ask& ask) {
    key.put(queueThreadCount());
    return values_.find(key.bytes(), [&] {
      const AsQueueThread executing;
      return ask();
    });
  }

 private:
  BoundedCache<Value> values_{kMostPlans};
};
/// Bytes of the memory that they work in.
using WorkspaceSizes = AskedAhead<std::size_t>;

}  // namespace lacuna::rt::cpu
