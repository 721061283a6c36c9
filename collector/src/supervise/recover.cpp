// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/collector/recover.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string>
#include <utility>

#include "core/clock.h"
#include "sampler/journal.h"
#include "sampler/stacks.h"

namespace lacuna::collector {
namespace {

/// Tens of millions of frames.
constexpr off_t kMostJournal = off_t{1} << 30;

/// Empty where there is none, and nothing where what has its name cannot be read: it may be a pipe
/// or a link, too.
std::optional<std::string> readJournal(const std::filesystem::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return errno == ENOENT ? std::optional(std::string()) : std::nullopt;
  struct stat status {};
  std::optional<std::string> journal;
  if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size <= kMostJournal) {
    std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
    const ssize_t got = ::pread(fd, bytes.data(), bytes.size(), 0);
    if (got == static_cast<ssize_t>(bytes.size())) journal = std::move(bytes);
  }
  ::close(fd);
  return journal;
}

}  // namespace

prof::Result<prof::DrainStats> recover(const std::filesystem::path& directory,
                                       const std::filesystem::path& output, bool keep,
                                       prof::Existing existing) {
  const std::optional<std::string> journal = readJournal(sampler::Journal::framesOf(directory));
  const auto addStacks = [&](prof::Drainer::Access& access) {
    // Frames are in the journal before they are in the trace. Frames that the trace does not know
    // yet belong to lost samples, and others will get their numbers.
    sampler::Stacks stacks;
    if (journal && journal->empty()) return;
    if (!journal || !stacks.load(*journal, access.newFrame())) {
      access.drop(0, 1, "the stack frames beside the recording are damaged");
    }
    if (stacks.size() == 0) return;
    const sampler::FrameNames names = stacks.name();
    stacks.write(names, access);
    prof::Writer& out = access.writer();
    for (const std::string& note : names.notes) {
      out.append(prof::LogLine{.timeNs = nowNs(),
                               .level = prof::LogLevel::Warning,
                               .source = out.intern("lacuna"),
                               .text = out.intern(note)});
    }
    access.countRows(names.notes.size());
  };
  return prof::recover(directory, output, keep, addStacks, existing);
}

}  // namespace lacuna::collector
