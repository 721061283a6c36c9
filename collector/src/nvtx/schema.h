// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nvtx3/nvToolsExtPayload.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "lacuna/prof/nvtx_mapper.h"
#include "nvtx/domain.h"

/// The payload extension: schemas that a program registers, and payloads read with them at once,
/// because their memory is the program's again after the call.
namespace lacuna::collector::nvtx {

struct SchemaEntry {
  std::uint64_t flags = 0;
  std::uint64_t type = 0;
  std::string name;
  std::uint64_t detail = 0;  ///< length of an array or string, or the entry that has it
  std::uint64_t offset = 0;
  bool placed = false;  ///< the offset is known; otherwise it follows from the entries before
  std::string unit;
  std::uint64_t timeDomain = 0;  ///< of a stamp; 0: ours
};

struct EnumEntry {
  std::string name;
  std::uint64_t value = 0;
  bool flag = false;
};

/// Where an unsigned number of 1, 4 or 8 bytes is; one of 0 bytes reads as 0.
struct FlatField {
  std::uint16_t offset = 0;
  std::uint8_t bytes = 0;
  bool isText = false;  ///< the handle of a registered string
};

/// A registered schema or enumeration; lives as long as the process.
struct Schema {
  std::uint64_t id = 0;
  const Domain* domain = nullptr;
  std::string name;
  std::uint64_t type = 0;
  std::vector<SchemaEntry> entries;
  std::vector<EnumEntry> names;  ///< of an enumeration
  std::size_t size = 0;
  std::size_t pack = 0;
  std::size_t alignment = 1;
  bool fixed =
      false;  ///< every entry is a number at a known offset: the plan can read it straight away
  FlatField wanted[prof::NvtxPlan::kMaxFields];  ///< then: what the plan wants
  prof::NvtxPlan plan;
  Schema* next = nullptr;
};

std::uint64_t registerSchema(Domain& domain, const nvtxPayloadSchemaAttr_t& attributes);
std::uint64_t registerEnum(Domain& domain, const nvtxPayloadEnumAttr_t& attributes);
const Schema* findSchema(const Domain& domain, std::uint64_t id);

/// Size of a predefined entry type in bytes; 0 when it is not a number.
std::size_t sizeOfType(std::uint64_t type);
/// A number of that type as 64 bits. Integers are widened with their sign, 128-bit ones give their
/// lower half, and reals give the bits of a double.
std::uint64_t readNumber(std::uint64_t type, const unsigned char* at);
enum class NumberKind { Unsigned, Signed, Real };
NumberKind kindOf(std::uint64_t type);

/// The contents of one event's payloads.
struct Payloads {
  const prof::NvtxPlan* plan = nullptr;  ///< of a payload of the runtime's schema, with its values
  std::uint64_t values[prof::NvtxPlan::kMaxFields];
  std::size_t valueCount = 0;
  const RegisteredText* texts[4];  ///< registered strings met, for the sink
  std::size_t textCount = 0;
  std::string message;  ///< the entry that the schema marks as the event's message
  std::uint32_t category = 0;
  std::uint32_t colour = 0;
  std::uint32_t thread = 0;  ///< the thread that an entry names, 0 when none does
  prof::TimeNs beginNs =
      0;  ///< stamps among the entries: of a range's begin or of a mark, and of a range's end
  prof::TimeNs endNs = 0;
  bool unknownClock = false;  ///< one of the stamps could not be converted
  std::uint64_t bytes = 0;    ///< of a call of NCCL: what it moves
  std::string text;           ///< all other fields as "name=value name=value"
};
/// The schema of the one payload that the event has, when it is one of the runtime's with a size
/// that fits; or null.
const Schema* plannedSchema(const Domain& domain, const nvtxPayloadData_t* payloads,
                            std::size_t count);
/// Reads the fields that the plan wants straight from a payload of such a schema; texts as their
/// names.
class PlannedFields {
 public:
  PlannedFields(const Schema& schema, const void* payload)
      : fields_(schema.wanted), data_(static_cast<const unsigned char*>(payload)) {}
  std::uint64_t operator[](std::size_t which) const {
    const FlatField& field = fields_[which];
    if (__builtin_expect(field.bytes == 8, 1)) {
      std::uint64_t value = 0;
      std::memcpy(&value, data_ + field.offset, 8);
      return field.isText && value != 0 ? reinterpret_cast<const RegisteredText*>(value)->text()
                                        : value;
    }
    std::uint32_t word = 0;
    if (field.bytes == 4) {
      std::memcpy(&word, data_ + field.offset, 4);
      return word;
    }
    return field.bytes == 1 ? data_[field.offset] : 0;
  }

 private:
  const FlatField* fields_;
  const unsigned char* data_;
};

/// Reads at most 64 KiB of what the payloads point to; a payload that does not fit its schema is
/// shown by its size.
void readPayloads(const Domain& domain, const nvtxPayloadData_t* payloads, std::size_t count,
                  Payloads& out);

}  // namespace lacuna::collector::nvtx
