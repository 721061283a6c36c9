// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "sampler/mapped_files.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/regular_file.h"

namespace lacuna::collector::sampler {
namespace {

/// Files that are kept open to the end.
constexpr std::size_t kMostKept = 128;

bool leadsTo(const std::string& path, int fd) {
  struct stat there {
  }, file{};
  return stat(path.c_str(), &there) == 0 && fstat(fd, &file) == 0 && there.st_dev == file.st_dev &&
         there.st_ino == file.st_ino;
}

}  // namespace

int openMapped(const PerfRecord& map) {
  const symbols::ModuleFile module{map.text, map.device, map.inode, {}};
  const std::string process = fmt::format("/proc/{}/", map.pid);
  const std::string ways[] = {
      fmt::format("{}map_files/{:x}-{:x}", process, map.address, map.address + map.length),
      process + "root" + map.text, process + "exe", map.text};
  for (const std::string& way : ways) {
    const int fd = openRegularFile(way);
    if (fd < 0) continue;
    if (symbols::isFileOf(module, fd)) return fd;
    ::close(fd);
  }
  return -1;
}

MappedFiles::~MappedFiles() {
  for (const auto& [key, known] : known_) {
    if (known.fd >= 0) ::close(known.fd);
  }
}

MappedFiles::Known MappedFiles::find(const PerfRecord& map) {
  Known known;
  const int fd = openMapped(map);
  if (fd < 0) return known;
  known.buildId = symbols::buildIdOf(fd);
  // A file that is open keeps its file system from being unmounted, so only those are that nobody
  // would find again.
  if (!leadsTo(map.text, fd) && kept_ < kMostKept) {
    ++kept_;
    known.fd = fd;
  } else {
    ::close(fd);
  }
  return known;
}

void MappedFiles::learn(PerfRecord& map) {
  if (map.inode == 0 || !map.text.starts_with('/')) return;
  const auto [at, fresh] = known_.try_emplace({map.text, map.device, map.inode});
  if (fresh) at->second = find(map);
  map.buildId = at->second.buildId;
}

int MappedFiles::fileOf(const symbols::ModuleFile& module) const {
  const auto known = known_.find({module.path, module.device, module.inode});
  return known != known_.end() ? known->second.fd : -1;
}

}  // namespace lacuna::collector::sampler
