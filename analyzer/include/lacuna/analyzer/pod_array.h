// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

namespace lacuna::analyzer {

/// A growing array of plain values for columns of 10^8 entries. Unlike std::vector it grows by realloc, which the C
/// library does for large blocks by moving pages, so that growing never holds two copies.
template <class T>
class PodArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  PodArray() = default;
  PodArray(PodArray&& other) noexcept { swap(other); }
  PodArray& operator=(PodArray&& other) noexcept {
    swap(other);
    return *this;
  }
  PodArray(const PodArray&) = delete;
  PodArray& operator=(const PodArray&) = delete;
  ~PodArray() { std::free(data_); }

  [[nodiscard]] PodArray copy() const {
    PodArray out;
    if (size_ == 0) return out;
    out.resizeForOverwrite(size_);
    std::memcpy(out.data_, data_, size_ * sizeof(T));
    return out;
  }
  void push(T value) {
    if (size_ == capacity_) grow(size_ + 1);
    data_[size_++] = value;
  }
  void append(std::size_t count, T value) {
    if (size_ + count > capacity_) grow(size_ + count);
    for (std::size_t i = 0; i < count; ++i) data_[size_ + i] = value;
    size_ += count;
  }
  void clear() { size_ = 0; }
  /// Room for exactly this many values, which are not set.
  void resizeForOverwrite(std::size_t count) {
    if (count > capacity_) reallocate(count);
    size_ = count;
  }
  void shrink() {
    if (size_ > 0 && size_ < capacity_) reallocate(size_);
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  [[nodiscard]] const T& back() const { return data_[size_ - 1]; }
  [[nodiscard]] const T* data() const { return data_; }
  [[nodiscard]] T* data() { return data_; }
  [[nodiscard]] std::span<const T> view() const { return {data_, size_}; }
  [[nodiscard]] std::size_t bytes() const { return capacity_ * sizeof(T); }

 private:
  void swap(PodArray& other) {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }
  void grow(std::size_t least) {
    const std::size_t wanted = capacity_ + capacity_ / 2 + 16;
    reallocate(wanted > least ? wanted : least);
  }
  void reallocate(std::size_t capacity) {
    void* grown = std::realloc(data_, capacity * sizeof(T));
    if (!grown) throw std::bad_alloc();
    data_ = static_cast<T*>(grown);
    capacity_ = capacity;
  }

  T* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace lacuna::analyzer
