// unisono-pocketfs: mounts a pocket parallel file system and returns when it is mounted.
#define FUSE_USE_VERSION 312
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "pocketfs/file_system.hpp"
#include "pocketfs/handlers.hpp"

namespace unisono::testbed {
namespace {

constexpr unsigned session_threads = 4;

// The caller of this program waits for what comes through it: nothing means success.
int report_fd = -1;

void say_to_caller(std::string const& text) {
    if (report_fd < 0) {
        if (!text.empty()) std::fprintf(stderr, "unisono-pocketfs: %s\n", text.c_str());
        return;
    }
    if (write(report_fd, text.data(), text.size()) < 0) std::perror("unisono-pocketfs");
    close(report_fd);
    report_fd = -1;
}

void started(void* /*data*/, fuse_conn_info* connection) {
    // Requests of 1 MiB, and as many at once as clients can have under way.
    connection->max_background = 1024;
    connection->congestion_threshold = 1024;
}

// Nobody gets at the bytes past the mount, or puts links to where the daemon writes.
void prepare_backing(std::string const& backing) {
    std::filesystem::create_directories(std::filesystem::path(backing).parent_path());
    if (mkdir(backing.c_str(), 0700) != 0 && errno != EEXIST)
        throw std::runtime_error(backing + ": " + std::strerror(errno));
    struct stat attributes {};
    if (stat(backing.c_str(), &attributes) != 0)
        throw std::runtime_error(backing + ": " + std::strerror(errno));
    if (attributes.st_uid != geteuid() || (attributes.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        throw std::runtime_error(backing + ": must be yours, and writable by nobody else");
}

// One daemon per backing folder. The descriptor is kept open on purpose. One that has just ended is
// gone from /proc before its files are closed.
void lock_backing(std::string const& backing) {
    auto const path = backing + "/lock";
    int const fd = open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0) throw std::runtime_error(path + ": " + std::strerror(errno));
    constexpr int attempts_max = 100;
    for (int attempts = 1; flock(fd, LOCK_EX | LOCK_NB) != 0; ++attempts) {
        if (attempts == attempts_max) throw std::runtime_error(backing + " is mounted already");
        usleep(10'000);
    }
}

void write_record(MountOptions const& options) {
    nlohmann::ordered_json const record = {{"pid", getpid()},
                                           {"mountpoint", options.mountpoint},
                                           {"servers", options.servers},
                                           {"stripe_bytes", options.stripe_bytes},
                                           {"profile_file", options.profile_file},
                                           {"scheduler", options.server.scheduler},
                                           {"jitter_us", options.server.jitter / microsecond},
                                           {"seed", options.server.seed}};
    auto const path = options.backing + "/mount.json";
    std::filesystem::remove(path);  // earlier versions let everybody write into it
    constexpr auto any_bytes = nlohmann::ordered_json::error_handler_t::replace;
    std::ofstream(path) << record.dump(2, ' ', false, any_bytes) << '\n';
}

// In option lists of FUSE a comma separates.
std::string escaped(std::string const& text) {
    std::string result;
    for (char const letter : text) {
        if (letter == ',' || letter == '\\') result.push_back('\\');
        result.push_back(letter);
    }
    return result;
}

void raise_file_limit() {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

// The servers would be other machines: clients that spin must not hold them up. Only root may.
void go_first() { static_cast<void>(setpriority(PRIO_PROCESS, 0, -15)); }

void serve(fuse_session* session, MountOptions const& options) {
    write_record(options);
    umask(0);  // the kernel has applied that of who makes a file
    say_to_caller("");
    auto* const config = fuse_loop_cfg_create();
    fuse_loop_cfg_set_max_threads(config, session_threads);
    fuse_session_loop_mt(session, config);
    fuse_loop_cfg_destroy(config);
}

void mount_and_serve(MountOptions const& options) {
    umask(umask(0) | S_IWGRP | S_IWOTH);
    prepare_backing(options.backing);
    lock_backing(options.backing);
    raise_file_limit();
    go_first();
    FileSystem files(options);
    auto operations = handlers();
    operations.init = started;
    std::string list =
        "fsname=" + escaped(options.backing) + ",subtype=pocketfs,default_permissions";
    if (geteuid() == 0) list += ",allow_other";
    char const* arguments[] = {"unisono-pocketfs", "-o", list.c_str()};
    fuse_args args = FUSE_ARGS_INIT(3, const_cast<char**>(arguments));
    auto* const session = fuse_session_new(&args, &operations, sizeof operations, &files);
    if (session == nullptr) throw std::runtime_error("FUSE refuses its options");
    if (fuse_set_signal_handlers(session) != 0 ||
        fuse_session_mount(session, options.mountpoint.c_str()) != 0)
        throw std::runtime_error("cannot mount at " + options.mountpoint +
                                 " (is it an empty folder, and /dev/fuse there and allowed?)");
    serve(session, options);
    files.stop();  // its answers go through the session
    fuse_session_unmount(session);
    fuse_remove_signal_handlers(session);
    fuse_session_destroy(session);
}

// Returns in the child. The parent exits when the child says how it went.
void become_daemon() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe");
    auto const child = fork();
    if (child < 0) throw std::runtime_error("fork");
    if (child > 0) {
        close(ends[1]);
        std::string text;
        char buffer[4096];
        for (ssize_t length = 0; (length = read(ends[0], buffer, sizeof buffer)) > 0;)
            text.append(buffer, static_cast<std::size_t>(length));
        if (!text.empty() && text != "mounted")
            std::fprintf(stderr, "unisono-pocketfs: %s\n", text.c_str());
        std::_Exit(text.empty() ? 0 : 1);
    }
    close(ends[0]);
    report_fd = ends[1];
    setsid();
    int const nowhere = open("/dev/null", O_RDWR);
    for (int fd = 0; fd <= 2; ++fd) dup2(nowhere, fd);
    close(nowhere);
    if (chdir("/") != 0) throw std::runtime_error("chdir");
}

}  // namespace
}  // namespace unisono::testbed

int main(int argc, char** argv) {
    using namespace unisono::testbed;
    try {
        auto const options = parse_options(argc, argv);
        if (!options.foreground) become_daemon();
        mount_and_serve(options);
    } catch (std::exception const& error) {
        say_to_caller(error.what());
        return 1;
    }
    return 0;
}
