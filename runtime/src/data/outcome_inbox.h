// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "data/shared_buffer.h"
#include "lacuna/runtime/dtype.h"
#include "lacuna/runtime/shape.h"

/// The parts of a worker's message, and the end that takes it apart. Knows no tensors: whatever a
/// worker that went wrong may send is checked here, before there is one.
namespace lacuna::rt {

/// The text of the error and a TensorHeader for each tensor follow.
struct OutcomeHeader {
  std::uint64_t ticket;
  std::uint64_t errorBytes;
  std::uint32_t tensors;
  std::uint32_t slot;
  std::uint32_t newBuffer;  ///< 1: a file descriptor came with the first byte
  std::uint32_t reserved;
};

struct TensorHeader {
  std::array<std::int64_t, kMaxRank> dims;
  std::int32_t rank;
  std::uint32_t dtype;
};

inline constexpr std::uint64_t kMaxErrorBytes = 1u << 20;
inline constexpr std::uint32_t kMaxTensors = 4096;
inline constexpr std::size_t kAlignment = 64;

inline std::size_t aligned(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

/// The bytes that go through a socket in one call, and room for one file descriptor beside it.
struct Parcel {
  Parcel(void* data, std::size_t bytes) : part{data, bytes} {
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = control.size();
  }
  Parcel(const Parcel&) = delete;
  Parcel& operator=(const Parcel&) = delete;

  void add(int file) {
    cmsghdr* first = CMSG_FIRSTHDR(&header);
    first->cmsg_level = SOL_SOCKET;
    first->cmsg_type = SCM_RIGHTS;
    first->cmsg_len = CMSG_LEN(sizeof file);
    std::memcpy(CMSG_DATA(first), &file, sizeof file);
  }
  void addNone() { header.msg_controllen = 0; }
  /// The one that came along, or none.
  Descriptor takeFile() {
    const cmsghdr* first = CMSG_FIRSTHDR(&header);
    if (first == nullptr || first->cmsg_type != SCM_RIGHTS) return Descriptor();
    std::array<int, CMSG_SPACE(sizeof(int)) / sizeof(int)> files{};
    const std::size_t count = std::min((first->cmsg_len - CMSG_LEN(0)) / sizeof(int), files.size());
    std::memcpy(files.data(), CMSG_DATA(first), count * sizeof(int));
    for (std::size_t i = 1; i < count; ++i)
      ::close(files[i]);  // what is padding here has room for another one
    return Descriptor(count > 0 ? files[0] : -1);
  }

  iovec part;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr header{};
};

/// A tensor as it lies in a worker's buffer, which may be used again after the next receive().
struct ArrivedTensor {
  Shape shape;
  DType dtype = DType::F32;
  std::span<const std::byte> bytes;
};

struct ArrivedOutcome {
  std::uint64_t ticket = 0;
  std::vector<ArrivedTensor> tensors;
  std::string error;
};

enum class Received : std::uint8_t { Complete, Partly, Gone };

/// Puts a worker's messages together; OutcomeReceiver makes batches of them.
class OutcomeInbox {
 public:
  OutcomeInbox(int socket, unsigned slots) : socket_(socket), slots_(slots) {}
  /// As OutcomeReceiver::receive().
  Received receive(ArrivedOutcome& outcome);

 private:
  [[nodiscard]] std::size_t bytesWanted() const;
  ArrivedOutcome unpack();

  int socket_;
  std::vector<SharedBuffer> slots_;
  std::vector<std::byte> message_;  ///< what came of it
  Descriptor file_;                 ///< that came with it
};

}  // namespace lacuna::rt
