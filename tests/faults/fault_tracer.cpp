// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0

// fault_tracer --below FOLDER [--count FILE] [--log FILE] [--fail N --with CODE] -- COMMAND…
//
// Runs a command, and counts its system calls that change files below a folder. The N-th of them
// fails with the errno CODE, or does half of its work where CODE is `short`. The log has all that
// succeeded, with their bytes, one JSON object a line. System calls are seen where they are made,
// so buffered files of the C library are seen too. Processes that the command starts are left
// alone. Ends as the command does.
#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace fs = std::filesystem;

struct Options {
  std::string below, count, log;
  long fail = 0;
  int code = 0;  ///< an errno; 0 does half of the work
  std::vector<char*> command;
};

/// A change of files, as it is logged.
struct Operation {
  std::string what{}, path{}, to{};
  std::int64_t offset = -1;
  std::string bytes{};
  bool truncates = false;
};

/// The part of a call that the log does not know before it returns.
struct Call {
  std::uint64_t number = 0;
  std::array<std::uint64_t, 6> arguments{};
  std::optional<Operation> operation;
  bool fails = false;
};

std::string readMemory(pid_t pid, std::uint64_t address, std::size_t size) {
  std::string bytes(size, '\0');
  const iovec here{bytes.data(), size};
  const iovec there{reinterpret_cast<void*>(address), size};
  const ssize_t got = process_vm_readv(pid, &here, 1, &there, 1, 0);
  bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return bytes;
}

std::string readText(pid_t pid, std::uint64_t address) {
  std::string text;
  while (text.size() < PATH_MAX) {
    // To the end of the page: the next one may not be there.
    const std::string piece =
        readMemory(pid, address + text.size(), 256 - (address + text.size()) % 256);
    const auto end = piece.find('\0');
    text += piece.substr(0, end);
    if (piece.empty() || end != std::string::npos) break;
  }
  return text;
}

std::string procPath(pid_t pid, const std::string& name) {
  return "/proc/" + std::to_string(pid) + "/" + name;
}

std::string pathOf(pid_t pid, int fd) {
  std::error_code error;
  return fs::read_symlink(procPath(pid, fd == AT_FDCWD ? "cwd" : "fd/" + std::to_string(fd)), error)
      .string();
}

std::string pathAt(pid_t pid, std::uint64_t folder, std::uint64_t name) {
  const fs::path path = readText(pid, name);
  return (path.is_absolute() ? path : fs::path(pathOf(pid, static_cast<int>(folder))) / path)
      .lexically_normal()
      .string();
}

/// Where the next write() to it goes.
std::int64_t positionOf(pid_t pid, int fd) {
  std::ifstream info(procPath(pid, "fdinfo/" + std::to_string(fd)));
  std::string key;
  std::int64_t position = 0;
  info >> key >> position;
  std::string flags;
  info >> key >> flags;
  const bool appends = (std::strtol(flags.c_str(), nullptr, 8) & O_APPEND) != 0;
  std::error_code error;
  return appends ? static_cast<std::int64_t>(
                       fs::file_size(procPath(pid, "fd/" + std::to_string(fd)), error))
                 : position;
}

std::string gather(pid_t pid, std::uint64_t vector, std::uint64_t count) {
  std::string bytes;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::string raw = readMemory(pid, vector + i * sizeof(iovec), sizeof(iovec));
    iovec part{};
    if (raw.size() == sizeof part) std::memcpy(&part, raw.data(), sizeof part);
    bytes += readMemory(pid, reinterpret_cast<std::uint64_t>(part.iov_base), part.iov_len);
  }
  return bytes;
}

class Tracer {
 public:
  explicit Tracer(const Options& options) : options_(options) {
    if (!options.log.empty()) log_.open(options.log);
  }

  int run() {
    root_ = fork();
    if (root_ == 0) {
      ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
      raise(SIGSTOP);
      execvp(options_.command[0], options_.command.data());
      _exit(127);
    }
    int status = 0;
    waitpid(root_, &status, 0);
    ptrace(PTRACE_SETOPTIONS, root_, nullptr,
           PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL);
    ptrace(PTRACE_SYSCALL, root_, nullptr, nullptr);
    status = follow();
    if (!options_.count.empty()) std::ofstream(options_.count) << count_ << "\n";
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }

 private:
  int follow() {
    for (;;) {
      int status = 0;
      const pid_t pid = waitpid(-1, &status, __WALL);
      if (pid < 0) return status;
      if (WIFEXITED(status) || WIFSIGNALED(status)) {
        calls_.erase(pid);
        if (pid == root_) return status;
        continue;
      }
      ptrace(PTRACE_SYSCALL, pid, nullptr, stopped(pid, status));
    }
  }

  /// The signal that it goes on with.
  long stopped(pid_t pid, int status) {
    const int signal = WSTOPSIG(status);
    const bool isNew = calls_.try_emplace(pid).second;
    if (signal == (SIGTRAP | 0x80)) {
      onCall(pid);
      return 0;
    }
    if (signal == SIGTRAP && status >> 16 != 0) return 0;  // a new thread, or another program
    return isNew && signal == SIGSTOP ? 0 : signal;
  }

  void onCall(pid_t pid) {
    __ptrace_syscall_info info{};
    if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof info, &info) <= 0) return;
    Call& call = calls_[pid];
    if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
      call = Call{info.entry.nr, {}, {}, false};
      std::copy(std::begin(info.entry.args), std::end(info.entry.args), call.arguments.begin());
      call.operation = operationOf(pid, call);
      if (call.operation && ++count_ == options_.fail) spoil(pid, call);
    } else if (info.op == PTRACE_SYSCALL_INFO_EXIT) {
      if (call.fails) setResult(pid, -options_.code);
      if (!call.fails && call.operation && info.exit.rval >= 0) note(pid, call, info.exit.rval);
      call.operation.reset();
    }
  }

  [[nodiscard]] bool isBelow(const std::string& path) const {
    return path == options_.below || path.starts_with(options_.below + "/");
  }

  std::optional<Operation> operationOf(pid_t pid, const Call& call) const {
    Operation made = describe(pid, call);
    if (made.what.empty() || !(isBelow(made.path) || isBelow(made.to))) return std::nullopt;
    return made;
  }

  static Operation describe(pid_t pid, const Call& call) {
    const auto& a = call.arguments;
    const auto fd = static_cast<int>(a[0]);
    switch (call.number) {
      case SYS_write:
        return {"write", pathOf(pid, fd), {}, positionOf(pid, fd), readMemory(pid, a[1], a[2])};
      case SYS_pwrite64:
        return {"write",
                pathOf(pid, fd),
                {},
                static_cast<std::int64_t>(a[3]),
                readMemory(pid, a[1], a[2])};
      case SYS_writev:
        return {"write", pathOf(pid, fd), {}, positionOf(pid, fd), gather(pid, a[1], a[2])};
      case SYS_pwritev:
        return {
            "write", pathOf(pid, fd), {}, static_cast<std::int64_t>(a[3]), gather(pid, a[1], a[2])};
      case SYS_ftruncate:
        return {"cut", pathOf(pid, fd), {}, static_cast<std::int64_t>(a[1])};
      case SYS_truncate:
        return {"cut", pathAt(pid, AT_FDCWD, a[0]), {}, static_cast<std::int64_t>(a[1])};
      case SYS_fsync:
      case SYS_fdatasync:
        return {"sync", pathOf(pid, fd), {}};
      default:
        return describeName(pid, call);
    }
  }

  static Operation describeName(pid_t pid, const Call& call) {
    const auto& a = call.arguments;
    const auto opens = [&](std::uint64_t flags, std::string path) {
      Operation made{(flags & (O_CREAT | O_TRUNC)) != 0 ? "open" : "", std::move(path), {}};
      made.truncates = (flags & O_TRUNC) != 0;
      return made;
    };
    switch (call.number) {
      case SYS_open:
        return opens(a[1], pathAt(pid, AT_FDCWD, a[0]));
      case SYS_openat:
        return opens(a[2], pathAt(pid, a[0], a[1]));
      case SYS_creat:
        return opens(O_CREAT | O_TRUNC, pathAt(pid, AT_FDCWD, a[0]));
      case SYS_rename:
        return {"rename", pathAt(pid, AT_FDCWD, a[0]), pathAt(pid, AT_FDCWD, a[1])};
      case SYS_renameat:
      case SYS_renameat2:
        return {"rename", pathAt(pid, a[0], a[1]), pathAt(pid, a[2], a[3])};
      case SYS_unlink:
      case SYS_rmdir:
        return {"remove", pathAt(pid, AT_FDCWD, a[0]), {}};
      case SYS_unlinkat:
        return {"remove", pathAt(pid, a[0], a[1]), {}};
      case SYS_mkdir:
        return {"folder", pathAt(pid, AT_FDCWD, a[0]), {}};
      case SYS_mkdirat:
        return {"folder", pathAt(pid, a[0], a[1]), {}};
      case SYS_symlink:
        return {"link", pathAt(pid, AT_FDCWD, a[1]), {}};
      case SYS_symlinkat:
        return {"link", pathAt(pid, a[1], a[2]), {}};
      default:
        return {};
    }
  }

  void spoil(pid_t pid, Call& call) const {
    user_regs_struct registers{};
    ptrace(PTRACE_GETREGS, pid, nullptr, &registers);
    if (options_.code != 0) {
      call.fails = true;
      registers.orig_rax = ~0ull;  // no call has that number
    } else if (call.operation->what == "write") {
      // The count of bytes, or of pieces.
      if (registers.rdx > 1) registers.rdx /= 2;
    }
    ptrace(PTRACE_SETREGS, pid, nullptr, &registers);
  }

  static void setResult(pid_t pid, long result) {
    user_regs_struct registers{};
    ptrace(PTRACE_GETREGS, pid, nullptr, &registers);
    registers.rax = static_cast<unsigned long long>(result);
    ptrace(PTRACE_SETREGS, pid, nullptr, &registers);
  }

  void note(pid_t pid, Call& call, std::int64_t result) {
    if (!log_.is_open()) return;
    Operation& made = *call.operation;
    if (made.what == "write") made.bytes.resize(static_cast<std::size_t>(result));
    if (made.what == "open") made.path = pathOf(pid, static_cast<int>(result));
    log_ << R"({"what":")" << made.what << R"(","path":")" << made.path << R"(","to":")" << made.to
         << R"(","offset":)" << made.offset << R"(,"truncates":)"
         << (made.truncates ? "true" : "false") << R"(,"bytes":")";
    constexpr std::string_view kDigits = "0123456789abcdef";
    for (const char byte : made.bytes) {
      const auto value = static_cast<unsigned char>(byte);
      log_ << kDigits[value >> 4] << kDigits[value & 15];
    }
    log_ << "\"}\n";
  }

  const Options& options_;
  pid_t root_ = 0;
  long count_ = 0;
  std::map<pid_t, Call> calls_;
  std::ofstream log_;
};

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    if (name == "--") {
      options.command.assign(argv + i + 1, argv + argc);
      break;
    }
    if (name == "--below") options.below = argv[i + 1];
    if (name == "--count") options.count = argv[i + 1];
    if (name == "--log") options.log = argv[i + 1];
    if (name == "--fail") options.fail = std::strtol(argv[i + 1], nullptr, 10);
    if (name == "--with")
      options.code = std::string_view(argv[i + 1]) == "short" ? 0 : std::atoi(argv[i + 1]);
  }
  options.command.push_back(nullptr);
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  if (options.below.empty() || options.command.size() < 2) {
    std::fputs(
        "usage: fault_tracer --below FOLDER [--count FILE] [--log FILE] [--fail N --with CODE] -- "
        "COMMAND\n",
        stderr);
    return 2;
  }
  return Tracer(options).run();
}
