// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {

/// Makes the CPU the device of a capture of PyTorch that has no other, as a recording of `lacuna
/// run` does. The outermost operators of each process's training thread become executions of a
/// queue, each launched where it begins. Preparing batches in that thread is no device's work.
/// Collectives of gloo, which its own threads execute, lie on queues of their own, launched by the
/// operators that began them. Does nothing where a device was recorded. The rows stand for no event
/// of their own; own_columns.h has how they differ from others.
void addHostDevice(StoreBuilder& builder);

}  // namespace lacuna::analyzer
