// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/collector/recover.h"

#include <fstream>
#include <iterator>
#include <string>

#include "core/clock.h"
#include "sampler/journal.h"
#include "sampler/stacks.h"

namespace lacuna::collector {

prof::Result<prof::DrainStats> recover(const std::filesystem::path& directory, const std::filesystem::path& output,
                                       bool keep, prof::Existing existing) {
  std::ifstream file(sampler::Journal::framesOf(directory), std::ios::binary);
  const std::string journal{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const auto addStacks = [&](prof::Drainer::Access& access) {
    // Frames are in the journal before they are in the trace: those that the trace does not know yet are of samples
    // that are lost, and their numbers will be given to others.
    sampler::Stacks stacks;
    if (journal.empty()) return;
    if (!stacks.load(journal, access.newFrame())) {
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
