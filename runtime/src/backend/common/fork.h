// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A fork copies locks as they are, but of the threads only one: what another thread held would be held in the child
/// for good. So the queue's fork handlers take the locks that any thread of a child may need, in the order in which
/// they nest, and parent and child give them back. Each pair of functions stands where its locks are.
namespace lacuna::rt {

void lockAllocatorsForFork();
void unlockAllocatorsAfterFork();
void lockLeavesForFork();
void unlockLeavesAfterFork();
void lockKeptWeightsForFork();
void unlockKeptWeightsAfterFork();
void lockRandomForFork();
void unlockRandomAfterFork();

namespace instrument {

void lockProfileTableForFork();
void unlockProfileTableAfterFork();
void lockRecorderForFork();
void unlockRecorderAfterFork();
void lockNamesForFork();
void unlockNamesAfterFork();

}  // namespace instrument
}  // namespace lacuna::rt
