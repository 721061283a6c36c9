// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

/// The latest notes of several processes in shared memory, for a reader who looks now and then.
/// Note n is in place n % Size; its `sequence` is n + 1, written last, and 0 while it is being
/// written.
namespace lacuna::collector {

enum class NoteState { Complete, Unwritten, Lost };

/// Appends a note that write(note) fills in.
template <class Note, std::size_t Size, class Write>
void appendNote(Note (&notes)[Size], std::atomic<std::uint64_t>& count, Write&& write) {
  const std::uint64_t number = count.fetch_add(1, std::memory_order_relaxed);
  Note& note = notes[number % Size];
  note.sequence.store(0, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  write(note);
  note.sequence.store(number + 1, std::memory_order_release);
}

/// Has read(note) copy a note; the copy is good where that was whole before and after.
template <class Note, std::size_t Size, class Read>
NoteState readNote(const Note (&notes)[Size], std::uint64_t number, Read&& read) {
  const Note& note = notes[number % Size];
  const std::uint64_t sequence = note.sequence.load(std::memory_order_acquire);
  read(note);
  std::atomic_thread_fence(std::memory_order_acquire);
  if (sequence == number + 1 && note.sequence.load(std::memory_order_relaxed) == sequence)
    return NoteState::Complete;
  return sequence <= number ? NoteState::Unwritten : NoteState::Lost;
}

/// Calls take() after read(note) for each whole note from number `seen` on. One that is still being
/// written is read the next time; one that was overwritten is lost.
template <class Note, std::size_t Size, class Read, class Take>
void followNotes(const Note (&notes)[Size], const std::atomic<std::uint64_t>& written,
                 std::uint64_t& seen, Read&& read, Take&& take) {
  const std::uint64_t count = written.load(std::memory_order_acquire);
  seen = std::max(seen, count - std::min<std::uint64_t>(count, Size));
  for (; seen < count; ++seen) {
    const NoteState state = readNote(notes, seen, read);
    if (state == NoteState::Unwritten) return;
    if (state == NoteState::Complete) take();
  }
}

}  // namespace lacuna::collector
