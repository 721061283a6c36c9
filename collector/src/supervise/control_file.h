// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <utility>

#include "core/guest.h"
#include "lacuna/prof/mapping_guard.h"
#include "lacuna/prof/result.h"

namespace lacuna::collector {

/// A mapped Control. The supervisor creates and deletes the file; a trigger opens it.
class ControlFile {
 public:
  static prof::Result<ControlFile> create(const std::filesystem::path& path);
  static prof::Result<ControlFile> open(const std::filesystem::path& path);
  ControlFile(ControlFile&& other) noexcept;
  ControlFile& operator=(ControlFile&&) = delete;
  ~ControlFile();

  Control* operator->() const { return control_; }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// Somebody has shortened the file: the page that is seen here is no longer the programs'.
  [[nodiscard]] bool broken() const { return guard_.broken(); }

 private:
  using Identity = std::pair<dev_t, ino_t>;

  ControlFile(std::filesystem::path path, Control* control, Identity identity, bool owner);
  static prof::Result<ControlFile> map(const std::filesystem::path& path, int flags, bool owner);
  std::filesystem::path path_;
  Control* control_;
  prof::MappingGuard guard_;
  Identity identity_;  ///< another run may have made a file of that name since
  bool owner_;
};

}  // namespace lacuna::collector
