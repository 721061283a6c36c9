// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "formats/proto_wire.h"
#include "lacuna/prof/events.h"

/// The numbers of Perfetto's published messages that importer and exporter use, and our extension
/// of them.
namespace lacuna::analyzer::perfetto {

namespace packet {
inline constexpr std::uint32_t kProcessTree = 2, kClockSnapshot = 6, kTimestamp = 8, kSequence = 10,
                               kTrackEvent = 11, kInterned = 12, kFlags = 13,
                               kThreadDescriptor = 44, kProcessDescriptor = 43, kCleared = 41,
                               kDropped = 42, kCompressed = 50, kClock = 58, kDefaults = 59,
                               kTrackDescriptor = 60, kZstdCompressed = 133;
/// In the range that the schema leaves to others, who skip it: rows and texts of a trace of ours.
inline constexpr std::uint32_t kOwn = 1987;
}  // namespace packet

inline constexpr std::uint64_t kFlagCleared = 1, kFlagNeedsState = 2;

namespace event {
inline constexpr std::uint32_t kDeltaUs = 1, kCategoryIid = 3, kAnnotation = 4, kLegacy = 6,
                               kType = 9, kNameIid = 10, kTrack = 11, kExtraValue = 12,
                               kAbsoluteUs = 16, kCategory = 22, kName = 23, kCounter = 30,
                               kExtraTrack = 31, kFlowOld = 36, kEndFlowOld = 42,
                               kDoubleCounter = 44, kExtraDoubleTrack = 45, kExtraDoubleValue = 46,
                               kFlow = 47, kEndFlow = 48, kCorrelation = 52;
}
namespace legacy {
inline constexpr std::uint32_t kNameIid = 1, kPhase = 2, kDurationUs = 3, kUnscopedId = 6,
                               kIdScope = 7, kBindId = 8, kLocalId = 10, kGlobalId = 11,
                               kFlowDirection = 13, kPidOverride = 18, kTidOverride = 19;
}
enum class EventType : std::uint64_t { Unspecified, Begin, End, Instant, Counter };

namespace track {
inline constexpr std::uint32_t kUuid = 1, kName = 2, kProcess = 3, kThread = 4, kParent = 5,
                               kCounter = 8, kStaticName = 10;
}

inline constexpr std::uint32_t kRealtime = 1, kMonotonic = 3, kBoottime = 6;

/// Our extension: texts, numbered from 1 in the order of the file, and rows.
namespace own {
inline constexpr std::uint32_t kText = 1, kRow = 2, kShadow = 3;
}

/// A row as varints, column by column.
template <class Row>
void putRow(std::string& to, const Row& row) {
  std::string bytes;
  proto::putVarint(bytes, Row::kTable);
  Row::forEachMember([&]<auto Member>() {
    const auto& value = row.*Member;
    using T = std::remove_cvref_t<decltype(value)>;
    if constexpr (std::is_same_v<T, double>) {
      proto::putVarint(bytes, std::bit_cast<std::uint64_t>(value));
    } else if constexpr (std::is_class_v<T>) {
      proto::putVarint(bytes, value.value);
    } else if constexpr (std::is_enum_v<T>) {
      proto::putVarint(bytes, static_cast<std::uint64_t>(value));
    } else if constexpr (std::is_signed_v<T>) {
      proto::putVarint(bytes, proto::zigzag(value));
    } else {
      proto::putVarint(bytes, value);
    }
  });
  proto::putBytes(to, own::kRow, bytes);
}

/// Fills a row from what putRow wrote after the table's number; columns that are missing at the end
/// stay as they are.
template <class Row>
void takeRow(std::string_view bytes, Row& row) {
  Row::forEachMember([&]<auto Member>() {
    auto& value = row.*Member;
    using T = std::remove_cvref_t<decltype(value)>;
    std::uint64_t read = 0;
    if (!proto::takeVarint(bytes, read)) return;
    if constexpr (std::is_same_v<T, double>) {
      value = std::bit_cast<double>(read);
    } else if constexpr (std::is_class_v<T>) {
      value.value = static_cast<std::uint32_t>(read);
    } else if constexpr (std::is_enum_v<T>) {
      value = static_cast<T>(read);
    } else if constexpr (std::is_signed_v<T>) {
      value = static_cast<T>(proto::unzigzag(read));
    } else {
      value = static_cast<T>(read);
    }
  });
}

}  // namespace lacuna::analyzer::perfetto
