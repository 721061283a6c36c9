// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0

// A CUDA program that does a stated amount of work and reports it on its standard output, as JSON:
// what a trace of it must hold. Arguments: KERNELS [wait], where `wait` ends by sleeping, so that
// the caller can kill it. Or `costs`: does each kind of work many times, and reports how often and
// how many nanoseconds each took. Or `capturing`: ends while a stream is being captured, and
// reports how the capture ended. Or `forks`: starts children by fork alone between its kernels.
// Where it crashes, its standard error has the calls that led there, as offsets into each library.
#include <cuda.h>
#include <cuda_runtime.h>
#include <execinfo.h>
#include <nvtx3/nvToolsExt.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define CHECK(call)                                                        \
  do {                                                                     \
    const cudaError_t error_ = (call);                                     \
    if (error_ != cudaSuccess) {                                           \
      std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error_)); \
      std::exit(1);                                                        \
    }                                                                      \
  } while (false)

__global__ void axpy(float* y, const float* x, float a, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}

/// Runs for about `clocks` cycles whatever else happens.
__global__ void spin(long long clocks) {
  const long long begin = clock64();
  while (clock64() - begin < clocks) {
  }
}

__global__ void nothing() {}

namespace {

constexpr int kFloats = 1 << 20;
constexpr std::size_t kBytes = kFloats * sizeof(float);
constexpr int kPinnedCopies = 20;
constexpr int kPageableCopies = 5;
constexpr int kMemsets = 7;
constexpr int kGraphNodes = 5;
constexpr int kGraphLaunches = 10;
constexpr int kSpins = 50;

void copies(float* device, float* pinned, float* pageable, cudaStream_t stream) {
  for (int i = 0; i < kPinnedCopies; ++i) {
    CHECK(cudaMemcpyAsync(device, pinned, kBytes, cudaMemcpyHostToDevice, stream));
  }
  for (int i = 0; i < kPageableCopies; ++i)
    CHECK(cudaMemcpy(pageable, device, kBytes, cudaMemcpyDeviceToHost));
  for (int i = 0; i < kMemsets; ++i) CHECK(cudaMemsetAsync(device, 0, kBytes, stream));
}

void graph(float* y, const float* x, cudaStream_t stream) {
  cudaGraph_t recorded = nullptr;
  cudaGraphExec_t ready = nullptr;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  for (int i = 0; i < kGraphNodes; ++i)
    axpy<<<kFloats / 256, 256, 0, stream>>>(y, x, 0.5f, kFloats);
  CHECK(cudaStreamEndCapture(stream, &recorded));
  CHECK(cudaGraphInstantiate(&ready, recorded, 0));
  for (int i = 0; i < kGraphLaunches; ++i) CHECK(cudaGraphLaunch(ready, stream));
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaGraphExecDestroy(ready));
  CHECK(cudaGraphDestroy(recorded));
}

/// A recorder in this process must not crash it; where one does, this shows in which library.
void onCrash(int signal) {
  void* frames[64];
  backtrace_symbols_fd(frames, backtrace(frames, 64), STDERR_FILENO);
  ::raise(signal);
}

void printWhereItCrashes() {
  struct sigaction action {};
  action.sa_handler = &onCrash;
  action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_NODEFER;
  for (const int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE})
    ::sigaction(signal, &action, nullptr);
}

// --- costs
// -----------------------------------------------------------------------------------------------------------

constexpr int kRounds = 7;
constexpr int kTimes =
    500;  ///< in a round: less than a stream takes before it makes its caller wait
constexpr int kNodes = 100;

void printNs(const char* kind, double ns) {
  static const char* before = "{\"ns\": {";
  std::printf("%s\"%s\": %.1f", before, kind, ns);
  before = ", ";
}

/// The median round's time for each of `times` calls of work(), with what the device does of it.
template <class Work>
void cost(const char* kind, int times, int each, Work&& work) {
  double rounds[kRounds];
  for (double& round : rounds) {
    CHECK(cudaDeviceSynchronize());
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < times; ++i) work();
    CHECK(cudaDeviceSynchronize());
    round =
        std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count() /
        (times * each);
  }
  std::sort(rounds, rounds + kRounds);
  printNs(kind, rounds[kRounds / 2]);
}

/// The driver's own call, without linking with it.
decltype(&cuEventRecord) driverEventRecord() {
  void* entry = nullptr;
  cudaDriverEntryPointQueryResult found{};
  CHECK(
      cudaGetDriverEntryPointByVersion("cuEventRecord", &entry, 12000, cudaEnableDefault, &found));
  if (found != cudaDriverEntryPointSuccess) std::exit(1);
  return reinterpret_cast<decltype(&cuEventRecord)>(entry);
}

cudaGraphExec_t graphOfNothing(cudaStream_t stream) {
  cudaGraph_t recorded = nullptr;
  cudaGraphExec_t ready = nullptr;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  for (int i = 0; i < kNodes; ++i) nothing<<<1, 1, 0, stream>>>();
  CHECK(cudaStreamEndCapture(stream, &recorded));
  CHECK(cudaGraphInstantiate(&ready, recorded, 0));
  CHECK(cudaGraphDestroy(recorded));
  return ready;
}

int costs() {
  void* device = nullptr;
  void* pinned = nullptr;
  cudaStream_t stream = nullptr;
  cudaEvent_t event = nullptr;
  CHECK(cudaMalloc(&device, 4096));
  CHECK(cudaMallocHost(&pinned, 4096));
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CHECK(cudaEventCreate(&event));
  const auto recordEvent = driverEventRecord();
  const cudaGraphExec_t graph = graphOfNothing(stream);
  const nvtxDomainHandle_t domain = nvtxDomainCreateA("costs");
  nvtxEventAttributes_t range{};
  range.version = NVTX_VERSION;
  range.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  range.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  range.message.registered = nvtxDomainRegisterStringA(domain, "nothing");

  cost("kernel", kTimes, 1, [&] { nothing<<<1, 1, 0, stream>>>(); });
  cost("copy", kTimes, 1,
       [&] { CHECK(cudaMemcpyAsync(device, pinned, 4, cudaMemcpyHostToDevice, stream)); });
  cost("memset", kTimes, 1, [&] { CHECK(cudaMemsetAsync(device, 0, 4, stream)); });
  cost("runtime call", kTimes, 1, [&] { CHECK(cudaEventRecord(event, stream)); });
  cost("driver call", kTimes, 1, [&] {
    if (recordEvent(event, stream) != CUDA_SUCCESS) std::exit(1);
  });
  cost("synchronization", kTimes, 1, [&] { CHECK(cudaStreamSynchronize(stream)); });
  cost("memory", kTimes / 5, 2, [&] {
    void* more = nullptr;
    CHECK(cudaMalloc(&more, 4096));
    CHECK(cudaFree(more));
  });
  cost("graph node", kTimes / kNodes, kNodes, [&] { CHECK(cudaGraphLaunch(graph, stream)); });
  cost("NVTX range", kTimes, 1, [&] {
    nvtxDomainRangePushEx(domain, &range);
    nvtxDomainRangePop(domain);
  });
  std::printf("}, \"count\": {");
  for (const char* kind : {"kernel", "copy", "memset", "runtime call", "driver call",
                           "synchronization", "graph node", "NVTX range"}) {
    std::printf("\"%s\": %d, ", kind, kRounds * kTimes);
  }
  std::printf("\"memory\": %d}}\n", kRounds * (kTimes / 5) * 2);
  return 0;
}

// --- ends that a recorder must not spoil
// -----------------------------------------------------------------------------

cudaStream_t capturedStream = nullptr;

/// Runs when those have ended who joined the program later, as a recorder does.
void endCapture() {
  cudaGraph_t recorded = nullptr;
  std::size_t nodes = 0;
  const cudaError_t ended = cudaStreamEndCapture(capturedStream, &recorded);
  if (ended == cudaSuccess) CHECK(cudaGraphGetNodes(recorded, nullptr, &nodes));
  std::printf("{\"capture_ended\": %d, \"nodes\": %zu}\n", static_cast<int>(ended), nodes);
  std::fflush(stdout);
}

int capturing() {
  std::atexit(&endCapture);
  CHECK(cudaStreamCreateWithFlags(&capturedStream, cudaStreamNonBlocking));
  spin<<<1, 1>>>(1'000'000);
  CHECK(cudaStreamBeginCapture(capturedStream, cudaStreamCaptureModeGlobal));
  for (int i = 0; i < kGraphNodes; ++i) nothing<<<1, 1, 0, capturedStream>>>();
  return 0;
}

constexpr int kForks = 3;

/// A child may exit at once, and may call CUDA, which refuses it.
int forks(int kernels) {
  int failed = 0;
  for (int child = 0; child < kForks; ++child) {
    for (int i = 0; i < kernels; ++i) nothing<<<1, 1>>>();
    const pid_t forked = ::fork();
    if (forked == 0) {
      ::alarm(20);
      void* memory = nullptr;
      if (child > 0) (void)cudaMalloc(&memory, 64);
      if (child > 1) std::exit(0);
      ::_exit(0);
    }
    int status = -1;
    ::waitpid(forked, &status, 0);
    failed += status == 0 ? 0 : 1;
  }
  CHECK(cudaDeviceSynchronize());
  std::printf("{\"kernels\": %d, \"children_failed\": %d}\n", kForks * kernels, failed);
  return 0;
}

long long monotonicNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

int main(int argc, char** argv) {
  printWhereItCrashes();
  if (argc > 1 && std::strcmp(argv[1], "capturing") == 0) return capturing();
  if (argc > 2 && std::strcmp(argv[1], "forks") == 0) return forks(std::atoi(argv[2]));
  if (argc > 1 && std::strcmp(argv[1], "costs") == 0) return costs();
  const int kernels = argc > 1 ? std::atoi(argv[1]) : 1000;
  float* x = nullptr;
  float* y = nullptr;
  float* pinned = nullptr;
  auto* pageable = static_cast<float*>(std::calloc(kFloats, sizeof(float)));
  CHECK(cudaMalloc(&x, kBytes));
  CHECK(cudaMalloc(&y, kBytes));
  CHECK(cudaMallocHost(&pinned, kBytes));
  cudaStream_t streams[2];
  for (cudaStream_t& stream : streams)
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));

  copies(x, pinned, pageable, streams[0]);
  CHECK(cudaDeviceSynchronize());
  const long long beginNs = monotonicNs();
  for (int i = 0; i < kernels; ++i)
    axpy<<<kFloats / 256, 256, 0, streams[i % 2]>>>(y, x, 1.0f, kFloats);
  CHECK(cudaDeviceSynchronize());
  const long long endNs = monotonicNs();
  for (int i = 0; i < kSpins; ++i) {
    spin<<<1, 1, 0, streams[0]>>>(100'000);
    CHECK(cudaStreamSynchronize(streams[0]));
  }
  const long long graphNs = monotonicNs();
  graph(y, x, streams[1]);
  const long long graphEndNs = monotonicNs();

  std::printf(
      "{\"axpy\": %d, \"axpy_in_graph\": %d, \"spin\": %d, \"h2d_copies\": %d, \"h2d_bytes\": %zu, "
      "\"d2h_copies\": %d, \"d2h_bytes\": %zu, \"memsets\": %d, \"memset_bytes\": %zu, "
      "\"graph_launches\": %d, \"graph_nodes\": %d, \"streams\": 2, "
      "\"begin_ns\": %lld, \"end_ns\": %lld, \"graph_ns\": %lld, \"graph_end_ns\": %lld}\n",
      kernels, kGraphNodes * kGraphLaunches, kSpins, kPinnedCopies, kPinnedCopies * kBytes,
      kPageableCopies, kPageableCopies * kBytes, kMemsets, kMemsets * kBytes, kGraphLaunches,
      kGraphNodes, beginNs, endNs, graphNs, graphEndNs);
  std::fflush(stdout);
  if (argc > 2 && std::strcmp(argv[2], "wait") == 0) ::sleep(60);
  for (cudaStream_t stream : streams) CHECK(cudaStreamDestroy(stream));
  CHECK(cudaFree(x));
  CHECK(cudaFree(y));
  CHECK(cudaFreeHost(pinned));
  std::free(pageable);
  return 0;
}
