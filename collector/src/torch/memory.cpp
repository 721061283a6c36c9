// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "torch/memory.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "torch/emitter.h"

namespace lacuna::collector::torch {
namespace {

constexpr char kReport[] = "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE";
constexpr char kEnabled[] = "_ZN3c1022memoryProfilingEnabledEv";

/// c10::Device: the kind of device in the low byte, its number in the next.
using Device = std::uint16_t;
constexpr unsigned kCpu = 0;
constexpr unsigned kCuda = 1;

bool (*enabled)() = nullptr;
void (*report)(void*, std::int64_t, std::size_t, std::size_t, Device) = nullptr;
bool watchCpu = false;
int reporting = 0;  ///< libraries that call us
std::atomic<bool> watching{false};
std::atomic<bool> allocations{true};
std::atomic<std::uint8_t> role{0};

void recordBlock(void* address, std::int64_t bytes, Device device) {
  const unsigned kind = device & 0xff;
  const unsigned number = kind == kCuda ? device >> 8 : 0;
  if (address == nullptr || bytes == 0 || (kind != kCuda && (kind != kCpu || !watchCpu))) return;
  if (bytes > 0 && !allocations.load(std::memory_order_relaxed)) return;
  const auto action = bytes > 0 ? MemoryAction::Allocate : MemoryAction::Free;
  const auto size = static_cast<std::uint64_t>(bytes > 0 ? bytes : -bytes);
  const auto what = bytes > 0 ? role.load(std::memory_order_relaxed) : std::uint8_t{0};
  memory(action, reinterpret_cast<std::uintptr_t>(address), size, what, number);
}

void ourReport(void* address, std::int64_t bytes, std::size_t allocated, std::size_t reserved,
               Device device) {
  if (watching.load(std::memory_order_relaxed)) recordBlock(address, bytes, device);
  report(address, bytes, allocated, reserved, device);
}
// The CPU's allocator asks this before it keeps sizes and reports.
bool ourEnabled() {
  return (watching.load(std::memory_order_relaxed) && listening()) || enabled();
}

struct Redirection {
  const char* symbol;
  void* function;
};

/// The places of one loaded library that its calls to other libraries' functions go through.
class CallTable {
 public:
  explicit CallTable(const dl_phdr_info& library) : base_(library.dlpi_addr) {
    const ElfW(Dyn)* dynamic = nullptr;
    for (int i = 0; i < library.dlpi_phnum; ++i) {
      if (library.dlpi_phdr[i].p_type == PT_DYNAMIC) {
        dynamic = reinterpret_cast<const ElfW(Dyn)*>(base_ + library.dlpi_phdr[i].p_vaddr);
      }
    }
    for (; dynamic != nullptr && dynamic->d_tag != DT_NULL; ++dynamic) take(*dynamic);
  }

  /// True when the library called the function and now calls ours.
  bool redirect(const Redirection& to) {
    const bool jumps = redirectIn(jumps_, jumpBytes_, to);
    const bool relocations = redirectIn(relocations_, relocationBytes_, to);
    return jumps || relocations;
  }

 private:
  void take(const ElfW(Dyn) & entry) {
    const auto address = entry.d_un.d_ptr;
    if (entry.d_tag == DT_SYMTAB) symbols_ = reinterpret_cast<const ElfW(Sym)*>(address);
    if (entry.d_tag == DT_STRTAB) names_ = reinterpret_cast<const char*>(address);
    if (entry.d_tag == DT_JMPREL) jumps_ = reinterpret_cast<const ElfW(Rela)*>(address);
    if (entry.d_tag == DT_PLTRELSZ) jumpBytes_ = entry.d_un.d_val;
    if (entry.d_tag == DT_RELA) relocations_ = reinterpret_cast<const ElfW(Rela)*>(address);
    if (entry.d_tag == DT_RELASZ) relocationBytes_ = entry.d_un.d_val;
  }

  bool redirectIn(const ElfW(Rela) * list, std::size_t bytes, const Redirection& to) {
    bool found = false;
    if (list == nullptr || symbols_ == nullptr || names_ == nullptr) return false;
    for (std::size_t i = 0; i < bytes / sizeof(ElfW(Rela)); ++i) {
      const auto type = ELF64_R_TYPE(list[i].r_info);
      if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) continue;
      if (std::strcmp(names_ + symbols_[ELF64_R_SYM(list[i].r_info)].st_name, to.symbol) != 0)
        continue;
      found |= write(reinterpret_cast<void**>(base_ + list[i].r_offset), to.function);
    }
    return found;
  }

  /// The place may be read-only since the library was loaded.
  static bool write(void** place, void* function) {
    const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    auto* start = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(place) & ~(page - 1));
    if (mprotect(start, page, PROT_READ | PROT_WRITE) != 0) return false;
    __atomic_store_n(place, function, __ATOMIC_RELEASE);
    return true;
  }

  std::uintptr_t base_;
  const ElfW(Sym) * symbols_ = nullptr;
  const char* names_ = nullptr;
  const ElfW(Rela) * jumps_ = nullptr;
  const ElfW(Rela) * relocations_ = nullptr;
  std::size_t jumpBytes_ = 0;
  std::size_t relocationBytes_ = 0;
};

int onLibrary(dl_phdr_info* library, std::size_t, void* count) {
  const char* slash = std::strrchr(library->dlpi_name, '/');
  const char* name = slash != nullptr ? slash + 1 : library->dlpi_name;
  if (std::strncmp(name, "libc10", 6) != 0) return 0;
  CallTable table(*library);
  if (watchCpu) table.redirect({kEnabled, reinterpret_cast<void*>(ourEnabled)});
  if (table.redirect({kReport, reinterpret_cast<void*>(ourReport)})) ++*static_cast<int*>(count);
  return 0;
}

}  // namespace

int watchMemory(bool cpu) {
#ifdef __x86_64__
  if (!listening()) return 0;
  watching.store(true);
  if (report != nullptr) return reporting;
  void* library = dlopen("libc10.so", RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return 0;
  report = reinterpret_cast<decltype(report)>(dlsym(library, kReport));
  enabled = reinterpret_cast<decltype(enabled)>(dlsym(library, kEnabled));
  if (report == nullptr || enabled == nullptr) return 0;
  watchCpu = cpu;
  dl_iterate_phdr(onLibrary, &reporting);
  return reporting;
#else
  (void)cpu;
  return 0;
#endif
}

void stopWatchingMemory() {
  watching.store(false);
}

void recordAllocations(bool on) {
  allocations.store(on);
}

void setRole(std::uint8_t what) {
  role.store(what, std::memory_order_relaxed);
}

void attributeTensor(std::uint64_t address, std::uint64_t bytes, std::uint8_t what,
                     std::int32_t cudaDevice, const char* name) {
  if (report == nullptr || (cudaDevice < 0 && !watchCpu)) return;
  const auto device = static_cast<std::uint32_t>(cudaDevice < 0 ? 0 : cudaDevice);
  memory(MemoryAction::Free, address, bytes, 0, device);
  memory(MemoryAction::Allocate, address, bytes, what, device, name);
}

}  // namespace lacuna::collector::torch
