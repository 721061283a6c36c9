// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "sampler/executed_files.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sampler/mapped_files.h"

namespace lacuna::collector::sampler {

void ExecutedFiles::take(const PerfRecord& record) {
  if (record.kind == PerfRecord::Kind::Map && started_.erase(record.pid) > 0) return visit(record);
  if (record.kind == PerfRecord::Kind::Exit && record.tid == record.pid) started_.erase(record.pid);
  if (record.kind != PerfRecord::Kind::Comm || !record.exec) return;
  if (record.image.empty()) {
    started_.insert(record.pid);
    return;
  }
  PerfRecord map = record;
  map.text = record.image;
  visit(map);
}

/// Without a number the file cannot be distinguished from another one of its name.
void ExecutedFiles::visit(const PerfRecord& map) {
  if (map.inode == 0 || !map.text.starts_with('/') ||
      !known_.emplace(map.text, map.device, map.inode).second)
    return;
  if (const int fd = openMapped(map); fd >= 0) {
    visit_(map.text, fmt::format("/proc/self/fd/{}", fd));
    ::close(fd);
    return;
  }
  // Perhaps nobody may read a program with rights of its own. Its mode is there all the same.
  struct stat there {};
  if (stat(map.text.c_str(), &there) == 0 && there.st_ino == map.inode) visit_(map.text, map.text);
}

}  // namespace lacuna::collector::sampler
