// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "import/byte_source.h"

namespace lacuna::analyzer {

/// Takes packets from a file, one at a time.
class PacketReader {
 public:
  explicit PacketReader(ByteSource& source) : source_(source) {}

  /// False at the end; problem() is empty unless that came early.
  bool next(std::string& packet);
  [[nodiscard]] std::uint64_t packetOffset() const { return start_; }
  [[nodiscard]] const std::string& problem() const { return problem_; }
  /// The problem is the end of the file, within a packet.
  [[nodiscard]] bool breaksOff() const { return breaksOff_; }

 private:
  /// False; the file breaks off unless another problem was named.
  bool endInside();
  bool breakOff();
  bool stop(std::string_view what);
  bool fill();
  bool varint(std::uint64_t& value);
  /// Grows with what is really there, so that a packet's claim alone takes no memory.
  bool bytes(std::string& to, std::size_t size);

  ByteSource& source_;
  std::vector<char> buffer_ = std::vector<char>(1 << 18);
  std::size_t at_ = 0, have_ = 0;
  std::uint64_t offset_ = 0, start_ = 0;
  std::string problem_;
  bool breaksOff_ = false;
};

}  // namespace lacuna::analyzer
