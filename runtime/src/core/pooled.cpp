// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "core/pooled.h"

namespace lacuna::rt {

/// The lists of a thread, closed when it ends. Memory that the thread frees after that goes
/// straight back to the system.
struct FreeListCloser {
  FreeList* lists = nullptr;
  ~FreeListCloser() {
    for (FreeList* list = lists; list != nullptr; list = list->next_) list->close();
  }
};

namespace {

constexpr std::uint32_t kKept = 4096;
thread_local FreeListCloser tCloser;

}  // namespace

bool FreeList::open() {
  if (closed_ || limit_ != 0) return false;
  limit_ = kKept;
  next_ = tCloser.lists;
  tCloser.lists = this;
  return true;
}

void FreeList::close() {
  closed_ = true;
  limit_ = 0;
  while (void* memory = take()) ::operator delete(memory);
}

}  // namespace lacuna::rt
