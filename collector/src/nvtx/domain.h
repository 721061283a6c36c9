// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nvtx3/nvToolsExt.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "lacuna/prof/prof.h"

/// The annotating side's names, as handles that NVTX hands back to us. Everything here lives as
/// long as the process: a program may use a handle on any thread at any time, so nothing is ever
/// freed.
namespace lacuna::collector::nvtx {

class Domain;

/// A registered string: the handle is a pointer to it. Remembers the site of each (category,
/// colour) it was used with, so that a range with all three is one record.
class RegisteredText {
 public:
  explicit RegisteredText(std::string_view text)
      : words_(text), text_(lacunaNameN(text.data(), text.size())) {}

  [[nodiscard]] LacunaName text() const { return text_; }
  [[nodiscard]] const std::string& words() const { return words_; }
  /// The site of this text in `domain` with that category and colour; a few loads once it has been
  /// used before.
  inline LacunaName site(Domain& domain, std::uint32_t category, std::uint32_t colour);

 private:
  struct Site {
    const Domain* domain;
    std::uint32_t category;
    std::uint32_t colour;
    std::uint32_t generation;
    LacunaName name;
    Site* next;
  };
  LacunaName makeSite(Domain& domain, std::uint32_t category, std::uint32_t colour,
                      std::uint32_t generation);

  std::string words_;
  LacunaName text_;
  std::atomic<Site*> sites_{nullptr};
};

/// A domain, shared by all NVTX modules of the process that create one of that name. A null handle
/// is the default one.
class Domain {
 public:
  /// The domain of that name; made when it is new.
  static Domain* named(std::string_view name);
  static Domain& standard();
  static Domain& of(nvtxDomainHandle_t handle) {
    return handle == nullptr ? standard() : *reinterpret_cast<Domain*>(handle);
  }
  /// The same in a load or two; nullptr while nobody has used the default domain.
  static Domain* known(nvtxDomainHandle_t handle) {
    return handle == nullptr ? standard_.load(std::memory_order_acquire)
                             : reinterpret_cast<Domain*>(handle);
  }
  [[nodiscard]] nvtxDomainHandle_t handle() { return reinterpret_cast<nvtxDomainHandle_t>(this); }

  [[nodiscard]] LacunaName name() const { return name_; }
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] unsigned ordinal() const { return ordinal_; }
  /// Which of the thread's nesting depths this domain counts in: those from the eighth on share
  /// one.
  static constexpr unsigned kLevels = 8;
  [[nodiscard]] unsigned levelSlot() const { return levelSlot_; }
  /// The words of records that open the range of a text here, and that close it.
  [[nodiscard]] std::uint64_t pushWord(LacunaName text) const { return pushWord_ | text; }
  [[nodiscard]] std::uint64_t popWord() const { return popWord_; }
  /// Rises when a category gets a name, which makes older sites stale.
  [[nodiscard]] std::uint32_t generation() const {
    return generation_.load(std::memory_order_acquire);
  }

  void nameCategory(std::uint32_t id, std::string_view name);
  /// The category's name, or its number as text; 0 for category 0, which means none.
  LacunaName category(std::uint32_t id);

 private:
  struct Category {
    std::uint32_t id;
    std::atomic<LacunaName> name;
    Category* next;
  };
  Domain(std::string_view name, unsigned ordinal);
  static constinit std::atomic<Domain*> standard_;
  Category* findCategory(std::uint32_t id) const;

  std::string text_;
  LacunaName name_;
  unsigned ordinal_;
  unsigned levelSlot_;
  std::uint64_t pushWord_;
  std::uint64_t popWord_;
  std::atomic<std::uint32_t> generation_{1};
  std::atomic<Category*> categories_{nullptr};
  Domain* next_ = nullptr;
};

inline LacunaName RegisteredText::site(Domain& domain, std::uint32_t category,
                                       std::uint32_t colour) {
  const std::uint32_t generation = domain.generation();
  for (const auto* site = sites_.load(std::memory_order_acquire); site != nullptr;
       site = site->next) {
    if (site->category == category && site->colour == colour && site->domain == &domain &&
        site->generation == generation) {
      return site->name;
    }
  }
  return makeSite(domain, category, colour, generation);
}

/// Guards what is registered, never what is recorded. A fork takes it first, so that a child finds
/// it free.
void lockRegistry();
void unlockRegistry();
class RegistryLock {
 public:
  RegistryLock() { lockRegistry(); }
  ~RegistryLock() { unlockRegistry(); }
  RegistryLock(const RegistryLock&) = delete;
  RegistryLock& operator=(const RegistryLock&) = delete;
};

/// Wide text as UTF-8.
std::string narrow(const wchar_t* text);

}  // namespace lacuna::collector::nvtx
