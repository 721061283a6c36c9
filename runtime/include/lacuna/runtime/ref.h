// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace lacuna::rt {

/// Base of objects that count their owners. The counter may be used from any thread.
class RefCounted {
 public:
  RefCounted() = default;
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;
  void retain() { count_.fetch_add(1, std::memory_order_relaxed); }
  /// Retains unless the last owner let go: for code that knows of the object without owning it. The
  /// last owner's release() may have left the count at 1. So `destroy` has to check it again, under
  /// the lock that looking the object up takes.
  [[nodiscard]] bool retainIfOwned() {
    std::uint32_t count = count_.load(std::memory_order_relaxed);
    while (count != 0) {
      if (count_.compare_exchange_weak(count, count + 1, std::memory_order_relaxed)) return true;
    }
    return false;
  }
  /// True when the caller gave up the last reference and must destroy the object.
  [[nodiscard]] bool release() {
    return count_.load(std::memory_order_acquire) == 1 ||
           count_.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }
  [[nodiscard]] std::uint32_t useCount() const { return count_.load(std::memory_order_acquire); }

 private:
  std::atomic<std::uint32_t> count_{1};
};

/// Counting for Ref; a type that is incomplete in public headers has overloads of its own.
/// `destroy(T*)`, found by argument-dependent look-up, ends the object.
template <class T>
void retainObject(T* object) {
  object->retain();
}
template <class T>
void releaseObject(T* object) {
  if (object->release()) destroy(object);
}

/// Owning pointer to a RefCounted T.
template <class T>
class Ref {
 public:
  Ref() = default;
  /// Takes over the reference that a new object is born with.
  static Ref adopt(T* object) {
    Ref ref;
    ref.object_ = object;
    return ref;
  }
  static Ref share(T* object) {
    if (object != nullptr) retainObject(object);
    return adopt(object);
  }
  Ref(const Ref& other) : object_(other.object_) {
    if (object_ != nullptr) retainObject(object_);
  }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() { reset(); }
  void reset() {
    T* object = std::exchange(object_, nullptr);
    if (object != nullptr) releaseObject(object);
  }
  [[nodiscard]] T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }
  friend bool operator==(const Ref& a, const Ref& b) { return a.object_ == b.object_; }

 private:
  T* object_ = nullptr;
};

}  // namespace lacuna::rt
