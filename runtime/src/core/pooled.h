// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

namespace lacuna::rt {

/// Free memory of one type, kept by a thread for its next objects of that type.
class FreeList {
 public:
  /// Null when it is empty.
  void* take() {
    void* memory = head_;
    if (memory == nullptr) return nullptr;
    head_ = *static_cast<void**>(memory);
    --count_;
    return memory;
  }
  /// False when it is full, or its thread is ending.
  bool put(void* memory) {
    if (count_ >= limit_ && !open()) return false;
    *static_cast<void**>(memory) = head_;
    head_ = memory;
    ++count_;
    return true;
  }

 private:
  /// First use in a thread: sees to it that the thread gives the memory back when it ends.
  bool open();
  void close();

  void* head_ = nullptr;
  std::uint32_t count_ = 0;
  std::uint32_t limit_ = 0;
  bool closed_ = false;
  FreeList* next_ = nullptr;
  friend struct FreeListCloser;
};

/// Base of small objects that come and go with every operator: their memory is reused without
/// asking malloc.
template <class T>
class Pooled {
 public:
#if !defined(__SANITIZE_ADDRESS__)
  static void* operator new(std::size_t bytes) {
    void* memory = bytes == sizeof(T) ? tFree.take() : nullptr;
    return memory != nullptr ? memory : ::operator new(bytes);
  }
  static void operator delete(void* memory, std::size_t bytes) {
    if (bytes != sizeof(T) || !tFree.put(memory)) ::operator delete(memory);
  }

 private:
  static thread_local constinit FreeList tFree;
#endif
};

#if !defined(__SANITIZE_ADDRESS__)
template <class T>
thread_local constinit FreeList Pooled<T>::tFree;
#endif

}  // namespace lacuna::rt
