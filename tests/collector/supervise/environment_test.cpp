// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "supervise/environment.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace lacuna::collector {
namespace {

ChildEnvironment environmentFrom(std::vector<std::string> given, const Sources& sources = {}) {
  std::vector<char*> pointers;
  for (auto& variable : given) pointers.push_back(variable.data());
  pointers.push_back(nullptr);
  return *childEnvironment(pointers.data(), "/lib/liblacuna_inject.so", {"LACUNA_RECORDING=/r"},
                           sources);
}

bool has(const ChildEnvironment& environment, const std::string& variable) {
  return std::count(environment.variables.begin(), environment.variables.end(), variable) == 1;
}

TEST(ChildEnvironment, CarriesTheRecordingAndBothInjections) {
  const auto environment = environmentFrom({"HOME=/h"});
  EXPECT_TRUE(has(environment, "HOME=/h"));
  EXPECT_TRUE(has(environment, "LACUNA_RECORDING=/r"));
  EXPECT_TRUE(has(environment, "NVTX_INJECTION64_PATH=/lib/liblacuna_inject.so"));
  EXPECT_TRUE(has(environment, "CUDA_INJECTION64_PATH=/lib/liblacuna_inject.so"));
  EXPECT_TRUE(environment.notes.empty());
}

TEST(ChildEnvironment, NeverOverwritesAVariableOfTheUserAndReportsIt) {
  const auto environment = environmentFrom(
      {"NVTX_INJECTION64_PATH=/mine.so", "CUBLAS_NVTX_LEVEL=1"}, *parseSources("nvtx,cuda,cublas"));
  EXPECT_TRUE(has(environment, "NVTX_INJECTION64_PATH=/mine.so"));
  EXPECT_TRUE(has(environment, "CUBLAS_NVTX_LEVEL=1"));
  EXPECT_TRUE(has(environment, "CUBLASLT_NVTX_LEVEL=2"));
  ASSERT_EQ(environment.notes.size(), 2u);
  EXPECT_NE(environment.notes[0].find("NVTX_INJECTION64_PATH is already set to /mine.so"),
            std::string::npos);
}

TEST(ChildEnvironment, AnEmptyValueStaysAndItsNoteNamesNoLibrary) {
  const auto environment = environmentFrom({"NVTX_INJECTION64_PATH="});
  EXPECT_TRUE(has(environment, "NVTX_INJECTION64_PATH="));
  ASSERT_EQ(environment.notes.size(), 1u);
  EXPECT_EQ(environment.notes[0],
            "NVTX_INJECTION64_PATH is set and empty, which stays: no library is loaded by it, and "
            "NVTX events of this run are not recorded. Remedy: unset NVTX_INJECTION64_PATH.");
}

TEST(ChildEnvironment, AnEnclosingRecordingGivesWay) {
  const auto environment = environmentFrom({"LACUNA_RECORDING=/outer"});
  EXPECT_TRUE(has(environment, "LACUNA_RECORDING=/r"));
  EXPECT_FALSE(has(environment, "LACUNA_RECORDING=/outer"));
}

TEST(ChildEnvironment, SourcesThatAreOffAreNotInjected) {
  const auto environment = environmentFrom({}, *parseSources("none"));
  EXPECT_FALSE(has(environment, "NVTX_INJECTION64_PATH=/lib/liblacuna_inject.so"));
  EXPECT_FALSE(has(environment, "CUDA_INJECTION64_PATH=/lib/liblacuna_inject.so"));
  EXPECT_FALSE(has(environment, "NCCL_NVTX_DISABLE=1")) << "it annotates nobody who listens";
  EXPECT_TRUE(has(environmentFrom({}, *parseSources("nvtx")), "NCCL_NVTX_DISABLE=1"));
}

TEST(ChildEnvironment, AModeOfCudaIsAddedToWhatTheUserHasSet) {
  Sources sources;
  EXPECT_FALSE(has(environmentFrom({}, sources), "LACUNA_CUPTI="));
  sources.cudaMode = CudaMode::Graphs;
  EXPECT_TRUE(has(environmentFrom({}, sources), "LACUNA_CUPTI=graph-launches"));
  sources.cudaMode = CudaMode::Kernels;
  EXPECT_TRUE(has(environmentFrom({"LACUNA_CUPTI=environment"}, sources),
                  "LACUNA_CUPTI=environment,device-work"));
}

TEST(ChildEnvironment, ThePythonHookStandsInFrontOfTheUsersPythonPath) {
  const auto folder = std::filesystem::temp_directory_path() /
                      ("lacuna-torch-hook-test-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder / "python");
  for (const char* file :
       {"python/sitecustomize.py", "python/lacuna_start.py", "python/lacuna_frames.py",
        "python/lacuna_torch.py", "python/lacuna_set.py", "python/lacuna_standby.py"})
    std::ofstream(folder / file) << "";
  auto environment = environmentFrom({"PYTHONPATH=/mine:/yours"});
  const auto missing = addPythonHook(environment, folder / "liblacuna_inject.so");
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message.find("liblacuna_torch.so"), std::string::npos);
  std::ofstream(folder / "liblacuna_torch.so") << "";
  ASSERT_TRUE(addPythonHook(environment, folder / "liblacuna_inject.so"));
  EXPECT_TRUE(has(environment, "PYTHONPATH=" + (folder / "python").string() + ":/mine:/yours"));
  std::filesystem::remove_all(folder);
}

TEST(ChildEnvironment, ARawCaptureLeavesTheUsersCudaSettingsInPlace) {
  auto environment = environmentFrom({"LACUNA_CUPTI=graph-launches"});
  addRawCapture(environment, "/captures");
  EXPECT_TRUE(has(environment, "LACUNA_CUPTI=graph-launches,capture=/captures"));
}

TEST(Injection, FilesThatAreNoInjectedLibraryAreRefused) {
  EXPECT_FALSE(checkInjection("/no/such/file.so"));
  const auto status = checkInjection("/bin/sh");
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message.find("LACUNA_INJECTION"), std::string::npos);
}

}  // namespace
}  // namespace lacuna::collector
