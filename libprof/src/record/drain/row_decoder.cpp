// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "record/drain/row_decoder.h"

#include <cstring>

#include "lacuna/prof/bounds.h"

namespace lacuna::prof::recording {
namespace {

struct Renumber {
  GuestTables& tables;
  TraceState& trace;
  ProcessId process;

  void operator()(StringId& id) const { id = tables.text(id.value); }
  void operator()(ProcessId& id) const {
    if (id) id = process;
  }
  void operator()(ThreadId& id) const { id = trace.threadOf(process, id.value); }
  void operator()(DeviceId& id) const { id = DeviceId{tables.number(Numbered::Device, id.value)}; }
  void operator()(QueueId& id) const { id = QueueId{tables.number(Numbered::Queue, id.value)}; }
  void operator()(TrackId& id) const { id = TrackId{tables.number(Numbered::Track, id.value)}; }
  void operator()(FrameId& id) const { id = FrameId{tables.number(Numbered::Frame, id.value)}; }
  void operator()(ArgSetId& id) const { id = ArgSetId{tables.number(Numbered::ArgSet, id.value)}; }
  template <class T>
  void operator()(T&) const {}
};

template <class Row>
Row unpack(std::span<const std::byte> packed) {
  Row row;
  Row::forEachMember([&]<auto Member>() {
    auto& value = row.*Member;
    if (packed.size() < sizeof value) {
      packed = {};
      return;
    }
    std::memcpy(static_cast<void*>(&value), packed.data(), sizeof value);
    packed = packed.subspan(sizeof value);
  });
  return row;
}

template <class Row>
void renumber(Row& row, const Renumber& with) {
  Row::forEachMember([&]<auto Member>() { with(row.*Member); });
}

/// A device that several processes use is one device: the first description stands.
bool isKnownDevice(const Device& raw, const Renumber& with) {
  const std::string key(with.tables.rawText(raw.uuid.value));
  if (key.empty() || raw.kind == DeviceKind::Cpu) return false;
  if (const auto known = with.trace.deviceOf(key)) {
    with.tables.setNumber(Numbered::Device, raw.id.value, known->value);
    return true;
  }
  with.trace.nameDevice(key, DeviceId{with.tables.number(Numbered::Device, raw.id.value)});
  return false;
}

/// A thread is the drainer's own row; others may only name it.
void nameThread(const Thread& raw, const Renumber& with) {
  const ThreadId id = with.trace.threadOf(with.process, raw.osTid);
  if (!id) return;
  ThreadInfo& info = with.trace.threadInfo(id);
  info.name = with.tables.rawText(raw.name.value);
  info.named = true;
}

template <class Row>
void append(std::span<const std::byte> packed, const Renumber& with) {
  Row row = unpack<Row>(packed);
  if constexpr (std::is_same_v<Row, Thread>) return nameThread(row, with);
  if constexpr (std::is_same_v<Row, Device>) {
    if (isKnownDevice(row, with)) return;
  }
  if constexpr (std::is_same_v<Row, Arg>) {
    // The value of a text is a name of the guest, too.
    if (row.type == ArgType::Text || row.type == ArgType::Json) {
      row.value = with.tables.text(static_cast<std::uint32_t>(row.value)).value;
    }
  }
  if constexpr (std::is_same_v<Row, Drop>) addTo(with.trace.stats().dropped, row.count);
  renumber(row, with);
  with.trace.append(row);
}

}  // namespace

bool appendGuestRow(std::uint32_t table, std::span<const std::byte> packed, GuestTables& tables,
                    TraceState& trace, ProcessId process) {
  bool found = false;
  forEachTable([&]<class Row>() {
    if (Row::kTable != table) return;
    // These rows are the drainer's own.
    if constexpr (!std::is_same_v<Row, Process>) {
      append<Row>(packed, {tables, trace, process});
      found = true;
    }
  });
  return found;
}

}  // namespace lacuna::prof::recording
