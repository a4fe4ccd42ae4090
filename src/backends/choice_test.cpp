#include "backends/choice.hpp"

#include <gtest/gtest.h>

#include <array>

#include "backends/test_support.hpp"

namespace unisono {
namespace {

FileFacts const on_disk{.open = true,
                        .kernel_knows = true,
                        .readable = true,
                        .writable = true,
                        .file_system = {.local = true, .keeps_blocks = true}};
FileFacts const on_servers{.open = true, .kernel_knows = true, .readable = true, .writable = true};
FileFacts const of_a_client{.open = true};
FileFacts const of_a_driver{};
FileFacts const of_nobody{.mpi_library_opens = false};

BackendChoice choice(FileFacts const& facts, std::string backend = "auto",
                     std::string faults = "") {
    return choose_backend(facts, {.backend = std::move(backend), .faults = std::move(faults)});
}
std::string layers(FileFacts const& facts, std::string backend = "auto", std::string faults = "") {
    return describe(choice(facts, std::move(backend), std::move(faults)));
}
std::string_view why(FileFacts const& facts, std::string backend = "auto",
                     std::string faults = "") {
    return choice(facts, std::move(backend), std::move(faults)).why;
}

TEST(BackendChoice, a_file_of_the_node_is_mapped) {
    EXPECT_EQ(layers(on_disk), "posix mapped gate counted");
    EXPECT_EQ(why(on_disk), "one node's own file system");
}

TEST(BackendChoice, servers_are_asked_in_the_background) {
    EXPECT_EQ(layers(on_servers), "posix threads uring gate counted");
    EXPECT_EQ(why(on_servers), "servers let a rank wait");
}

TEST(BackendChoice, where_longer_files_are_written_one_at_a_time_the_last_page_goes_first) {
    auto on_fuse = on_servers;
    on_fuse.file_system.grows_alone = true;
    EXPECT_EQ(layers(on_fuse), "posix threads uring end_first gate counted");
    EXPECT_EQ(layers(on_fuse, "posix"), "posix end_first gate counted");
}

TEST(BackendChoice, a_descriptor_that_the_kernel_does_not_know_gets_no_ring) {
    EXPECT_EQ(layers(of_a_client), "posix threads gate counted");
    EXPECT_EQ(layers(of_a_client, "uring"), "posix threads gate counted");
    EXPECT_EQ(why(of_a_client, "uring"), "no io_uring: the kernel does not know the descriptor");
}

// Independent writes to a FIFO went well, collective ones did not.
TEST(BackendChoice, a_file_without_offsets_gets_no_ring) {
    auto pipe = on_servers;
    pipe.has_offsets = false;
    EXPECT_EQ(layers(pipe), "posix threads gate counted");
    EXPECT_EQ(why(pipe), "no io_uring, which ignores offsets that a file does not have");
}

TEST(BackendChoice, the_users_word_is_kept) {
    EXPECT_EQ(layers(on_disk, "posix"), "posix gate counted");
    EXPECT_EQ(layers(on_disk, "threads"), "posix threads gate counted");
    EXPECT_EQ(layers(on_disk, "uring"), "posix threads uring gate counted");
    EXPECT_EQ(layers(on_disk, "mpiio"), "mpiio gate counted");
    EXPECT_EQ(layers(on_disk, "mapped"), "posix mapped gate counted");
    for (auto const* const backend : {"posix", "threads", "uring", "mpiio", "mapped"})
        EXPECT_EQ(why(on_disk, backend), "asked for");
}

TEST(BackendChoice, a_word_that_cannot_be_kept_has_a_reason) {
    EXPECT_EQ(layers(on_servers, "mapped"), "posix gate counted");
    EXPECT_EQ(why(on_servers, "mapped"), "not mapped: not one node's own file system");
    auto refused = on_disk;
    refused.mpi_library_opens = false;
    EXPECT_EQ(layers(refused, "mpiio"), "posix gate counted");
    EXPECT_EQ(why(refused, "mpiio"), "the MPI library does not open it once more");
}

TEST(BackendChoice, what_the_system_cannot_open_is_the_mpi_librarys) {
    EXPECT_EQ(layers(of_a_driver), "mpiio counted");
    EXPECT_EQ(why(of_a_driver), "only the MPI library can open it");
    EXPECT_EQ(layers(of_nobody), "");
    EXPECT_EQ(why(of_nobody), "nobody can open it");
}

TEST(BackendChoice, faults_lie_where_nothing_passes_them) {
    EXPECT_EQ(layers(on_disk, "auto", "read=short"), "posix faults gate counted");
    EXPECT_EQ(why(on_disk, "auto", "read=short"), "not mapped: faults are injected");
    EXPECT_EQ(layers(on_servers, "auto", "read=short"), "posix faults threads gate counted");
    EXPECT_EQ(layers(of_a_driver, "auto", "read=short"), "mpiio faults counted");
}

TEST(BackendChoice, only_blocks_that_stay_may_be_written_through_a_mapping) {
    EXPECT_TRUE(choice(on_disk).mappable_write);
    EXPECT_FALSE(choice(on_disk, "posix").mappable_write);
    EXPECT_FALSE(choice(on_disk, "auto", "read=short").mappable_write);
    for (auto const taken : {&FileFacts::readable, &FileFacts::writable, &FileFacts::open}) {
        auto facts = on_disk;
        facts.*taken = false;
        if (taken == &FileFacts::open) facts.file_system = {};
        EXPECT_FALSE(choice(facts).mappable_write);
    }
    auto copies_on_write = on_disk;
    copies_on_write.file_system.keeps_blocks = false;
    EXPECT_FALSE(choice(copies_on_write).mappable_write);
}

TEST(BackendChoice, what_may_not_be_read_is_not_mapped) {
    auto write_only = on_disk;
    write_only.readable = false;
    EXPECT_EQ(layers(write_only), "posix gate counted");
    EXPECT_EQ(why(write_only), "not mapped: it may not be read");
    auto read_only = on_disk;
    read_only.writable = false;
    EXPECT_EQ(layers(read_only), "posix mapped gate counted");
}

TEST(MakeBackend, is_what_was_chosen) {
    TemporaryFile const file{test_folders().front()};
    auto const counts = std::make_shared<BackendCounts>();
    auto const made = [&](std::vector<Layer> chosen) {
        return make_backend({.layers = std::move(chosen)},
                            {.descriptor = file.fd(), .faults = "write@4=EIO", .counts = counts});
    };
    EXPECT_EQ(made({}), nullptr);
    EXPECT_EQ(made({Layer::posix, Layer::threads})->name(), "threads");
    std::array<std::byte, 8> data{};
    Transfer const all{0, data.data(), data.size()};
    auto const failing = made({Layer::posix, Layer::faults, Layer::counted});
    EXPECT_EQ(failing->perform(Direction::write, {&all, 1}).stopped_at, 4U);
    EXPECT_EQ((*counts)[Direction::write].bytes, 4U);
}

}  // namespace
}  // namespace unisono
