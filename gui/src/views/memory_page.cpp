// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "views/memory_page.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QPushButton>
#include <QSplitter>
#include <QStackedWidget>
#include <QTabBar>
#include <QTableView>
#include <QVBoxLayout>
#include <algorithm>
#include <span>
#include <utility>

#include "base/words.h"
#include "lacuna/prof/amounts.h"
#include "models/analysis_tables.h"
#include "views/charts.h"
#include "views/memory_chart.h"
#include "views/parts.h"
#include "views/table_page.h"
#include "views/treemap_view.h"

namespace lacuna::gui {

namespace {

/// The style's own arrow is gone with its frame.
class DeviceChooser : public QComboBox {
 public:
  using QComboBox::QComboBox;

 protected:
  void paintEvent(QPaintEvent* event) override {
    QComboBox::paintEvent(event);
    QPainter(this).drawText(rect().adjusted(0, 0, -9, 0), Qt::AlignRight | Qt::AlignVCenter,
                            QStringLiteral("▾"));
  }
};

bool isAboutMemory(const analyzer::Finding& finding) {
  return analyzer::findingArea(finding.id) == analyzer::FindingArea::Memory;
}

}  // namespace

MemoryPage::MemoryPage(Desk& desk, QWidget* parent) : Page(parent), desk_(desk) {
  setObjectName(QStringLiteral("page"));
  auto* outer = new QVBoxLayout(this);
  outer->setContentsMargins(24, 18, 24, 14);
  outer->setSpacing(8);
  auto* heading = new QHBoxLayout;
  auto* title = label(tr("Memory"), "title", this);
  title->setWordWrap(false);
  devices_ = new DeviceChooser(this);
  devices_->setAccessibleName(tr("Device"));
  devices_->setToolTip(tr("Whose memory"));
  heading->addWidget(title);
  heading->addSpacing(12);
  heading->addWidget(devices_);
  heading->addStretch();
  outer->addLayout(heading);
  facts_ = label({}, "dim", this);
  outer->addWidget(facts_);
  empty_ = label(tr("This trace records no allocations."), "dim", this);
  empty_->setAlignment(Qt::AlignCenter);
  outer->addWidget(empty_, 1);
  body_ = new QWidget(this);
  auto* down = new QVBoxLayout(body_);
  down->setContentsMargins(0, 0, 0, 0);
  down->setSpacing(10);
  chart_ = new MemoryChart(body_);
  down->addWidget(chart_, 2);
  auto* across = new QHBoxLayout;
  momentTitle_ = label({}, "heading", body_);
  momentTitle_->setWordWrap(false);
  momentFacts_ = label({}, "dim", body_);
  toPeak_ = new QPushButton(tr("To the peak"), body_);
  auto* toTimeline = new QPushButton(tr("Show on the timeline"), body_);
  across->addWidget(momentTitle_);
  across->addSpacing(8);
  across->addWidget(momentFacts_, 1);
  across->addWidget(toPeak_);
  across->addWidget(toTimeline);
  down->addLayout(across);
  roles_ = new RoleBar(body_);
  down->addWidget(roles_);
  down->addWidget(makeLower(), 3);
  outer->addWidget(body_, 1);
  connect(chart_, &MemoryChart::momentPicked, this, [this](prof::TimeNs at) {
    showAt(at);
    Q_EMIT desk_.momentPicked(at, this);
  });
  connect(chart_, &MemoryChart::momentWanted, this, &MemoryPage::showOnTimeline);
  connect(&desk, &Desk::momentPicked, this, [this](prof::TimeNs at, const QObject* by) {
    if (by != this) setCursorMark(at);
  });
  connect(toPeak_, &QPushButton::clicked, this, [this] {
    if (!analysis_) return;
    setCursorMark(stats().peakAtNs);
    Q_EMIT desk_.momentPicked(stats().peakAtNs, this);
  });
  connect(devices_, &QComboBox::activated, this, [this] {
    wantedDevice_ = device();
    showDevice();
  });
  connect(toTimeline, &QPushButton::clicked, this, [this] {
    if (selectedEdit() != nullptr) return showLifetimes();
    if (moment_) showOnTimeline(moment_->timeNs);
  });
  setSubject(chart_);
  MemoryPage::setTrace(nullptr);  // named, as a constructor calls no override
}

QWidget* MemoryPage::makeLower() {
  auto* split = new QSplitter(Qt::Horizontal, body_);
  split->setHandleWidth(12);
  split->setObjectName(QStringLiteral("plain"));
  map_ = new TreemapView(split);
  auto* right = new QWidget(split);
  auto* column = new QVBoxLayout(right);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  tabs_ = new QTabBar(right);
  tabs_->setObjectName(QStringLiteral("pages"));
  tabs_->setExpanding(false);
  tabs_->setAccessibleName(tr("What to list"));
  pages_ = new QStackedWidget(right);
  live_ = new TablePage({}, tr("Nothing is alive here."), pages_);
  leaks_ = new TablePage({}, tr("Nothing grows from step to step."), pages_);
  edits_ =
      new TablePage({}, tr("Nothing at the peak could go earlier or be computed again."), pages_);
  allocator_ = new TablePage(
      {}, tr("This trace does not record the memory that allocators take from the device."),
      pages_);
  for (TablePage* page : {live_, edits_, allocator_, leaks_})
    page->layout()->setContentsMargins(0, 8, 0, 0);
  why_ = label({}, "dim", edits_);
  edits_->setDetail(why_);
  advice_ = new QWidget(pages_);
  adviceList_ = new QVBoxLayout(advice_);
  adviceList_->setContentsMargins(4, 12, 4, 0);
  adviceList_->setSpacing(6);
  const std::tuple<const char*, QString, QWidget*> pages[] = {
      {"alive", tr("Alive"), live_},
      {"edits", tr("Lower the peak"), edits_},
      {"allocator", tr("Allocator"), allocator_},
      {"leaks", tr("Leaks"), leaks_},
      {"advice", tr("Advice"), advice_}};
  for (const auto& [name, title, page] : pages) {
    tabs_->setTabData(tabs_->addTab(title), QString::fromLatin1(name));
    pages_->addWidget(page);
    page->setAccessibleName(title);
    if (auto* table = page->findChild<QTableView*>()) table->setAccessibleName(title);
  }
  connect(tabs_, &QTabBar::currentChanged, pages_, &QStackedWidget::setCurrentIndex);
  connect(tabs_, &QTabBar::currentChanged, this, &MemoryPage::showEdit);
  connect(edits_->table()->selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this] {
    showEdit();
    // Its blocks are those of the peak, so the peak is shown.
    if (!filling_ && selectedEdit() != nullptr && moment_ && moment_->timeNs != stats().peakAtNs)
      toPeak_->click();
  });
  connect(edits_, &TablePage::nameActivated, this, &MemoryPage::showLifetimes);
  for (TablePage* page : {live_, edits_, allocator_, leaks_})
    connect(page, &TablePage::message, &desk_, &Desk::messageWanted);
  connect(map_, &TreemapView::blockClicked, this, [this](int index) {
    tabs_->setCurrentIndex(0);
    live_->showSourceRow(static_cast<std::size_t>(index));
  });
  column->addWidget(tabs_);
  column->addWidget(pages_, 1);
  split->setSizes({480, 920});
  return split;
}

void MemoryPage::setTrace(const TracePtr& trace) {
  trace_ = trace;
  analysis_ = nullptr;
  moment_ = nullptr;
  editKey_.clear();
  wantedDevice_.reset();
  peakEdits_.clear();
  fillDevices();
  chart_->setTrace(trace);
  showPresence();
  facts_->setText(tr("analysing…"));
  job_.cancel();
  editJob_.cancel();
  for (TablePage* page : {edits_, leaks_, allocator_}) page->setTable({});
  showMoment({});
  fillAdvice();
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
  fillAdvice();
  fillDevices();
  if (!analysis_ || !analysis_->of<analyzer::MemoryTables>().all.present)
    return chart_->setPeak({});
  allocator_->renewTable(allocatorTable(*analysis_));
  showDevice();
}

void MemoryPage::fillDevices() {
  devices_->clear();
  const bool several = analysis_ && !analysis_->of<analyzer::MemoryTables>().byDevice.empty();
  devices_->setVisible(several);
  if (!several) return;
  const std::span all(analysis_->of<analyzer::MemoryTables>().devices.data(),
                      analysis_->of<analyzer::MemoryTables>().byDevice.size());
  for (const analyzer::DeviceMemory& memory : all) devices_->addItem(nameOf(memory.device));
  const auto wanted = std::find_if(all.begin(), all.end(),
                                   [&](const auto& m) { return m.device == wantedDevice_; });
  const auto largest = std::max_element(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return a.peakBytes < b.peakBytes;
  });
  devices_->setCurrentIndex(
      static_cast<int>((wanted != all.end() ? wanted : largest) - all.begin()));
}

QString MemoryPage::nameOf(prof::DeviceId device) const {
  const auto account = std::find_if(analysis_->devices.begin(), analysis_->devices.end(),
                                    [&](const auto& d) { return d.id == device; });
  if (account != analysis_->devices.end()) {
    const QString name = words(account->label);
    return account->rank < 0 ? name : tr("%1 · rank %2").arg(name).arg(account->rank);
  }
  for (const analyzer::TrackGroup& group : trace_->tracks->groups) {
    if (group.isDevice && group.device == device && device) return words(group.label);
  }
  return tr("host");
}

std::optional<prof::DeviceId> MemoryPage::device() const {
  const int chosen = devices_->currentIndex();
  if (chosen < 0) return std::nullopt;
  return analysis_->of<analyzer::MemoryTables>().devices[static_cast<std::size_t>(chosen)].device;
}

const analyzer::MemoryStats& MemoryPage::stats() const {
  const int chosen = devices_->currentIndex();
  return chosen < 0
             ? analysis_->of<analyzer::MemoryTables>().all
             : analysis_->of<analyzer::MemoryTables>().byDevice[static_cast<std::size_t>(chosen)];
}

void MemoryPage::showDevice() {
  chart_->setDevice(device());
  chart_->setPeak(MemoryChart::Peak{stats().peakAtNs, stats().peakBytes});
  showFacts();
  leaks_->renewTable(leakTable(stats()));
  findEdits();
  showAt(chart_->cursorMark().value_or(stats().peakAtNs));
}

void MemoryPage::showFacts() {
  const analyzer::MemoryStats& m = stats();
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
      [trace = trace_, timeNs, only = device()](const Job::Wanted& wanted) {
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

void MemoryPage::showMoment(TableData live) {
  map_->setMoment(moment_);
  roles_->setMoment(moment_, dark_);
  if (!moment_) {
    momentTitle_->clear();
    momentFacts_->clear();
    live_->setTable({});
    return;
  }
  const bool atPeak = analysis_ && moment_->timeNs == stats().peakAtNs;
  const QString when = words(momentText(moment_->timeNs - trace_->tracks->span.startNs, 1000));
  momentTitle_->setText(atPeak ? tr("Alive at the peak, %1").arg(when)
                               : tr("Alive at %1").arg(when));
  QStringList facts{
      moment_->live.size() == 1
          ? tr("%1 in 1 block").arg(bytesWords(moment_->bytes))
          : tr("%1 in %2 blocks").arg(bytesWords(moment_->bytes)).arg(moment_->live.size())};
  if (moment_->reservedBytes > 0) {
    facts << tr("the allocator holds %1, %2 of it unused (%3)")
                 .arg(bytesWords(moment_->reservedBytes), bytesWords(moment_->unusedBytes()),
                      percentWords(static_cast<double>(moment_->unusedBytes()) /
                                   static_cast<double>(moment_->reservedBytes)));
  }
  momentFacts_->setText(facts.join(tr(" · ")));
  live_->renewTable(std::move(live));
  showEdit();
}

Figures MemoryPage::figures() const {
  const auto* page = qobject_cast<const TablePage*>(pages_->currentWidget());
  return (page != nullptr ? page : live_)->figures();
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

QStringList MemoryPage::tabNames() const {
  QStringList names;
  for (int i = 0; i < tabs_->count(); ++i) names << tabs_->tabData(i).toString();
  return names;
}

bool MemoryPage::showTab(const QString& name) {
  for (int i = 0; i < tabs_->count(); ++i) {
    if (tabs_->tabData(i).toString() != name) continue;
    tabs_->setCurrentIndex(i);
    return true;
  }
  return false;
}

void MemoryPage::fillAdvice() {
  while (QLayoutItem* item = adviceList_->takeAt(0)) {
    delete item->widget();
    delete item;
  }
  int count = 0;
  for (std::size_t n = 0; analysis_ && n < analysis_->of<analyzer::Findings>().size(); ++n) {
    const analyzer::Finding& finding = analysis_->of<analyzer::Findings>()[n];
    if (!isAboutMemory(finding)) continue;
    adviceList_->addWidget(label(words(finding.title), "heading", advice_));
    adviceList_->addWidget(label(words(finding.advice), "dim", advice_));
    if (!finding.knob.empty()) adviceList_->addWidget(label(words(finding.knob), "knob", advice_));
    adviceList_->addSpacing(10);
    ++count;
  }
  if (count == 0)
    adviceList_->addWidget(label(tr("No rule found anything to improve."), "dim", advice_));
  adviceList_->addStretch();
}

void MemoryPage::setDark(bool dark) {
  dark_ = dark;
  chart_->setDark(dark);
  map_->setDark(dark);
  roles_->setMoment(moment_, dark);
}

}  // namespace lacuna::gui
