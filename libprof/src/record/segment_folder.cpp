// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "record/segment_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <string_view>

#include "record/layout.h"

namespace fs = std::filesystem;

namespace lacuna::prof::recording {
namespace {

/// One component right below the place where these folders are made; no "..", and no other way
/// round.
bool hasSharedName(const std::string& path) {
  const std::string prefix = fmt::format("{}/{}", kSharedPlace, kSharedPrefix);
  return path.starts_with(prefix) && path.find('/', prefix.size()) == std::string::npos;
}

/// As the link has it, to the byte.
std::optional<std::string> linkText(const Folder& folder, const char* name) {
  std::array<char, PATH_MAX> text{};
  const ssize_t length = ::readlinkat(folder.fd(), name, text.data(), text.size());
  if (length <= 0 || static_cast<std::size_t>(length) == text.size()) return std::nullopt;
  return std::string(text.data(), static_cast<std::size_t>(length));
}

}  // namespace

std::optional<SegmentOwner> ownerOf(const Folder& shared) {
  const auto note = shared.readFile(kOwnerFile, PATH_MAX + 32);
  constexpr std::size_t kDigits = 16;
  if (!note.ok() || note->size() < kDigits + 2 || (*note)[kDigits] != ' ' || !note->ends_with('\n'))
    return {};
  SegmentOwner owner;
  owner.key = std::strtoull(note->substr(0, kDigits).c_str(), nullptr, 16);
  owner.directory = note->substr(kDigits + 1, note->size() - kDigits - 2);
  return owner;
}

std::optional<Folder> makeSharedFolder(const fs::path& directory, std::uint64_t key,
                                       std::uint64_t roomBytes) {
  struct statvfs room {};
  if (statvfs(kSharedPlace, &room) != 0 || room.f_bavail * room.f_frsize < roomBytes) return {};
  std::string name = fmt::format("{}/{}XXXXXX", kSharedPlace, kSharedPrefix);
  if (mkdtemp(name.data()) == nullptr) return {};
  auto folder = Folder::openItself(name);
  if (!folder.ok()) {
    ::rmdir(name.c_str());
    return {};
  }
  std::error_code error;
  const fs::path absolute = fs::absolute(directory, error);
  if (folder->replaceFile(kOwnerFile, fmt::format("{:016x} {}\n", key, absolute.string())).ok())
    return *std::move(folder);
  discardShared(*folder);
  return {};
}

void discardShared(const Folder& shared) {
  // Not by a listing, for which there may be no descriptor.
  ::unlinkat(shared.fd(), kOwnerFile, 0);
  (void)shared.removeItself();
}

std::optional<Folder> openSharedFolder(const fs::path& path, std::uint64_t key) {
  if (key == 0 || !hasSharedName(path.string())) return {};
  auto folder = Folder::openItself(path);
  if (!folder.ok() || !folder->isOurs()) return {};
  const auto owner = ownerOf(*folder);
  if (!owner || owner->key != key) return {};
  return *std::move(folder);
}

SharedLink sharedLinkOf(const Folder& recording, std::uint64_t key) {
  SharedLink link;
  struct stat there {};
  if (fstatat(recording.fd(), kSharedLink, &there, AT_SYMLINK_NOFOLLOW) != 0) return link;
  link.state = SharedLink::State::Foreign;
  const auto text = linkText(recording, kSharedLink);
  if (!text) return link;
  link.target = *text;
  if (!hasSharedName(*text)) return link;
  link.folder = openSharedFolder(*text, key);
  if (link.folder) {
    link.state = SharedLink::State::Ours;
  } else if (lstat(text->c_str(), &there) != 0 && errno == ENOENT) {
    link.state = SharedLink::State::Gone;  // as after a restart of the machine
  }
  return link;
}

}  // namespace lacuna::prof::recording
