// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "lacuna/prof/events.h"

/// The parts of Nsight Systems' SQLite schema that importer and exporter agree on.
namespace lacuna::analyzer::nsys {

/// Values of NVTX_EVENTS.eventType.
enum class NvtxType : std::int64_t {
  Category = 33,
  Mark = 34,
  Thread = 39,
  PushPop = 59,
  StartEnd = 60,
  Domain = 75
};

/// A thread's number in the schema: 8 bits of hardware, 8 of virtual machine, 24 of process, 24 of
/// thread; a process's is the same with a thread of 0.
constexpr std::uint32_t pidOf(std::uint64_t global) {
  return static_cast<std::uint32_t>(global >> 24 & 0xffffff);
}
constexpr std::uint32_t tidOf(std::uint64_t global) {
  return static_cast<std::uint32_t>(global & 0xffffff);
}
constexpr std::uint64_t processOf(std::uint64_t global) {
  return global & ~std::uint64_t{0xffffff};
}

struct Label {
  std::int64_t id;
  std::string_view label;
};

/// ENUM_CUDA_MEM_KIND: not CUPTI's numbers. The label decides where the file has the table.
inline constexpr std::array kMemoryKinds = {Label{0, "Pageable"},       Label{1, "Pinned"},
                                            Label{2, "Device"},         Label{3, "Array"},
                                            Label{4, "Managed"},        Label{5, "Device Static"},
                                            Label{6, "Managed Static"}, Label{7, "Unknown"}};
inline constexpr std::array kMemoryKindOf = {
    prof::MemoryKind::Pageable,      prof::MemoryKind::Pinned,  prof::MemoryKind::Device,
    prof::MemoryKind::Array,         prof::MemoryKind::Managed, prof::MemoryKind::DeviceStatic,
    prof::MemoryKind::ManagedStatic, prof::MemoryKind::Unknown};

/// ENUM_CUDA_MEMCPY_OPER: CUPTI's numbers, and three for unified memory.
inline constexpr std::array kCopyKinds = {
    Label{0, "Unknown"},         Label{1, "Host-to-Device"},  Label{2, "Device-to-Host"},
    Label{3, "Host-to-Array"},   Label{4, "Array-to-Host"},   Label{5, "Array-to-Array"},
    Label{6, "Array-to-Device"}, Label{7, "Device-to-Array"}, Label{8, "Device-to-Device"},
    Label{9, "Host-to-Host"},    Label{10, "Peer-to-Peer"}};

/// ENUM_CUDA_DEV_MEM_EVENT_OPER.
inline constexpr std::array kMemoryOperations = {Label{0, "Allocation"}, Label{1, "Deallocation"}};

/// Columns and tables beside the schema's, in which what the schema has no word for goes along.
inline constexpr std::string_view kOwnColumn = "lacuna_";
inline constexpr std::string_view kOwnTable = "LACUNA_";

/// True for a table whose rows the schema has a table of its own for; all other tables go along as
/// LACUNA_name.
template <class Row>
constexpr bool hasTable() {
  using namespace prof;
  return std::is_same_v<Row, Range> || std::is_same_v<Row, Mark> || std::is_same_v<Row, ApiCall> ||
         std::is_same_v<Row, Kernel> || std::is_same_v<Row, Memcpy> ||
         std::is_same_v<Row, Memset> || std::is_same_v<Row, Sync> ||
         std::is_same_v<Row, Allocation> || std::is_same_v<Row, Overhead>;
}

}  // namespace lacuna::analyzer::nsys
