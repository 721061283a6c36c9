// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The indices beside those of queues, under which traces allocate.
namespace lacuna::rt::graph {

/// One that no other trace has; below 0 where none is left.
[[nodiscard]] int takeTraceIndex();
/// A tensor that nobody knows of has memory of this index. Another trace would take it for its own,
/// so the index is not given out again.
void keepTraceIndex(int index);
/// The trace is gone: its memory belongs to the first queue.
void giveTraceIndexBack(int index);

}  // namespace lacuna::rt::graph
