// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "python/frame_reader.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace lacuna::collector::python {
namespace {

constexpr std::size_t kMostThreads = 512;
/// CPython takes 16 KiB at a time for frames, and more only for a single one that needs it.
constexpr std::uint64_t kMostChunk = std::uint64_t{64} << 10;
constexpr int kTries = 2;
/// Frames with this owner and above belong to the interpreter's own C code.
constexpr std::uint8_t kNoPython = 3;
constexpr std::uint8_t kGenerator = 1;
/// The lowest bits of a pointer to an object may be flags.
constexpr std::uint64_t kFlags = 7;

template <class T>
std::span<std::byte> bytesOf(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

template <class T>
T valueAt(std::span<const std::byte> from, std::size_t offset) {
  T value{};
  std::memcpy(&value, from.data() + offset, sizeof value);
  return value;
}

}  // namespace

FrameReader::FrameReader(const Layout& layout, Memory& memory, NumberOf numberOf)
    : layout_(layout),
      memory_(memory),
      codes_(layout_, memory, std::move(numberOf)),
      one_(layout.frame.size) {}

bool FrameReader::read(std::vector<ThreadStack>& into) {
  std::uint64_t state = 0;
  if (!memory_.get(layout_.interpreter + layout_.thread.threads, state)) return false;
  for (std::size_t i = 0; i < kMostThreads && state != 0; ++i) {
    ThreadStack stack;
    std::optional<Thread> thread;
    bool complete = false;
    for (int attempt = 0; attempt < kTries && !complete; ++attempt) {
      thread = readThread(state);
      // The list changes while it is read: a thread that has just ended leads nowhere.
      if (!thread) break;
      complete = readStack(state, *thread, stack.frames);
    }
    if (!thread) return i > 0;
    if (!complete) ++torn_;
    if (complete && !stack.frames.empty()) {
      stack.tid = thread->tid;
      into.push_back(std::move(stack));
    }
    state = thread->next;
  }
  return true;
}

std::optional<FrameReader::Thread> FrameReader::readThread(std::uint64_t state) {
  const auto& places = layout_.thread;
  Thread thread;
  std::array<std::uint64_t, 2> chunk{};
  std::array pieces{
      Memory::Piece{state + places.next, bytesOf(thread.next)},
      Memory::Piece{state + places.id, bytesOf(thread.id)},
      Memory::Piece{state + places.cframe.value_or(places.frame.value_or(0)),
                    bytesOf(thread.frame)},
      Memory::Piece{state + places.chunk.value_or(0), bytesOf(chunk)},
  };
  const std::size_t wanted = pieces.size() - (places.chunk ? 0 : 1);
  if (memory_.read(std::span(pieces.data(), wanted)) != wanted) return std::nullopt;
  thread.chunk = chunk[0];
  thread.chunkEnd = chunk[1];
  return thread;
}

/// Reads the rest: the kernel's number of the thread, and in some versions its innermost frame.
bool FrameReader::completeThread(Thread& thread) {
  const auto& places = layout_.thread;
  std::uint64_t frame = 0;
  const std::array pieces{
      Memory::Piece{thread.id + places.tid, bytesOf(thread.tid)},
      Memory::Piece{thread.frame + places.cframeFrame, bytesOf(frame)},
  };
  const bool twoSteps = places.cframe && thread.frame != 0;
  const std::size_t wanted = twoSteps ? 2 : 1;
  if (memory_.read(std::span(pieces.data(), wanted)) != wanted) return false;
  if (twoSteps) thread.frame = frame;
  return thread.tid != 0 && thread.tid <= INT32_MAX;
}

bool FrameReader::readStack(std::uint64_t state, Thread& thread, std::vector<Frame>& frames) {
  if (!completeThread(thread)) return false;
  copyChunk(thread);
  if (!walk(thread.frame)) return false;
  if (before_.size() > kMostThreads) before_.clear();
  Stack& before = before_[state];
  const bool named = nameFrames(raw_.size() - stillThere(before), frames);
  before = named ? raw_ : Stack();
  return named;
}

/// Number of the outermost frames that are as before. A frame keeps its code object alive, so that
/// is as it was.
std::size_t FrameReader::stillThere(const Stack& before) const {
  const auto same = [](const Raw& a, const Raw& b) {
    return a.frame == b.frame && a.code == b.code;
  };
  const auto [now, old] =
      std::mismatch(raw_.rbegin(), raw_.rend(), before.rbegin(), before.rend(), same);
  const auto count = static_cast<std::size_t>(now - raw_.rbegin());
  // A stack that is cut on its outer side has no end to compare from.
  return raw_.size() < kMostFrames ? count : 0;
}

/// In one piece, so that its frames are of one moment, or nearly.
void FrameReader::copyChunk(const Thread& thread) {
  chunk_ = thread.chunk;
  chunkBytes_.clear();
  if (!layout_.thread.chunk || thread.chunk == 0 || thread.chunkEnd <= thread.chunk) return;
  std::uint64_t size = thread.chunkEnd - thread.chunk;
  if (size > kMostChunk) return;
  // Callers lie in front of what they call.
  if (thread.frame >= thread.chunk && thread.frame < thread.chunkEnd)
    size = std::min(size, thread.frame - thread.chunk + layout_.frame.size);
  chunkBytes_.resize(size);
  if (!memory_.read(thread.chunk, chunkBytes_)) chunkBytes_.clear();
}

bool FrameReader::walk(std::uint64_t frame) {
  raw_.clear();
  // Frames that C code brought along have no code of Python; a pointer that leads in a circle has
  // no end.
  constexpr std::size_t kMostSteps = 2 * kMostFrames;
  for (std::size_t i = 0; i < kMostSteps && frame != 0 && raw_.size() < kMostFrames; ++i) {
    if (!takeFrame(frame)) return false;
  }
  return true;
}

bool FrameReader::takeFrame(std::uint64_t& frame) {
  const auto& places = layout_.frame;
  std::span<const std::byte> bytes;
  if (frame >= chunk_ && frame - chunk_ + places.size <= chunkBytes_.size()) {
    bytes = std::span(chunkBytes_).subspan(frame - chunk_, places.size);
  } else {
    if (!memory_.read(frame, one_)) return false;
    bytes = one_;
  }
  Raw raw{frame, valueAt<std::uint64_t>(bytes, places.code) & ~kFlags, 0};
  bool python = true;
  if (places.instruction) {
    const auto owner = valueAt<std::uint8_t>(bytes, places.owner);
    // A generator that runs has a caller. One that has just yielded has none any more.
    if (owner == kGenerator && valueAt<std::uint64_t>(bytes, places.back) == 0) return false;
    python = owner < kNoPython;
    raw.offset = static_cast<std::int64_t>(valueAt<std::uint64_t>(bytes, *places.instruction) -
                                           raw.code - layout_.code.bytecode);
  } else {
    if (valueAt<std::uint64_t>(bytes, layout_.code.type) != layout_.frameType) return false;
    const std::int64_t index = valueAt<std::int32_t>(bytes, places.lastInstruction);
    raw.offset = layout_.code.lines == LineTable::Ranges || index < 0 ? 2 * index : index;
  }
  if (python) raw_.push_back(raw);
  const std::uint64_t back = valueAt<std::uint64_t>(bytes, places.back);
  if (back == frame) return false;
  frame = back;
  return true;
}

/// The first `fresh` frames are new since the last read, so their code is compared with the cache.
bool FrameReader::nameFrames(std::size_t fresh, std::vector<Frame>& frames) {
  frames.clear();
  // Code that the cache forgot since then counts as new, too.
  for (std::size_t i = raw_.size(); i-- > fresh;) {
    if (codes_.known(raw_[i].code) == nullptr) fresh = i + 1;
    if (fresh == i + 1) break;
  }
  const std::size_t size = layout_.code.size;
  heads_.resize(fresh * size);
  std::vector<Memory::Piece> pieces;
  pieces.reserve(fresh);
  for (std::size_t i = 0; i < fresh; ++i) {
    pieces.push_back({raw_[i].code, std::span(heads_).subspan(i * size, size)});
  }
  if (memory_.read(pieces) != pieces.size()) return false;
  frames.reserve(raw_.size());
  for (std::size_t i = 0; i < raw_.size(); ++i) {
    Code* code = i < fresh ? codes_.at(raw_[i].code, std::span(heads_).subspan(i * size, size))
                           : codes_.known(raw_[i].code);
    if (code == nullptr || !code->holds(raw_[i].offset)) return false;
    frames.push_back({code->number(), code->lineAt(layout_.code.lines, raw_[i].offset)});
  }
  return true;
}

}  // namespace lacuna::collector::python
