// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>

#include <cstring>

#include "record/guest/guest.h"

namespace lacuna::prof::recording {
namespace {

constexpr std::uint32_t kBuckets = 1u << 18;
constexpr std::uint32_t kMaxNames = kBuckets / 2;
constexpr char kTooMany[] = "(too many names)";

/// The texts and a hash table of their ids. Both only grow; readers take no lock.
struct Names {
  unsigned char* bytes;
  std::atomic<std::uint32_t>* buckets;
  std::uint32_t used;
  std::uint32_t count;
};
std::atomic<Names*> gNames;

std::uint32_t hashOf(const unsigned char* bytes, std::size_t length, std::uint32_t seed) {
  std::uint64_t hash = 0x9e3779b97f4a7c15u ^ seed ^ length;
  while (length >= 8) {
    std::uint64_t part = 0;
    std::memcpy(&part, bytes, 8);
    hash = (hash ^ part) * 0xff51afd7ed558ccdu;
    hash ^= hash >> 32;
    bytes += 8;
    length -= 8;
  }
  std::uint64_t part = 0;
  std::memcpy(&part, bytes, length);
  hash = (hash ^ part) * 0xff51afd7ed558ccdu;
  return static_cast<std::uint32_t>(hash ^ hash >> 29 ^ hash >> 47);
}

StringHead& headAt(unsigned char* bytes, std::uint32_t id) {
  return *reinterpret_cast<StringHead*>(bytes + static_cast<std::size_t>(id) * 8);
}

Names* makeNames() {
  const std::size_t bytes = sizeof(Names) + kStringsBytes + kBuckets * sizeof(std::uint32_t);
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return nullptr;
  auto* start = static_cast<unsigned char*>(at);
  auto* names = reinterpret_cast<Names*>(start + kStringsBytes + kBuckets * sizeof(std::uint32_t));
  names->bytes = start;
  names->buckets = reinterpret_cast<std::atomic<std::uint32_t>*>(start + kStringsBytes);
  names->used = 8;  // id 0 is the empty text
  return names;
}

/// The id of an entry that is there, or 0 and the bucket where it belongs.
LacunaName find(Names& names, std::uint32_t word, std::uint32_t hash, const void* body,
                std::uint32_t* bucket) {
  const std::size_t length = word & StringHead::kLength;
  for (std::uint32_t at = hash & (kBuckets - 1);; at = (at + 1) & (kBuckets - 1)) {
    const std::uint32_t id = names.buckets[at].load(std::memory_order_acquire);
    *bucket = at;
    if (id == 0) return 0;
    const StringHead& head = headAt(names.bytes, id);
    if (head.hash == hash && head.word.load(std::memory_order_relaxed) == word &&
        std::memcmp(&head + 1, body, length) == 0) {
      return id;
    }
  }
}

void writeEntry(unsigned char* bytes, std::uint32_t id, std::uint32_t word, std::uint32_t hash,
                const void* body) {
  StringHead& head = headAt(bytes, id);
  std::memcpy(static_cast<void*>(&head + 1), body, word & StringHead::kLength);
  head.hash = hash;
  head.word.store(word, std::memory_order_release);
}

/// Room for names in the recording file, taken in steps.
bool backNames(Mapping& mapping, std::size_t upTo) {
  if (upTo <= mapping.stringsBacked) return true;
  const std::size_t wanted = roundUp(upTo, kStringsStep);
  if (!backFile(mapping, mapping.view.offsets.strings + mapping.stringsBacked,
                wanted - mapping.stringsBacked))
    return false;
  mapping.stringsBacked = static_cast<std::uint32_t>(wanted);
  return true;
}

/// Under the lock: the entry goes into the texts, into the mapping, and only then into the table
/// where others find it.
LacunaName add(Names& names, std::uint32_t word, std::uint32_t hash, const void* body,
               std::uint32_t bucket) {
  const std::size_t bytes = roundUp(sizeof(StringHead) + (word & StringHead::kLength), 8);
  if (names.count >= kMaxNames || names.used + bytes > kStringsBytes) return 0;
  Mapping* active = mapping();
  if (active != nullptr && !backNames(*active, names.used + bytes)) return 0;
  const LacunaName id = names.used / 8;
  writeEntry(names.bytes, id, word, hash, body);
  names.used += static_cast<std::uint32_t>(bytes);
  ++names.count;
  if (active != nullptr) {
    writeEntry(active->view.strings(), id, word, hash, body);
    active->view.header().stringsUsed.store(names.used, std::memory_order_release);
  }
  names.buckets[bucket].store(id, std::memory_order_release);
  return id;
}

Names* namesUnderLock() {
  Names* names = gNames.load(std::memory_order_relaxed);
  if (names != nullptr) return names;
  names = makeNames();
  if (names == nullptr) return nullptr;
  const std::uint32_t word = StringHead::kPresent | (sizeof kTooMany - 1);
  const std::uint32_t hash =
      hashOf(reinterpret_cast<const unsigned char*>(kTooMany), sizeof kTooMany - 1, word);
  add(*names, word, hash, kTooMany, hash & (kBuckets - 1));
  gNames.store(names, std::memory_order_release);
  return names;
}

LacunaName intern(std::uint32_t word, const void* body) {
  const std::uint32_t hash =
      hashOf(static_cast<const unsigned char*>(body), word & StringHead::kLength, word);
  std::uint32_t bucket = 0;
  Names* names = gNames.load(std::memory_order_acquire);
  if (names != nullptr) {
    if (const LacunaName id = find(*names, word, hash, body, &bucket)) return id;
  }
  ForkPage* page = forkPage();
  if (page == nullptr) return 0;
  // In a forked child the mapping is still the parent's: join anew first, or the name would go
  // there.
  if (lacunaIsRecording() != 0) rejoinAfterFork();
  const Locked lock(page->names);
  names = namesUnderLock();
  if (names == nullptr) return 0;
  if (const LacunaName id = find(*names, word, hash, body, &bucket)) return id;
  const LacunaName id = add(*names, word, hash, body, bucket);
  return id != 0 ? id : 1;
}

}  // namespace

LacunaName internText(const char* text, std::size_t length) {
  if (length == 0) return 0;
  if (length > kMaxName) {
    length = kMaxName;
    // A cut inside a character of several bytes would leave text that is not UTF-8.
    while (length > kMaxName - 4 && (static_cast<unsigned char>(text[length]) & 0xc0) == 0x80)
      --length;
  }
  return intern(StringHead::kPresent | static_cast<std::uint32_t>(length), text);
}

LacunaName internSite(const SiteBody& site) {
  return intern(StringHead::kPresent | StringHead::kSite | sizeof site, &site);
}

bool copyNames(Mapping& mapping, void (*publish)(Mapping&)) {
  ForkPage* page = forkPage();
  const Locked lock(page->names);
  Names* names = namesUnderLock();
  if (names == nullptr || !backNames(mapping, names->used)) return false;
  std::memcpy(mapping.view.strings(), names->bytes, names->used);
  mapping.view.header().stringsUsed.store(names->used, std::memory_order_release);
  publish(mapping);
  return true;
}

}  // namespace lacuna::prof::recording
