// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/runtime/data_folder.h"

#include <algorithm>
#include <cctype>
#include <fstream>

namespace lacuna::rt {

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> sortedEntries(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> entries;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (!at->path().filename().string().starts_with('.')) entries.push_back(at->path());
  }
  if (error) fail("FolderDataset", "cannot list " + folder.string() + ": " + error.message());
  std::sort(entries.begin(), entries.end());
  return entries;
}

std::string extensionOf(const fs::path& path) {
  std::string text = path.extension().string();
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

std::vector<std::uint8_t> readAll(const fs::path& path) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  const std::streamoff size = in ? static_cast<std::streamoff>(in.tellg()) : -1;
  if (size < 0) fail("FolderDataset", "cannot open " + path.string());
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(size));
  in.seekg(0);
  in.read(reinterpret_cast<char*>(bytes.data()), size);
  if (in.gcount() != size) fail("FolderDataset", "cannot read " + path.string());
  return bytes;
}

}  // namespace

FolderDataset::FolderDataset(const fs::path& root, std::vector<std::string> extensions, Decode decode)
    : decode_(std::move(decode)) {
  for (const fs::path& folder : sortedEntries(root)) {
    if (!fs::is_directory(folder)) continue;
    const std::size_t before = items_.size();
    for (const fs::path& file : sortedEntries(folder)) {
      if (std::find(extensions.begin(), extensions.end(), extensionOf(file)) == extensions.end()) continue;
      items_.push_back({file, static_cast<std::int64_t>(classes_.size())});
    }
    if (items_.size() == before) {
      std::string wanted;
      for (const std::string& extension : extensions) wanted += (wanted.empty() ? "" : ", ") + extension;
      fail("FolderDataset", folder.string() + " has no files of the kinds " + wanted);
    }
    classes_.push_back(folder.filename().string());
  }
  if (classes_.empty()) fail("FolderDataset", root.string() + " has no folders; each class needs one with its files");
}

Example FolderDataset::get(std::size_t index, WorkerContext& context) const {
  const FolderItem& item = items_[index];
  std::vector<std::uint8_t> bytes;
  {
    const LoaderScope stage = context.stage(LoaderStage::Fetch);
    bytes = readAll(item.path);
  }
  return decode_(item, bytes, context);
}

}  // namespace lacuna::rt
