// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <utility>

#include "core/guest.h"
#include "core/standby_page.h"
#include "lacuna/prof/mapping_guard.h"
#include "lacuna/prof/result.h"

namespace lacuna::collector {

/// A mapped Control or StandbyPage. The supervisor creates and deletes the file; a trigger opens
/// it.
template <class Page>
class PageFile {
 public:
  static prof::Result<PageFile> create(const std::filesystem::path& path);
  static prof::Result<PageFile> open(const std::filesystem::path& path);
  PageFile(PageFile&& other) noexcept;
  PageFile& operator=(PageFile&&) = delete;
  ~PageFile();

  Page* operator->() const { return page_; }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// Somebody has shortened the file: the page that is seen here is no longer the programs'.
  [[nodiscard]] bool broken() const { return guard_.broken(); }

 private:
  using Identity = std::pair<dev_t, ino_t>;

  PageFile(std::filesystem::path path, Page* page, Identity identity, bool owner);
  static prof::Result<PageFile> map(const std::filesystem::path& path, int flags, bool owner);
  std::filesystem::path path_;
  Page* page_;
  prof::MappingGuard guard_;
  Identity identity_;  ///< another run may have made a file of that name since
  bool owner_;
};

using ControlFile = PageFile<Control>;
using StandbyFile = PageFile<StandbyPage>;

}  // namespace lacuna::collector
