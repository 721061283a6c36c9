// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "record/drain/guest_tables.h"

#include <cstring>

#include "record/drain/saver.h"

namespace lacuna::prof::recording {

std::string_view GuestTables::body(std::uint32_t id, bool& site) const {
  const std::size_t offset = static_cast<std::size_t>(id) * 8;
  const std::size_t used = view_.header().stringsUsed.load(std::memory_order_acquire);
  if (id == 0 || used > kStringsBytes || offset + sizeof(StringHead) > used) return {};
  const auto& head = *reinterpret_cast<const StringHead*>(view_.strings() + offset);
  const std::uint32_t word = head.word.load(std::memory_order_acquire);
  const std::size_t length = word & StringHead::kLength;
  if ((word & StringHead::kPresent) == 0 || offset + sizeof(StringHead) + length > used) return {};
  site = (word & StringHead::kSite) != 0;
  return {reinterpret_cast<const char*>(&head + 1), length};
}

const ResolvedName& GuestTables::resolve(std::uint32_t id, int depth) {
  bool site = false;
  const std::string_view bytes = body(id, site);
  // A damaged site could name itself; a sound one at most another site.
  if (bytes.empty() || (site && (depth > 3 || bytes.size() != sizeof(SiteBody))))
    return resolved_[0];
  ResolvedName name;
  if (site) {
    SiteBody body{};
    std::memcpy(&body, bytes.data(), sizeof body);
    const auto part = [&](std::uint32_t text) {
      return text == 0 ? StringId{} : resolve(text, depth + 1).name;
    };
    name = {part(body.name), part(body.domain), part(body.category), body.colour};
  } else {
    name.name = trace_.writer().intern(bytes);
  }
  if (indexOf_.size() <= id) indexOf_.resize(static_cast<std::size_t>(id) + 1);
  indexOf_[id] = static_cast<std::uint32_t>(resolved_.size());
  resolved_.push_back(name);
  return resolved_.back();
}

TrackId GuestTables::track(std::uint32_t site, ProcessId process) {
  TrackId& known = tracks_[site];
  if (known) return known;
  known = TrackId{trace_.newNumber(Numbered::Track)};
  const ResolvedName name = this->name(site);
  trace_.append(
      CounterTrack{.id = known, .process = process, .name = name.name, .unit = name.domain});
  return known;
}

std::uint32_t GuestTables::resolveNumber(Numbered kind, std::uint32_t local) {
  if (local == 0) return 0;
  std::uint32_t& known = numbers_[at(kind)][local];
  if (known == 0) known = trace_.newNumber(kind);
  last_[at(kind)] = {local, known};
  return known;
}

void GuestTables::save(Saver& saver) const {
  for (const auto& map : numbers_) {
    saver.putAll(map, [&](const auto& entry) {
      saver.put(entry.first);
      saver.put(entry.second);
    });
  }
  saver.putAll(tracks_, [&](const auto& entry) {
    saver.put(entry.first);
    saver.put(entry.second);
  });
}

void GuestTables::load(Loader& loader) {
  for (auto& map : numbers_) {
    loader.getAll([&] {
      const auto local = loader.get<std::uint32_t>();
      map[local] = loader.get<std::uint32_t>();
    });
  }
  loader.getAll([&] {
    const auto site = loader.get<std::uint32_t>();
    tracks_[site] = loader.get<TrackId>();
  });
}

}  // namespace lacuna::prof::recording
