// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "lacuna/collector/options.h"
#include "lacuna/prof/result.h"

namespace lacuna::collector {

/// The environment that the recorded program gets, and what the user should know about it.
struct ChildEnvironment {
  std::vector<std::string> variables;
  std::vector<std::string> notes;
  bool nvtxTaken = false;  ///< the user's choice of a library for NVTX stays; a note reports it
};

/// Adds what carries the recording through exec and spawn to `inherited` (this process's
/// environment). A value that the user has set is kept, and a note reports it.
prof::Result<ChildEnvironment> childEnvironment(char** inherited,
                                                const std::filesystem::path& injection,
                                                const std::vector<std::string>& session,
                                                const Sources& sources);

/// For what belongs to a recording that the program is to have no part in.
void removeVariable(ChildEnvironment& environment, std::string_view name);

/// Puts the start-up hook that watches Python programs in front of the program's PYTHONPATH. Fails
/// with a remedy when the hook is not beside the injected library.
prof::Status addPythonHook(ChildEnvironment& environment, const std::filesystem::path& injection);

/// Has the hook leave most steps of a PyTorch program plain, or none.
void addDetail(ChildEnvironment& environment, Detail detail);

/// Has the hook announce in `folder` where each interpreter keeps its frames.
void addPythonFrames(ChildEnvironment& environment, const std::filesystem::path& folder);
/// Lets the CUDA timeline keep what CUPTI hands over in `folder`, beside what the user may have set
/// for it.
void addRawCapture(ChildEnvironment& environment, const std::filesystem::path& folder);

/// Lets each process sample itself: preloads our library for that, after what the user preloads,
/// and sets where it writes and how often. Fails with a remedy when the library is not beside the
/// injected one or cannot be named.
prof::Status addTimerSampler(ChildEnvironment& environment, const std::filesystem::path& injection,
                             const std::filesystem::path& folder, std::int64_t periodNs);

/// The injected library beside this program (build tree or installed), or where LACUNA_INJECTION
/// points. Fails with a remedy when it is missing or is not such a library.
prof::Result<std::filesystem::path> findInjection();
/// Checks that `library` can be loaded and answers NVTX's call; a bad path would be silent in the
/// recorded program.
prof::Status checkInjection(const std::filesystem::path& library);

}  // namespace lacuna::collector
