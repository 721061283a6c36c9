// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "views/what_if_card.h"

#include <QLabel>
#include <QLineEdit>
#include <QSignalBlocker>
#include <QVBoxLayout>
#include <utility>
#include <vector>

#include "base/words.h"
#include "views/change_controls.h"
#include "views/parts.h"
#include "views/step_drawing.h"

namespace lacuna::gui {

namespace {

QString sentenceOf(const PlayedStep& step) {
  const analyzer::Prediction& p = step.prediction;
  QString sentence = (step.isStep ? WhatIfCard::tr("Predicted step: %1, measured %2 (%3 saved).")
                                  : WhatIfCard::tr("Predicted run: %1, measured %2 (%3 saved)."))
                         .arg(durationWords(p.predictedNsPerStep),
                              durationWords(p.measuredNsPerStep), durationWords(p.gainNs()));
  if (p.highNsPerStep > p.lowNsPerStep) {
    sentence +=
        WhatIfCard::tr(" In nineteen of twenty runs, between %1 and %2: the range drawn above.")
            .arg(durationWords(p.lowNsPerStep), durationWords(p.highNsPerStep));
  }
  return sentence;
}

}  // namespace

WhatIfCard::WhatIfCard(QWidget* parent) : QFrame(parent) {
  auto* inside = new QWidget(this);
  auto* down = new QVBoxLayout(inside);
  down->setContentsMargins(0, 0, 0, 0);
  controls_ = new ChangeControls(inside);
  other_ = new QLineEdit(inside);
  other_->setPlaceholderText(tr("another change: amp=bf16, kernel:gelu*0.5, host*0.8 …"));
  other_->setAccessibleName(tr("Another change"));
  other_->setClearButtonEnabled(true);
  prediction_ = selectableLabel({}, "dim", inside);
  drawing_ = new StepDrawing(inside);
  down->addWidget(controls_);
  down->addWidget(other_);
  down->addSpacing(6);
  down->addWidget(drawing_, 1);
  down->addWidget(prediction_);
  connect(other_, &QLineEdit::textChanged, this, &WhatIfCard::play);
  connect(controls_, &ChangeControls::changed, this, &WhatIfCard::play);
  fillCard(this, tr("What if"), inside);
}

void WhatIfCard::setFindings(const Findings& findings, bool again) {
  findings_ = findings;
  if (!again) {
    const QSignalBlocker blocked(other_);
    other_->clear();
  }
  controls_->setAnalysis(*findings.analysis, again);
  play();
}

void WhatIfCard::setDark(bool dark) {
  dark_ = dark;
  play();
}

void WhatIfCard::playChange(const QString& change) {
  const auto parsed = analyzer::parseChange(change.toStdString());
  if (parsed && controls_->canShow(*parsed)) {
    const auto written = analyzer::parseChange(other_->text().trimmed().toStdString());
    if (written && written->target == parsed->target) other_->clear();
    controls_->apply(*parsed);
  } else {
    if (parsed) controls_->reset(parsed->target);
    other_->setText(change);
  }
}

void WhatIfCard::play() {
  if (!findings_.simulator) return;
  std::vector<analyzer::Change> changes;
  for (const std::string& text : controls_->changes()) {
    if (auto change = analyzer::parseChange(text)) changes.push_back(*change);
  }
  if (const QString other = other_->text().trimmed(); !other.isEmpty()) {
    auto change = analyzer::parseChange(other.toStdString());
    const prof::Status fits =
        change ? findings_.simulator->check(*change) : prof::Status(change.error());
    if (!fits) {
      playing_.cancel();
      prediction_->setText(words(fits.error().message));
      return prediction_->show();
    }
    changes.push_back(*change);
  }
  start(std::move(changes));
}

void WhatIfCard::start(std::vector<analyzer::Change> changes) {
  playing_.start(
      this,
      [simulator = findings_.simulator, changes = std::move(changes),
       isStep = !findings_.analysis->steps.all.empty()](const Job::Wanted&) {
        PlayedStep step{
            simulator->play(changes), simulator->draw({}), {}, !changes.empty(), isStep};
        step.after = step.changed ? simulator->draw(changes) : step.before;
        return step;
      },
      [this](const PlayedStep& step) { showPlayed(step); });
}

void WhatIfCard::showPlayed(const PlayedStep& step) {
  QString sentence = step.changed ? sentenceOf(step) : QString();
  drawing_->setStep(step, dark_);
  for (const std::string& note : step.prediction.notes) sentence += QLatin1Char('\n') + words(note);
  prediction_->setText(sentence);
  prediction_->setVisible(!sentence.isEmpty());
}

QString WhatIfCard::prediction() const {
  return prediction_->text();
}

}  // namespace lacuna::gui
