// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/collector/doctor.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/cupti_places.h"
#include "gpu/nvml.h"
#include "lacuna/prof/amounts.h"
#include "lacuna/prof/leftovers.h"
#include "lacuna/prof/recording.h"
#include "proc/proc_file.h"
#include "python/memory.h"
#include "sampler/perf_ring.h"
#include "supervise/environment.h"
#include "supervise/live_line.h"

namespace lacuna::collector {
namespace {

namespace fs = std::filesystem;

using State = Finding::State;

constexpr const char* kInstallDriver = "On a machine with an NVIDIA GPU, install its driver.";

std::string firstLine(const char* path) {
  const auto content = proc::read(path);
  return content.substr(0, content.find('\n'));
}

bool inContainer() {
  std::error_code error;
  return std::filesystem::exists("/.dockerenv", error) ||
         std::filesystem::exists("/run/.containerenv", error) ||
         std::getenv("container") != nullptr || std::getenv("KUBERNETES_SERVICE_HOST") != nullptr ||
         proc::read("/proc/1/cgroup").find("docker") != std::string::npos;
}

/// True, and the finding shows it, where the user's environment names another library than ours.
bool takenByAnother(const char* variable, Finding& finding) {
  const char* users = std::getenv(variable);
  const auto library = findInjection();
  if (users == nullptr || (library && *library == users)) return false;
  finding.state = State::Missing;
  finding.detail =
      fmt::format("{} is set to {}, and lacuna never overrides that.", variable, users);
  finding.remedy = fmt::format("unset {}", variable);
  return true;
}

Finding nvtx() {
  Finding finding{"nvtx", "NVTX annotations", State::Works, {}, {}};
  const auto library = findInjection();
  if (!library) {
    finding.state = State::Missing;
    // It has its remedy within.
    constexpr std::string_view kRemedy = " Remedy: ";
    const std::string& text = library.error().message;
    const auto at = std::min(text.find(kRemedy), text.size());
    finding.detail = text.substr(0, at);
    finding.remedy = at < text.size() ? text.substr(at + kRemedy.size()) : "";
    if (!finding.remedy.empty())
      finding.remedy[0] = static_cast<char>(std::toupper(finding.remedy[0]));
    return finding;
  }
  finding.detail = fmt::format("recorded through {}.", library->string());
  takenByAnother("NVTX_INJECTION64_PATH", finding);
  return finding;
}

constexpr std::int64_t kSamplePeriodNs = 1'000'000;
constexpr const char* kTimersInstead =
    "so samples come from timers in the programs (--sampler timer): call chains, no more of them "
    "than the kernel's clock ticks, and none of programs that are statically linked; thread states "
    "from looking at /proc fifty times a second.";

/// True when the kernel would sample this process if there were room for the records.
bool maySample() {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_CPU_CLOCK;
  attributes.sample_period = static_cast<std::uint64_t>(kSamplePeriodNs);
  attributes.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  attributes.disabled = 1;
  const long fd = syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
  if (fd < 0) return false;
  close(static_cast<int>(fd));
  return true;
}

const char* remedyForRoom(int error) {
  if (error == EMFILE) return "Allow more open files: ulimit -n 4096";
  if (error == EOVERFLOW) return "sudo sysctl kernel.perf_event_max_stack=127";
  return "End other programs that sample, or allow more locked memory: ulimit -l, or sudo sysctl "
         "kernel.perf_event_mlock_kb=2048";
}

void explainRefusal(int error, const std::string& paranoid, Finding& finding) {
  if (maySample()) {
    finding.detail =
        fmt::format("the kernel permits samples, but has no room for them now ({}), {}",
                    std::strerror(error), kTimersInstead);
    finding.remedy = remedyForRoom(error);
    return;
  }
  finding.detail =
      fmt::format("perf_event_open is refused ({}; perf_event_paranoid is {}), {}",
                  std::strerror(error), paranoid.empty() ? "not there" : paranoid, kTimersInstead);
  finding.remedy =
      inContainer() ? "Start the container with --cap-add PERFMON, or with a seccomp profile that "
                      "allows perf_event_open; outside: sudo sysctl kernel.perf_event_paranoid=2"
                    : "sudo sysctl kernel.perf_event_paranoid=2";
}

/// Tried as `lacuna run` does it.
Finding cpuSamples() {
  Finding finding{"cpu_samples", "CPU samples and thread states", State::Limited, {}, {}};
  const std::string paranoid = firstLine("/proc/sys/kernel/perf_event_paranoid");
  sampler::PerfRings rings;
  if (const int error = rings.open(getpid(), kSamplePeriodNs); error != 0) {
    explainRefusal(error, paranoid, finding);
    return finding;
  }
  finding.detail = "the kernel samples call chains and context switches";
  if (rings.seesKernel()) {
    finding.state = State::Works;
  } else {
    finding.detail += ", but not the time that programs spend in the kernel";
    finding.remedy = "sudo sysctl kernel.perf_event_paranoid=1";
  }
  finding.detail +=
      fmt::format(" (perf_event_paranoid is {}).", paranoid.empty() ? "unknown" : paranoid);
  return finding;
}

/// Tried as `lacuna run` does it, on a process that this one starts.
Finding pythonFrames() {
  Finding finding{"python_frames", "Lines of Python programs", State::Works, {}, {}};
  const int error = python::memoryRefusal();
  const std::string scope = firstLine("/proc/sys/kernel/yama/ptrace_scope");
  if (error == 0) {
    finding.detail =
        "the kernel lets lacuna read where Python programs are that it starts (process_vm_readv).";
    return finding;
  }
  finding.state = State::Missing;
  finding.detail = fmt::format(
      "the kernel does not let lacuna read the memory of programs that it starts ({}; ptrace_scope "
      "is {}): lacuna run records no lines of Python.",
      std::strerror(error), scope.empty() ? "not there" : scope);
  const bool strict = !scope.empty() && scope > "1";
  finding.remedy =
      strict ? "sudo sysctl kernel.yama.ptrace_scope=1"
      : inContainer()
          ? "Start the container with --cap-add SYS_PTRACE, or with a seccomp profile that allows "
            "process_vm_readv"
          : "Allow process_vm_readv to this user, or leave it: lacuna run --python-hz 0";
  return finding;
}

Finding clocks() {
  Finding finding{"clock", "Time stamps", State::Works, {}, {}};
  const std::string flags = proc::read("/proc/cpuinfo");
  const std::string source =
      firstLine("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  const bool invariant = flags.find("constant_tsc") != std::string::npos &&
                         flags.find("nonstop_tsc") != std::string::npos;
  if (invariant) {
    finding.detail = fmt::format(
        "the CPU's time stamp counter is invariant (the kernel's clock is {}).", source);
  } else {
    finding.state = State::Limited;
    finding.detail = fmt::format(
        "no invariant time stamp counter, so each event costs a clock call (the kernel's clock is "
        "{}).",
        source);
    finding.remedy =
        "In a virtual machine have its host pass an invariant TSC on (QEMU: -cpu host,+invtsc); "
        "where the processor has none, traces are right all the same.";
  }
  return finding;
}

Finding segments() {
  Finding finding{"shared_memory", "Room for events in flight", State::Works, {}, {}};
  struct statvfs room {};
  if (statvfs("/dev/shm", &room) != 0) {
    finding.state = State::Limited;
    finding.detail = "there is no /dev/shm: events in flight go through files beside the trace.";
    finding.remedy = "sudo mount -t tmpfs tmpfs /dev/shm";
    return finding;
  }
  const std::uint64_t bytes = static_cast<std::uint64_t>(room.f_bavail) * room.f_frsize;
  finding.detail = fmt::format("/dev/shm has {} free.", prof::bytesText(bytes));
  if (bytes < std::uint64_t{256} << 20) {
    finding.state = State::Limited;
    // As the recorder wants it: no process leaves less than it takes.
    const bool none = bytes < prof::RecordingOptions().sharedRoomBytes;
    finding.detail += none ? " Events in flight go through files beside the trace, which may slow "
                             "the program down."
                           : " That is room for a few processes: those that come later go through "
                             "files beside the trace, which may slow them down, and what finds no "
                             "room in a burst is dropped and counted.";
    finding.remedy = inContainer() ? "Start the container with --shm-size 1g"
                                   : "sudo mount -o remount,size=1G /dev/shm";
  }
  return finding;
}

template <class Function>
Function* symbol(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

Finding driver() {
  Finding finding{"driver", "NVIDIA driver", State::Missing, {}, {}};
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    finding.detail =
        "libcuda.so.1 cannot be loaded: there is no NVIDIA driver here, so there is no GPU to "
        "record.";
    finding.remedy = inContainer()
                         ? "Start the container with --gpus all (NVIDIA Container Toolkit)."
                         : kInstallDriver;
    return finding;
  }
  auto* initialise = symbol<int(unsigned)>(library, "cuInit");
  auto* version = symbol<int(int*)>(library, "cuDriverGetVersion");
  auto* count = symbol<int(int*)>(library, "cuDeviceGetCount");
  const int code = initialise != nullptr ? initialise(0) : -1;
  int number = 0;
  int devices = 0;
  if (version != nullptr) version(&number);
  if (code == 0 && count != nullptr) count(&devices);
  if (code != 0) {
    finding.detail = fmt::format("the driver's library is there, but cuInit fails with {}.", code);
    finding.remedy =
        "Check with nvidia-smi that the driver runs and that this user may use /dev/nvidia*.";
    return finding;
  }
  finding.state = State::Works;
  finding.detail = fmt::format("CUDA {}.{}, {} device{}.", number / 1000, number % 1000 / 10,
                               devices, devices == 1 ? "" : "s");
  return finding;
}

/// The copies of CUPTI among the Python packages of the environment that is active, or that lacuna
/// is installed in.
std::string cuptiOfPackages() {
  std::string found;
  std::error_code error;
  std::vector<fs::path> prefixes;
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    if (const char* prefix = std::getenv(variable)) prefixes.emplace_back(prefix);
  }
  prefixes.push_back(fs::read_symlink("/proc/self/exe", error).parent_path().parent_path());
  for (const fs::path& prefix : prefixes) {
    for (const fs::directory_entry& version : fs::directory_iterator(prefix / "lib", error)) {
      if (!version.path().filename().string().starts_with("python3")) continue;
      for (const std::string_view name : kCuptiInPackages) {
        const fs::path copy = version.path() / "site-packages" / name;
        if (fs::exists(copy, error)) found += (found.empty() ? "" : ":") + copy.string();
      }
    }
  }
  return found;
}

int driverVersion() {
  int version = 0;
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  auto* ask = driver != nullptr ? symbol<int(int*)>(driver, "cuDriverGetVersion") : nullptr;
  if (ask != nullptr) ask(&version);
  return version;
}

void* openCupti() {
  for (const std::string& place : cuptiPlaces(driverVersion(), cuptiOfPackages())) {
    // CUPTI must never be unloaded.
    if (void* library = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE))
      return library;
  }
  return nullptr;
}

/// The file that a function is in.
std::string fileOf(const void* function) {
  Dl_info found{};
  return function != nullptr && dladdr(function, &found) != 0 ? found.dli_fname : "";
}

Finding cupti() {
  Finding finding{"cupti", "CUDA timeline (CUPTI)", State::Missing, {}, {}};
  void* library = openCupti();
  if (library == nullptr) {
    finding.detail =
        "libcupti was not found, so kernels, copies and CUDA calls cannot be recorded.";
    finding.remedy =
        "pip install nvidia-cuda-cupti in the environment of the program, or install the CUDA "
        "toolkit.";
    return finding;
  }
  std::uint32_t version = 0;
  auto* get = symbol<int(std::uint32_t*)>(library, "cuptiGetVersion");
  if (get != nullptr) get(&version);
  void* subscriber = nullptr;
  auto* subscribe = symbol<int(void**, void (*)(), void*)>(library, "cuptiSubscribe");
  auto* unsubscribe = symbol<int(void*)>(library, "cuptiUnsubscribe");
  const int code = subscribe != nullptr ? subscribe(
                                              &subscriber, [] {}, nullptr)
                                        : -1;
  finding.detail = fmt::format("CUPTI API {} ({}) is there", version,
                               fileOf(reinterpret_cast<const void*>(get)));
  constexpr int kNotInitialised = 15;
  constexpr int kUnknown = 999;
  constexpr int kHeldByAnother = 39;
  if (code == 0) {
    if (unsubscribe != nullptr) unsubscribe(subscriber);
    finding.state = State::Works;
    finding.detail += " and can be used.";
    takenByAnother("CUDA_INJECTION64_PATH", finding);
  } else if (code == kHeldByAnother) {
    finding.detail += ", but another profiler holds it.";
    finding.remedy =
        "End the other profiler (nsys, ncu, a framework's own profiler, DCGM) and try again.";
  } else if (code == kNotInitialised || code == kUnknown) {
    finding.detail +=
        ", but without a driver it cannot record; the host's side is recorded all the same.";
    finding.remedy = "Record on a machine with an NVIDIA GPU and driver.";
  } else {
    finding.detail += fmt::format(", but refuses with code {}.", code);
    finding.remedy =
        "Install the CUPTI of the driver's CUDA version, which the driver's line shows.";
  }
  return finding;
}

/// As the driver asks; in a container root may not.
bool administers() {
  constexpr int kSysAdmin = 21;
  const std::string status = proc::read("/proc/self/status");
  const auto at = status.find("CapEff:");
  return at != std::string::npos &&
         (std::strtoull(status.c_str() + at + 7, nullptr, 16) >> kSysAdmin & 1) != 0;
}

Finding gpuCounters() {
  Finding finding{"gpu_counters", "GPU hardware counters", State::Missing, {}, {}};
  const std::string parameters = proc::read("/proc/driver/nvidia/params");
  if (parameters.empty()) {
    finding.detail = "there is no NVIDIA kernel module.";
    finding.remedy = kInstallDriver;
  } else if (!administers() && parameters.find("RmProfilingAdminOnly: 1") != std::string::npos) {
    finding.state = State::Limited;
    finding.detail = "the driver keeps them for the administrator; tracing works without them.";
    finding.remedy =
        "Load the module with NVreg_RestrictProfilingToAdminUsers=0, or record with CAP_SYS_ADMIN "
        "(as root; in a container --cap-add SYS_ADMIN).";
  } else {
    finding.state = State::Works;
    finding.detail = "this user may read them.";
  }
  return finding;
}

Finding gpuPower() {
  Finding finding{"gpu_power", "GPU power, memory and temperature", State::Missing, {}, {}};
  const gpu::Nvml nvml;
  finding.detail = nvml.why() + ".";
  if (nvml.gpus().empty()) {
    finding.remedy =
        inContainer()
            ? "Start the container with --gpus all and NVIDIA_DRIVER_CAPABILITIES=utility,compute."
            : kInstallDriver;
    return finding;
  }
  finding.state = State::Works;
  finding.detail = fmt::format("read ten times a second from {} GPU{}.", nvml.gpus().size(),
                               nvml.gpus().size() == 1 ? "" : "s");
  return finding;
}

Finding place() {
  Finding finding{"container", "Surroundings", State::Works, {}, {}};
  finding.detail = inContainer() ? "this is a container: processes outside it are not seen."
                                 : "not in a container.";
  return finding;
}

/// A run of some minutes; less may do.
constexpr std::uint64_t kLittleRoom = 256u << 20;
/// The file size that a process needs to record at all.
constexpr std::uint64_t kLeastFile = 18u << 20;

void limitOfFiles(Finding& finding) {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  finding.state = State::Limited;
  finding.detail += fmt::format(
      " Files may be {} long at most (ulimit -f): a longer trace breaks off{}.",
      prof::bytesText(limit.rlim_cur),
      limit.rlim_cur < kLeastFile ? ", and processes with so low a limit record nothing" : "");
  finding.remedy += finding.remedy.empty() ? "ulimit -f unlimited" : "; and ulimit -f unlimited";
}

Finding output() {
  Finding finding{"output", "Where traces go", State::Works, {}, {}};
  std::error_code error;
  const auto folder = std::filesystem::current_path(error);
  struct statvfs room {};
  if (access(folder.c_str(), W_OK) != 0) {
    finding.state = State::Limited;
    finding.detail = fmt::format("{} cannot be written by this user.", folder.string());
    finding.remedy = "Name a file elsewhere: lacuna run -o FILE.lcn -- PROGRAM";
  } else if (statvfs(folder.c_str(), &room) == 0) {
    const std::uint64_t bytes = static_cast<std::uint64_t>(room.f_bavail) * room.f_frsize;
    finding.detail = fmt::format("{} has {} free.", folder.string(), prof::bytesText(bytes));
    if (bytes < kLittleRoom) {
      finding.state = State::Limited;
      finding.detail +=
          bytes < kLeastFile ? " Most traces need more." : " A long run may fill that.";
      finding.remedy = "Make room, or name a file elsewhere: lacuna run -o FILE.lcn -- PROGRAM";
    }
    limitOfFiles(finding);
  }
  return finding;
}

/// The leftovers of killed runs.
Finding leftovers() {
  Finding finding{
      "leftovers", "What killed runs left", State::Works, "nothing of this user's.", {}};
  std::uint64_t bytes = 0;
  std::size_t orphans = 0;
  std::vector<std::string> words;
  std::vector<std::string> remedies;
  for (const prof::Leftover& leftover : prof::findLeftovers()) {
    const bool orphan = leftover.state == prof::Leftover::State::Orphan;
    words.push_back(fmt::format("{} ({}{})", leftover.folder.string(),
                                prof::bytesText(leftover.bytes),
                                orphan ? "" : fmt::format(", of {}", leftover.recording.string())));
    bytes += leftover.bytes;
    orphans += orphan ? 1 : 0;
    if (!orphan) remedies.push_back(fmt::format("lacuna recover {}", leftover.recording.string()));
  }
  if (words.empty()) return finding;
  finding.state = State::Limited;
  finding.detail = fmt::format("{} in {}.", prof::bytesText(bytes), fmt::join(words, ", "));
  if (orphans > 0) remedies.insert(remedies.begin(), "lacuna doctor --clean");
  finding.remedy = fmt::format("{}", fmt::join(remedies, "; "));
  return finding;
}

}  // namespace

const char* wordFor(State state) {
  switch (state) {
    case State::Works:
      return "works";
    case State::Limited:
      return "limited";
    default:
      return "missing";
  }
}

std::vector<Finding> examine() {
  return {nvtx(),   cpuSamples(), pythonFrames(), clocks(),   segments(), output(),
          driver(), cupti(),      gpuCounters(),  gpuPower(), place(),    leftovers()};
}

std::vector<Cleaned> cleanUp() {
  std::vector<Cleaned> all;
  for (const prof::Leftover& leftover : prof::findLeftovers()) {
    if (leftover.state != prof::Leftover::State::Orphan) continue;
    const prof::Status removed = prof::removeLeftover(leftover);
    all.push_back(
        {leftover.folder, leftover.bytes, removed ? std::string() : removed.error().message});
  }
  return all;
}

std::string leftoversHint() {
  std::uint64_t bytes = 0;
  std::size_t folders = 0;
  for (const prof::Leftover& leftover : prof::findLeftovers()) {
    if (leftover.state != prof::Leftover::State::Orphan || leftover.fresh) continue;
    bytes += leftover.bytes;
    ++folders;
  }
  if (folders == 0) return {};
  return fmt::format("{} folder{} of killed runs hold{} {}. Remedy: lacuna doctor --clean", folders,
                     folders == 1 ? "" : "s", folders == 1 ? "s" : "", prof::bytesText(bytes));
}

}  // namespace lacuna::collector
