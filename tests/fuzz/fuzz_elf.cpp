// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>
#include <sanitizer/common_interface_defs.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "formats/kernel_name.h"
#include "symbols/module_file.h"
#include "symbols/name_module.h"
#include "symbols/symbolizer.h"

/// Any bytes as a program whose places are to be named, and as names. The input is {what, number of
/// places} and the file, or {what} and a name. A process of its own reads the file, which libdw may
/// crash or hang on: that must end in time and with an answer for each place. Where it ends well,
/// this process reads it too, and finds the same.
namespace {

using namespace lacuna;
using namespace lacuna::collector::symbols;

constexpr NamingLimits kLimits{{std::chrono::milliseconds(1000), std::chrono::milliseconds(2000)},
                               1u << 30};
constexpr auto kMostTime = std::chrono::seconds(15);
constexpr std::size_t kLongestText = 64 << 10;

void must(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "fuzz_elf: %s\n", what);
  std::abort();
}

/// Reports of sanitizers in children that read a file, in memory that they share with this process.
/// libdw is not instrumented, so they are of our code.
std::atomic<int>& reports() {
  static auto* const shared = [] {
    void* at = ::mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    must(at != MAP_FAILED, "there is no memory to share");
    return new (at) std::atomic<int>(0);
  }();
  return *shared;
}

/// A child dies as one of the real program does: of a signal, without the fuzzer's report and the
/// fuzzer's artifacts.
void prepareChild() {
  for (const int number : {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE, SIGALRM})
    ::signal(number, SIG_DFL);
  __sanitizer_set_death_callback([] { ++reports(); });
}

void prepare() {
  static const bool once = [] {
    (void)reports();
    return ::pthread_atfork(nullptr, nullptr, prepareChild) == 0;
  }();
  must(once, "children cannot be prepared");
}

/// A file that has the bytes, and its path.
int fileOf(const std::uint8_t* data, std::size_t size) {
  static const int file = ::memfd_create("fuzz", MFD_CLOEXEC);
  must(::ftruncate(file, 0) == 0 && ::pwrite(file, data, size, 0) == static_cast<ssize_t>(size),
       "a file is not written");
  return file;
}

bool operator==(const Symbol& one, const Symbol& other) {
  return one.address == other.address && one.function == other.function && one.file == other.file &&
         one.line == other.line;
}

void readProgram(const std::uint8_t* data, std::size_t size, std::size_t places) {
  const int file = fileOf(data, size);
  ModuleFile module{.path = "/proc/self/fd/" + std::to_string(file), .buildId = buildIdOf(file)};
  must(isFileOf(module, file), "a file is none of its own");
  std::vector<std::uint64_t> offsets;
  for (std::size_t i = 0; i < places; ++i) offsets.push_back(i * size / places);
  std::vector<Symbol> symbols;
  const auto begun = std::chrono::steady_clock::now();
  const Naming naming = nameModule(module, file, offsets, kLimits, {}, symbols);
  must(std::chrono::steady_clock::now() - begun < kMostTime,
       "the search for names runs beyond its limits");
  must(reports() == 0, "a sanitizer found something in the process that reads the file");
  must(symbols.size() == offsets.size(), "a place has no answer");
  for (const Symbol& symbol : symbols) {
    must(symbol.function.size() <= kLongestText && symbol.file.size() <= kLongestText,
         "a name is longer than any may be");
  }
  if (naming != Naming::Done) return;
  Symbolizer again(file, module.path);
  for (std::size_t i = 0; i < places; ++i) {
    Symbol symbol = again.find(offsets[i]);
    symbol.function.resize(std::min(symbol.function.size(), kLongestText));
    symbol.file.resize(std::min(symbol.file.size(), kLongestText));
    must(symbol == symbols[i], "two processes find different names in one file");
  }
}

void readName(std::string_view name) {
  const std::string once = analyzer::withoutScopes(name);
  must(once.size() <= name.size() && once.empty() == name.empty(),
       "a name without its scopes is longer, or gone");
  (void)analyzer::isCommunicationKernel(name);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  prepare();
  if (size == 0) return 0;
  if (data[0] % 4 == 0) {
    readName({reinterpret_cast<const char*>(data + 1), size - 1});
  } else if (size > 2) {
    readProgram(data + 2, size - 2, 1 + data[1] % 64);
  }
  return 0;
}
