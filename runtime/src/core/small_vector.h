// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <new>
#include <utility>

namespace lacuna::rt {

/// A vector whose first N elements need no memory of their own. Neither copied nor moved: it is
/// part of its owner.
template <class T, std::size_t N>
class SmallVector {
 public:
  SmallVector() = default;
  SmallVector(const SmallVector&) = delete;
  SmallVector& operator=(const SmallVector&) = delete;
  SmallVector& operator=(std::initializer_list<T> values) {
    clear();
    for (const T& value : values) emplace_back(value);
    return *this;
  }
  ~SmallVector() {
    clear();
    giveBack();
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  [[nodiscard]] const T* begin() const { return data_; }
  [[nodiscard]] const T* end() const { return data_ + size_; }
  [[nodiscard]] T* data() { return data_; }
  [[nodiscard]] const T* data() const { return data_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  T& back() { return data_[size_ - 1]; }
  const T& back() const { return data_[size_ - 1]; }

  void push_back(T value) { emplace_back(std::move(value)); }
  template <class... Arguments>
  T& emplace_back(Arguments&&... arguments) {
    if (size_ == capacity_) [[unlikely]]
      reserve(2 * capacity_);
    T* made = new (data_ + size_) T{std::forward<Arguments>(arguments)...};
    ++size_;
    return *made;
  }
  void pop_back() { std::destroy_at(data_ + --size_); }
  void reserve(std::size_t capacity) {
    if (capacity <= capacity_) return;
    T* wider = std::allocator<T>().allocate(capacity);
    std::uninitialized_move(begin(), end(), wider);
    std::destroy(begin(), end());
    giveBack();
    data_ = wider;
    capacity_ = capacity;
  }
  void resize(std::size_t size) {
    reserve(size);
    while (size_ < size) emplace_back();
    while (size_ > size) pop_back();
  }
  void clear() {
    std::destroy(begin(), end());
    size_ = 0;
  }

 private:
  [[nodiscard]] T* own() { return std::launder(reinterpret_cast<T*>(inline_)); }
  void giveBack() {
    if (capacity_ > N) std::allocator<T>().deallocate(data_, capacity_);
  }

  T* data_ = own();
  std::size_t size_ = 0;
  std::size_t capacity_ = N;
  alignas(T)
      std::byte inline_[N * sizeof(T)];  // NOLINT(bugprone-sizeof-expression): T may be a pointer
};

}  // namespace lacuna::rt
