// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "nvtx/domain.h"

#include <pthread.h>

#include <algorithm>
#include <cstdio>

#include "lacuna/prof/trace.h"

namespace lacuna::collector::nvtx {
namespace {

pthread_mutex_t registryMutex = PTHREAD_MUTEX_INITIALIZER;
Domain* domains = nullptr;
unsigned domainCount = 0;

void appendUtf8(std::string& out, std::uint32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xC0 | c >> 6);
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else if (c >= 0xD800 && c < 0xE000) {
    out += "\xEF\xBF\xBD";  // half a character of UTF-16, which UTF-8 has no place for
  } else if (c < 0x10000) {
    out += static_cast<char>(0xE0 | c >> 12);
    out += static_cast<char>(0x80 | (c >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else if (c < 0x110000) {
    out += static_cast<char>(0xF0 | c >> 18);
    out += static_cast<char>(0x80 | (c >> 12 & 0x3F));
    out += static_cast<char>(0x80 | (c >> 6 & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else {
    out += "\xEF\xBF\xBD";
  }
}

}  // namespace

void lockRegistry() {
  pthread_mutex_lock(&registryMutex);
}
void unlockRegistry() {
  pthread_mutex_unlock(&registryMutex);
}

std::string narrow(const wchar_t* text) {
  std::string out;
  for (; text != nullptr && *text != 0; ++text) appendUtf8(out, static_cast<std::uint32_t>(*text));
  return out;
}

Domain::Domain(std::string_view name, unsigned ordinal)
    : text_(name),
      name_(prof::name(name)),
      ordinal_(ordinal),
      levelSlot_(std::min(ordinal, kLevels - 1)),
      pushWord_(lacunaWord_(LacunaRecordPush, name_, 0)),
      popWord_(lacunaWord_(LacunaRecordPop, name_, 0)) {}

Domain* Domain::named(std::string_view name) {
  const RegistryLock lock;
  for (Domain* domain = domains; domain != nullptr; domain = domain->next_) {
    if (domain->text_ == name) return domain;
  }
  auto* domain = new Domain(name, domainCount++);
  domain->next_ = domains;
  domains = domain;
  return domain;
}

constinit std::atomic<Domain*> Domain::standard_{nullptr};

Domain& Domain::standard() {
  Domain* domain = standard_.load(std::memory_order_acquire);
  if (domain == nullptr) {
    domain = named("");
    standard_.store(domain, std::memory_order_release);
  }
  return *domain;
}

Domain::Category* Domain::findCategory(std::uint32_t id) const {
  for (auto* category = categories_.load(std::memory_order_acquire); category != nullptr;
       category = category->next) {
    if (category->id == id) return category;
  }
  return nullptr;
}

void Domain::nameCategory(std::uint32_t id, std::string_view name) {
  const LacunaName text = prof::name(name);
  const RegistryLock lock;
  if (auto* known = findCategory(id)) {
    if (known->name.load(std::memory_order_relaxed) == text) return;
    known->name.store(text, std::memory_order_release);
  } else {
    auto* fresh = new Category{id, {}, categories_.load(std::memory_order_relaxed)};
    fresh->name.store(text, std::memory_order_relaxed);
    categories_.store(fresh, std::memory_order_release);
  }
  generation_.fetch_add(1, std::memory_order_release);
}

LacunaName Domain::category(std::uint32_t id) {
  if (id == 0) return 0;
  if (const auto* known = findCategory(id)) return known->name.load(std::memory_order_acquire);
  char digits[16];
  std::snprintf(digits, sizeof digits, "%u", id);
  return prof::name(digits);
}

LacunaName RegisteredText::makeSite(Domain& domain, std::uint32_t category, std::uint32_t colour,
                                    std::uint32_t generation) {
  auto* fresh =
      new Site{&domain, category, colour, generation, 0, sites_.load(std::memory_order_relaxed)};
  fresh->name = lacunaSite(text_, domain.name(), domain.category(category), colour);
  while (!sites_.compare_exchange_weak(fresh->next, fresh, std::memory_order_acq_rel)) {
  }
  return fresh->name;
}

}  // namespace lacuna::collector::nvtx
