// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "views/memory_page.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QSplitter>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

#include "base/words.h"
#include "lacuna/prof/amounts.h"
#include "models/analysis_tables.h"
#include "views/memory_chart.h"
#include "views/memory_devices.h"
#include "views/memory_edits.h"
#include "views/memory_heading.h"
#include "views/memory_lists.h"
#include "views/parts.h"
#include "views/treemap_view.h"

namespace lacuna::gui {

namespace {

constexpr std::size_t kMostLifetimes = 64;

}  // namespace

MemoryPage::MemoryPage(Desk& desk, QWidget* parent) : Page(parent), desk_(desk) {
  setObjectName(QStringLiteral("page"));
  auto* outer = new QVBoxLayout(this);
  outer->setContentsMargins(24, 18, 24, 14);
  outer->setSpacing(8);
  outer->addLayout(makeTitle());
  facts_ = label({}, "dim", this);
  outer->addWidget(facts_);
  empty_ = label(tr("This trace records no allocations."), "dim", this);
  empty_->setAlignment(Qt::AlignCenter);
  outer->addWidget(empty_, 1);
  body_ = makeBody();
  outer->addWidget(body_, 1);
  connect(&desk, &Desk::momentPicked, this, [this](prof::TimeNs at, const QObject* by) {
    if (by != this) setCursorMark(at);
  });
  setSubject(chart_);
  MemoryPage::setTrace(nullptr);  // named, as a constructor calls no override
}

QLayout* MemoryPage::makeTitle() {
  auto* across = new QHBoxLayout;
  auto* title = label(tr("Memory"), "title", this);
  title->setWordWrap(false);
  devices_ = new MemoryDevices(this);
  across->addWidget(title);
  across->addSpacing(12);
  across->addWidget(devices_);
  across->addStretch();
  connect(devices_, &MemoryDevices::chosen, this, &MemoryPage::showDevice);
  return across;
}

QWidget* MemoryPage::makeBody() {
  auto* body = new QWidget(this);
  auto* down = new QVBoxLayout(body);
  down->setContentsMargins(0, 0, 0, 0);
  down->setSpacing(10);
  chart_ = new MemoryChart(body);
  heading_ = new MemoryHeading(body);
  down->addWidget(chart_, 2);
  down->addWidget(heading_);
  down->addWidget(makeLower(body), 3);
  connect(chart_, &MemoryChart::momentPicked, this, [this](prof::TimeNs at) {
    showAt(at);
    Q_EMIT desk_.momentPicked(at, this);
  });
  connect(chart_, &MemoryChart::momentWanted, this, &MemoryPage::showOnTimeline);
  connect(heading_, &MemoryHeading::peakWanted, this, &MemoryPage::pickPeak);
  connect(heading_, &MemoryHeading::timelineWanted, this, [this] {
    if (selectedEdit() != nullptr) return showLifetimes();
    if (moment_) showOnTimeline(moment_->timeNs);
  });
  return body;
}

QWidget* MemoryPage::makeLower(QWidget* parent) {
  auto* split = new QSplitter(Qt::Horizontal, parent);
  split->setHandleWidth(12);
  split->setObjectName(QStringLiteral("plain"));
  map_ = new TreemapView(split);
  lists_ = new MemoryLists(split);
  split->setSizes({480, 920});
  connect(lists_, &MemoryLists::tabChanged, this, &MemoryPage::showEdit);
  connect(lists_, &MemoryLists::message, &desk_, &Desk::messageWanted);
  connect(lists_->edits(), &MemoryEdits::editSelected, this, [this](bool byHand) {
    showEdit();
    // Its blocks are those of the peak, so the peak is shown.
    if (byHand && selectedEdit() != nullptr && moment_ &&
        moment_->timeNs != devices_->stats().peakAtNs)
      pickPeak();
  });
  connect(lists_->edits(), &TablePage::nameActivated, this, &MemoryPage::showLifetimes);
  connect(map_, &TreemapView::blockClicked, this, [this](int index) {
    showTab(QStringLiteral("alive"));
    live()->showSourceRow(static_cast<std::size_t>(index));
  });
  return split;
}

void MemoryPage::setTrace(const TracePtr& trace) {
  trace_ = trace;
  analysis_ = nullptr;
  moment_ = nullptr;
  devices_->clearChoice();
  chart_->setTrace(trace);
  showPresence();
  facts_->setText(tr("analysing…"));
  job_.cancel();
  lists_->edits()->clearEdits();
  for (TablePage* page : {leaks(), allocator()}) page->setTable({});
  showMoment({});
  lists_->setAdvice(nullptr);
}

void MemoryPage::setGrown(const TracePtr& trace) {
  trace_ = trace;
  chart_->setGrown(trace);
  showPresence();
  if (const auto cursor = chart_->cursorMark(); cursor && !job_.busy()) showAt(*cursor);
}

void MemoryPage::showPresence() {
  const bool present = trace_ && trace_->store->rows<prof::Allocation>() > 0;
  body_->setVisible(present);
  empty_->setVisible(!present);
  facts_->setVisible(present);
}

void MemoryPage::setFindings(const Findings& findings) {
  analysis_ = findings.analysis;
  lists_->setAdvice(analysis_);
  devices_->setAnalysis(trace_, analysis_);
  if (!analysis_ || !analysis_->of<analyzer::MemoryTables>().all.present)
    return chart_->setPeak({});
  allocator()->renewTable(allocatorTable(*analysis_));
  showDevice();
}

void MemoryPage::showDevice() {
  const analyzer::MemoryStats& stats = devices_->stats();
  chart_->setDevice(devices_->device());
  chart_->setPeak(MemoryChart::Peak{stats.peakAtNs, stats.peakBytes});
  showFacts();
  leaks()->renewTable(leakTable(stats));
  lists_->edits()->setAnalysis(analysis_, stats, devices_->device());
  showAt(chart_->cursorMark().value_or(stats.peakAtNs));
}

void MemoryPage::showFacts() {
  const analyzer::MemoryStats& m = devices_->stats();
  QStringList parts{tr("peak %1").arg(bytesWords(m.peakBytes))};
  if (m.peakReservedBytes > 0)
    parts << tr("%1 reserved from the device").arg(bytesWords(m.peakReservedBytes));
  parts << tr("%1 allocations and frees").arg(words(prof::scaledCount(m.allocations)));
  if (m.segmentCalls > 0) {
    parts << (m.segmentCalls == 1
                  ? tr("1 call to the device after the warm-up")
                  : tr("%1 calls to the device after the warm-up").arg(m.segmentCalls));
  }
  parts << (m.leakBytesPerStep > 0 ? tr("grows by %1 a step").arg(bytesWords(m.leakBytesPerStep))
                                   : tr("does not grow from step to step"));
  facts_->setText(parts.join(tr(" · ")));
}

void MemoryPage::setCursorMark(prof::TimeNs timeNs) {
  chart_->setCursorMark(timeNs);
  if (trace_) showAt(timeNs);
}

void MemoryPage::showAt(prof::TimeNs timeNs) {
  if (!trace_ || trace_->store->rows<prof::Allocation>() == 0) return;
  struct Content {
    std::shared_ptr<const analyzer::MemoryMoment> moment;
    TableData live;  // of millions of blocks: not to be made while the window waits
  };
  job_.start(
      this,
      [trace = trace_, timeNs, only = devices_->device()](const Job::Wanted& wanted) {
        Content content;
        auto moment = analyzer::memoryAt(
            *trace->store, timeNs, [&](double) { return wanted(); }, only);
        if (!moment) return content;
        content.live = momentTable(*trace, *moment);
        // Its texts are the store's.
        struct Held {
          std::shared_ptr<const analyzer::Store> store;
          analyzer::MemoryMoment moment;
        };
        const auto held = std::make_shared<const Held>(Held{trace->store, *std::move(moment)});
        content.moment = {held, &held->moment};
        return content;
      },
      [this](Content content) {
        moment_ = std::move(content.moment);
        showMoment(std::move(content.live));
        Q_EMIT momentShown();
      });
}

void MemoryPage::showMoment(TableData list) {
  map_->setMoment(moment_);
  const bool atPeak = moment_ && analysis_ && moment_->timeNs == devices_->stats().peakAtNs;
  heading_->setMoment(trace_, moment_, atPeak);
  if (!moment_) return live()->setTable({});
  live()->renewTable(std::move(list));
  showEdit();
}

Figures MemoryPage::figures() const {
  return lists_->figures();
}

std::vector<Command> MemoryPage::commands() {
  std::vector<Command> out{{.place = Command::Place::GoMenu,
                            .text = tr("To the memory &peak"),
                            .act = [this] { showPeak(); },
                            .comesForward = false}};
  const std::pair<const char*, QString> lists[] = {{"alive", tr("Memory: what is alive")},
                                                   {"edits", tr("Memory: lower the peak")},
                                                   {"allocator", tr("Memory: allocator")},
                                                   {"leaks", tr("Memory: leaks")},
                                                   {"advice", tr("Memory: advice")}};
  for (const auto& [tab, text] : lists) {
    out.push_back(
        {.text = text, .act = [this, name = QString::fromLatin1(tab)] { showTab(name); }});
  }
  return out;
}

void MemoryPage::showPeak() {
  if (!analysis_ || !analysis_->of<analyzer::MemoryTables>().all.present) return;
  Q_EMIT wanted();
  setCursorMark(analysis_->of<analyzer::MemoryTables>().all.peakAtNs);
}

void MemoryPage::showOnTimeline(prof::TimeNs timeNs) {
  const prof::TimeNs around = (trace_->tracks->span.endNs - trace_->tracks->span.startNs) / 100;
  Q_EMIT desk_.stretchesWanted({{timeNs - around, timeNs + around}}, QString());
}

void MemoryPage::pickPeak() {
  if (!analysis_) return;
  const prof::TimeNs at = devices_->stats().peakAtNs;
  setCursorMark(at);
  Q_EMIT desk_.momentPicked(at, this);
}

QStringList MemoryPage::tabNames() const {
  return lists_->tabNames();
}

bool MemoryPage::showTab(const QString& name) {
  return lists_->showTab(name);
}

TablePage* MemoryPage::live() const {
  return lists_->live();
}

TablePage* MemoryPage::leaks() const {
  return lists_->leaks();
}

TablePage* MemoryPage::edits() const {
  return lists_->edits();
}

TablePage* MemoryPage::allocator() const {
  return lists_->allocator();
}

QComboBox* MemoryPage::devices() const {
  return devices_;
}

const std::vector<analyzer::PeakEdit>& MemoryPage::peakEdits() const {
  return lists_->edits()->edits();
}

bool MemoryPage::busy() const {
  return job_.busy() || lists_->edits()->busy();
}

const analyzer::PeakEdit* MemoryPage::selectedEdit() const {
  return analysis_ && lists_->showsEdits() ? lists_->edits()->selected() : nullptr;
}

std::vector<prof::TimeWindow> MemoryPage::lifetimesOf(const analyzer::PeakEdit& edit) const {
  std::vector<prof::TimeWindow> out;
  for (const analyzer::LiveBlock& block : moment_->live) {
    if (!edit.concerns(block.tensor)) continue;
    out.push_back(
        {block.tensor.allocatedNs, block.freed ? block.freedNs : trace_->tracks->span.endNs});
  }
  std::sort(out.begin(), out.end(),
            [](const auto& a, const auto& b) { return a.startNs < b.startNs; });
  return out;
}

void MemoryPage::showEdit() {
  const analyzer::PeakEdit* edit = selectedEdit();
  lists_->edits()->explain(edit);
  if (edit == nullptr || !moment_) {
    map_->setMarked({});
    return chart_->setForeseen({});
  }
  std::vector<bool> marked;
  for (const analyzer::LiveBlock& block : moment_->live)
    marked.push_back(edit->concerns(block.tensor));
  map_->setMarked(std::move(marked));
  chart_->setForeseen(MemoryChart::Foreseen{edit->peakAfterBytes, lifetimesOf(*edit)});
}

void MemoryPage::showLifetimes() {
  const analyzer::PeakEdit* edit = selectedEdit();
  if (edit == nullptr || !moment_) return;
  std::vector<prof::TimeWindow> windows = lifetimesOf(*edit);
  if (windows.size() > kMostLifetimes) windows.resize(kMostLifetimes);
  if (windows.empty()) return;
  Q_EMIT desk_.stretchesWanted(
      windows, tr("held by %1 at the peak: %2").arg(words(edit->origin), bytesWords(edit->bytes)));
}

void MemoryPage::setDark(bool dark) {
  chart_->setDark(dark);
  map_->setDark(dark);
  heading_->setDark(dark);
}

}  // namespace lacuna::gui
