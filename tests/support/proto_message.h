// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

#include "formats/proto_wire.h"

namespace lacuna::test {

/// A message of protocol buffers written by hand: numbers, texts and messages by field.
class ProtoMessage {
 public:
  ProtoMessage& set(std::uint32_t field, std::uint64_t value) {
    analyzer::proto::putNumber(bytes, field, value);
    return *this;
  }
  ProtoMessage& set(std::uint32_t field, std::string_view text) {
    analyzer::proto::putBytes(bytes, field, text);
    return *this;
  }
  ProtoMessage& set(std::uint32_t field, const ProtoMessage& inside) {
    return set(field, std::string_view(inside.bytes));
  }
  ProtoMessage& fixed(std::uint32_t field, std::uint64_t value) {
    analyzer::proto::putFixed(bytes, field, value);
    return *this;
  }
  ProtoMessage& real(std::uint32_t field, double value) {
    return fixed(field, std::bit_cast<std::uint64_t>(value));
  }

  std::string bytes;
};

}  // namespace lacuna::test
