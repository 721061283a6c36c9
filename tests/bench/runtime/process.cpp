// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "process.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

namespace bench {

namespace {

[[noreturn]] void give(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::exit(1);
}

}  // namespace

Process::Process(const std::vector<std::string>& command) : name_(command.front()) {
  int in[2];
  int out[2];
  if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0) give("no pipes");
  pid_ = ::fork();
  if (pid_ < 0) give("cannot fork");
  if (pid_ == 0) {
    ::dup2(in[0], 0);
    ::dup2(out[1], 1);
    std::vector<char*> arguments;
    for (const std::string& argument : command)
      arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  ::close(in[0]);
  ::close(out[1]);
  to_ = ::fdopen(in[1], "w");
  from_ = ::fdopen(out[0], "r");
}

Process::Process(Process&& other) noexcept
    : name_(std::move(other.name_)),
      pid_(std::exchange(other.pid_, -1)),
      to_(std::exchange(other.to_, nullptr)),
      from_(std::exchange(other.from_, nullptr)) {}

Process::~Process() {
  if (pid_ < 0) return;
  std::fclose(to_);
  std::fclose(from_);
  ::waitpid(pid_, nullptr, 0);
}

double Process::ask(const std::string& workload, int count) {
  std::fprintf(to_, "%s %d\n", workload.c_str(), count);
  std::fflush(to_);
  double ns = 0;
  if (std::fscanf(from_, "%lf", &ns) != 1) give(name_ + " failed at the workload " + workload);
  return ns;
}

TempFolder::TempFolder() {
  std::string text = std::filesystem::temp_directory_path() / "lacuna-bench-XXXXXX";
  if (::mkdtemp(text.data()) == nullptr) give("no temporary folder");
  path_ = text;
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace bench
