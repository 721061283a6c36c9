// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "formats/proto_wire.h"

namespace lacuna::analyzer {

/// Calls take(value) for one number, or for many packed into bytes as `packed`. False where the
/// bytes break off.
template <class Take>
bool eachValue(const proto::Field& field, proto::Wire packed, Take&& take) {
  if (field.wire != proto::Wire::Bytes) return take(field.value), true;
  std::string_view rest = field.bytes;
  while (!rest.empty()) {
    std::uint64_t value = 0;
    if (packed == proto::Wire::Varint) {
      if (!proto::takeVarint(rest, value)) return false;
    } else {
      if (rest.size() < sizeof value) return false;
      std::memcpy(&value, rest.data(), sizeof value);
      rest.remove_prefix(sizeof value);
    }
    take(value);
  }
  return true;
}

}  // namespace lacuna::analyzer
