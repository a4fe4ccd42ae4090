#include "orchestra/program_id.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <functional>
#include <string_view>

#include "support/process_stat.hpp"

namespace unisono::orchestra {

namespace {

struct Variable {
    std::string_view name;
    std::string_view prefix;
    std::string_view step;  // a second variable, which may be there
};

constexpr std::array variables{
    Variable{"UNISONO_PROGRAM", "", ""},
    Variable{"SLURM_JOB_ID", "slurm:", "SLURM_STEP_ID"},
    Variable{"PBS_JOBID", "pbs:", ""},
    Variable{"LSB_JOBID", "lsf:", ""},
    Variable{"FLUX_JOB_ID", "flux:", ""},
    Variable{"PMIX_NAMESPACE", "pmix:", ""},
    Variable{"OMPI_MCA_ess_base_jobid", "ompi:", ""},
};

// As they are named in /proc, where 15 letters are kept.
constexpr std::array<std::string_view, 9> launchers{
    "mpiexec", "mpirun",          "mpiexec.hydra", "hydra_pmi_proxy", "mpiexec.mpich", "orterun",
    "prterun", "mpiexec.openmpi", "orted"};

constexpr int ancestors_max = 32;

// Ids stand in lists, tables and CSV files.
bool is_fit(unsigned char letter) {
    return std::isalnum(letter) != 0 ||
           std::string_view(":._-+@/").find(static_cast<char>(letter)) != std::string_view::npos;
}

std::string const* find(ProcessFacts const& facts, std::string_view name) {
    auto const found =
        std::ranges::find(facts.environment, name, &std::pair<std::string, std::string>::first);
    return found == facts.environment.end() || found->second.empty() ? nullptr : &found->second;
}

std::string from_environment(ProcessFacts const& facts) {
    for (auto const& variable : variables) {
        auto const* const value = find(facts, variable.name);
        if (value == nullptr) continue;
        auto id = std::string(variable.prefix) + *value;
        if (!variable.step.empty())
            if (auto const* const step = find(facts, variable.step)) id += "." + *step;
        return id;
    }
    return {};
}

std::string from_numbers(ProcessFacts const& facts) {
    auto id = "session:" + std::to_string(facts.session);
    for (auto const& [number, name] : facts.ancestors)
        if (std::ranges::find(launchers, name) != launchers.end())
            id = "launch:" + std::to_string(number);
    return facts.node.empty() ? id : id + "@" + facts.node;
}

std::vector<std::pair<std::string, std::string>> read_environment(std::string const& folder) {
    std::vector<std::pair<std::string, std::string>> variables;
    std::ifstream file(folder + "/environ");
    for (std::string entry; std::getline(file, entry, '\0');) {
        auto const equals = entry.find('=');
        if (equals != std::string::npos)
            variables.emplace_back(entry.substr(0, equals), entry.substr(equals + 1));
    }
    return variables;
}

}  // namespace

std::string program_id(ProcessFacts const& facts) {
    auto id = from_environment(facts);
    if (id.empty()) id = from_numbers(facts);
    std::ranges::replace_if(id, std::not_fn(is_fit), '_');
    return id.substr(0, program_id_length_max);
}

bool is_program_id(std::string_view text) {
    return !text.empty() && text.size() <= program_id_length_max &&
           std::ranges::all_of(text, is_fit);
}

std::string program_id_at_gate(std::string_view id, uid_t user, uid_t host) {
    if (user == host) return std::string(id);
    auto const mark = '+' + std::to_string(user);
    return std::string(id.substr(0, program_id_length_max - mark.size())) + mark;
}

std::string node_name() {
    std::array<char, program_id_length_max + 1> name{};
    if (gethostname(name.data(), name.size() - 1) != 0 || !is_program_id(name.data()))
        return "unknown";
    return name.data();
}

ProcessFacts read_process_facts(int process, std::string const& proc) {
    auto const folder_of = [&](int number) { return proc + "/" + std::to_string(number); };
    ProcessFacts facts{.environment = read_environment(folder_of(process))};
    if (!from_environment(facts).empty()) return facts;
    auto const own = process_stat(folder_of(process)).value_or(ProcessStat{});
    facts.session = own.session;
    for (int above = own.parent; above > 1 && facts.ancestors.size() < ancestors_max;) {
        auto const stat = process_stat(folder_of(above));
        if (!stat) break;
        facts.ancestors.emplace_back(above, stat->name);
        above = stat->parent;
    }
    return facts;
}

}  // namespace unisono::orchestra
