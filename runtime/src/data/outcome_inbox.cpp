// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "data/outcome_inbox.h"

#include <cerrno>
#include <utility>

namespace lacuna::rt {
namespace {

/// Bytes of a tensor as it is described, which must lie within `room`.
std::size_t bytesOf(const TensorHeader& header, std::size_t room) {
  if (header.rank < 0 || header.rank > kMaxRank || header.dtype >= kDTypeCount) refuseMessage();
  std::size_t bytes = itemSize(static_cast<DType>(header.dtype));
  for (int i = 0; i < header.rank; ++i) {
    const std::int64_t dim = header.dims[static_cast<std::size_t>(i)];
    // Also where another dimension is 0: whoever multiplies them in another order must not overflow
    // either.
    if (dim < 0 ||
        __builtin_mul_overflow(bytes, std::max<std::size_t>(static_cast<std::size_t>(dim), 1),
                               &bytes) ||
        bytes > static_cast<std::size_t>(INT64_MAX)) {
      refuseMessage();
    }
  }
  const bool empty = std::find(header.dims.begin(), header.dims.begin() + header.rank, 0) !=
                     header.dims.begin() + header.rank;
  if (empty) return 0;
  if (bytes > room) refuseMessage();
  return bytes;
}

}  // namespace

/// As far as is known: the header gives the length of the rest.
std::size_t OutcomeInbox::bytesWanted() const {
  OutcomeHeader header{};
  if (message_.size() < sizeof header) return sizeof header;
  std::memcpy(&header, message_.data(), sizeof header);
  if (header.errorBytes > kMaxErrorBytes || header.tensors > kMaxTensors ||
      header.slot >= slots_.size())
    refuseMessage();
  return sizeof header + header.errorBytes + header.tensors * sizeof(TensorHeader);
}

Received OutcomeInbox::receive(ArrivedOutcome& outcome) {
  for (std::size_t wanted = bytesWanted(); message_.size() < wanted; wanted = bytesWanted()) {
    const std::size_t had = message_.size();
    message_.resize(wanted);
    Parcel parcel(message_.data() + had, wanted - had);
    const ssize_t got = ::recvmsg(socket_, &parcel.header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    const int error = errno;
    message_.resize(had + (got > 0 ? static_cast<std::size_t>(got) : 0));
    if (got < 0 && error == EINTR) continue;
    if (got < 0 && error == EAGAIN) return Received::Partly;
    if (got <= 0) return Received::Gone;
    if (Descriptor file = parcel.takeFile(); file.get() >= 0) file_ = std::move(file);
  }
  outcome = unpack();
  message_.clear();
  return Received::Complete;
}

ArrivedOutcome OutcomeInbox::unpack() {
  OutcomeHeader header{};
  std::memcpy(&header, message_.data(), sizeof header);
  const auto* error = reinterpret_cast<const char*>(message_.data() + sizeof header);
  ArrivedOutcome outcome{header.ticket, {}, std::string(error, header.errorBytes)};
  std::vector<TensorHeader> described(header.tensors);
  const auto* first = reinterpret_cast<const std::byte*>(error) + header.errorBytes;
  std::copy_n(first, described.size() * sizeof(TensorHeader),
              reinterpret_cast<std::byte*>(described.data()));
  if (header.newBuffer != 0) {
    if (file_.get() < 0) refuseMessage();
    slots_[header.slot] = SharedBuffer::adopt(std::exchange(file_, Descriptor()));
  }
  const SharedBuffer& slot = slots_[header.slot];
  std::size_t offset = 0;
  for (const TensorHeader& one : described) {
    const std::size_t bytes = bytesOf(one, slot.size() - std::min(offset, slot.size()));
    const Shape shape(std::span(one.dims).first(static_cast<std::size_t>(one.rank)));
    const std::span<const std::byte> at =
        bytes > 0 ? std::span(slot.data() + offset, bytes) : std::span<std::byte>();
    outcome.tensors.push_back({shape, static_cast<DType>(one.dtype), at});
    offset += aligned(bytes);
  }
  return outcome;
}

}  // namespace lacuna::rt
