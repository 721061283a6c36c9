// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "supervise/program.h"

#include <elf.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "core/regular_file.h"

namespace lacuna::collector {
namespace {

namespace fs = std::filesystem;

/// Bytes of the dynamic section that are read at most.
constexpr std::size_t kMostDynamic = 64 << 10;

/// A program as it lies there. Somebody may have put something else in its place since it ran.
class ImageFile {
 public:
  explicit ImageFile(const fs::path& path) : fd_(openRegularFile(path.string())) {}
  ImageFile(const ImageFile&) = delete;
  ImageFile& operator=(const ImageFile&) = delete;
  ~ImageFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  bool read(std::uint64_t offset, void* into, std::size_t bytes) const {
    return fd_ >= 0 &&
           pread(fd_, into, bytes, static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes);
  }
  [[nodiscard]] std::string head(std::size_t bytes) const {
    std::string text(bytes, '\0');
    const ssize_t got = fd_ >= 0 ? pread(fd_, text.data(), bytes, 0) : 0;
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return text;
  }

 private:
  int fd_;
};

bool isFile(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

prof::Result<fs::path> locate(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    std::error_code error;
    if (!fs::exists(name, error)) {
      return prof::Error{fmt::format("there is no program '{}'. Check the path after '--'.", name)};
    }
    if (fs::is_directory(name, error))
      return prof::Error{fmt::format("'{}' is a folder, not a program.", name)};
    return fs::path(name);
  }
  const char* searchPath = std::getenv("PATH");
  std::istringstream folders(searchPath != nullptr ? searchPath : "/usr/bin:/bin");
  fs::path unusable;
  for (std::string folder; std::getline(folders, folder, ':');) {
    const fs::path candidate = fs::path(folder.empty() ? "." : folder) / name;
    if (!isFile(candidate)) continue;
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
    unusable = candidate;
  }
  if (!unusable.empty()) return unusable;
  std::string hint = isFile(name) ? fmt::format(" (did you mean ./{}?)", name) : "";
  return prof::Error{fmt::format(
      "no program '{}' was found on the PATH{}. Give its path after '--'.", name, hint)};
}

/// The first word after "#!", or empty. `/usr/bin/env python` counts as python.
std::string interpreterOf(const std::string& head) {
  if (head.rfind("#!", 0) != 0) return {};
  std::istringstream line(head.substr(2, head.find('\n') - 2));
  std::string first;
  line >> first;
  if (fs::path(first).filename() == "env") {
    for (std::string word; line >> word;) {
      if (word[0] != '-' && word.find('=') == std::string::npos) return word;
    }
  }
  return first;
}

/// A program that can be run by itself has no name as a library; the system's loader has one.
bool hasLibraryName(const Elf64_Phdr& dynamic, const ImageFile& file) {
  Elf64_Dyn entry;
  for (std::size_t at = 0;
       at + sizeof(entry) <= std::min<std::size_t>(dynamic.p_filesz, kMostDynamic);
       at += sizeof(entry)) {
    if (!file.read(dynamic.p_offset + at, &entry, sizeof(entry)) || entry.d_tag == DT_NULL)
      return false;
    if (entry.d_tag == DT_SONAME) return true;
  }
  return false;
}

void inspectElf(const std::string& head, const ImageFile& file, Program& program) {
  if (head.size() < sizeof(Elf64_Ehdr) || !beginsAsElf(head)) return;
  Elf64_Ehdr header;
  std::memcpy(&header, head.data(), sizeof(header));
#if defined(__x86_64__)
  constexpr auto kMachine = EM_X86_64;
#else
  constexpr auto kMachine = EM_AARCH64;
#endif
  program.foreignArchitecture =
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != kMachine;
  if (program.foreignArchitecture) return;
  bool interpreter = false;
  bool loader = false;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    if (!file.read(header.e_phoff + i * sizeof(segment), &segment, sizeof(segment))) break;
    interpreter |= segment.p_type == PT_INTERP;
    loader |= segment.p_type == PT_DYNAMIC && hasLibraryName(segment, file);
  }
  program.staticBinary = !interpreter && !loader;
}

/// As the kernel sees it when it sets AT_SECURE. For a script the kernel checks the interpreter.
Privilege privilegeOf(const fs::path& path) {
  struct stat info {};
  struct statvfs where {};
  if (stat(path.c_str(), &info) != 0) return Privilege::None;
  if (statvfs(path.c_str(), &where) == 0 && (where.f_flag & ST_NOSUID) != 0) return Privilege::None;
  // So it is in many containers. A program with capabilities counts as one with rights of its own
  // all the same.
  if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1) {
    if ((info.st_mode & S_ISUID) != 0 && info.st_uid != getuid()) return Privilege::UserId;
    constexpr mode_t kSetGroup = S_ISGID | S_IXGRP;
    if ((info.st_mode & kSetGroup) == kSetGroup && info.st_gid != getgid())
      return Privilege::GroupId;
  }
  // Root has all capabilities anyway.
  const bool capable =
      getuid() != 0 && getxattr(path.c_str(), "security.capability", nullptr, 0) > 0;
  return capable ? Privilege::Capabilities : Privilege::None;
}

void inspect(const fs::path& path, Program& program, int depth) {
  program.image = path;
  const ImageFile file(path);
  const std::string head = file.head(256);
  const std::string interpreter = interpreterOf(head);
  if (interpreter.empty() || depth > 3) {
    program.privilege = privilegeOf(path);
    return inspectElf(head, file, program);
  }
  if (auto found = locate(interpreter)) inspect(*found, program, depth + 1);
}

bool liesWhereNothingRuns(const fs::path& path) {
  struct stat info {};
  struct statvfs where {};
  const bool allowed =
      stat(path.c_str(), &info) == 0 && (info.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH)) != 0;
  return allowed && statvfs(path.c_str(), &where) == 0 && (where.f_flag & ST_NOEXEC) != 0;
}

std::string noteOf(const std::string& program, Privilege privilege) {
  const auto note = [&](const char* what, const char* remedy) {
    return fmt::format(
        "{} {}: it runs with other rights than yours, so the recorder stays out of it. Remedy: {}.",
        program, what, remedy);
  };
  switch (privilege) {
    case Privilege::UserId:
      return note("is set-uid", "record it as the user it runs as");
    case Privilege::GroupId:
      return note("is set-gid", "record it in the group it runs in (sg)");
    default:
      return note("has file capabilities", "record it as root, who has them all");
  }
}

}  // namespace

std::vector<std::string> Program::limits() const {
  std::vector<std::string> notes;
  if (privilege != Privilege::None) notes.push_back(noteOf(image.string(), privilege));
  if (foreignArchitecture) {
    notes.push_back(
        fmt::format("{} is built for another architecture than this lacuna, so NVTX and CUDA "
                    "events cannot be recorded. Remedy: run a 64-bit build of it.",
                    image.string()));
  }
  if (staticBinary) {
    notes.push_back(
        fmt::format("{} is statically linked and cannot load the recorder, so NVTX and CUDA events "
                    "cannot be recorded (CPU samples can). Remedy: link it dynamically.",
                    image.string()));
  }
  return notes;
}

Program inspectImage(const fs::path& image) {
  Program program;
  program.path = image;
  inspect(image, program, 0);
  return program;
}

Obstacle obstacleOf(const Program& program) {
  switch (program.privilege) {
    case Privilege::UserId:
      return {"set-uid", "record it as the user it runs as"};
    case Privilege::GroupId:
      return {"set-gid", "record it in the group it runs in (sg)"};
    case Privilege::Capabilities:
      return {"file capabilities", "record it as root, who has them all"};
    case Privilege::None:
      break;
  }
  if (program.foreignArchitecture) return {"another architecture", "run a 64-bit build of it"};
  if (program.staticBinary) return {"static", "link it dynamically"};
  return {};
}

bool beginsAsElf(std::string_view content) {
  return content.starts_with(std::string_view(ELFMAG, SELFMAG));
}

bool isElf(const fs::path& file) {
  return beginsAsElf(ImageFile(file).head(SELFMAG));
}

prof::Result<Program> findProgram(const std::string& name) {
  if (name.empty())
    return prof::Error{"no program was given. Put it after '--': lacuna run -- ./train"};
  auto path = locate(name);
  if (!path) return path.error();
  if (access(path->c_str(), X_OK) != 0) {
    const std::string why = std::strerror(errno);
    return prof::Error{fmt::format(
        "{} cannot be executed: {}", path->string(),
        liesWhereNothingRuns(*path) ? "its file system is mounted noexec. Remedy: copy it elsewhere"
                                    : fmt::format("{}. Remedy: chmod +x {}", why, path->string()))};
  }
  Program program;
  program.path = *path;
  inspect(*path, program, 0);
  return program;
}

}  // namespace lacuna::collector
