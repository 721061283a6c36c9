// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/runtime/data_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>

#include "data/wire.h"

namespace lacuna::rt {

namespace {

namespace fs = std::filesystem;

std::vector<fs::directory_entry> sortedEntries(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::directory_entry> entries;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (!at->path().filename().string().starts_with('.')) entries.push_back(*at);
  }
  if (error) fail("FolderDataset", "cannot list " + folder.string() + ": " + error.message());
  std::sort(entries.begin(), entries.end());
  return entries;
}

/// The type of an entry, through links; not_found where a link leads nowhere.
fs::file_type typeOf(const fs::directory_entry& entry) {
  std::error_code error;
  const fs::file_type type = entry.status(error).type();
  if (type == fs::file_type::none || type == fs::file_type::unknown) {
    fail("FolderDataset", "cannot look at " + entry.path().string() + ": " + error.message());
  }
  return type;
}

/// Folders within a class are skipped, as files of other kinds are; whatever else is not a file is
/// an error at once.
bool isFile(const fs::directory_entry& entry) {
  const fs::file_type type = typeOf(entry);
  if (type == fs::file_type::regular) return true;
  if (type == fs::file_type::directory) return false;
  const bool gone = type == fs::file_type::not_found;
  fail("FolderDataset", entry.path().string() + (gone ? " is a link that leads nowhere"
                                                      : " is neither a file nor a folder"));
}

std::string extensionOf(const fs::path& path) {
  std::string text = path.extension().string();
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return text;
}

std::vector<std::uint8_t> readAll(const fs::path& path) {
  const auto refuse = [&](const char* what, const char* why) {
    fail("FolderDataset", std::string("cannot ") + what + " " + path.string() + ": " + why);
  };
  // O_NONBLOCK, because opening a FIFO would wait for somebody to write into it.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (file.get() < 0 || ::fstat(file.get(), &status) != 0) refuse("open", std::strerror(errno));
  if (!S_ISREG(status.st_mode)) refuse("read", "it is not a file");
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(status.st_size));
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t got = ::read(file.get(), bytes.data() + at, bytes.size() - at);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) refuse("read", got < 0 ? std::strerror(errno) : "it became shorter meanwhile");
    at += static_cast<std::size_t>(got);
  }
  return bytes;
}

}  // namespace

FolderDataset::FolderDataset(const fs::path& root, std::vector<std::string> extensions,
                             Decode decode)
    : decode_(std::move(decode)) {
  for (const fs::directory_entry& entry : sortedEntries(root)) {
    if (typeOf(entry) != fs::file_type::directory) continue;
    const fs::path& folder = entry.path();
    const std::size_t before = items_.size();
    for (const fs::directory_entry& file : sortedEntries(folder)) {
      const std::string extension = extensionOf(file.path());
      if (std::find(extensions.begin(), extensions.end(), extension) == extensions.end() ||
          !isFile(file))
        continue;
      items_.push_back({file.path(), static_cast<std::int64_t>(classes_.size())});
    }
    if (items_.size() == before) {
      std::string wanted;
      for (const std::string& extension : extensions)
        wanted += (wanted.empty() ? "" : ", ") + extension;
      fail("FolderDataset", folder.string() + " has no files of the kinds " + wanted);
    }
    classes_.push_back(folder.filename().string());
  }
  if (classes_.empty())
    fail("FolderDataset", root.string() + " has no folders; each class needs one with its files");
}

Example FolderDataset::get(std::size_t index, WorkerContext& context) const {
  if (index >= items_.size()) {
    fail("FolderDataset", "there is no example " + std::to_string(index) + " among " +
                              std::to_string(items_.size()));
  }
  const FolderItem& item = items_[index];
  std::vector<std::uint8_t> bytes;
  {
    const LoaderScope stage = context.stage(LoaderStage::Fetch);
    bytes = readAll(item.path);
  }
  return decode_(item, bytes, context);
}

}  // namespace lacuna::rt
