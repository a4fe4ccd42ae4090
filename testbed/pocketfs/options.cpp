#include "pocketfs/options.hpp"

#include <getopt.h>

#include <bit>
#include <cctype>
#include <filesystem>
#include <stdexcept>
#include <string_view>

namespace unisono::testbed {

char const* const usage =
    "usage: unisono-pocketfs MOUNTPOINT --backing DIR [options]\n"
    "  --profile-file FILE     what to emulate; without it nothing\n"
    "  --servers N             data servers (4)\n"
    "  --stripe-bytes SIZE     stripe unit of new files (64K)\n"
    "  --stripe-servers N      servers of new files (all)\n"
    "  --chunk-bytes SIZE      a file's place on a disk grows by so much (64M)\n"
    "  --distance-bytes SIZE   on each disk, from one new file's beginning to the next\n"
    "  --page-cache-bytes SIZE memory of each server, instead of the profile's\n"
    "  --scheduler NAME        none, deadline, cfq or bfq (none)\n"
    "  --context NAME          what cfq and bfq take for a process: request, process, file, "
    "client\n"
    "  --node NAME             who shares a link: process (nobody), namespace, or cluster: those "
    "on\n"
    "                          a node of a pocket cluster share the node's own link\n"
    "  --jitter-us US          requests arrive late by up to so much (0)\n"
    "  --seed N                of the jitter (0)\n"
    "  --foreground            do not return; for debugging\n";

namespace {

[[noreturn]] void refuse(std::string const& option, std::string const& value,
                         std::string const& valid) {
    auto text = "--" + option;
    text.append(" '").append(value).append("': valid is ").append(valid);
    throw std::runtime_error(text);
}

std::uint64_t read_size(std::string const& option, std::string const& value) {
    constexpr std::string_view suffixes = "KMGT";
    std::size_t length = 0;
    std::uint64_t number = 0;
    try {
        if (value.empty() || std::isdigit(static_cast<unsigned char>(value[0])) == 0)
            throw std::invalid_argument("");
        number = std::stoull(value, &length);
    } catch (std::exception const&) {
        refuse(option, value, "a number, or one with K, M, G or T");
    }
    if (length == value.size()) return number;
    auto const suffix = suffixes.find(static_cast<char>(std::toupper(value[length])));
    if (suffix == std::string_view::npos || length + 1 != value.size())
        refuse(option, value, "a number, or one with K, M, G or T");
    auto const shift = 10 * (suffix + 1);
    if (number > (~std::uint64_t{0} >> shift)) refuse(option, value, "below 16 E");
    return number << shift;
}

ContextKind read_context(std::string const& value) {
    if (value == "request") return ContextKind::request;
    if (value == "process") return ContextKind::process;
    if (value == "file") return ContextKind::file;
    if (value == "client") return ContextKind::client;
    refuse("context", value, "request, process, file or client");
}

NodeKind read_node(std::string const& value) {
    if (value == "process") return NodeKind::process;
    if (value == "namespace") return NodeKind::name_space;
    if (value == "cluster") return NodeKind::cluster;
    refuse("node", value, "process, namespace or cluster");
}

std::uint32_t read_count(std::string const& option, std::string const& value) {
    auto const number = read_size(option, value);
    if (number > 1024) refuse(option, value, "at most 1024");
    return static_cast<std::uint32_t>(number);
}

void read_option(MountOptions& options, std::string const& name, std::string const& value) {
    if (name == "backing") options.backing = value;
    if (name == "profile-file") options.profile_file = value;
    if (name == "servers") options.servers = read_count(name, value);
    if (name == "stripe-bytes") options.stripe_bytes = read_size(name, value);
    if (name == "stripe-servers") options.stripe_servers = read_count(name, value);
    if (name == "chunk-bytes") options.chunk_bytes = read_size(name, value);
    if (name == "distance-bytes") options.distance_bytes = read_size(name, value);
    if (name == "page-cache-bytes")
        options.page_cache_bytes = static_cast<double>(read_size(name, value));
    if (name == "scheduler") options.server.scheduler = value;
    if (name == "context") options.server.context = read_context(value);
    if (name == "node") options.node = read_node(value);
    if (name == "jitter-us")
        options.server.jitter = static_cast<Time>(read_size(name, value)) * microsecond;
    if (name == "seed") options.server.seed = read_size(name, value);
    if (name == "foreground") options.foreground = true;
}

void check(MountOptions& options) {
    if (options.servers == 0) refuse("servers", "0", "1 to 1024");
    if (options.stripe_servers == 0) options.stripe_servers = options.servers;
    if (options.stripe_servers > options.servers)
        refuse("stripe-servers", std::to_string(options.stripe_servers), "at most --servers");
    if (options.stripe_bytes == 0) refuse("stripe-bytes", "0", "at least 1");
    if (options.chunk_bytes < 4096 || options.chunk_bytes % 4096 != 0)
        refuse("chunk-bytes", std::to_string(options.chunk_bytes), "a multiple of 4096");
    if (options.backing.empty()) throw std::runtime_error("--backing is missing");
    // The daemon leaves its folder.
    options.backing = std::filesystem::absolute(options.backing).lexically_normal();
    options.mountpoint = std::filesystem::absolute(options.mountpoint).lexically_normal();
    if (!options.profile_file.empty())
        options.profile_file = std::filesystem::absolute(options.profile_file);
}

}  // namespace

MountOptions parse_options(int argc, char** argv) {
    static option const known[] = {{"backing", required_argument, nullptr, 0},
                                   {"profile-file", required_argument, nullptr, 0},
                                   {"servers", required_argument, nullptr, 0},
                                   {"stripe-bytes", required_argument, nullptr, 0},
                                   {"stripe-servers", required_argument, nullptr, 0},
                                   {"chunk-bytes", required_argument, nullptr, 0},
                                   {"distance-bytes", required_argument, nullptr, 0},
                                   {"page-cache-bytes", required_argument, nullptr, 0},
                                   {"scheduler", required_argument, nullptr, 0},
                                   {"context", required_argument, nullptr, 0},
                                   {"node", required_argument, nullptr, 0},
                                   {"jitter-us", required_argument, nullptr, 0},
                                   {"seed", required_argument, nullptr, 0},
                                   {"foreground", no_argument, nullptr, 0},
                                   {nullptr, 0, nullptr, 0}};
    MountOptions options;
    int index = 0;
    for (;;) {
        int const result = getopt_long(argc, argv, "", known, &index);
        if (result == -1) break;
        if (result != 0) throw std::runtime_error(usage);
        read_option(options, known[index].name, optarg == nullptr ? "" : optarg);
    }
    if (optind + 1 != argc) throw std::runtime_error(usage);
    options.mountpoint = argv[optind];
    check(options);
    return options;
}

}  // namespace unisono::testbed
