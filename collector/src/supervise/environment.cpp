// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "supervise/environment.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>

#include "python/layout.h"
#include "supervise/program.h"
#include "timer/ring.h"

namespace lacuna::collector {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kLibraryName = "liblacuna_inject.so";
constexpr std::string_view kEntryPoint = "InitializeInjectionNvtx2";

std::optional<std::string> valueOf(const std::vector<std::string>& variables,
                                   std::string_view name) {
  for (const auto& variable : variables) {
    if (variable.size() > name.size() && variable[name.size()] == '=' &&
        variable.compare(0, name.size(), name) == 0) {
      return variable.substr(name.size() + 1);
    }
  }
  return std::nullopt;
}

/// True when the variable now has `value`; a value of the user's stays, whatever is wrong with it.
bool setUnlessUsers(ChildEnvironment& environment, std::string_view name, const std::string& value,
                    std::string_view lost, std::string_view flaw = {}) {
  const auto old = valueOf(environment.variables, name);
  if (!old) {
    environment.variables.push_back(fmt::format("{}={}", name, value));
    return true;
  }
  if (*old == value) return true;
  if (old->empty()) {
    environment.notes.push_back(
        fmt::format("{0} is set and empty, which stays: {1}. Remedy: unset {0}.", name, lost));
    return false;
  }
  environment.notes.push_back(
      fmt::format("{0} is already set to {1}, which {2}{3}stays: {4}. Remedy: unset {0}.", name,
                  *old, flaw, flaw.empty() ? "" : " but ", lost));
  return false;
}

/// Why nothing can be loaded from there; empty when it looks as if it could.
std::string_view flawOf(const fs::path& library) {
  std::error_code error;
  if (!fs::exists(library, error)) return "does not exist";
  return isElf(library) ? "" : "is no library";
}

/// Our library is loaded by that variable, unless the user has another there: then false.
bool setInjection(ChildEnvironment& environment, std::string_view name, const std::string& library,
                  std::string_view events) {
  const auto users = valueOf(environment.variables, name);
  const std::string_view flaw = users && !users->empty() ? flawOf(*users) : "";
  const bool nowhere = users && (users->empty() || !flaw.empty());
  return setUnlessUsers(
      environment, name, library,
      nowhere
          ? fmt::format("no library is loaded by it, and {} events of this run are not recorded",
                        events)
          : fmt::format("{} events of this run go to that library and not into this trace", events),
      flaw);
}

/// Gives the variable a new value made of the old one; of several, the one that the program would
/// see.
template <class Make>
void change(ChildEnvironment& environment, std::string_view name, Make&& make) {
  const auto old = valueOf(environment.variables, name);
  removeVariable(environment, name);
  environment.variables.push_back(fmt::format("{}={}", name, make(old.value_or(""))));
}

void addCuptiSetting(ChildEnvironment& environment, const std::string& setting) {
  change(environment, "LACUNA_CUPTI", [&](const std::string& users) {
    return users.empty() ? setting : fmt::format("{},{}", users, setting);
  });
}

}  // namespace

prof::Result<ChildEnvironment> childEnvironment(char** inherited, const fs::path& injection,
                                                const std::vector<std::string>& session,
                                                const Sources& sources) {
  ChildEnvironment environment;
  for (char** variable = inherited; *variable != nullptr; ++variable)
    environment.variables.emplace_back(*variable);
  for (const auto& setting : session) {
    const auto name = setting.substr(0, setting.find('=') + 1);
    std::erase_if(environment.variables,
                  [&](const std::string& old) { return old.rfind(name, 0) == 0; });
    environment.variables.push_back(setting);
  }
  if (sources.nvtx) {
    environment.nvtxTaken =
        !setInjection(environment, "NVTX_INJECTION64_PATH", injection.string(), "NVTX");
  }
  if (sources.cuda) {
    setInjection(environment, "CUDA_INJECTION64_PATH", injection.string(), "CUDA");
  }
  const std::array<std::pair<bool, std::pair<const char*, const char*>>, 5> switches{{
      {sources.cublas, {"CUBLAS_NVTX_LEVEL", "2"}},
      {sources.cublas, {"CUBLASLT_NVTX_LEVEL", "2"}},
      {sources.cudnn, {"CUDNN_NVTX_LEVEL", "1"}},
      {sources.cusparse, {"CUSPARSE_NVTX_LEVEL", "2"}},
      {sources.cusolver, {"CUSOLVER_NVTX_LEVEL", "2"}},
  }};
  for (const auto& [wanted, setting] : switches) {
    if (wanted)
      setUnlessUsers(environment, setting.first, setting.second,
                     "it decides what the library annotates");
  }
  if (sources.gpuCounters) addCuptiSetting(environment, "gpu-counters");
  if (sources.cuda && sources.cudaMode == CudaMode::Kernels)
    addCuptiSetting(environment, "device-work");
  if (sources.cuda && sources.cudaMode == CudaMode::Graphs)
    addCuptiSetting(environment, "graph-launches");
  if (sources.nvtx && !sources.nccl)
    setUnlessUsers(environment, "NCCL_NVTX_DISABLE", "1", "it decides whether NCCL annotates");
  return environment;
}

void removeVariable(ChildEnvironment& environment, std::string_view name) {
  const std::string prefix = fmt::format("{}=", name);
  std::erase_if(environment.variables,
                [&](const std::string& variable) { return variable.starts_with(prefix); });
}

prof::Status addPythonHook(ChildEnvironment& environment, const fs::path& injection) {
  const fs::path hook = injection.parent_path() / "python";
  const fs::path emitter = injection.parent_path() / "liblacuna_torch.so";
  std::error_code error;
  for (const fs::path& needed :
       {hook / "sitecustomize.py", hook / "lacuna_start.py", hook / "lacuna_frames.py",
        hook / "lacuna_torch.py", hook / "lacuna_set.py", hook / "lacuna_standby.py", emitter}) {
    if (fs::exists(needed, error)) continue;
    return prof::Error{fmt::format(
        "Python programs are not watched: {} is not there. Remedy: install lacuna as a whole.",
        needed.string())};
  }
  change(environment, "PYTHONPATH", [&](const std::string& users) {
    return users.empty() ? hook.string() : fmt::format("{}:{}", hook.string(), users);
  });
  return {};
}

void addDetail(ChildEnvironment& environment, Detail detail) {
  change(environment, "LACUNA_DETAIL",
         [&](const std::string&) { return detail == Detail::Some ? "some" : "all"; });
}

void addPythonFrames(ChildEnvironment& environment, const fs::path& folder) {
  change(environment, python::kFolderVariable, [&](const std::string&) { return folder.string(); });
}

prof::Status addTimerSampler(ChildEnvironment& environment, const fs::path& injection,
                             const fs::path& folder, std::int64_t periodNs) {
  const fs::path library = injection.parent_path() / "liblacuna_sampler.so";
  std::error_code error;
  if (!fs::exists(library, error)) {
    return prof::Error{
        fmt::format("{} is not there. Remedy: install lacuna as a whole.", library.string())};
  }
  if (library.string().find_first_of(": ") != std::string::npos) {
    return prof::Error{
        fmt::format("{} cannot be preloaded, for there is a space or a colon in its name. Remedy: "
                    "install lacuna elsewhere.",
                    library.string())};
  }
  change(environment, "LD_PRELOAD", [&](const std::string& users) {
    return users.empty() ? library.string() : fmt::format("{}:{}", users, library.string());
  });
  // A program with the address sanitizer refuses to start when any library stands before the
  // sanitizer's own.
  change(environment, "ASAN_OPTIONS", [&](const std::string& users) {
    return users.empty() ? "verify_asan_link_order=0"
                         : fmt::format("{}:verify_asan_link_order=0", users);
  });
  change(environment, timer::kFolderVariable, [&](const std::string&) { return folder.string(); });
  change(environment, timer::kPeriodVariable,
         [&](const std::string&) { return std::to_string(periodNs); });
  return {};
}

void addRawCapture(ChildEnvironment& environment, const fs::path& folder) {
  addCuptiSetting(environment, "capture=" + folder.string());
}

prof::Status checkInjection(const fs::path& library) {
  std::error_code error;
  if (!fs::is_regular_file(library, error)) {
    return prof::Error{
        fmt::format("the injected library {} does not exist. Remedy: install lacuna as a whole, or "
                    "point LACUNA_INJECTION at {}.",
                    library.string(), kLibraryName)};
  }
  // Read, not loaded: loading it would start a recorder in this process.
  std::ifstream file(library, std::ios::binary);
  if (!file) {
    return prof::Error{
        fmt::format("the injected library {} cannot be read: {}. Remedy: {}.", library.string(),
                    std::strerror(errno),
                    errno == EMFILE ? "raise ulimit -n" : "install lacuna where you may read it")};
  }
  const std::string content{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!beginsAsElf(content) || content.find(kEntryPoint) == std::string::npos) {
    return prof::Error{
        fmt::format("{} is not lacuna's injected library ({} is missing in it). Remedy: point "
                    "LACUNA_INJECTION at {}, or unset it.",
                    library.string(), kEntryPoint, kLibraryName)};
  }
  return {};
}

prof::Result<fs::path> findInjection() {
  if (const char* given = std::getenv("LACUNA_INJECTION"); given != nullptr && *given != '\0') {
    std::error_code error;
    const fs::path path = fs::absolute(given, error);
    if (auto status = checkInjection(path); !status) return status.error();
    return path;
  }
  std::error_code error;
  const fs::path bin = fs::read_symlink("/proc/self/exe", error).parent_path();
  std::vector<fs::path> folders{bin / "../lib", bin / ("../" LACUNA_LIBDIR "/lacuna"),
                                bin / "../lib/lacuna"};
  // A program of somebody else's that links us lies anywhere, but our recorder is a shared library
  // of ours.
  Dl_info ours{};
  if (void* known = dlsym(RTLD_DEFAULT, "lacunaAttach");
      known != nullptr && dladdr(known, &ours) != 0) {
    const fs::path libraries = fs::canonical(ours.dli_fname, error).parent_path();
    folders.insert(folders.end(), {libraries, libraries / "lacuna"});
  }
  std::string tried;
  for (const fs::path& folder : folders) {
    const fs::path candidate = (folder / kLibraryName).lexically_normal();
    if (fs::exists(candidate, error)) {
      if (auto status = checkInjection(candidate); !status) return status.error();
      return candidate;
    }
    tried += fmt::format("\n  {}", candidate.string());
  }
  return prof::Error{
      fmt::format("{} was not found. Tried:{}\nRemedy: install lacuna as a whole, or point "
                  "LACUNA_INJECTION at it.",
                  kLibraryName, tried)};
}

}  // namespace lacuna::collector
