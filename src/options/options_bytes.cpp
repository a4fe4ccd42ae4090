#include "options/options.hpp"
#include "support/byte_stream.hpp"

namespace unisono {

template <MaybeConst<Options> Any, class Visitor>
void visit_members(Any& options, Visitor& visit) {
    visit(options.strategy);
    visit(options.select);
    visit(options.backend);
    visit(options.exchange);
    visit(options.layout);
    visit(options.layout_named);
    visit(options.pretended_nodes);
    visit(options.pretended_fragments);
    visit(options.native_only);
    visit(options.left_alone_by);
    visit(options.pool_bytes);
    visit(options.flush_at_close);
    visit(options.write_behind);
    visit(options.write_behind_bytes);
    visit(options.write_behind_s);
    visit(options.read_ahead);
    visit(options.overlap);
    visit(options.sync_at_close);
    visit(options.allow_lone_ranks);
    visit(options.cb_buffer_size);
    visit(options.cb_nodes);
    visit(options.prefetch_then_read);
    visit(options.as_many_groups_as_servers);
    visit(options.cb_config_list);
    visit(options.cb_read);
    visit(options.cb_write);
    visit(options.ds_read);
    visit(options.ds_write);
    visit(options.intra_node_aggregation);
    visit(options.no_indep_rw);
    visit(options.striping_unit);
    visit(options.striping_factor);
    visit(options.check);
    visit(options.stall);
    visit(options.stall_s);
    visit(options.tune);
    visit(options.tune_site);
    visit(options.report);
    visit(options.report_file);
    visit(options.report_traces);
    visit(options.report_timeline);
    visit(options.report_calls);
    visit(options.faults);
    visit(options.settings);
    visit(options.native_hints);
}

std::vector<std::byte> to_bytes(Options const& options) { return bytes_of(options); }

std::optional<Options> options_from_bytes(std::span<std::byte const> bytes) {
    return value_from_bytes<Options>(bytes);
}

}  // namespace unisono
