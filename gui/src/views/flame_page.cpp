// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "views/flame_page.h"

#include <QFileDialog>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QVBoxLayout>

#include "base/words.h"
#include "models/table_model.h"
#include "views/flame_view.h"
#include "views/parts.h"

namespace lacuna::gui {

using GraphPtr = std::shared_ptr<const analyzer::FlameGraph>;

FlamePage::FlamePage(Desk& desk, QWidget* parent) : Page(parent), desk_(desk) {
  setObjectName(QStringLiteral("page"));
  auto* down = new QVBoxLayout(this);
  down->setContentsMargins(24, 18, 24, 14);
  down->setSpacing(12);
  auto* across = new QHBoxLayout;
  auto* title = new QLabel(tr("Flame graph"), this);
  title->setObjectName(QStringLiteral("title"));
  what_ = new QLabel(this);
  what_->setObjectName(QStringLiteral("dim"));
  search_ = new QLineEdit(this);
  search_->setPlaceholderText(tr("Find ranges"));
  search_->setAccessibleName(tr("Find ranges"));
  search_->setClearButtonEnabled(true);
  search_->setFixedWidth(260);
  auto* save = new QPushButton(tr("Export stacks…"), this);
  across->addWidget(title);
  across->addSpacing(10);
  across->addWidget(what_);
  across->addStretch();
  across->addWidget(search_);
  across->addWidget(save);
  view_ = new FlameView(this);
  details_ = new QLabel(this);
  details_->setObjectName(QStringLiteral("dim"));
  details_->setTextFormat(Qt::PlainText);
  details_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  setSubject(view_);
  down->addLayout(across);
  down->addWidget(view_, 1);
  down->addWidget(details_);
  connect(search_, &QLineEdit::textChanged, view_, &FlameView::setSearch);
  connect(save, &QPushButton::clicked, this, &FlamePage::chooseExport);
  connect(view_, &FlameView::selectionChanged, this, &FlamePage::showDetails);
  connect(view_, &FlameView::nameActivated, &desk, &Desk::nameWanted);
  connect(&desk, &Desk::stretchSelected, this, &FlamePage::setWindow);
}

void FlamePage::setTrace(const TracePtr& trace) {
  trace_ = trace;
  window_.reset();
  graph_ = nullptr;
  view_->setGraph(trace, nullptr);
  search_->clear();
  stale_ = true;
  if (isVisible()) build();
}

void FlamePage::setGrown(const TracePtr& trace) {
  trace_ = trace;
  stale_ = true;
  // The sum under way comes to its end first, however often the trace grows.
  if (isVisible() && !job_.busy()) build();
}

void FlamePage::setWindow(std::optional<prof::TimeWindow> window) {
  window_ = window;
  graph_ = nullptr;
  view_->setGraph(trace_, nullptr);
  stale_ = true;
  if (isVisible()) build();
}

void FlamePage::setDark(bool dark) {
  view_->setDark(dark);
}

std::vector<Command> FlamePage::commands() {
  return {{.text = tr("Flame graph: export stacks…"), .act = [this] { chooseExport(); }}};
}

void FlamePage::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  if (stale_) build();
}

void FlamePage::build() {
  stale_ = false;
  if (!trace_) return;
  if (!graph_) what_->setText(tr("adding up…"));
  const prof::TimeWindow window = window_.value_or(prof::TimeWindow{});
  job_.start(
      this,
      [trace = trace_, window](const Job::Wanted& wanted) -> GraphPtr {
        auto graph = analyzer::flameGraph(*trace->store, window, [&](double) { return wanted(); });
        return graph ? std::make_shared<const analyzer::FlameGraph>(*std::move(graph)) : nullptr;
      },
      [this, trace = trace_](const GraphPtr& graph) {
        graph_ = graph;
        view_->setGraph(trace, graph);
        const bool any = graph && graph->nodes.size() > 1;
        what_->setText(!any      ? tr("There are no ranges here.")
                       : window_ ? tr("host time in the %1 selected on the timeline")
                                       .arg(durationWords(window_->endNs - window_->startNs))
                                 : tr("host time of the whole trace"));
        showDetails();
        if (stale_ && isVisible()) build();
        Q_EMIT ready();
      });
}

void FlamePage::showDetails() {
  if (!graph_ || graph_->nodes.size() < 2) return details_->clear();
  details_->setText(view_->selected()
                        ? view_->describe(*view_->selected())
                        : tr("Click a bar to look into it, double-click to find it on the "
                             "timeline. Select a stretch of the timeline to see that alone."));
}

QString FlamePage::stackOf(std::uint32_t node) const {
  QStringList frames;
  for (std::uint32_t at = node; at != 0; at = graph_->nodes[at].parent) {
    frames.prepend(view_->nameOf(at).replace(QLatin1Char(';'), QLatin1Char(':')));
  }
  return frames.join(QLatin1Char(';'));
}

QString FlamePage::csv() const {
  if (!graph_ || graph_->nodes.size() < 2) return {};
  QString out = QStringLiteral("stack,count,total_ns,self_ns\n");
  for (std::uint32_t n = 1; n < graph_->nodes.size(); ++n) {
    const analyzer::FlameNode& node = graph_->nodes[n];
    out += csvCell(stackOf(n)) +
           QStringLiteral(",%1,%2,%3\n").arg(node.count).arg(node.totalNs).arg(node.selfNs);
  }
  return out;
}

bool FlamePage::exportFolded(const QString& path) {
  if (!graph_ || graph_->nodes.size() < 2) {
    Q_EMIT desk_.messageWanted(job_.busy() ? tr("The stacks are still being added up")
                                           : tr("There are no stacks to export"));
    return false;
  }
  QByteArray out;
  int stacks = 0;
  for (std::uint32_t n = 1; n < graph_->nodes.size(); ++n) {
    const std::int64_t selfNs = graph_->nodes[n].selfNs;
    if (selfNs <= 0) continue;
    out += stackOf(n).toUtf8() + ' ' + QByteArray::number(static_cast<qlonglong>(selfNs)) + '\n';
    ++stacks;
  }
  const QString problem = writeFile(path, out);
  Q_EMIT desk_.messageWanted(!problem.isEmpty() ? problem
                             : stacks == 1      ? tr("1 stack written to %1").arg(path)
                                           : tr("%1 stacks written to %2").arg(stacks).arg(path));
  return problem.isEmpty();
}

void FlamePage::chooseExport() {
  const QString path = QFileDialog::getSaveFileName(
      this, tr("Export stacks"), QStringLiteral("stacks.folded"), tr("Folded stacks (*.folded)"));
  if (!path.isEmpty()) (void)exportFolded(path);
}

}  // namespace lacuna::gui
