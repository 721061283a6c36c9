// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "lacuna/prof/draft.h"
#include "lacuna/prof/reader.h"
#include "record/drain/drain_core.h"
#include "record/drain/trace_state_access.h"

namespace fs = std::filesystem;

namespace lacuna::prof {
namespace {

using recording::DrainCore;

/// True when the file would go with the recording.
bool isInside(const fs::path& directory, const fs::path& file) {
  std::error_code error;
  const fs::path parent = fs::weakly_canonical(fs::absolute(file, error), error).parent_path();
  for (const fs::path& folder : {directory, segmentFolder(directory)}) {
    const fs::path resolved = fs::canonical(folder, error);
    if (!error &&
        std::mismatch(resolved.begin(), resolved.end(), parent.begin(), parent.end()).first ==
            resolved.end()) {
      return true;
    }
  }
  return false;
}

/// Gives every text of the old trace the number that it had, so that rows can be copied as they
/// are.
Status copyTexts(const Reader& from, Writer& to) {
  for (std::uint32_t id = 1; id < from.stringCount(); ++id) {
    const std::string_view text = from.text(StringId{id});
    // The rows that are copied do not need what damage took after them.
    if (text.empty()) break;
    if (to.intern(text).value != id) {
      return Error{"the trace of the dead drainer repeats a text; it cannot be continued"};
    }
  }
  return {};
}

/// Rows of the blocks that were in the trace when it had so many bytes. `own` is our own
/// description of the table, for the writer keeps it longer than the reader lives.
Status copyRows(const Reader& from, const TableInfo& table, std::uint64_t bytes,
                const TableSpec& own, Writer& to) {
  const std::span wanted(own.columns, own.columnCount);
  std::vector<std::vector<std::uint64_t>> buffers(wanted.size());  // no value is wider
  std::vector<void*> out(wanted.size());
  for (const BlockInfo& block : table.blocks) {
    if (block.offset >= bytes) continue;
    for (std::size_t c = 0; c < wanted.size(); ++c) {
      buffers[c].resize(block.rows);
      out[c] = buffers[c].data();
    }
    if (Status status = from.readBlock(block, wanted, out); !status.ok()) return status;
    const std::vector<const void*> columns(out.begin(), out.end());
    to.appendColumns(own, columns, block.rows);
  }
  return {};
}

/// The trace of the dead drainer. It is in the recording while it has no name of its own, then
/// where it was written. When both were moved, it is beside the recording.
fs::path writtenTrace(const fs::path& directory, const fs::path& noted) {
  std::error_code error;
  // The note comes before the name: until then another trace may have that.
  if (fs::is_regular_file(fs::symlink_status(directory / kUnnamedTrace, error)))
    return directory / kUnnamedTrace;
  const fs::path beside = fs::canonical(directory, error).parent_path() / noted.filename();
  return !fs::exists(noted, error) && fs::exists(beside, error) ? beside : noted;
}

/// Copies what a dead drainer had written up to its last checkpoint. Later blocks describe segments
/// that are still there.
Status copyTrace(const fs::path& path, std::uint64_t bytes, Writer& to) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  if (error) {
    return Error{
        fmt::format("{}: cannot be read: {}; it holds what was recorded before the drainer died, "
                    "so put it there or beside the recording",
                    path.string(), error.message())};
  }
  if (size < bytes) {
    return Error{
        fmt::format("{}: shorter than when its drainer last saved its state", path.string())};
  }
  const Result<Reader> reader = Reader::open(path);
  if (!reader.ok()) return reader.status();
  // Anything wrong after that, a missing end for one, is no damage here.
  for (const Damage& damage : (*reader).damage()) {
    if (damage.offset >= bytes) continue;
    return Error{
        fmt::format("{}: damaged at byte {}: {}", path.string(), damage.offset, damage.what)};
  }
  if (Status status = copyTexts(*reader, to); !status.ok()) return status;
  for (const TableInfo& table : (*reader).tables()) {
    const auto own = std::find_if(allTables().begin(), allTables().end(),
                                  [&](const TableSpec& spec) { return spec.id == table.spec.id; });
    if (own == allTables().end()) continue;
    if (Status status = copyRows(*reader, table, bytes, *own, to); !status.ok()) return status;
  }
  return {};
}

/// A removal takes the settings first, and begins when the trace is whole. So leftovers of an
/// interrupted removal are no loss.
Error whyNone(const fs::path& directory, const Error& why) {
  std::error_code error;
  const Result<std::string> note = recording::readFile(recording::outputNotePath(directory));
  if (!note.ok() || fs::exists(fs::symlink_status(directory / recording::kSettingsFile, error)))
    return why;
  const fs::path trace = writtenTrace(directory, *note);
  const Result<Reader> written = Reader::open(trace);
  if (!written.ok() || !(*written).complete()) return why;
  return Error{
      fmt::format("{}: has ended, and its trace is whole: {}; delete what is left of the recording",
                  directory.string(), trace.string())};
}

/// A link that leads elsewhere may be damage, and may be a trap; what it hides looks the same as
/// nothing.
Status refuseForeignLink(const fs::path& directory, std::uint64_t key) {
  const auto folder = recording::Folder::open(directory);
  if (!folder.ok()) return folder.status();
  const recording::SharedLink link = recording::sharedLinkOf(*folder, key);
  if (link.state != recording::SharedLink::State::Foreign) return {};
  return Error{fmt::format(
      "{}: leads to {}, which is no folder of yours that names this recording; recover it as the "
      "user who recorded, or delete the link to recover what the recording itself holds",
      (directory / recording::kSharedLink).string(), link.target.string())};
}

Status refuseWhileAlive(const fs::path& directory) {
  for (const fs::path& path : recording::listRecording(directory).recorders) {
    const Result<recording::MappedFile> file = recording::MappedFile::open(path, false);
    if (!file.ok()) continue;
    recording::Header& header = (*file).view().header();
    if (header.detached.load(std::memory_order_acquire) != 0) continue;
    if (recording::lifeOf(header) != recording::Life::Runs) continue;
    return Error{fmt::format("{}: process {} is still recording; end it first", directory.string(),
                             recording::pidOf(header))};
  }
  return {};
}

/// Writes what the dead drainer had written, what `add` has, and what is left in the segments.
Status writeTrace(const fs::path& directory, const fs::path& output,
                  const std::function<void(Drainer::Access&)>& add, DrainStats& stats) {
  Result<Writer> writer = Writer::create(output);
  if (!writer.ok()) return writer.error();
  const Result<std::string> checkpoint = DrainCore::checkpointOf(directory);
  if (!checkpoint.ok()) return checkpoint.status();
  const std::uint64_t bytes = DrainCore::fileBytesOf(*checkpoint);
  if (bytes > 0) {
    const Result<std::string> note = recording::readFile(recording::outputNotePath(directory));
    if (!note.ok()) return note.status();
    if (Status status = copyTrace(writtenTrace(directory, *note), bytes, *writer); !status.ok())
      return status;
  }
  DrainCore core({directory, false}, std::move(*writer), {});
  if (bytes > 0) {
    if (Status status = core.resume(*checkpoint); !status.ok()) return status;
  }
  if (add) {
    recording::TraceStateAccess access(core.trace());
    add(access);
  }
  const Status status = core.finish();
  stats = core.stats();
  return status;
}

}  // namespace

Result<DrainStats> recover(const fs::path& directory, const fs::path& to, bool keep,
                           const std::function<void(Drainer::Access&)>& add, Existing existing) {
  const Result<recording::Settings> settings = recording::readSettings(directory);
  if (!settings.ok()) return whyNone(directory, settings.error());
  const MappingGuard::Scope scope;
  const Result<fs::path> behind = behindLinks(to);
  if (!behind.ok()) return behind.error();
  const fs::path& output = *behind;
  if (!keep && isInside(directory, output)) {
    return Error{fmt::format(
        "{}: is in the recording, which is removed at the end; name a file outside of it",
        output.string())};
  }
  std::error_code error;
  if (fs::exists(output, error) && !fs::is_regular_file(output, error)) {
    return Error{
        fmt::format("{}: is not a file that a trace could replace; name another", output.string())};
  }
  const Result<recording::DrainLock> lock = recording::DrainLock::take(directory);
  if (!lock.ok()) return lock.error();
  if (const Status refused = refuseForeignLink(directory, settings->key); !refused.ok())
    return refused.error();
  // To copy what the dead drainer had written may take a while.
  if (const Status refused = refuseWhileAlive(directory); !refused.ok()) return refused.error();

  // The result replaces whatever is at `output` only when it is complete; the dead drainer's trace
  // may be there.
  DrainStats stats;
  const auto write = [&](const fs::path& unfinished) {
    return writeTrace(directory, unfinished, add, stats);
  };
  if (const Status status = writeAtomically(output, write, existing); !status.ok())
    return status.error();
  if (!keep) {
    Result<std::string> removed = recording::removeFolder(directory);
    if (!removed.ok()) return removed.error();
    stats.left = *std::move(removed);
  }
  return stats;
}

}  // namespace lacuna::prof
