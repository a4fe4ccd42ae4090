// What a file says about itself, and the collective calls that change it: size, atomicity, info.
#include <stdlib.h>
#include <sys/time.h>

#include <csignal>

#include "files.hpp"

namespace semantics {
namespace {

constexpr char const* no_atomic_mode = "OMPIO of Open MPI 4.1 has no atomic mode";

constexpr char const* own_hints = "Unisono's own hints";

TEST(get_view_gives_back_the_view) {
    DealtView const view(context, 6, MPI_INT, 333);
    MPI_File file = open_file(context, view);
    int const value = 1;
    CHECK_MPI(MPI_File_write_all(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    MPI_Offset displacement = -1;
    MPI_Datatype etype = MPI_DATATYPE_NULL, filetype = MPI_DATATYPE_NULL;
    char representation[MPI_MAX_DATAREP_STRING + 1] = "";
    CHECK_MPI(MPI_File_get_view(file, &displacement, &etype, &filetype, representation));
    CHECK_EQUAL(displacement, 333);
    CHECK_EQUAL(std::string(representation), "native");
    int etype_bytes = 0, filetype_bytes = 0;
    MPI_Aint lower_bound = -1, extent = -1;
    MPI_Type_size(etype, &etype_bytes);
    MPI_Type_size(filetype, &filetype_bytes);
    MPI_Type_get_extent(filetype, &lower_bound, &extent);
    CHECK_EQUAL(etype_bytes, 4);
    CHECK_EQUAL(filetype_bytes, 24);
    CHECK_EQUAL(extent, 24 * context.size);
    int integers, addresses, types, combiner = -1;
    MPI_Type_get_envelope(filetype, &integers, &addresses, &types, &combiner);
    if (combiner != MPI_COMBINER_NAMED) MPI_Type_free(&filetype);
    close_file(file);
}

TEST(a_fresh_file_has_the_byte_view) {
    MPI_File file = open_file(context, context.path());
    MPI_Offset displacement = -1;
    MPI_Datatype etype = MPI_DATATYPE_NULL, filetype = MPI_DATATYPE_NULL;
    char representation[MPI_MAX_DATAREP_STRING + 1] = "";
    CHECK_MPI(MPI_File_get_view(file, &displacement, &etype, &filetype, representation));
    CHECK_EQUAL(displacement, 0);
    CHECK(etype == MPI_BYTE);
    CHECK(filetype == MPI_BYTE);
    CHECK_EQUAL(std::string(representation), "native");
    close_file(file);
}

TEST(amode_and_group) {
    int const mode = MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_UNIQUE_OPEN;
    MPI_File file = open_file(context, context.path(), mode);
    int got = 0;
    CHECK_MPI(MPI_File_get_amode(file, &got));
    CHECK_EQUAL(got, mode);
    MPI_Group files = MPI_GROUP_NULL, ours = MPI_GROUP_NULL;
    CHECK_MPI(MPI_File_get_group(file, &files));
    MPI_Comm_group(context.comm, &ours);
    int comparison = MPI_UNEQUAL;
    MPI_Group_compare(files, ours, &comparison);
    CHECK_EQUAL(comparison, MPI_IDENT);
    MPI_Group_free(&files);
    MPI_Group_free(&ours);
    close_file(file);
}

TEST(write_only_files_can_be_written) {
    MPI_File file = open_file(context, context.path(), MPI_MODE_CREATE | MPI_MODE_WRONLY);
    for (int block : {8, 4096}) {
        DealtView const view(context, block);
        CHECK_MPI(view.set(file));
        Bytes const data = view.data(0, 10 * static_cast<std::size_t>(block));
        CHECK_MPI(MPI_File_write_all(file, data.data(), 10 * block, MPI_BYTE, MPI_STATUS_IGNORE));
    }
    close_file(file);
    check_file(context, context.path(), 40960 * static_cast<std::size_t>(context.size));
}

TEST(set_size_cuts_and_grows, under_unisono, "natively a read past the end gives full counts") {
    DealtView const view(context, 10);
    MPI_File file = open_file(context, view);
    Bytes const data = view.data(0, 500);
    CHECK_MPI(MPI_File_write_all(file, data.data(), 500, MPI_BYTE, MPI_STATUS_IGNORE));
    auto const half = 25LL * 10 * context.size;
    CHECK_MPI(MPI_File_set_size(file, half));
    CHECK_EQUAL(size_of(file), half);
    CHECK_EQUAL(position_of(file), 500);  // the pointer stays
    Bytes back(500, 0);
    MPI_Status status;
    CHECK_MPI(MPI_File_read_at_all(file, 0, back.data(), 500, MPI_BYTE, &status));
    CHECK_EQUAL(count_of(status), 250);
    CHECK_MPI(MPI_File_set_size(file, 2 * half));
    CHECK_EQUAL(size_of(file), 2 * half);
    Bytes wanted = view.data(0, 250);
    wanted.resize(500, 0);
    check_read_at_all(file, 0, wanted, "a file cut and grown again");
    close_file(file);
}

// On tmpfs of kernels before 6.18 (which shows nothing) a signal undid it.
TEST(preallocate_failed_in_programs_with_timers, under_unisono, "natively it may fail") {
    constexpr MPI_Offset bytes = 256 << 20;
    MPI_File file = open_file(context, context.path());
    struct sigaction quiet {
    }, before{};
    quiet.sa_handler = [](int) {};
    quiet.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &quiet, &before);
    itimerval timer{.it_interval = {.tv_sec = 0, .tv_usec = 5000},
                    .it_value = {.tv_sec = 0, .tv_usec = 5000}};
    setitimer(ITIMER_REAL, &timer, nullptr);
    CHECK_MPI(MPI_File_preallocate(file, bytes));
    timer = {};
    setitimer(ITIMER_REAL, &timer, nullptr);
    sigaction(SIGALRM, &before, nullptr);
    CHECK_EQUAL(size_of(file), bytes);
    close_file(file);
}

// Benchmarks write there; both libraries take it for done.
TEST(preallocate_failed_on_devices) {
    MPI_File file = open_file(context, "/dev/null", MPI_MODE_WRONLY);
    CHECK_MPI(MPI_File_preallocate(file, 1000));
    close_file(file);
}

TEST(preallocate_keeps_the_content, all_but_native_openmpi,
     "in Open MPI 4.1.4 the file is longer for a moment, and ranks do not wait") {
    DealtView const view(context, 10);
    MPI_File file = open_file(context, view);
    Bytes const data = view.data(0, 500);
    CHECK_MPI(MPI_File_write_all(file, data.data(), 500, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_File_preallocate(file, 100000));
    CHECK_EQUAL(size_of(file), 100000);
    CHECK_MPI(MPI_File_preallocate(file, 50));
    CHECK_EQUAL(size_of(file), 100000);
    check_read_at_all(file, 0, data, "after preallocate");
    close_file(file);
}

TEST(type_extent_is_the_memory_extent) {
    MPI_File file = open_file(context, context.path());
    Type const wide = make_resized(0, 40, MPI_DOUBLE);
    MPI_Aint extent = -1;
    CHECK_MPI(MPI_File_get_type_extent(file, wide, &extent));
    CHECK_EQUAL(extent, 40);
    close_file(file);
}

TEST(atomic_mode_is_atomic_and_ends, all_but_native_openmpi, no_atomic_mode) {
    MPI_File file = open_file(context, context.path());
    constexpr int bytes = 50000;
    Bytes const mine = pattern_bytes(0, bytes, static_cast<unsigned>(context.rank));
    CHECK_MPI(MPI_File_write_at_all(file, 0, mine.data(), bytes, MPI_BYTE, MPI_STATUS_IGNORE));
    if (!CHECK_MPI(MPI_File_set_atomicity(file, 1))) return close_file(file);
    int atomic = -1;
    CHECK_MPI(MPI_File_get_atomicity(file, &atomic));
    CHECK_EQUAL(atomic, 1);
    MPI_Status status;
    CHECK_MPI(MPI_File_write_at_all(file, 0, mine.data(), bytes, MPI_BYTE, &status));
    CHECK_EQUAL(count_of(status), bytes);
    context.barrier();
    // Not a mixture: the whole region comes from one writer, and everybody sees it without sync.
    Bytes back(bytes);
    CHECK_MPI(MPI_File_read_at_all(file, 0, back.data(), bytes, MPI_BYTE, MPI_STATUS_IGNORE));
    unsigned writer = 0;
    while (writer + 1 < static_cast<unsigned>(context.size) && back[0] != pattern(0, writer))
        ++writer;
    check_bytes(back, pattern_bytes(0, bytes, writer), "one writer's bytes");
    CHECK_MPI(MPI_File_set_atomicity(file, 0));
    CHECK_MPI(MPI_File_get_atomicity(file, &atomic));
    CHECK_EQUAL(atomic, 0);
    DealtView const view(context, 100);
    CHECK_MPI(view.set(file));
    Bytes const data = view.data(0, 10000);
    CHECK_MPI(MPI_File_write_all(file, data.data(), 10000, MPI_BYTE, MPI_STATUS_IGNORE));
    check_read_at(file, 0, data, "after atomic mode");
    close_file(file);
}

TEST(atomic_mode_keeps_view_and_pointer, all_but_native_openmpi, no_atomic_mode) {
    DealtView const view(context, 16, MPI_INT, 8);
    MPI_File file = open_file(context, view);
    Bytes const data = view.data(0, 640);
    CHECK_MPI(MPI_File_write_all(file, data.data(), 40, MPI_INT, MPI_STATUS_IGNORE));
    if (!CHECK_MPI(MPI_File_set_atomicity(file, 1))) return close_file(file);
    CHECK_EQUAL(position_of(file), 40);
    CHECK_MPI(MPI_File_write_all(file, data.data() + 160, 40, MPI_INT, MPI_STATUS_IGNORE));
    CHECK_EQUAL(position_of(file), 80);
    CHECK_MPI(MPI_File_set_atomicity(file, 0));
    CHECK_MPI(MPI_File_write_all(file, data.data() + 320, 80, MPI_INT, MPI_STATUS_IGNORE));
    CHECK_EQUAL(position_of(file), 160);
    Bytes back(640);
    CHECK_MPI(MPI_File_read_at_all(file, 0, back.data(), 160, MPI_INT, MPI_STATUS_IGNORE));
    check_bytes(back, data, "before, during and after atomic mode");
    close_file(file);
}

TEST(hints_come_back) {
    MPI_File file = open_with(context, {{"cb_buffer_size", "1048576"}, {"cb_nodes", "1"}});
    CHECK_EQUAL(info_value(file, "cb_buffer_size"), "1048576");
    CHECK_EQUAL(info_value(file, "cb_nodes"), "1");
    close_file(file);
}

TEST(unisono_hints_come_back, under_unisono, own_hints) {
    if (strategy_is_forced()) return skip("UNISONO_STRATEGY is set");
    MPI_File file =
        open_with(context, {{"unisono_strategy", "two_phase"}, {"unisono_no_such_key", "1"}});
    CHECK_EQUAL(info_value(file, "unisono_strategy"), "two_phase");
    CHECK_EQUAL(info_value(file, "unisono_no_such_key"), "");
    close_file(file);
}

// Ranks ask for rank 0's options only where they are new.
TEST(each_open_has_its_own_hints, under_unisono, own_hints) {
    if (strategy_is_forced()) return skip("UNISONO_STRATEGY is set");
    auto const strategy_of = [&](char const* asked, char const* enabled) {
        MPI_File file = MPI_FILE_NULL;
        Info const hints{{"unisono_strategy", asked}, {"unisono_enable", enabled}};
        Info const others{{"unisono_strategy", "view_based"}};
        CHECK_MPI(MPI_File_open(context.comm, context.path().c_str(),
                                MPI_MODE_RDWR | MPI_MODE_CREATE, context.root() ? hints : others,
                                &file));
        MPI_Offset const begin = context.rank * 1000;
        Bytes const data = pattern_bytes(begin, 1000);
        CHECK_MPI(
            MPI_File_write_at_all(file, begin, data.data(), 1000, MPI_BYTE, MPI_STATUS_IGNORE));
        auto strategy = info_value(file, "unisono_strategy");
        close_file(file);
        check_file(context, context.path(), 1000 * static_cast<std::size_t>(context.size));
        return strategy;
    };
    for (int round = 0; round < 2; ++round) {
        for (auto const* asked : {"two_phase", "two_phase", "independent", "two_phase"})
            CHECK_EQUAL(strategy_of(asked, "true"), asked);
        strategy_of("two_phase", "false");  // the MPI library's
    }
}

TEST(set_info_changes_hints, under_unisono, own_hints) {
    if (strategy_is_forced()) return skip("UNISONO_STRATEGY is set");
    MPI_File file = open_file(context, context.path());
    Info const hints{{"unisono_strategy", "independent"}, {"cb_buffer_size", "65536"}};
    CHECK_MPI(MPI_File_set_info(file, hints));
    CHECK_EQUAL(info_value(file, "unisono_strategy"), "independent");
    CHECK_EQUAL(info_value(file, "cb_buffer_size"), "65536");
    DealtView const view(context, 100);
    CHECK_MPI(view.set(file));
    Bytes const data = view.data(0, 100000);
    CHECK_MPI(MPI_File_write_all(file, data.data(), 100000, MPI_BYTE, MPI_STATUS_IGNORE));
    close_file(file);
    check_file(context, context.path(), 100000 * static_cast<std::size_t>(context.size));
}

// MPI lets each rank of MPI_File_set_view have hints of its own, or none.
TEST(hints_that_one_rank_gives_with_a_view, under_unisono, own_hints) {
    if (strategy_is_forced()) return skip("UNISONO_STRATEGY is set");
    MPI_File file = open_file(context, context.path());
    Info const hints{{"unisono_strategy", "independent"}};
    for (int call = 0; call < 2; ++call)
        CHECK_MPI(MPI_File_set_view(file, call, MPI_BYTE, MPI_BYTE, "native",
                                    context.root() ? hints : MPI_INFO_NULL));
    CHECK_EQUAL(info_value(file, "unisono_strategy"), "independent");
    std::uint8_t const byte = 1;
    CHECK_MPI(MPI_File_write_at_all(file, context.rank, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK_EQUAL(size_of(file), context.size + 1);
    close_file(file);
}

TEST(no_independent_access_means_collective_buffering, all_but_native_openmpi,
     "OMPIO does not know these hints") {
    MPI_File file =
        open_with(context, {{"romio_cb_read", "disable"}, {"romio_no_indep_rw", "true"}});
    for (auto const* key : {"romio_cb_read", "romio_cb_write"})
        CHECK_EQUAL(info_value(file, key), "enable");
    CHECK_EQUAL(info_value(file, "romio_no_indep_rw"), "true");
    close_file(file);
}

// What a file like ours means, ROMIO decides: the first value of a key; no lines of three words.
TEST(romios_hints_file_means_what_it_means_to_romio) {
    if (getenv("ROMIO_HINTS") == nullptr) return skip("only with ROMIO_HINTS=romio_hints.txt");
    MPI_File file = open_file(context, context.path());
    CHECK_EQUAL(info_value(file, "cb_buffer_size"), "1048576");
    CHECK_EQUAL(info_value(file, "romio_ds_write"), "disable");
    close_file(file);
}

}  // namespace

}  // namespace semantics
