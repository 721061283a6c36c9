// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
//
// Draws a generated trace through a scripted sweep of zooms, pans and scrolls at 1920×1080 and
// reports what a frame costs, next to a renderer that walks over every visible event.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <QApplication>
#include <QMouseEvent>
#include <QScrollBar>
#include <QTableView>
#include <QTemporaryDir>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <random>

#include "base/trace.h"
#include "lacuna/analyzer/lanes.h"
#include "lacuna/analyzer/store.h"
#include "lacuna/prof/writer.h"
#include "models/table_model.h"
#include "views/table_page.h"
#include "views/timeline_view.h"

namespace {

using namespace lacuna;       // NOLINT
using namespace lacuna::gui;  // NOLINT

/// More rows than fit on the screen.
constexpr std::uint32_t kThreads = 24;
constexpr std::uint32_t kQueues = 8;
constexpr std::uint32_t kCounters = 4;
constexpr int kNesting = 4;

double threadMs() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

double wallMs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

double peakGib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / (1 << 20);
}

bool json = false;

void report(const std::string& name, double value, const char* unit) {
  if (json) {
    fmt::print("{{\"name\":\"{}\",\"value\":{:.6g},\"unit\":\"{}\"}}\n", name, value, unit);
  } else {
    fmt::print("{:32} {:12.4g} {}\n", name, value, unit);
  }
}

struct Costs {
  std::vector<double> cpu, wall;
  void measure(const std::function<void()>& frame) {
    const double c = threadMs();
    const double w = wallMs();
    frame();
    cpu.push_back(threadMs() - c);
    wall.push_back(wallMs() - w);
  }
  static double at(std::vector<double> v, double share) {
    std::sort(v.begin(), v.end());
    return v[std::min(v.size() - 1,
                      static_cast<std::size_t>(share * static_cast<double>(v.size())))];
  }
};

/// Threads with nested ranges, queues with kernels and counters, in bursts and lulls, in time
/// order. `stretch` makes all of it last longer.
class Generator {
 public:
  Generator(prof::Writer& writer, prof::TimeNs stretch) : writer_(writer), stretch_(stretch) {
    for (int i = 0; i < 400; ++i) {
      names_.push_back(writer.intern(fmt::format("operator_{}_{}", "abcdefghij"[i % 10], i)));
    }
    writer.append(prof::Process{
        .id = prof::ProcessId(1), .osPid = 1, .name = writer.intern("train"), .rank = -1});
    for (std::uint32_t t = 1; t <= kThreads; ++t) {
      writer.append(
          prof::Thread{.id = prof::ThreadId(t), .process = prof::ProcessId(1), .osTid = t});
    }
    writer.append(prof::Device{.id = prof::DeviceId(1), .kind = prof::DeviceKind::Cuda});
    for (std::uint32_t q = 1; q <= kQueues; ++q) {
      writer.append(prof::Queue{.id = prof::QueueId(q),
                                .device = prof::DeviceId(1),
                                .process = prof::ProcessId(1),
                                .nativeId = q});
    }
    for (std::uint32_t c = 1; c <= kCounters; ++c) {
      const bool ofDevice = c % 2 == 0;
      writer.append(prof::CounterTrack{.id = prof::TrackId(c),
                                       .process = ofDevice ? prof::ProcessId() : prof::ProcessId(1),
                                       .device = ofDevice ? prof::DeviceId(1) : prof::DeviceId(),
                                       .name = writer.intern(fmt::format("counter {}", c))});
    }
  }

  /// Adds slices until there are so many events.
  void growTo(std::uint64_t events) {
    while (made_ < events) addSlices();
  }

 private:
  /// In each slice of time every thread opens a nest of ranges, every queue runs a few kernels,
  /// counters change.
  void addSlices() {
    ranges_.clear();
    kernels_.clear();
    samples_.clear();
    for (int slice = 0; slice < 500; ++slice) {
      const bool lull = (now_ / (50'000'000 * stretch_)) % 5 == 4;
      const auto length = static_cast<prof::TimeNs>(8'000 + random_() % 8'000) * stretch_;
      for (std::uint32_t t = 1; t <= kThreads; ++t) {
        if (!lull || random_() % 8 == 0) addNest(t, length);
      }
      for (std::uint32_t q = 1; q <= kQueues; ++q) {
        if (!lull || random_() % 4 == 0) addKernels(q, length / 4);
      }
      for (std::uint32_t c = 1; c <= kCounters; ++c) {
        const double value = (lull ? 10 : 70) + static_cast<double>(random_() % 30);
        samples_.push({.timeNs = now_ + static_cast<prof::TimeNs>(c),
                       .track = prof::TrackId(c),
                       .value = value});
      }
      now_ += length;
    }
    made_ += ranges_.startNs.size() + kernels_.startNs.size() + samples_.timeNs.size();
    writer_.append<prof::Range>(ranges_);
    writer_.append<prof::Kernel>(kernels_);
    writer_.append<prof::CounterSample>(samples_);
  }
  void addNest(std::uint32_t thread, prof::TimeNs length) {
    prof::TimeNs start = now_;
    prof::TimeNs dur = length - 50;
    for (int depth = 0; depth < kNesting; ++depth) {
      ranges_.push({.startNs = start,
                    .durNs = dur,
                    .thread = prof::ThreadId(thread),
                    .name = names_[random_() % names_.size()],
                    .depth = static_cast<std::uint16_t>(depth)});
      dur = dur * static_cast<prof::TimeNs>(60 + random_() % 38) / 100;
      start += depth;
    }
  }
  void addKernels(std::uint32_t queue, prof::TimeNs gap) {
    for (prof::TimeNs k = 0; k < 4; ++k) {
      const auto dur = static_cast<prof::TimeNs>(random_() % static_cast<std::uint64_t>(gap));
      kernels_.push({.startNs = now_ + k * gap,
                     .durNs = dur,
                     .queue = prof::QueueId(queue),
                     .device = prof::DeviceId(1),
                     .name = names_[random_() % names_.size()]});
    }
  }

  prof::Writer& writer_;
  prof::TimeNs stretch_;
  std::vector<prof::StringId> names_;
  std::mt19937_64 random_{7};
  prof::Range::Columns ranges_;
  prof::Kernel::Columns kernels_;
  prof::CounterSample::Columns samples_;
  std::uint64_t made_ = 0;
  prof::TimeNs now_ = 1'000'000'000;
};

prof::Status generate(const std::filesystem::path& path, std::uint64_t events) {
  auto writer = prof::Writer::create(path);
  if (!writer) return writer.error();
  Generator(*writer, 1).growTo(events);
  return writer->finish();
}

/// A file that grows by 100,000 events, a second of them, at a time: the cost of a check when it is
/// small and when it is large, beside opening it anew.
void following(const std::filesystem::path& folder) {
  const auto path = folder / "bench_following.lcn";
  auto writer = prof::Writer::create(path);
  if (!writer) return;
  Generator generator(*writer, 50);
  analyzer::StoreFollower follower(path);
  analyzer::LiveTracks live;
  constexpr std::uint64_t kStep = 100'000;
  const auto measureAt = [&](std::uint64_t events) {
    std::vector<double> times;
    for (int i = 0; i < 9; ++i) {
      generator.growTo(events + static_cast<std::uint64_t>(i) * kStep);
      if (!writer->flush()) return 0.0;
      const double begin = wallMs();
      const auto store = follower.poll();
      const bool laidOut = store.ok() && *store && live.layOut(**store).ok();
      if (laidOut && i > 0)
        times.push_back(wallMs() - begin);  // the first also lays out what came before
    }
    return times.empty() ? 0.0 : Costs::at(times, 0.5);
  };
  const double small = measureAt(1'000'000);
  const double large = measureAt(10'000'000);
  std::vector<double> anew;
  for (int i = 0; i < 3; ++i) {
    const double begin = wallMs();
    const auto store = analyzer::Store::open(path);
    if (!store || !analyzer::buildTracks(**store)) return;
    anew.push_back(wallMs() - begin);
  }
  report("gui.follow_ms_1m", small, "ms");
  report("gui.follow_ms_10m", large, "ms");
  report("gui.follow_10m_over_1m", large / small, "ratio");
  report("gui.reopen_over_follow_10m", Costs::at(anew, 0.5) / large, "ratio");
  std::filesystem::remove(path);
}

prof::Result<TracePtr> openTrace(const std::filesystem::path& path) {
  auto store = analyzer::Store::open(path);
  if (!store) return store.error();
  auto tracks = analyzer::openTracks(**store);
  if (!tracks) return tracks.error();
  auto trace = std::make_shared<Trace>();
  trace->store = *store;
  trace->tracks = *tracks;
  trace->darkStyles = std::make_unique<NameStyles>(**store, true);
  trace->lightStyles = std::make_unique<NameStyles>(**store, false);
  return TracePtr(std::move(trace));
}

struct Frame {
  Viewport view;
  double scrolled = 0;  ///< 0: the topmost rows, 1: the lowest
};

/// Zoom from the whole trace to microseconds at three places; at ten depths pan there, and scroll
/// the rows down.
std::vector<Frame> sweep(const Viewport& full) {
  std::vector<Frame> frames;
  double scrolled = 0;
  for (const double where : {0.21, 0.5, 0.83}) {
    Viewport view = full;
    for (int i = 0; i < 60; ++i) {
      frames.push_back({view, scrolled});
      view = view.zoomed(0.8, where);
      if (i % 6 != 5) continue;
      Viewport moving = view;
      for (int k = 0; k < 8; ++k) frames.push_back({moving = moving.panned(0.07), scrolled});
      for (int k = 0; k <= 8; ++k) frames.push_back({view, k / 8.0});
      scrolled = (i / 6 % 3) / 2.0;
    }
  }
  return frames;
}

/// The cost of the same picture when every visible event is visited, per pixel column of each lane.
double linearScanMs(const Trace& trace, const Viewport& view, int width) {
  const double begin = threadMs();
  const double npp = view.nsPerPixel(width);
  std::vector<float> busy(static_cast<std::size_t>(width));
  double sink = 0;
  for (const auto& group : trace.tracks->groups) {
    for (const auto& track : group.tracks) {
      for (const auto& lane : track.lanes) {
        std::fill(busy.begin(), busy.end(), 0.0F);
        for (std::size_t i = lane.lowerBound(view.startNs());
             i < lane.size() && lane.startNs(i) < view.endNs(); ++i) {
          const double from = static_cast<double>(lane.startNs(i) - view.startNs()) / npp;
          const double to = from + static_cast<double>(lane.durNs(i)) / npp;
          for (auto x = static_cast<std::ptrdiff_t>(std::max(0.0, from));
               x <= static_cast<std::ptrdiff_t>(to) && x < width; ++x) {
            busy[static_cast<std::size_t>(x)] += static_cast<float>(
                std::min(to, static_cast<double>(x + 1)) - std::max(from, static_cast<double>(x)));
          }
        }
        sink += busy[busy.size() / 2];
      }
    }
  }
  return threadMs() - begin + sink * 1e-300;
}

/// Pixels of all lanes that a walk over every event finds occupied and the picture's query leaves
/// blank.
std::uint64_t blankPixels(const Trace& trace, const Viewport& view, int width) {
  const analyzer::PixelGrid grid{view.startNs(), view.nsPerPixel(width), width};
  std::vector<char> occupied(static_cast<std::size_t>(width));
  std::vector<analyzer::Cell> cells(occupied.size());
  std::uint64_t blank = 0;
  for (const auto& group : trace.tracks->groups) {
    for (const auto& track : group.tracks) {
      for (const auto& lane : track.lanes) {
        std::fill(occupied.begin(), occupied.end(), 0);
        for (std::size_t i = lane.lowerBound(view.startNs());
             i < lane.size() && lane.startNs(i) < view.endNs(); ++i) {
          const auto from = static_cast<std::ptrdiff_t>(std::max(
              0.0, static_cast<double>(lane.startNs(i) - view.startNs()) / grid.nsPerPixel));
          const auto last = std::max(lane.startNs(i), lane.endNs(i) - 1) - view.startNs();
          const auto to = static_cast<std::ptrdiff_t>(static_cast<double>(last) / grid.nsPerPixel);
          for (std::ptrdiff_t x = from; x <= to && x < width; ++x)
            occupied[static_cast<std::size_t>(x)] = 1;
        }
        lane.query(grid, cells);
        for (std::size_t x = 0; x < cells.size(); ++x) blank += occupied[x] && !cells[x].occupied();
      }
    }
  }
  return blank;
}

/// Time for which the GUI's thread is held up by a table of 35 million rows: shown, sorted,
/// filtered, scrolled to its end.
void tableStalls() {
  constexpr std::size_t kRows = 35'000'000;
  TableModel model;
  QTableView* table = makeTable(&model, QStringLiteral("rows"), nullptr);
  const std::unique_ptr<QTableView> owned(table);
  table->resize(1920, 1080);
  table->show();
  TableColumn numbers{QStringLiteral("duration"), TableColumn::Kind::Duration};
  numbers.numbers.resize(kRows);
  std::mt19937_64 random(11);
  for (double& v : numbers.numbers) v = static_cast<double>(random() % 1'000'000'007);
  double longest = 0;
  double since = wallMs();
  const auto turn = [&] {  // whatever the event loop does between two of these is a stall
    QApplication::processEvents();
    const double now = wallMs();
    longest = std::max(longest, now - since);
    since = now;
  };
  const auto finish = [&](const char* what, const std::function<void()>& start) {
    bool arranged = false;
    const auto link = QObject::connect(&model, &TableModel::arranged, [&] { arranged = true; });
    longest = 0;
    since = wallMs();
    start();
    turn();
    for (const double until = wallMs() + 60'000; !arranged && wallMs() < until;) {
      turn();
      usleep(500);
    }
    for (int i = 0; i < 5; ++i) turn();
    QObject::disconnect(link);
    report(std::string("gui.table_35m_") + what + "_stall_ms", longest, "ms");
  };
  TableColumn names{QStringLiteral("name"), TableColumn::Kind::Text};
  for (int i = 0; i < 400; ++i) names.texts.push_back(QStringLiteral("operator %1").arg(i));
  names.texts.resize(kRows);
  for (std::size_t i = 400; i < kRows; ++i) names.texts[i] = names.texts[i % 400];
  std::vector<TableColumn> data;
  data.push_back(std::move(numbers));
  data.push_back(std::move(names));
  finish("show", [&] {
    model.setTable(std::move(data));
    model.setFilter({});
  });
  finish("sort", [&] { model.sort(0, Qt::DescendingOrder); });
  finish("filter", [&] { model.setFilter(QStringLiteral("operator 7")); });
  finish("unfilter", [&] { model.setFilter({}); });
  longest = 0;
  since = wallMs();
  table->scrollToBottom();
  turn();
  report("gui.table_35m_scroll_stall_ms", longest, "ms");
}

int runSize(const std::filesystem::path& folder, std::uint64_t events, const std::string& tag,
            bool last) {
  const auto path = folder / ("bench_" + tag + ".lcn");
  if (!std::filesystem::exists(path)) {
    fmt::print(stderr, "generating {} events: {}\n", events, path.string());
    if (auto status = generate(path, events); !status) {
      fmt::print(stderr, "bench_gui: {}\n", status.error().message);
      return 1;
    }
  }
  // Laying the tracks out, as `lacuna run` does after a recording; a process of its own keeps its
  // memory apart.
  fflush(nullptr);
  if (const pid_t child = fork(); child == 0) {
    const double begin = wallMs();
    auto store = analyzer::Store::open(path);
    const bool fresh = store.ok() && analyzer::loadTracks(**store) == nullptr;
    const bool added = analyzer::addTracks(path).ok();
    if (fresh && added) {
      report("gui.lay_out_s_" + tag, (wallMs() - begin) / 1e3, "s");
      report("gui.lay_out_peak_gib_" + tag, peakGib(), "GiB");
    }
    fflush(nullptr);
    _exit(added ? 0 : 1);
  } else if (int state = 0; waitpid(child, &state, 0) != child || state != 0) {
    fmt::print(stderr, "bench_gui: the tracks could not be added to {}\n", path.string());
    return 1;
  }
  const double opened = wallMs();
  auto trace = openTrace(path);
  if (!trace) {
    fmt::print(stderr, "bench_gui: {}\n", trace.error().message);
    return 1;
  }
  TimelineView view;
  view.resize(1920, 1080);
  view.setTrace(*trace);
  view.show();
  QImage screen(1920, 1080, QImage::Format_RGB32);
  view.render(&screen);
  report("gui.first_picture_s_" + tag, (wallMs() - opened) / 1e3, "s");
  report("gui.blank_pixels_" + tag,
         static_cast<double>(blankPixels(**trace, view.viewport(), view.canvasWidth())), "pixels");
  report("gui.events_" + tag, static_cast<double>((*trace)->tracks->events), "events");

  auto* const rows = view.findChild<QScrollBar*>();
  if (rows == nullptr || rows->maximum() == 0) {
    fmt::print(stderr, "bench_gui: all rows fit on the screen, so there is nothing to scroll\n");
    return 1;
  }
  Costs frames;
  for (const Frame& frame : sweep(view.viewport())) {
    frames.measure([&] {
      view.setViewport(frame.view);
      rows->setValue(static_cast<int>(frame.scrolled * rows->maximum()));
      view.render(&screen);
    });
  }
  report("gui.frame_ms_p50_" + tag, Costs::at(frames.cpu, 0.5), "ms");
  report("gui.frame_ms_p95_" + tag, Costs::at(frames.cpu, 0.95), "ms");
  report("gui.frame_ms_max_" + tag, Costs::at(frames.cpu, 1), "ms");
  report("gui.frame_wall_ms_p99_" + tag, Costs::at(frames.wall, 0.99), "ms");

  view.fit();
  view.repaint();
  QApplication::processEvents();
  Costs hovers;
  for (int i = 0; i < 200; ++i) {
    const QPointF at(300 + i * 7, 60 + i * 3);
    hovers.measure([&] {
      QMouseEvent move(QEvent::MouseMove, at, view.mapToGlobal(at), Qt::NoButton, Qt::NoButton,
                       Qt::NoModifier);
      QApplication::sendEvent(&view, &move);
      QApplication::processEvents();  // paints what has become stale, and no more
    });
  }
  report("gui.hover_ms_" + tag, Costs::at(hovers.cpu, 0.5), "ms");
  report("gui.hover_ms_max_" + tag, Costs::at(hovers.cpu, 1), "ms");
  if (last) report("gui.hover_ms", Costs::at(hovers.cpu, 0.5), "ms");
  std::vector<double> ratios;
  for (int i = 0; i < 3; ++i) {
    const double slow = linearScanMs(**trace, view.viewport(), 1700);
    const double c = threadMs();
    view.renderNow();
    ratios.push_back(slow / (threadMs() - c));
  }
  report("gui.linear_over_ours_" + tag, Costs::at(ratios, 0.5), "ratio");
  report("gui.lanes_gib_" + tag, static_cast<double>((*trace)->tracks->bytes()) / (1 << 30), "GiB");
  report("gui.peak_gib_" + tag, peakGib(), "GiB");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  qputenv("QT_QPA_PLATFORM", "offscreen");
  QTemporaryDir runtime;
  qputenv("XDG_RUNTIME_DIR", runtime.path().toUtf8());
  QApplication app(argc, argv);
  std::filesystem::path folder = std::filesystem::temp_directory_path();
  std::vector<std::string> sizes;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--json") {
      json = true;
    } else if (argument.starts_with("--data=")) {
      folder = argument.substr(7);
    } else if (argument == "10m" || argument == "100m" || argument == "1m") {
      sizes.push_back(argument);
    } else {
      fmt::print(
          stderr,
          "usage: bench_gui [--json] [--data=FOLDER] [1m|10m|100m …]   (default: 10m 100m)\n");
      return argument == "--help" ? 0 : 2;
    }
  }
  if (sizes.empty()) sizes = {"10m", "100m"};
  for (const std::string& size : sizes) {
    const std::uint64_t events = size == "1m"    ? 1'000'000
                                 : size == "10m" ? 10'000'000
                                                 : 100'000'000;
    if (const int status = runSize(folder, events, size, size == sizes.back()); status != 0)
      return status;
  }
  tableStalls();
  following(folder);
  return 0;
}
