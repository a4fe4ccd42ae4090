#include "interpose/hints.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "interpose/messages.hpp"
#include "interpose/native.hpp"
#include "interpose/pass_on.hpp"
#include "interpose/program.hpp"
#include "orchestra/program_id.hpp"
#include "strategies/all.hpp"
#include "strategies/plugins.hpp"

namespace unisono::interpose {
namespace {

// What there is to say about UNISONO_PLUGINS.
std::vector<std::string> const& plugin_messages() {
    static std::vector<std::string> const messages = [] {
        auto const* const paths = secure_getenv("UNISONO_PLUGINS");
        return paths == nullptr ? std::vector<std::string>{} : load_plugins(paths);
    }();
    return messages;
}

OptionSources const& option_sources() {
    static OptionSources const sources = [] {
        plugin_messages();  // which loads them
        std::vector<Choice> choices;
        for (auto const* strategy : all_strategies())
            choices.push_back({strategy->name, strategy->summary});
        return OptionSources{Surroundings::real(), choices};
    }();
    return sources;
}

}  // namespace

bool is_first_of(MPI_Comm comm) {
    int rank = -1;
    if (comm != MPI_COMM_NULL) PMPI_Comm_rank(comm, &rank);
    return rank == 0;
}

bool set_in(MPI_Info info, std::string const& key, std::string const& value) {
    auto const taken =
        key.size() < MPI_MAX_INFO_KEY && !value.empty() && value.size() < MPI_MAX_INFO_VAL;
    if (taken) PMPI_Info_set(info, key.c_str(), value.c_str());
    return taken;
}

namespace {

// A strategy that some rank has not loaded cannot be used.
void leave_out_unshared_plugin(File& file) {
    auto options = file.options();
    if (file.context().rank() == 0)
        print_once({"unisono: " + options.strategy + ": not every rank has loaded this plug-in"});
    options.strategy = "auto";
    file.use(std::make_shared<Options const>(std::move(options)));
}

bool knows(std::string const& strategy) {
    return strategy == "auto" || find_strategy(strategy) != nullptr;
}

}  // namespace

std::vector<KeyValue> pairs_of(MPI_Info info) {
    std::vector<KeyValue> pairs;
    if (info == MPI_INFO_NULL) return pairs;
    int keys = 0;
    PMPI_Info_get_nkeys(info, &keys);
    for (int i = 0; i < keys; ++i) {
        std::array<char, MPI_MAX_INFO_KEY + 1> key{};
        std::array<char, MPI_MAX_INFO_VAL + 1> value{};
        int found = 0;
        PMPI_Info_get_nthkey(info, i, key.data());
        PMPI_Info_get(info, key.data(), MPI_MAX_INFO_VAL, value.data(), &found);
        if (found != 0) pairs.emplace_back(key.data(), value.data());
    }
    return pairs;
}

std::shared_ptr<Options const> own_options(std::string_view path,
                                           std::vector<KeyValue> const& hints, MPI_Comm comm) {
    auto chosen = option_sources().options_for(path, hints);
    auto messages = plugin_messages();
    messages.insert(messages.end(), chosen.messages.begin(), chosen.messages.end());
    if (!messages.empty() && is_first_of(comm)) print_once(messages);
    return std::move(chosen.options);
}

std::shared_ptr<Options const> agree_on(std::shared_ptr<Options const> const& own,
                                        Context& context) {
    if (context.ranks() == 1) return own;
    std::array<std::byte, orchestra::program_id_length_max + 1> id{};
    std::vector<std::byte> bytes;
    if (context.rank() == 0) {
        auto const program = own_program();
        std::memcpy(id.data(), program.data(), program.size());
        bytes.assign(id.begin(), id.end());
        auto const options = to_bytes(*own);
        bytes.insert(bytes.end(), options.begin(), options.end());
    }
    bytes = context.from_rank_0(std::move(bytes));
    remember_program(reinterpret_cast<char const*>(bytes.data()));
    auto const options = std::span{bytes}.subspan(id.size());
    context.use(context.rank() == 0
                    ? own
                    : std::make_shared<Options const>(options_from_bytes(options).value_or(*own)));
    return context.last_options();
}

// In one meeting, after which every rank knows, too, that all have got here.
bool settle_options(File& file, bool new_options) {
    OpenNotice all{.knows_strategy = knows(file.options().strategy), .new_options = new_options};
    if (file.context().ranks() > 1) {
        all.local = file.storage().local;
        if (all.local) all.file = Digest{file.local_identity()};
        if (file.context().rank() == 0) all.local_layout_unit = file.local_layout_unit();
        file.meet(all);
        if (all.new_options) return false;
        if (all.local && !all.file.alike()) file.note_different_files();
        if (all.local_layout_unit != 0) file.use_local_layout(all.local_layout_unit);
    }
    if (!all.knows_strategy) leave_out_unshared_plugin(file);
    if (OnlineTuner::wanted(file.options()))
        print_once(file.context().begin_measuring(file.options()));
    return true;
}

bool has_new_hints(File const& file, MPI_Info info) {
    if (info == MPI_INFO_NULL) return false;
    auto merged = file.hints();
    for (auto const& hint : pairs_of(info)) set_hint(merged, hint);
    return merged != file.hints();
}

void keep_hints(File& file, MPI_Info info) { file.keep_hints(pairs_of(info)); }

LaterHints::LaterHints(File const& file, MPI_Info info) : programs_{info} {
    constexpr auto* buffer_size = "cb_buffer_size";
    if (info == MPI_INFO_NULL || !file.taken_over()) return;
    auto const hints = pairs_of(info);
    if (std::ranges::find(hints, buffer_size, &KeyValue::first) == hints.end()) return;
    PMPI_Info_dup(info, &own_);
    PMPI_Info_delete(own_, buffer_size);
}

LaterHints::~LaterHints() {
    if (own_ != MPI_INFO_NULL) PMPI_Info_free(&own_);
}

void pass_hints_on(File& file) {
    MPI_Info info = MPI_INFO_NULL;
    PMPI_Info_create(&info);
    for (auto const& [key, value] : file.hints()) PMPI_Info_set(info, key.c_str(), value.c_str());
    UNISONO_NATIVE(File_set_info)(file.handle(), LaterHints{file, info}.info());
    PMPI_Info_free(&info);
}

void take_hints(File& file) {
    auto const kept_back = file.view()->kept_back;
    let_go_of_view(file);  // its ranks may meet elsewhere from now on
    auto& context = file.context();
    file.use(agree_on(own_options(file.path(), file.hints(), context.comm()), context));
    settle_options(file, /*new_options=*/false);
    if (kept_back && !file.view()->mirrored) file.keep_back_again();
}

}  // namespace unisono::interpose
