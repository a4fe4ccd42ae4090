#include "pocketfs/options.hpp"

#include <filesystem>
#include <map>
#include <stdexcept>

#include "orchestra/command_line.hpp"
#include "pocketfs/striping.hpp"

namespace unisono::testbed {

namespace {

std::map<std::string, ContextKind> const contexts = {{"request", ContextKind::request},
                                                     {"process", ContextKind::process},
                                                     {"file", ContextKind::file},
                                                     {"client", ContextKind::client}};
std::map<std::string, NodeKind> const nodes = {{"process", NodeKind::process},
                                               {"namespace", NodeKind::name_space},
                                               {"cluster", NodeKind::cluster}};

[[noreturn]] void refuse(std::string const& option, std::uint64_t value, std::string const& valid) {
    throw std::runtime_error(option + " '" + std::to_string(value) + "': valid is " + valid);
}

void check(MountOptions& options) {
    if (options.servers < 1 || options.servers > 1024)
        refuse("--servers", options.servers, "1 to 1024");
    if (options.stripe_servers == 0) options.stripe_servers = options.servers;
    if (options.stripe_servers > options.servers)
        refuse("--stripe-servers", options.stripe_servers, "at most --servers");
    if (options.stripe_bytes < 1 || options.stripe_bytes > Striping::stripe_bytes_max)
        refuse("--stripe-bytes", options.stripe_bytes, "1 to 1024T");
    if (options.chunk_bytes < 4096 || options.chunk_bytes % 4096 != 0)
        refuse("--chunk-bytes", options.chunk_bytes, "a multiple of 4096");
}

// The daemon leaves its folder.
void make_absolute(std::string& path) {
    if (path.empty()) return;
    auto const absolute = std::filesystem::absolute(path).lexically_normal();
    path = absolute.has_filename() ? absolute : absolute.parent_path();
}

}  // namespace

MountOptions parse_options(int argc, char** argv) {
    MountOptions options;
    std::string context = "process";
    std::string node = "process";
    std::uint64_t jitter_us = 0;
    CLI::App app("Mounts a file system whose data servers, disks and links are emulated.");
    auto const add_size = [&app](std::string const& name, auto& bytes, std::string const& text) {
        // CLI11 2.1 reads -1 as the largest number.
        return app.add_option(name, bytes, text)
            ->transform(CLI::AsSizeValue(false))
            ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{1} << 60));
    };
    app.add_option("mountpoint", options.mountpoint)->required();
    app.add_option("--backing", options.backing, "where the bytes are")->required();
    app.add_option("--profile-file", options.profile_file, "what to emulate; without it nothing");
    app.add_option("--servers", options.servers, "data servers")->capture_default_str();
    add_size("--stripe-bytes", options.stripe_bytes, "stripe unit of new files")
        ->capture_default_str();
    app.add_option("--stripe-servers", options.stripe_servers, "servers of new files (all)");
    add_size("--chunk-bytes", options.chunk_bytes, "a file's place on a disk grows by so much")
        ->capture_default_str();
    add_size("--distance-bytes", options.distance_bytes,
             "on each disk, from one new file's beginning to the next");
    add_size("--page-cache-bytes", options.page_cache_bytes,
             "memory of each server, instead of the profile's");
    app.add_option("--scheduler", options.server.scheduler, "none, deadline, cfq or bfq")
        ->capture_default_str();
    app.add_option("--context", context, "what cfq and bfq take for a process")
        ->check(CLI::IsMember(&contexts))
        ->capture_default_str();
    app.add_option("--node", node,
                   "who shares a link: process (nobody), namespace, or cluster: those on a node of "
                   "a pocket cluster share the node's own link")
        ->check(CLI::IsMember(&nodes))
        ->capture_default_str();
    app.add_option("--jitter-us", jitter_us, "requests arrive late by up to so much")
        ->check(CLI::Range(0, 1'000'000'000));
    app.add_option("--seed", options.server.seed, "of the jitter");
    app.add_flag("--power-cuts", options.power_cuts,
                 "keep what files held when they were last synced, for power cuts");
    app.add_flag("--foreground", options.foreground, "do not return; for debugging");
    orchestra::read_command_line(app, argc, argv);
    options.server.context = contexts.at(context);
    options.node = nodes.at(node);
    options.server.jitter = static_cast<Time>(jitter_us) * microsecond;
    check(options);
    for (auto* const path : {&options.backing, &options.mountpoint, &options.profile_file})
        make_absolute(*path);
    return options;
}

}  // namespace unisono::testbed
