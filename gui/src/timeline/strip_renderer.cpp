// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "timeline/strip_renderer.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "timeline/text.h"

namespace lacuna::gui {

using analyzer::Cell;
using analyzer::Lane;
using analyzer::TrackKind;
using analyzer::WorkKind;

namespace {

constexpr double kLabelFromPx = 24;
constexpr double kGapFromPx = 3;
constexpr int kTickSpacing = 110;
/// Even the smallest event must be seen: this much of its colour, at least.
constexpr double kFaintest = 0.35;

}  // namespace

NameStyles::NameStyles(const analyzer::Store& store, bool dark) : dark_(dark) {
  const std::uint32_t count = store.stringCount();
  names_.reserve(count);
  for (auto* kinds : {&hostKinds_, &callKinds_, &workKinds_}) kinds->reserve(count);
  const auto colourIn = [&](TrackKind track, std::string_view name) {
    return kindColour(analyzer::workKind(track, name), dark);
  };
  for (std::uint32_t id = 0; id < count; ++id) {
    const std::string_view name = store.text(prof::StringId(id));
    names_.push_back(nameColour(name, dark));
    hostKinds_.push_back(colourIn(TrackKind::Ranges, name));
    callKinds_.push_back(colourIn(TrackKind::Calls, name));
    workKinds_.push_back(colourIn(TrackKind::Work, name));
  }
}

Colour NameStyles::byName(prof::StringId id) const {
  // Copies without a name of their own have ids beyond the trace's texts.
  return id.value < names_.size() ? names_[id.value] : kindColour(WorkKind::Copy, dark_);
}

Colour NameStyles::byKind(TrackKind track, prof::StringId id) const {
  if (id.value >= names_.size()) return kindColour(WorkKind::Copy, dark_);
  const auto& kinds = track == TrackKind::Work    ? workKinds_
                      : track == TrackKind::Calls ? callKinds_
                                                  : hostKinds_;
  return kinds[id.value];
}

void StripRenderer::render(const Scene& scene, const NameStyles& styles, const Canvas& canvas,
                           std::vector<Label>& labels) {
  labels.clear();
  scale_ = scene.scale;
  grid_ = {scene.view.startNs(), scene.view.nsPerPixel(canvas.width), canvas.width};
  const auto width = static_cast<std::size_t>(canvas.width);
  const Theme& colours = theme(styles.dark());
  ground_.assign(width, colours.window);
  for (const Tick& tick :
       ticks(scene.view, canvas.width, static_cast<int>(kTickSpacing * scale_))) {
    const auto x = static_cast<std::ptrdiff_t>(tick.x);
    if (x >= 0 && x < canvas.width) ground_[static_cast<std::size_t>(x)] = colours.grid;
  }
  cells_.resize(width);
  counterCells_.resize(width);
  int drawn = 0;  // every pixel is written about once: writing them is a good part of a frame
  for (const Row& row : scene.rows) {
    const double top = (row.y - scene.scrollY) * scale_;
    if (top >= canvas.height) break;
    if (top + row.height * scale_ <= 0) continue;
    const auto first = static_cast<int>(std::lround(top));
    copyLine(ground_, drawn, first - drawn, canvas);
    drawRow(scene, styles, row, canvas, labels);
    drawn = static_cast<int>(std::lround((row.y + row.height - scene.scrollY) * scale_));
  }
  copyLine(ground_, drawn, canvas.height - drawn, canvas);
}

void StripRenderer::copyLine(const std::vector<Colour>& line, int top, int height,
                             const Canvas& canvas) const {
  const int last = std::min(top + height, canvas.height);
  for (int y = std::max(top, 0); y < last; ++y) {
    std::memcpy(canvas.pixels + static_cast<std::ptrdiff_t>(y) * canvas.stride, line.data(),
                line.size() * sizeof(Colour));
  }
}

void StripRenderer::drawRow(const Scene& scene, const NameStyles& styles, const Row& row,
                            const Canvas& canvas, std::vector<Label>& labels) {
  const auto device = [&](int y) {
    return static_cast<int>(std::lround((y - scene.scrollY) * scale_));
  };
  const Theme& colours = theme(styles.dark());
  int drawn = device(row.y);
  const int bottom = device(row.y + row.height);
  if (row.kind == Row::Kind::Ledger || row.kind == Row::Kind::Quiet) {
    copyLine(ground_, drawn, bottom - drawn, canvas);
    return;
  }
  if (row.kind != Row::Kind::Track) {
    line_.assign(ground_.size(), colours.raised);
    copyLine(line_, drawn, bottom - drawn, canvas);
    if (row.kind == Row::Kind::Group && row.collapsed) {
      const auto& tracks = scene.tracks->groups[row.ref.group].tracks;
      if (!tracks.empty() && !tracks[0].lanes.empty()) {
        drawLane(tracks[0].lanes[0], tracks[0].kind, styles, device(row.y + 6),
                 device(row.y + 20) - device(row.y + 6), canvas, nullptr);
      }
    }
    return;
  }
  const analyzer::Track& track = scene.tracks->groups[row.ref.group].tracks[row.ref.track];
  if (track.kind == TrackKind::Counter) {
    copyLine(ground_, drawn, bottom - drawn, canvas);
    drawn = bottom;
    drawCounter(track.counter, styles, counterColour(track.label, row.ref.track, styles.dark()),
                device(row.y + 4), device(row.y + row.height - 4) - device(row.y + 4), canvas);
  }
  for (int lane = 0; lane < row.lanes; ++lane) {
    const int y = row.y + 2 + lane * kLanePitch;
    const int top = device(y);
    const int height = device(y + kLaneHeight) - top;
    if (top + height <= 0 || top >= canvas.height) continue;
    copyLine(ground_, drawn, top - drawn, canvas);
    drawn = top + height;
    drawLane(track.lanes[static_cast<std::size_t>(lane)], track.kind, styles, top, height, canvas,
             &labels);
  }
  copyLine(ground_, drawn, bottom - drawn, canvas);
  line_.assign(ground_.size(), colours.grid);
  copyLine(line_, bottom - 1, 1, canvas);
}

void StripRenderer::drawLane(const Lane& lane, TrackKind kind, const NameStyles& styles, int top,
                             int height, const Canvas& canvas, std::vector<Label>* labels) {
  lane.query(grid_, cells_);
  line_ = ground_;
  const double npp = grid_.nsPerPixel;
  for (std::size_t x = 0; x < cells_.size(); ++x) {
    const Cell& cell = cells_[x];
    if (!cell.occupied()) continue;
    const Colour own =
        cell.longestNs >= npp ? styles.byName(cell.name) : styles.byKind(kind, cell.name);
    line_[x] =
        cell.busy > 0.995F ? own : mix(ground_[x], own, kFaintest + (1 - kFaintest) * cell.busy);
  }
  for (int x = 0; x < grid_.width; ++x) {
    const Cell& cell = cells_[static_cast<std::size_t>(x)];
    // The length is known within an eighth; the event itself decides below.
    if (cell.busy < 0.99F || cell.longestNs < kGapFromPx * npp * 0.85) continue;
    const std::size_t i = lane.at(grid_.startNs + static_cast<prof::TimeNs>((x + 0.5) * npp));
    if (i == Lane::kNone || static_cast<double>(lane.durNs(i)) < kGapFromPx * npp) continue;
    const double from = static_cast<double>(lane.startNs(i) - grid_.startNs) / npp;
    const double to = static_cast<double>(lane.endNs(i) - grid_.startNs) / npp;
    // Close by, an event may end further right than any number of pixels can express.
    const int last = static_cast<int>(std::min(std::ceil(to), grid_.width + 1.0)) - 1;
    if (last >= x && last < grid_.width)
      line_[static_cast<std::size_t>(last)] = ground_[static_cast<std::size_t>(last)];
    const double left = std::max(from, 0.0);
    const double right = std::min<double>(last, grid_.width);
    if (labels && right - left >= kLabelFromPx * scale_) {
      const prof::StringId name = lane.name(i);
      labels->push_back({static_cast<int>(left), top, static_cast<int>(right - left), height, name,
                         inkOn(styles.byName(name))});
    }
    x = std::max(x, last);
  }
  copyLine(line_, top, height, canvas);
}

void StripRenderer::drawCounter(const analyzer::CounterLane& lane, const NameStyles& styles,
                                Colour stroke, int top, int height, const Canvas& canvas) {
  lane.query(grid_, counterCells_);
  const double floor = std::min(0.0, lane.lowest());
  const double range = std::max(lane.highest() - floor, 1e-300);
  const Colour fill = mix(theme(styles.dark()).window, stroke, 0.4);
  const auto yOf = [&](double v) {
    const double share = (v - floor) / range;
    // No number at all, where the range is endless, is drawn as nothing.
    return top + height - 1 -
           static_cast<int>(std::lround((share > 0 ? std::min(share, 1.0) : 0) * (height - 1)));
  };
  for (int x = 0; x < canvas.width; ++x) {
    const auto& cell = counterCells_[static_cast<std::size_t>(x)];
    if (!cell.known) continue;
    const int high = yOf(cell.high);
    const int low = yOf(cell.low);
    for (int y = std::max(high, 0); y < std::min(top + height, canvas.height); ++y) {
      canvas.pixels[static_cast<std::ptrdiff_t>(y) * canvas.stride + x] =
          y <= std::max(low, high + static_cast<int>(scale_)) ? stroke : fill;
    }
  }
}

Hit hitTest(const Scene& scene, double x, int y, int width) {
  Hit hit;
  hit.row = rowAt(scene.rows, y);
  if (hit.row >= scene.rows.size() || scene.rows[hit.row].kind != Row::Kind::Track) return hit;
  const Row& row = scene.rows[hit.row];
  hit.onTrack = true;
  hit.track = row.ref;
  const analyzer::Track& track = scene.tracks->groups[row.ref.group].tracks[row.ref.track];
  const double npp = scene.view.nsPerPixel(width);
  const auto moment = scene.view.startNs() + static_cast<prof::TimeNs>((std::floor(x) + 0.5) * npp);
  if (track.kind == TrackKind::Counter) {
    hit.event = track.counter.at(moment);
    return hit;
  }
  const int lane = (y - row.y - 2) / kLanePitch;
  if (y < row.y + 2 || lane >= row.lanes) return hit;
  hit.lane = lane;
  const Lane& events = track.lanes[static_cast<std::size_t>(lane)];
  const std::size_t near = events.at(moment);
  if (near != Lane::kNone && static_cast<double>(events.durNs(near)) >= npp) {
    hit.event = near;
    return hit;
  }
  events.query({scene.view.startNs() + static_cast<prof::TimeNs>(std::floor(x) * npp), npp, 1},
               {&hit.cell, 1});
  if (!hit.cell.occupied()) {
    hit.event = near;
    return hit;
  }
  // A lone event narrower than its pixel is still that event.
  const std::size_t first =
      events.lowerBound(scene.view.startNs() + static_cast<prof::TimeNs>(std::floor(x) * npp));
  const auto pixelEnd =
      scene.view.startNs() + static_cast<prof::TimeNs>(std::ceil((std::floor(x) + 1) * npp));
  if (first < events.size() && events.startNs(first) < pixelEnd &&
      (first + 1 >= events.size() || events.startNs(first + 1) >= pixelEnd)) {
    hit.event = first;
  }
  return hit;
}

}  // namespace lacuna::gui
