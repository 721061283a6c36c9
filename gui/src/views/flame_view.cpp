// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "views/flame_view.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QScrollBar>
#include <QToolTip>
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/words.h"

namespace lacuna::gui {

using analyzer::FlameNode;

namespace {

/// Few levels get higher bars, many lower ones.
constexpr int kLowestPitch = 23;
constexpr int kHighestPitch = 40;
constexpr double kNarrowestBar = 0.8;

/// The names that distinguish processes: their ranks, else their numbers.
std::unordered_map<prof::ProcessId, QString> processNames(const Trace& trace) {
  std::unordered_map<prof::ProcessId, QString> names;
  for (std::uint64_t i = 0; i < trace.store->rows<prof::Process>(); ++i) {
    const auto row = trace.store->row<prof::Process>(i);
    names[row.id] = row.rank >= 0                      ? FlameView::tr("rank %1").arg(row.rank)
                    : row.osPid == 0 && row.name.value ? trace.name(row.name)
                                                       : FlameView::tr("process %1").arg(row.osPid);
  }
  return names;
}

/// Names of the threads of a graph, by node, with those of their processes where there are several.
std::vector<QString> threadNames(const Trace& trace, const analyzer::FlameGraph& graph) {
  std::unordered_map<prof::ThreadId, prof::Thread> byId;
  for (std::uint64_t i = 0; i < trace.store->rows<prof::Thread>(); ++i) {
    const auto row = trace.store->row<prof::Thread>(i);
    byId[row.id] = row;
  }
  std::unordered_set<prof::ProcessId> shown;
  for (const std::uint32_t n : graph.nodes[0].children)
    shown.insert(byId[graph.nodes[n].thread].process);
  auto processes = processNames(trace);
  std::vector<QString> names(graph.nodes.size());
  for (const std::uint32_t n : graph.nodes[0].children) {
    const prof::Thread& thread = byId[graph.nodes[n].thread];
    names[n] = trace.name(thread.name);
    // A recording that goes on has not named its threads yet.
    if (names[n].isEmpty())
      names[n] = thread.id ? FlameView::tr("thread %1").arg(thread.osTid)
                           : FlameView::tr("thread #%1").arg(graph.nodes[n].thread.value);
    const QString& process = processes[thread.process];
    if (shown.size() > 1 && !process.isEmpty()) names[n] += QStringLiteral(" · ") + process;
  }
  return names;
}

}  // namespace

FlameView::FlameView(QWidget* parent) : QAbstractScrollArea(parent) {
  setFrameShape(QFrame::NoFrame);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setFocusPolicy(Qt::StrongFocus);
  viewport()->setMouseTracking(true);
  setAccessibleName(tr("Flame graph"));
}

void FlameView::setGraph(const TracePtr& trace, std::shared_ptr<const analyzer::FlameGraph> graph) {
  const QStringList focus = stackOf(focus_);
  const auto selected = selected_ ? std::optional(stackOf(*selected_)) : std::nullopt;
  trace_ = trace;
  graph_ = std::move(graph);
  threads_ = graph_ ? threadNames(*trace_, *graph_) : std::vector<QString>();
  focus_ = nodeOf(focus).value_or(0);
  selected_ = graph_ && selected ? nodeOf(*selected) : std::nullopt;
  hovered_.reset();
  layOut();
  Q_EMIT selectionChanged();
}

QString FlameView::keyOf(std::uint32_t node) const {
  const prof::ThreadId thread = graph_->nodes[node].thread;
  return thread ? QString::number(thread.value) : nameOf(node);
}

QStringList FlameView::stackOf(std::uint32_t node) const {
  QStringList keys;
  if (!graph_) return keys;
  for (std::uint32_t at = node; at != 0; at = graph_->nodes[at].parent) keys.prepend(keyOf(at));
  return keys;
}

std::optional<std::uint32_t> FlameView::nodeOf(const QStringList& stack) const {
  std::uint32_t at = 0;
  for (const QString& key : stack) {
    if (!graph_) return std::nullopt;
    const auto& children = graph_->nodes[at].children;
    const auto next = std::find_if(children.begin(), children.end(),
                                   [&](std::uint32_t n) { return keyOf(n) == key; });
    if (next == children.end()) return std::nullopt;
    at = *next;
  }
  return at;
}

void FlameView::setDark(bool dark) {
  dark_ = dark;
  viewport()->update();
}

void FlameView::setSearch(const QString& text) {
  search_ = text;
  viewport()->update();
}

void FlameView::focusOn(std::uint32_t node) {
  if (!graph_ || node >= graph_->nodes.size()) return;
  focus_ = node;
  layOut();
  bringIntoSight(node);
}

void FlameView::bringIntoSight(std::uint32_t node) {
  const QRectF bar = barOf(node);
  const auto top = static_cast<int>(bar.top());
  const auto below = static_cast<int>(bar.bottom()) - viewport()->height();
  if (bar.isNull() || (top >= 0 && below <= 0)) return;
  verticalScrollBar()->setValue(verticalScrollBar()->value() + (top < 0 ? top : below));
}

void FlameView::goTo(std::uint32_t node) {
  select(node);
  // A node beside the one that was looked into, or too narrow, is drawn from its caller on.
  if (barOf(node).isNull()) focusOn(graph_->nodes[node].parent);
  bringIntoSight(node);
}

void FlameView::select(std::optional<std::uint32_t> node) {
  selected_ = node;
  setAccessibleDescription(node ? describe(*node) : QString());
  viewport()->update();
  Q_EMIT selectionChanged();
}

QString FlameView::nameOf(std::uint32_t node) const {
  if (node == 0) return tr("all threads");
  const FlameNode& at = graph_->nodes[node];
  if (at.mergesSteps) return tr("step");
  return at.thread ? threads_[node] : trace_->name(at.name);
}

QString FlameView::labelOf(std::uint32_t node) const {
  const FlameNode& at = graph_->nodes[node];
  return at.mergesSteps ? tr("%1 ×%2").arg(nameOf(node)).arg(at.count) : nameOf(node);
}

QString FlameView::searchOf(std::uint32_t node) const {
  const FlameNode& at = graph_->nodes[node];
  if (node == 0 || at.thread) return {};
  QString name = trace_->name(at.name);
  // Step markers differ in the number at the end.
  while (at.mergesSteps && !name.isEmpty() && name.back().isDigit()) name.chop(1);
  return name;
}

QString FlameView::describe(std::uint32_t node) const {
  const FlameNode& at = graph_->nodes[node];
  const double all = static_cast<double>(std::max<std::int64_t>(1, graph_->nodes[0].totalNs));
  QString out =
      tr("%1: %2 (%3 of all), %4 in itself")
          .arg(nameOf(node), durationWords(at.totalNs),
               percentWords(static_cast<double>(at.totalNs) / all), durationWords(at.selfNs));
  if (at.count > 0) out += at.count == 1 ? tr(", once") : tr(", %1 times").arg(at.count);
  return out;
}

QRectF FlameView::barOf(std::uint32_t node) const {
  for (const Bar& bar : bars_) {
    if (bar.node == node) return bar.rect.translated(0, -verticalScrollBar()->value());
  }
  return {};
}

void FlameView::layOut() {
  bars_.clear();
  if (graph_ && !graph_->nodes.empty()) {
    pitch_ = std::clamp(viewport()->height() / static_cast<int>(graph_->deepest + 1), kLowestPitch,
                        kHighestPitch);
    // Callers of what is in focus stay, each over the full width.
    std::vector<std::uint32_t> callers;
    for (std::uint32_t at = focus_; at != 0; at = graph_->nodes[at].parent)
      callers.push_back(graph_->nodes[at].parent);
    int level = 0;
    for (auto at = callers.rbegin(); at != callers.rend(); ++at, ++level) {
      bars_.push_back({*at, QRectF(0, level * pitch_, viewport()->width(), pitch_ - 1)});
    }
    place(focus_, 0, viewport()->width(), level);
  }
  double bottom = 0;
  for (const Bar& bar : bars_) bottom = std::max(bottom, bar.rect.bottom() + 1);
  verticalScrollBar()->setPageStep(viewport()->height());
  verticalScrollBar()->setSingleStep(pitch_);
  verticalScrollBar()->setRange(0, std::max(0, static_cast<int>(bottom) - viewport()->height()));
  viewport()->update();
}

void FlameView::place(std::uint32_t node, double left, double width, int level) {
  bars_.push_back({node, QRectF(left, level * pitch_, width, pitch_ - 1)});
  const FlameNode& at = graph_->nodes[node];
  const double perNs = at.totalNs > 0 ? width / static_cast<double>(at.totalNs) : 0;
  for (const std::uint32_t child : at.children) {
    const double wide = static_cast<double>(graph_->nodes[child].totalNs) * perNs;
    if (wide < kNarrowestBar) break;  // children come greatest first
    place(child, left, wide, level + 1);
    left += wide;
  }
}

void FlameView::paintBar(QPainter& painter, const Bar& bar) const {
  const Theme& t = theme(dark_);
  const QString name = nameOf(bar.node);
  const bool plain = bar.node == 0 || graph_->nodes[bar.node].thread;
  Colour fill = plain ? t.raised : nameColour(name.toStdString(), dark_);
  const bool found = !search_.isEmpty() && name.contains(search_, Qt::CaseInsensitive);
  if (!search_.isEmpty() && !found) fill = mix(fill, t.window, 0.7);
  QRectF rect = bar.rect.translated(0, -verticalScrollBar()->value());
  if (rect.width() > 3) rect.setWidth(rect.width() - 1);
  painter.fillRect(rect, rgb(fill));
  if (bar.node == hovered_ || found) {
    painter.setPen(QPen(rgb(found ? t.warn : t.text, 170), 1));
    painter.drawRect(rect.adjusted(0.5, 0.5, -0.5, -0.5));
  }
  if (bar.node == selected_) {
    painter.setPen(QPen(rgb(t.text), 2));
    painter.drawRect(rect.adjusted(1, 1, -1, -1));
  }
  const QString shown = plain ? name : words(shortName(labelOf(bar.node).toStdString()));
  const QString time = durationWords(graph_->nodes[bar.node].totalNs);
  const QFontMetrics metrics = painter.fontMetrics();
  const int room = static_cast<int>(rect.width()) - 12;
  painter.setPen(rgb(inkOn(fill)));
  const bool both = metrics.horizontalAdvance(shown + time) + 16 < room;
  const QString label = metrics.elidedText(shown, plain ? Qt::ElideMiddle : Qt::ElideRight, room);
  // Less of a name means nothing.
  if (label.isEmpty() || (label != shown && label.size() <= kFewestCharacters)) return;
  painter.drawText(rect.adjusted(6, 0, -6, 0), Qt::AlignVCenter, label);
  if (both) {
    painter.drawText(rect.adjusted(6 + metrics.horizontalAdvance(shown) + 10, 0, -6, 0),
                     Qt::AlignVCenter, time);
  }
}

void FlameView::paintEvent(QPaintEvent*) {
  QPainter painter(viewport());
  painter.fillRect(viewport()->rect(), rgb(theme(dark_).window));
  QFont font = painter.font();
  font.setPixelSize(12);
  painter.setFont(font);
  const double top = verticalScrollBar()->value();
  for (const Bar& bar : bars_) {
    if (bar.rect.bottom() >= top && bar.rect.top() <= top + viewport()->height())
      paintBar(painter, bar);
  }
}

void FlameView::resizeEvent(QResizeEvent* event) {
  QAbstractScrollArea::resizeEvent(event);
  layOut();
}

std::optional<std::uint32_t> FlameView::barAt(QPointF pos) const {
  const QPointF at = pos + QPointF(0, verticalScrollBar()->value());
  for (const Bar& bar : bars_) {
    if (bar.rect.contains(at)) return bar.node;
  }
  return std::nullopt;
}

void FlameView::mousePressEvent(QMouseEvent* event) {
  const auto node = barAt(event->position());
  if (!node) return select(std::nullopt);
  select(node);
  focusOn(*node);
}

void FlameView::mouseDoubleClickEvent(QMouseEvent*) {
  // The first click has selected the bar, and may have moved it.
  if (selected_ && !searchOf(*selected_).isEmpty()) Q_EMIT nameActivated(searchOf(*selected_));
}

void FlameView::mouseMoveEvent(QMouseEvent* event) {
  const auto node = barAt(event->position());
  if (node == hovered_) return;
  hovered_ = node;
  viewport()->setCursor(node ? Qt::PointingHandCursor : Qt::ArrowCursor);
  viewport()->update();
}

bool FlameView::viewportEvent(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    auto* help = static_cast<QHelpEvent*>(event);
    const auto node = barAt(help->pos());
    if (node) QToolTip::showText(help->globalPos(), tipWords(describe(*node)), this);
    return true;
  }
  if (event->type() == QEvent::Leave) {
    hovered_.reset();
    viewport()->update();
  }
  return QAbstractScrollArea::viewportEvent(event);
}

void FlameView::move(int key) {
  const std::uint32_t at = selected_.value_or(focus_);
  const auto& nodes = graph_->nodes;
  if (key == Qt::Key_Up) return goTo(nodes[at].parent);
  if (key == Qt::Key_Down) {
    if (!nodes[at].children.empty()) goTo(nodes[at].children.front());
    return;
  }
  if (at == 0) return;  // nothing is beside all threads
  const auto& siblings = nodes[nodes[at].parent].children;
  const auto here = std::find(siblings.begin(), siblings.end(), at) - siblings.begin();
  const auto next = here + (key == Qt::Key_Right ? 1 : -1);
  if (next >= 0 && next < static_cast<std::ptrdiff_t>(siblings.size())) {
    goTo(siblings[static_cast<std::size_t>(next)]);
  }
}

void FlameView::keyPressEvent(QKeyEvent* event) {
  if (!graph_ || graph_->nodes.size() < 2) return QAbstractScrollArea::keyPressEvent(event);
  switch (event->key()) {
    case Qt::Key_Up:
    case Qt::Key_Down:
    case Qt::Key_Left:
    case Qt::Key_Right:
      return move(event->key());
    case Qt::Key_Return:
    case Qt::Key_Enter:
      return focusOn(selected_.value_or(focus_));
    case Qt::Key_Backspace:
      return focusOn(graph_->nodes[focus_].parent);
    case Qt::Key_Home:
    case Qt::Key_Escape:
      select(std::nullopt);
      return focusOn(0);
    default:
      QAbstractScrollArea::keyPressEvent(event);
  }
}

}  // namespace lacuna::gui
