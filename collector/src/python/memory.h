// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

namespace lacuna::collector::python {

/// The memory of another process. It changes all the time, and nothing in it is to be trusted.
class Memory {
 public:
  struct Piece {
    std::uint64_t address = 0;
    std::span<std::byte> into;
  };
  virtual ~Memory() = default;
  /// Number of the pieces that were read whole, from the first on.
  virtual std::size_t read(std::span<const Piece> pieces) = 0;

  bool read(std::uint64_t address, std::span<std::byte> into) {
    const Piece piece{address, into};
    return read(std::span(&piece, 1)) == 1;
  }
  /// False where nothing can be read.
  template <class T>
  bool get(std::uint64_t address, T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    return read(address, std::as_writable_bytes(std::span(&value, 1)));
  }
};

/// By process_vm_readv: nothing runs in that process, and nothing in it stops.
class ProcessMemory final : public Memory {
 public:
  explicit ProcessMemory(int pid) : pid_(pid) {}
  using Memory::read;
  std::size_t read(std::span<const Piece> pieces) override;
  /// The errno of the last call that read less than all; 0 where every call read all.
  [[nodiscard]] int error() const { return error_; }

 private:
  int pid_;
  int error_ = 0;
};

/// 0, or the errno with which the kernel refuses this process the memory of programs that it
/// starts. Tries it.
int memoryRefusal();

}  // namespace lacuna::collector::python
