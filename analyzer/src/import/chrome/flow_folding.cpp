// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "import/chrome/flow_folding.h"

#include <map>
#include <vector>

#include "formats/arg_rules.h"
#include "store/row_map.h"

namespace lacuna::analyzer {
namespace {

class FlowFolding {
 public:
  explicit FlowFolding(StoreBuilder& builder)
      : builder_(builder),
        flows_(builder.columns<prof::Flow>()),
        sets_(builder.columns<prof::ArgSet>()) {}

  void run() {
    if (flows_.id.empty()) return;
    folded_.assign(flows_.id.size(), false);
    gone_.assign(sets_.id.size(), false);
    fold(builder_.columns<prof::ApiCall>(), builder_.columns<prof::ApiCall>().thread,
         flows_.thread);
    fold(builder_.columns<prof::Kernel>(), builder_.columns<prof::Kernel>().queue, flows_.queue);
    fold(builder_.columns<prof::Memcpy>(), builder_.columns<prof::Memcpy>().queue, flows_.queue);
    fold(builder_.columns<prof::Memset>(), builder_.columns<prof::Memset>().queue, flows_.queue);
    fold(builder_.columns<prof::Sync>(), builder_.columns<prof::Sync>().queue, flows_.queue);
    compact();
  }

 private:
  template <class Columns, class PlaceId>
  void fold(Columns& events, const std::vector<PlaceId>& places,
            const std::vector<PlaceId>& flowPlaces) {
    RowMap rows(events.correlation.size());
    for (std::size_t i = 0; i < events.correlation.size(); ++i) {
      if (events.args[i]) rows.add(events.correlation[i], static_cast<std::uint32_t>(i));
    }
    for (std::size_t flow = 0; flow < flows_.id.size(); ++flow) {
      if (folded_[flow] || !flowPlaces[flow]) continue;
      const std::uint32_t row = rows.find(flows_.id[flow]);
      if (row == RowMap::kNone || events.startNs[row] != flows_.timeNs[flow] ||
          places[row] != flowPlaces[flow])
        continue;
      const prof::StringId line = lineOf(flow);
      if (!line) continue;
      // Sets are numbered 1, 2, … until compact().
      prof::StringId& shape = sets_.shape[events.args[row].value - 1];
      shape = joined(shape, line);
      folded_[flow] = true;
      if (flows_.args[flow]) gone_[flows_.args[flow].value - 1] = true;
    }
  }

  /// The line of a flow point; empty when it has something that a line cannot hold.
  prof::StringId lineOf(std::size_t flow) {
    const prof::StringId shape =
        flows_.args[flow] ? sets_.shape[flows_.args[flow].value - 1] : prof::StringId();
    const auto [at, isNew] = lines_.try_emplace(
        {flows_.phase[flow], flows_.category[flow], flows_.name[flow], shape}, prof::StringId());
    if (!isNew) return at->second;
    const std::string category(builder_.text(flows_.category[flow]));
    const std::string name(builder_.text(flows_.name[flow]));
    const std::string constants(builder_.text(shape));
    const bool plain = (constants.empty() || constants.front() == kShapeConstant) &&
                       (category + name + constants).find_first_of("\n|") == std::string::npos;
    if (!plain) return {};
    std::string line{kShapeFlow};
    line += flows_.phase[flow] == prof::FlowPhase::Begin  ? 's'
            : flows_.phase[flow] == prof::FlowPhase::Step ? 't'
                                                          : 'f';
    line += '|' + category + '|' + name + '|' + constants;
    return at->second = builder_.intern(line);
  }

  prof::StringId joined(prof::StringId shape, prof::StringId line) {
    const auto [at, isNew] = shapes_.try_emplace({shape, line}, prof::StringId());
    if (isNew)
      at->second = builder_.intern(std::string(builder_.text(shape)) + '\n' +
                                   std::string(builder_.text(line)));
    return at->second;
  }

  void compact() {
    prof::Flow::Columns keptFlows;
    for (std::size_t i = 0; i < folded_.size(); ++i) {
      if (!folded_[i]) keptFlows.push(flows_.row(i));
    }
    flows_ = std::move(keptFlows);
    std::size_t to = 0;
    for (std::size_t i = 0; i < gone_.size(); ++i) {
      if (gone_[i]) continue;
      sets_.id[to] = sets_.id[i];
      sets_.shape[to++] = sets_.shape[i];
    }
    sets_.id.resize(to);
    sets_.shape.resize(to);
  }

  StoreBuilder& builder_;
  prof::Flow::Columns& flows_;
  prof::ArgSet::Columns& sets_;
  std::vector<bool> folded_, gone_;
  std::map<std::tuple<prof::FlowPhase, prof::StringId, prof::StringId, prof::StringId>,
           prof::StringId>
      lines_;
  std::map<std::pair<prof::StringId, prof::StringId>, prof::StringId> shapes_;
};

}  // namespace

void foldFlows(StoreBuilder& builder) {
  FlowFolding(builder).run();
}

}  // namespace lacuna::analyzer
