// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "lacuna/prof/ids.h"

/// The declaration of a table. An event kind names its columns once, in a list macro,
///
///     COLUMN(TimeNs, timeNs, Time, "when it happened")
///     COLUMN(ThreadId, thread, Plain, "the marking thread")
///
/// and LACUNA_TABLE(Mark, 11, "mark", LACUNA_MARK_COLUMNS) turns the list into a table (see
/// events.h). The row struct, the struct of arrays, the file columns, the SQL table and the docs
/// page all follow from that list, so adding a column is one line. Rows are plain data; columns
/// keep their order for good, new ones go to the end.
namespace lacuna::prof {

/// The fixed-width types a column can have in a file.
enum class ColumnType : std::uint8_t { I64, U64, I32, U32, U16, U8, F64 };

/// The target that a column refers to, when it holds an id. A drainer or a merge renumbers ids by
/// this.
enum class Refers : std::uint8_t {
  Nothing,
  String,
  Process,
  Thread,
  Device,
  Queue,
  Track,
  Frame,
  ArgSet
};

/// The values that the writer may expect in a column; only a hint for the choice of encoding.
enum class Hint : std::uint8_t {
  Plain,    ///< anything
  Time,     ///< nanoseconds, mostly rising; the first Time column orders and prunes the table
  Length,   ///< a duration: with the Time column it gives the row's end
  Rising,   ///< mostly rising by small steps (correlation ids, sequence numbers)
  Address,  ///< 64-bit addresses that repeat
};

struct ColumnSpec {
  std::string_view name;
  ColumnType type;
  Refers refers;
  Hint hint;
  std::string_view doc;
};

struct TableSpec {
  std::uint16_t id;
  std::string_view name;
  const ColumnSpec* columns;
  std::size_t columnCount;
};

namespace detail {

template <class T>
constexpr ColumnType columnTypeOf() {
  if constexpr (std::is_enum_v<T>) {
    return columnTypeOf<std::underlying_type_t<T>>();
  } else if constexpr (std::is_same_v<T, std::int64_t>) {
    return ColumnType::I64;
  } else if constexpr (std::is_same_v<T, std::uint64_t>) {
    return ColumnType::U64;
  } else if constexpr (std::is_same_v<T, std::int32_t>) {
    return ColumnType::I32;
  } else if constexpr (std::is_same_v<T, std::uint16_t>) {
    return ColumnType::U16;
  } else if constexpr (std::is_same_v<T, std::uint8_t>) {
    return ColumnType::U8;
  } else if constexpr (std::is_same_v<T, double>) {
    return ColumnType::F64;
  } else {
    static_assert(sizeof(T) == 4, "a column holds a fixed-width number, an enum or an Id");
    return ColumnType::U32;
  }
}

template <class T>
constexpr Refers refersOf() {
  if constexpr (std::is_same_v<T, StringId>) return Refers::String;
  if constexpr (std::is_same_v<T, ProcessId>) return Refers::Process;
  if constexpr (std::is_same_v<T, ThreadId>) return Refers::Thread;
  if constexpr (std::is_same_v<T, DeviceId>) return Refers::Device;
  if constexpr (std::is_same_v<T, QueueId>) return Refers::Queue;
  if constexpr (std::is_same_v<T, TrackId>) return Refers::Track;
  if constexpr (std::is_same_v<T, FrameId>) return Refers::Frame;
  if constexpr (std::is_same_v<T, ArgSetId>) return Refers::ArgSet;
  return Refers::Nothing;
}

template <class>
struct MemberOf;
template <class Row, class T>
struct MemberOf<T Row::*> {
  using RowType = Row;
  using ValueType = T;
};

template <auto A, auto B>
constexpr bool sameMember() {
  if constexpr (std::is_same_v<decltype(A), decltype(B)>) {
    return A == B;
  } else {
    return false;
  }
}

}  // namespace detail

/// The row type and the value type of a column named by its member pointer, as in
/// `&Range::startNs`.
template <auto Member>
using RowOf = typename detail::MemberOf<decltype(Member)>::RowType;
template <auto Member>
using ValueOf = typename detail::MemberOf<decltype(Member)>::ValueType;

/// The position of a column in its table.
template <auto Member>
constexpr std::size_t columnIndex() {
  std::size_t index = 0;
  std::size_t found = 0;
  RowOf<Member>::forEachMember([&]<auto M>() {
    if (detail::sameMember<M, Member>()) found = index;
    ++index;
  });
  return found;
}

}  // namespace lacuna::prof

#define LACUNA_DETAIL_FIELD(type, name, hint, doc) type name{};
#define LACUNA_DETAIL_VECTOR(type, name, hint, doc) std::vector<type> name;
#define LACUNA_DETAIL_SPEC(type, name, hint, doc)                                                  \
  ::lacuna::prof::ColumnSpec{#name, ::lacuna::prof::detail::columnTypeOf<type>(),                  \
                             ::lacuna::prof::detail::refersOf<type>(), ::lacuna::prof::Hint::hint, \
                             doc},
#define LACUNA_DETAIL_MEMBER(type, name, hint, doc) visit_.template operator()<&Self::name>();
#define LACUNA_DETAIL_PUSH(type, name, hint, doc) name.push_back(row_.name);
#define LACUNA_DETAIL_GET(type, name, hint, doc) out_.name = name[at_];
#define LACUNA_DETAIL_RESERVE(type, name, hint, doc) name.reserve(rows_);
#define LACUNA_DETAIL_CLEAR(type, name, hint, doc) name.clear();
#define LACUNA_DETAIL_EACH(type, name, hint, doc) visit_(name);

/// Declares the row struct `Row`, its file table (number and name) and `Row::Columns`, the struct
/// of arrays.
#define LACUNA_TABLE(Row, number, tableName, COLUMNS)                                  \
  struct Row {                                                                         \
    using Self = Row;                                                                  \
    COLUMNS(LACUNA_DETAIL_FIELD)                                                       \
    friend bool operator==(const Row&, const Row&) = default;                          \
    static constexpr std::uint16_t kTable = number;                                    \
    static constexpr std::string_view kName = tableName;                               \
    /* Calls visit.operator()<&Row::column>() for every column in order. */            \
    template <class Visit>                                                             \
    static constexpr void forEachMember(Visit&& visit_) {                              \
      COLUMNS(LACUNA_DETAIL_MEMBER)                                                    \
    }                                                                                  \
    static constexpr auto columns() {                                                  \
      return std::to_array<::lacuna::prof::ColumnSpec>({COLUMNS(LACUNA_DETAIL_SPEC)}); \
    }                                                                                  \
    struct Columns {                                                                   \
      COLUMNS(LACUNA_DETAIL_VECTOR)                                                    \
      void push(const Row& row_) { COLUMNS(LACUNA_DETAIL_PUSH) }                       \
      [[nodiscard]] Row row(std::size_t at_) const {                                   \
        Row out_;                                                                      \
        COLUMNS(LACUNA_DETAIL_GET)                                                     \
        return out_;                                                                   \
      }                                                                                \
      void reserve(std::size_t rows_) { COLUMNS(LACUNA_DETAIL_RESERVE) }               \
      void clear() { COLUMNS(LACUNA_DETAIL_CLEAR) }                                    \
      /* Calls visit(vector) for every column in order. */                             \
      template <class Visit>                                                           \
      void forEach(Visit&& visit_) {                                                   \
        COLUMNS(LACUNA_DETAIL_EACH)                                                    \
      }                                                                                \
      template <class Visit>                                                           \
      void forEach(Visit&& visit_) const {                                             \
        COLUMNS(LACUNA_DETAIL_EACH)                                                    \
      }                                                                                \
    };                                                                                 \
  };

namespace lacuna::prof {

/// The run-time description of a declared table.
template <class Row>
const TableSpec& tableSpec() {
  static constexpr auto kColumns = Row::columns();
  static constexpr TableSpec kSpec{Row::kTable, Row::kName, kColumns.data(), kColumns.size()};
  return kSpec;
}

}  // namespace lacuna::prof
