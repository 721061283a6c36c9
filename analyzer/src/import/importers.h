// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "import/event_windows.h"
#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {

/// The bytes that some editors put before a JSON text.
inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

using StoreResult = prof::Result<std::shared_ptr<const Store>>;

/// Chrome's trace event format as PyTorch's profiler (Kineto) and others write it; see docs/importing.md. It is
/// read in pieces of these sizes.
StoreResult importChrome(const std::filesystem::path& path, const OpenOptions& options, const WindowSizes& sizes = {});

/// An SQLite export of Nsight Systems (or of ours in its schema).
StoreResult importNsys(const std::filesystem::path& path, const OpenOptions& options);

/// A memory snapshot of PyTorch (torch.cuda.memory._dump_snapshot), which is a pickle; nothing in it is executed.
StoreResult importSnapshot(const std::filesystem::path& path, const OpenOptions& options);

/// A Perfetto trace (protocol buffers).
StoreResult importPerfetto(const std::filesystem::path& path, const OpenOptions& options);

}  // namespace lacuna::analyzer
