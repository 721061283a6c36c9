// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "nvtx/schema.h"

#include <nvtx3/nvToolsExtSemanticsCounters.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "nvtx/time.h"

namespace lacuna::collector::nvtx {
namespace {

constexpr std::size_t kBuckets = 128;
std::atomic<Schema*> buckets[kBuckets];
std::atomic<std::uint64_t> nextDynamicId{NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START};

std::atomic<Schema*>& bucketOf(const Domain& domain, std::uint64_t id) {
  return buckets[(id ^ id >> 32 ^ domain.ordinal() * 31u) % kBuckets];
}

void publish(Schema* schema) {
  auto& bucket = bucketOf(*schema->domain, schema->id);
  schema->next = bucket.load(std::memory_order_relaxed);
  while (!bucket.compare_exchange_weak(schema->next, schema, std::memory_order_release)) {
  }
}

std::string textOr(const char* text, bool given) {
  return given && text != nullptr ? text : "";
}

/// A schema whose entries are all plain numbers can be read by offset alone.
void placeEntries(Schema& schema) {
  std::size_t at = 0;
  schema.fixed = schema.type == NVTX_PAYLOAD_SCHEMA_TYPE_STATIC &&
                 schema.entries.size() <= prof::NvtxPlan::kMaxFields;
  for (auto& entry : schema.entries) {
    const std::size_t size = sizeOfType(entry.type);
    constexpr std::uint64_t kShape =
        NVTX_PAYLOAD_ENTRY_FLAG_IS_ARRAY | NVTX_PAYLOAD_ENTRY_FLAG_POINTER |
        NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_LENGTH_PAYLOAD_INDEX |
        NVTX_PAYLOAD_ENTRY_FLAG_OFFSET_FROM_BASE | NVTX_PAYLOAD_ENTRY_FLAG_OFFSET_FROM_HERE;
    const bool plain = size != 0 && (entry.flags & kShape) == 0;
    schema.fixed &= plain;
    if (!schema.fixed) continue;
    std::size_t alignment = size;
    if (schema.pack != 0 && schema.pack < alignment) alignment = schema.pack;
    if (entry.offset == 0) entry.offset = (at + alignment - 1) / alignment * alignment;
    entry.placed = true;
    at = entry.offset + size;
  }
  if (schema.fixed && schema.size == 0) schema.size = at;
}

/// Lays out what the plan wants for a quick reading. The plan is dropped when a field is not of the
/// width that it has in the runtime's schema.
void placeWanted(Schema& schema) {
  const std::size_t count = prof::NvtxPlan::wanted(schema.plan.kind()).size();
  for (std::size_t which = 0; which < count; ++which) {
    const int position = schema.plan.position(which);
    if (position < 0) continue;
    const auto& entry = schema.entries[static_cast<std::size_t>(position)];
    const std::size_t bytes = sizeOfType(entry.type);
    if ((bytes != 1 && bytes != 4 && bytes != 8) || kindOf(entry.type) == NumberKind::Real ||
        entry.offset + bytes > schema.size || schema.size > UINT16_MAX) {
      schema.plan = {};
      return;
    }
    schema.wanted[which] = {static_cast<std::uint16_t>(entry.offset),
                            static_cast<std::uint8_t>(bytes),
                            entry.type == NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE};
  }
}

/// Computes what the layout of nested structures and unions needs to know of the schema.
void measure(Schema& schema) {
  const bool isUnion = schema.type == NVTX_PAYLOAD_SCHEMA_TYPE_UNION ||
                       schema.type == NVTX_PAYLOAD_SCHEMA_TYPE_UNION_WITH_INTERNAL_SELECTOR;
  std::size_t largest = 0;
  for (const auto& entry : schema.entries) {
    const std::size_t number = sizeOfType(entry.type);
    const Schema* nested = number == 0 ? findSchema(*schema.domain, entry.type) : nullptr;
    const std::size_t alignment = number != 0 ? number : nested != nullptr ? nested->alignment : 1;
    schema.alignment = std::max(schema.alignment, alignment);
    largest = std::max(largest, entry.offset + (number != 0         ? number
                                                : nested != nullptr ? nested->size
                                                                    : 0));
  }
  if (schema.pack != 0) schema.alignment = std::min(schema.alignment, schema.pack);
  if (isUnion && schema.size == 0) schema.size = largest;
}

void readSemantics(const nvtxSemanticsHeader_t* semantics, SchemaEntry& entry) {
  entry.timeDomain = timeDomainOf(semantics);
  for (; semantics != nullptr; semantics = semantics->next) {
    if (semantics->semanticId != NVTX_SEMANTIC_ID_COUNTERS_V1) continue;
    const auto* counter = reinterpret_cast<const nvtxSemanticsCounter_t*>(semantics);
    if (counter->unit != nullptr) entry.unit = counter->unit;
  }
}

}  // namespace

std::size_t sizeOfType(std::uint64_t type) {
  switch (type) {
    case NVTX_PAYLOAD_ENTRY_TYPE_CHAR:
    case NVTX_PAYLOAD_ENTRY_TYPE_UCHAR:
    case NVTX_PAYLOAD_ENTRY_TYPE_INT8:
    case NVTX_PAYLOAD_ENTRY_TYPE_UINT8:
    case NVTX_PAYLOAD_ENTRY_TYPE_CHAR8:
    case NVTX_PAYLOAD_ENTRY_TYPE_BYTE:
      return 1;
    case NVTX_PAYLOAD_ENTRY_TYPE_SHORT:
    case NVTX_PAYLOAD_ENTRY_TYPE_USHORT:
    case NVTX_PAYLOAD_ENTRY_TYPE_INT16:
    case NVTX_PAYLOAD_ENTRY_TYPE_UINT16:
    case NVTX_PAYLOAD_ENTRY_TYPE_CHAR16:
    case NVTX_PAYLOAD_ENTRY_TYPE_FLOAT16:
    case NVTX_PAYLOAD_ENTRY_TYPE_BF16:
      return 2;
    case NVTX_PAYLOAD_ENTRY_TYPE_INT:
    case NVTX_PAYLOAD_ENTRY_TYPE_UINT:
    case NVTX_PAYLOAD_ENTRY_TYPE_INT32:
    case NVTX_PAYLOAD_ENTRY_TYPE_UINT32:
    case NVTX_PAYLOAD_ENTRY_TYPE_FLOAT:
    case NVTX_PAYLOAD_ENTRY_TYPE_FLOAT32:
    case NVTX_PAYLOAD_ENTRY_TYPE_TF32:
    case NVTX_PAYLOAD_ENTRY_TYPE_WCHAR:
    case NVTX_PAYLOAD_ENTRY_TYPE_CHAR32:
    case NVTX_PAYLOAD_ENTRY_TYPE_CATEGORY:
    case NVTX_PAYLOAD_ENTRY_TYPE_COLOR_ARGB:
    case NVTX_PAYLOAD_ENTRY_TYPE_PID_UINT32:
    case NVTX_PAYLOAD_ENTRY_TYPE_TID_UINT32:
      return 4;
    case NVTX_PAYLOAD_ENTRY_TYPE_LONG:
    case NVTX_PAYLOAD_ENTRY_TYPE_ULONG:
    case NVTX_PAYLOAD_ENTRY_TYPE_LONGLONG:
    case NVTX_PAYLOAD_ENTRY_TYPE_ULONGLONG:
    case NVTX_PAYLOAD_ENTRY_TYPE_INT64:
    case NVTX_PAYLOAD_ENTRY_TYPE_UINT64:
    case NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE:
    case NVTX_PAYLOAD_ENTRY_TYPE_FLOAT64:
    case NVTX_PAYLOAD_ENTRY_TYPE_SIZE:
    case NVTX_PAYLOAD_ENTRY_TYPE_ADDRESS:
    case NVTX_PAYLOAD_ENTRY_TYPE_SCOPE_ID:
    case NVTX_PAYLOAD_ENTRY_TYPE_PID_UINT64:
    case NVTX_PAYLOAD_ENTRY_TYPE_TID_UINT64:
    case NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE:
      return 8;
    case NVTX_PAYLOAD_ENTRY_TYPE_LONGDOUBLE:
    case NVTX_PAYLOAD_ENTRY_TYPE_INT128:
    case NVTX_PAYLOAD_ENTRY_TYPE_UINT128:
    case NVTX_PAYLOAD_ENTRY_TYPE_FLOAT128:
      return 16;
    default:
      return 0;
  }
}

NumberKind kindOf(std::uint64_t type) {
  switch (type) {
    case NVTX_PAYLOAD_ENTRY_TYPE_FLOAT:
    case NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE:
    case NVTX_PAYLOAD_ENTRY_TYPE_LONGDOUBLE:
    case NVTX_PAYLOAD_ENTRY_TYPE_FLOAT16:
    case NVTX_PAYLOAD_ENTRY_TYPE_FLOAT32:
    case NVTX_PAYLOAD_ENTRY_TYPE_FLOAT64:
    case NVTX_PAYLOAD_ENTRY_TYPE_FLOAT128:
    case NVTX_PAYLOAD_ENTRY_TYPE_BF16:
    case NVTX_PAYLOAD_ENTRY_TYPE_TF32:
      return NumberKind::Real;
    case NVTX_PAYLOAD_ENTRY_TYPE_SHORT:
    case NVTX_PAYLOAD_ENTRY_TYPE_INT:
    case NVTX_PAYLOAD_ENTRY_TYPE_LONG:
    case NVTX_PAYLOAD_ENTRY_TYPE_LONGLONG:
    case NVTX_PAYLOAD_ENTRY_TYPE_INT8:
    case NVTX_PAYLOAD_ENTRY_TYPE_INT16:
    case NVTX_PAYLOAD_ENTRY_TYPE_INT32:
    case NVTX_PAYLOAD_ENTRY_TYPE_INT64:
    case NVTX_PAYLOAD_ENTRY_TYPE_INT128:
      return NumberKind::Signed;
    default:
      return NumberKind::Unsigned;
  }
}

namespace {

template <class T>
T load(const unsigned char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

double halfToDouble(std::uint16_t half) {
  const double sign = (half & 0x8000) != 0 ? -1 : 1;
  const int exponent = half >> 10 & 31;
  const double fraction = half & 1023;
  if (exponent == 31) return fraction != 0 ? __builtin_nan("") : sign * __builtin_inf();
  if (exponent == 0) return sign * __builtin_ldexp(fraction, -24);
  return sign * __builtin_ldexp(1024 + fraction, exponent - 25);
}

/// By hand, for not every compiler has the type: 1 sign, 15 exponent and 112 fraction bits; a
/// double keeps 52.
double quadToDouble(const unsigned char* at) {
  const auto low = load<std::uint64_t>(at);
  const auto high = load<std::uint64_t>(at + 8);
  const double sign = high >> 63 != 0 ? -1 : 1;
  const int exponent = static_cast<int>(high >> 48 & 0x7fff);
  const std::uint64_t fraction = (high & 0xffffffffffff) << 4 | low >> 60;
  if (exponent == 0x7fff)
    return fraction != 0 || low != 0 ? __builtin_nan("") : sign * __builtin_inf();
  if (exponent == 0) return sign * 0.0;
  return sign * __builtin_ldexp(static_cast<double>(fraction | std::uint64_t{1} << 52),
                                exponent - 16383 - 52);
}

double readReal(std::uint64_t type, const unsigned char* at) {
  switch (type) {
    case NVTX_PAYLOAD_ENTRY_TYPE_FLOAT16:
      return halfToDouble(load<std::uint16_t>(at));
    case NVTX_PAYLOAD_ENTRY_TYPE_BF16: {
      const std::uint32_t bits = static_cast<std::uint32_t>(load<std::uint16_t>(at)) << 16;
      float value = 0;
      std::memcpy(&value, &bits, sizeof value);
      return static_cast<double>(value);
    }
    case NVTX_PAYLOAD_ENTRY_TYPE_LONGDOUBLE:
      return static_cast<double>(load<long double>(at));
    case NVTX_PAYLOAD_ENTRY_TYPE_FLOAT128:
      return quadToDouble(at);
    case NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE:
    case NVTX_PAYLOAD_ENTRY_TYPE_FLOAT64:
      return load<double>(at);
    default:
      return static_cast<double>(load<float>(at));
  }
}

}  // namespace

std::uint64_t readNumber(std::uint64_t type, const unsigned char* at) {
  const auto kind = kindOf(type);
  if (kind == NumberKind::Real) {
    const double value = readReal(type, at);
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
  }
  const bool isSigned = kind == NumberKind::Signed;
  switch (sizeOfType(type)) {
    case 1:
      return isSigned ? static_cast<std::uint64_t>(load<std::int8_t>(at)) : load<std::uint8_t>(at);
    case 2:
      return isSigned ? static_cast<std::uint64_t>(load<std::int16_t>(at))
                      : load<std::uint16_t>(at);
    case 4:
      return isSigned ? static_cast<std::uint64_t>(load<std::int32_t>(at))
                      : load<std::uint32_t>(at);
    default:
      return load<std::uint64_t>(at);
  }
}

std::uint64_t registerSchema(Domain& domain, const nvtxPayloadSchemaAttr_t& attributes) {
  const auto has = [&](std::uint64_t field) { return (attributes.fieldMask & field) != 0; };
  if (attributes.entries == nullptr || attributes.numEntries > 4096) return 0;
  auto* schema = new Schema;
  schema->domain = &domain;
  schema->id = has(NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID) && attributes.schemaId != 0
                   ? attributes.schemaId
                   : nextDynamicId.fetch_add(1);
  schema->name = textOr(attributes.name, has(NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME));
  schema->type = attributes.type;
  if (has(NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE)) schema->size = attributes.payloadStaticSize;
  if (has(NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ALIGNMENT)) schema->pack = attributes.packAlign;
  std::vector<std::string_view> names;
  schema->entries.reserve(attributes.numEntries);
  for (std::size_t i = 0; i < attributes.numEntries; ++i) {
    const auto& given = attributes.entries[i];
    SchemaEntry entry;
    entry.flags = given.flags;
    entry.type = given.type;
    entry.name = given.name != nullptr ? given.name : "";
    entry.detail = given.arrayOrUnionDetail;
    entry.offset = given.offset;
    readSemantics(given.semantics, entry);
    schema->entries.push_back(entry);
    names.push_back(schema->entries.back().name);
  }
  placeEntries(*schema);
  measure(*schema);
  if (schema->fixed) schema->plan = prof::NvtxPlan(domain.text(), schema->name, names);
  placeWanted(*schema);
  publish(schema);
  return schema->id;
}

std::uint64_t registerEnum(Domain& domain, const nvtxPayloadEnumAttr_t& attributes) {
  if (attributes.entries == nullptr || attributes.numEntries > 65536) return 0;
  auto* schema = new Schema;
  schema->domain = &domain;
  const bool hasId = (attributes.fieldMask & NVTX_PAYLOAD_ENUM_ATTR_FIELD_SCHEMA_ID) != 0 &&
                     attributes.schemaId != 0;
  schema->id = hasId ? attributes.schemaId : nextDynamicId.fetch_add(1);
  schema->name =
      textOr(attributes.name, (attributes.fieldMask & NVTX_PAYLOAD_ENUM_ATTR_FIELD_NAME) != 0);
  schema->size = (attributes.fieldMask & NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE) != 0
                     ? attributes.sizeOfEnum
                     : sizeof(int);
  for (std::size_t i = 0; i < attributes.numEntries; ++i) {
    const auto& given = attributes.entries[i];
    schema->names.push_back(
        {given.name != nullptr ? given.name : "", given.value, given.isFlag != 0});
  }
  publish(schema);
  return schema->id;
}

const Schema* findSchema(const Domain& domain, std::uint64_t id) {
  for (const auto* schema = bucketOf(domain, id).load(std::memory_order_acquire); schema != nullptr;
       schema = schema->next) {
    if (schema->id == id && schema->domain == &domain) return schema;
  }
  return nullptr;
}

}  // namespace lacuna::collector::nvtx
