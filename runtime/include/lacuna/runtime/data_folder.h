// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lacuna/runtime/data.h"

namespace lacuna::rt {

/// A file of a FolderDataset.
struct FolderItem {
  std::filesystem::path path;
  std::int64_t label = 0;  ///< which of the classes
};

/// Files that lie in one folder per class, as data sets of pictures do: ROOT/CLASS/FILE. Classes
/// and files come in the order of their names. Reads whole files, several workers at a time; what
/// their bytes mean is up to `decode`.
class FolderDataset : public Dataset {
 public:
  using Decode = std::function<Example(const FolderItem& item, std::span<const std::uint8_t> bytes,
                                       WorkerContext& context)>;
  /// `extensions` in small letters, with the dot; files of others are skipped. Throws Error where
  /// there are no folders, or a folder has none of these files.
  FolderDataset(const std::filesystem::path& root, std::vector<std::string> extensions,
                Decode decode);
  [[nodiscard]] std::size_t size() const override { return items_.size(); }
  [[nodiscard]] Example get(std::size_t index, WorkerContext& context) const override;
  [[nodiscard]] const std::vector<std::string>& classes() const { return classes_; }
  [[nodiscard]] const std::vector<FolderItem>& items() const { return items_; }

 private:
  Decode decode_;
  std::vector<std::string> classes_;
  std::vector<FolderItem> items_;
};

}  // namespace lacuna::rt
