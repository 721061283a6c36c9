// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "base/sandbox.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace lacuna::cli {
namespace {

namespace fs = std::filesystem;

// The interface of the kernel, here because the headers of older distributions lack it or end
// before its later versions. docs: userspace-api/landlock of the kernel.
constexpr long kCreateRuleset = 444;
constexpr long kAddRule = 445;
constexpr long kRestrictSelf = 446;
constexpr unsigned kAskVersion = 1;
constexpr int kBelowPath = 1;

struct Ruleset {
  std::uint64_t files = 0;
  std::uint64_t network = 0;
  std::uint64_t scopes = 0;
};
struct [[gnu::packed]] PathRule {
  std::uint64_t allowed = 0;
  std::int32_t folder = -1;
};

constexpr std::uint64_t kWriteFile = 1 << 1;
constexpr std::uint64_t kReadFile = 1 << 2;
constexpr std::uint64_t kReadFolder = 1 << 3;
constexpr std::uint64_t kRemoveFolder = 1 << 4;
constexpr std::uint64_t kRemoveFile = 1 << 5;
constexpr std::uint64_t kMakeFolder = 1 << 7;
constexpr std::uint64_t kMakeFile = 1 << 8;
constexpr std::uint64_t kRefer = 1 << 13;
constexpr std::uint64_t kTruncate = 1 << 14;
constexpr std::uint64_t kAllOfFirst = (1 << 13) - 1;

constexpr std::uint64_t kReading = kReadFile | kReadFolder;
constexpr std::uint64_t kWriting =
    kReading | kWriteFile | kRemoveFile | kMakeFile | kRefer | kTruncate;
/// A database with a log is read from a copy in a folder of its own.
constexpr std::uint64_t kScratch = kWriting | kMakeFolder | kRemoveFolder;
/// The rights that a rule for something that is no folder may hold.
constexpr std::uint64_t kOfFiles = kWriteFile | kReadFile | kTruncate;

/// Everything that a version of the interface can deny: what it does not know cannot be asked of
/// it.
Ruleset everythingOf(int version) {
  Ruleset all{.files = kAllOfFirst};
  if (version >= 2) all.files |= kRefer;
  if (version >= 3) all.files |= kTruncate;
  if (version >= 4) all.network = 3;  // TCP: bind, connect
  if (version >= 6) all.scopes = 3;   // abstract sockets, signals
  return all;
}

std::size_t sizeOf(int version) {
  if (version >= 6) return sizeof(Ruleset);
  return version >= 4 ? offsetof(Ruleset, scopes) : offsetof(Ruleset, network);
}

class Landlock {
 public:
  explicit Landlock(int version) : all_(everythingOf(version)) {
    ruleset_ = static_cast<int>(::syscall(kCreateRuleset, &all_, sizeOf(version), 0));
  }
  Landlock(const Landlock&) = delete;
  Landlock& operator=(const Landlock&) = delete;
  ~Landlock() {
    if (ruleset_ >= 0) ::close(ruleset_);
  }

  /// A path that is not there needs no permission.
  void allow(const fs::path& path, std::uint64_t access) {
    PathRule rule{.allowed = access & all_.files,
                  .folder = ::open(path.c_str(), O_PATH | O_CLOEXEC)};
    if (rule.folder < 0) return;
    struct stat about {};
    if (::fstat(rule.folder, &about) == 0 && !S_ISDIR(about.st_mode)) rule.allowed &= kOfFiles;
    // A pipe lies in no folder, and is not restricted.
    const bool added = ::syscall(kAddRule, ruleset_, kBelowPath, &rule, 0) == 0 || errno == EBADFD;
    isComplete_ = added && isComplete_;
    ::close(rule.folder);
  }
  bool enter() {
    return isComplete_ && ruleset_ >= 0 && ::syscall(kRestrictSelf, ruleset_, 0) == 0;
  }

 private:
  Ruleset all_;
  int ruleset_ = -1;
  bool isComplete_ = true;
};

#if defined(__SANITIZE_ADDRESS__)
constexpr int kOfDebuggers = SYS_process_vm_readv;
#else
constexpr int kOfDebuggers = SYS_ptrace;
#endif

/// Reading, analysing and writing need none of these. A leak sanitizer looks into its own process
/// as a debugger does.
constexpr std::array kDenied{SYS_execve,
                             SYS_execveat,
                             kOfDebuggers,
                             SYS_process_vm_readv,
                             SYS_process_vm_writev,
                             SYS_socket,
                             SYS_connect,
                             SYS_bind,
                             SYS_listen,
                             SYS_accept4,
                             SYS_mount,
                             SYS_umount2,
                             SYS_pivot_root,
                             SYS_chroot,
                             SYS_setns,
                             SYS_unshare,
                             SYS_bpf,
                             SYS_kexec_load,
                             SYS_init_module,
                             SYS_finit_module,
                             SYS_delete_module,
                             SYS_keyctl,
                             SYS_add_key,
                             SYS_request_key,
                             SYS_perf_event_open,
                             SYS_userfaultfd,
                             SYS_reboot,
                             SYS_swapon,
                             SYS_swapoff,
                             SYS_open_by_handle_at,
                             SYS_quotactl,
                             SYS_acct,
                             SYS_settimeofday,
                             SYS_clock_settime,
                             SYS_sethostname,
                             SYS_personality,
                             SYS_memfd_create,
                             SYS_kcmp,
                             SYS_pidfd_getfd,
                             SYS_io_uring_setup,
                             SYS_io_uring_enter};

#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
constexpr std::uint32_t kArchitecture = 0;
#endif
/// Numbers from here on are those of another way to call the same kernel (x32).
constexpr std::uint32_t kOtherNumbers = 0x40000000;

/// A denied call fails with EPERM, so that what tries it goes another way or gives a message.
bool denyCalls() {
  if (kArchitecture == 0) return false;
  constexpr std::uint32_t kDeny = SECCOMP_RET_ERRNO | EPERM;
  std::array<sock_filter, kDenied.size() * 2 + 7> program{};
  std::size_t at = 0;
  const auto add = [&](sock_filter instruction) { program[at++] = instruction; };
  add(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)));
  add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0));
  add(BPF_STMT(BPF_RET | BPF_K, kDeny));
  add(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
  for (const long call : kDenied) {
    add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 1));
    add(BPF_STMT(BPF_RET | BPF_K, kDeny));
  }
  add(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, kOtherNumbers, 0, 1));
  add(BPF_STMT(BPF_RET | BPF_K, kDeny));
  add(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog filter{.len = static_cast<unsigned short>(at), .filter = program.data()};
  return ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) == 0;
}

std::vector<fs::path> systemFiles() {
  return {
      "/usr",        "/lib", "/lib64", "/etc", "/proc/self", "/proc/meminfo", "/sys/devices/system",
      "/dev/urandom"};
}

fs::path folderOf(const fs::path& file) {
  std::error_code ignored;
  const fs::path absolute = fs::absolute(file, ignored);
  const fs::path real = fs::weakly_canonical(absolute, ignored);
  return (ignored ? absolute : real).parent_path();
}

/// The folder in which SQLite makes its temporary files. Without a wish of the environment it is
/// not that of others.
fs::path sqliteFolder() {
  const std::array<const char*, 4> places{std::getenv("SQLITE_TMPDIR"), std::getenv("TMPDIR"),
                                          "/var/tmp", "/usr/tmp"};
  for (const char* given : places) {
    std::error_code ignored;
    if (given != nullptr && fs::is_directory(given, ignored) && ::access(given, W_OK | X_OK) == 0)
      return given;
  }
  return "/tmp";
}

bool enterLandlock(int version, const Needs& needs) {
  Landlock landlock(version);
  for (const fs::path& path : systemFiles()) landlock.allow(path, kReading);
  for (const fs::path& path : needs.reads) landlock.allow(path, kReading);
  for (const fs::path& path : needs.writes) {
    landlock.allow(path, kWriting);  // a pipe or a device is written itself
    landlock.allow(folderOf(path), kWriting);
  }
  std::error_code ignored;
  landlock.allow(fs::temp_directory_path(ignored), kScratch);
  landlock.allow(sqliteFolder(), kWriting);
  landlock.allow("/dev/null", kReading | kWriteFile);
  return landlock.enter();
}

prof::Error missing(std::string_view what) {
  return prof::Error{fmt::format(
      "--sandbox on: {}; --sandbox auto confines as far as it can, --sandbox off does without",
      what)};
}

}  // namespace

SandboxSupport sandboxSupport() {
  const long version = ::syscall(kCreateRuleset, nullptr, 0, kAskVersion);
  return {version > 0 ? static_cast<int>(version) : 0,
          kArchitecture != 0 && ::prctl(PR_GET_SECCOMP, 0, 0, 0, 0) >= 0};
}

prof::Status confine(const std::string& mode, const Needs& needs) {
  if (mode == "off") return {};
  if (mode != "auto" && mode != "on") {
    return prof::Error{fmt::format("--sandbox {}: is none of auto, on and off", mode)};
  }
  const bool must = mode == "on";
  const SandboxSupport here = sandboxSupport();
  if (must && here.landlock == 0)
    return missing("this kernel has no Landlock, or it is switched off");
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    return must ? missing(std::strerror(errno)) : prof::Status();
  }
  if (here.landlock > 0 && !enterLandlock(here.landlock, needs) && must)
    return missing("Landlock refused the rules");
  if (!denyCalls() && must)
    return missing("this kernel has no seccomp filters, or it is switched off");
  return {};
}

}  // namespace lacuna::cli
