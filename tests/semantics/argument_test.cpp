// Wrong arguments: an error on all ranks, no hang, and the next right call works. Natively only
// where all ranks are wrong alike; under Unisono also when a single rank is.
#include <cstring>

#include "files.hpp"

namespace semantics {
namespace {

constexpr char const* unchecked = "OMPIO of Open MPI 4.1.4 lets it pass, or tells some ranks only";

using Call = int (*)(MPI_File, bool wrong);

Bytes& memory() {
    static Bytes bytes(64, 1);
    return bytes;
}

int negative_count(MPI_File file, bool wrong) {
    return MPI_File_write_all(file, memory().data(), wrong ? -1 : 8, MPI_BYTE, MPI_STATUS_IGNORE);
}
int negative_count_read(MPI_File file, bool wrong) {
    return MPI_File_read_at_all(file, 0, memory().data(), wrong ? -7 : 8, MPI_BYTE,
                                MPI_STATUS_IGNORE);
}
int negative_offset(MPI_File file, bool wrong) {
    return MPI_File_write_at_all(file, wrong ? -1 : 0, memory().data(), 8, MPI_BYTE,
                                 MPI_STATUS_IGNORE);
}
int negative_offset_read(MPI_File file, bool wrong) {
    return MPI_File_read_at_all(file, wrong ? -100 : 0, memory().data(), 8, MPI_BYTE,
                                MPI_STATUS_IGNORE);
}
int null_type(MPI_File file, bool wrong) {
    return MPI_File_write_all(file, memory().data(), 8, wrong ? MPI_DATATYPE_NULL : MPI_BYTE,
                              MPI_STATUS_IGNORE);
}
int uncommitted_type(MPI_File file, bool wrong) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(8, MPI_BYTE, &type);
    if (!wrong) MPI_Type_commit(&type);
    int const code = MPI_File_write_all(file, memory().data(), 1, type, MPI_STATUS_IGNORE);
    MPI_Type_free(&type);
    return code;
}

Call const calls[] = {negative_count,       negative_count_read, negative_offset,
                      negative_offset_read, null_type,           uncommitted_type};

// The file still works: a dealt write and a read of it.
void check_that_all_is_well(Context const& context, MPI_File file) {
    DealtView const view(context, 16);
    CHECK_MPI(view.set(file));
    Bytes const data = view.data(0, 160);
    CHECK_MPI(MPI_File_write_all(file, data.data(), 160, MPI_BYTE, MPI_STATUS_IGNORE));
    check_read_at_all(file, 0, data, "after the error");
}

TEST(all_ranks_pass_wrong_arguments, all_but_native_openmpi,
     "OMPIO of Open MPI 4.1.4 hangs in one of these calls") {
    MPI_File file = open_file(context, context.path());
    for (Call const call : calls) {
        int const code = call(file, true);
        CHECK(code != MPI_SUCCESS);
        CHECK(same_on_all(context, error_class(code)));
        check_that_all_is_well(context, file);
    }
    close_file(file);
}

TEST(one_rank_passes_wrong_arguments, under_unisono, "natively the other ranks wait for ever") {
    MPI_File file = open_file(context, context.path());
    for (int culprit : {0, context.size - 1}) {
        for (Call const call : calls) {
            int const code = call(file, context.rank == culprit);
            CHECK(code != MPI_SUCCESS);
            CHECK(same_on_all(context, error_class(code)));
            check_that_all_is_well(context, file);
        }
    }
    close_file(file);
}

// The other ranks waited for ever, or went on with another size or mode than this one.
TEST(one_rank_passes_another_size_or_mode, under_unisono, "the libraries hang, or take one of them",
     2) {
    prepare_file(context, context.path(), 100);
    MPI_File file = open_file(context, context.path(), MPI_MODE_RDWR);
    for (int culprit : {0, context.size - 1}) {
        auto const wrong = context.rank == culprit;
        for (auto* const set : {MPI_File_set_size, MPI_File_preallocate}) {
            CHECK_EQUAL(error_class(set(file, wrong ? -5 : 200)), MPI_ERR_ARG);
            CHECK_EQUAL(error_class(set(file, wrong ? 300 : 200)), MPI_ERR_NOT_SAME);
        }
        CHECK_EQUAL(error_class(MPI_File_set_atomicity(file, wrong)), MPI_ERR_NOT_SAME);
        MPI_Offset size = 0;
        CHECK_MPI(MPI_File_get_size(file, &size));
        CHECK_EQUAL(size, 100);
        int atomic = 1;
        CHECK_MPI(MPI_File_get_atomicity(file, &atomic));
        CHECK_EQUAL(atomic, 0);
    }
    close_file(file);
}

// The others waited for ever. For a later view they do not wait.
TEST(one_rank_gives_its_first_view_in_another_representation, under_unisono,
     "the libraries take it, or hang", 2) {
    for (auto const* const other : {"external32", "unheard-of"})
        for (int culprit : {0, context.size - 1}) {
            MPI_File file = open_file(context, context.path());
            auto const* const name = context.rank == culprit ? other : "native";
            CHECK_EQUAL(
                error_class(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, name, MPI_INFO_NULL)),
                MPI_ERR_NOT_SAME);
            check_that_all_is_well(context, file);
            close_file(file);
        }
}

// It was to be synced, which the libraries refuse.
TEST(a_refused_size_of_a_read_only_file_made_its_close_fail) {
    prepare_file(context, context.path(), 100);
    Info const info{{"unisono_backend", "mpiio"}, {"unisono_sync_at_close", "true"}};
    MPI_File file = open_file(context, context.path(), MPI_MODE_RDONLY, info);
    CHECK_FAILS(MPI_File_set_size(file, 50));
    if (context.unisono) CHECK_FAILS(MPI_File_preallocate(file, 5000));  // ROMIO: on rank 0 only
    close_file(file);
}

TEST(writing_a_read_only_file_fails, all_but_native_openmpi, unchecked) {
    prepare_file(context, context.path(), 1000);
    MPI_File file = open_file(context, context.path(), MPI_MODE_RDONLY);
    DealtView const view(context, 16);
    CHECK_MPI(view.set(file));
    Bytes const data(160, 1);
    int const code = MPI_File_write_all(file, data.data(), 160, MPI_BYTE, MPI_STATUS_IGNORE);
    CHECK(code != MPI_SUCCESS);
    CHECK(same_on_all(context, error_class(code)));
    CHECK_FAILS(MPI_File_write(file, data.data(), 160, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK_FAILS(MPI_File_write_at_all(file, 0, data.data(), 160, MPI_BYTE, MPI_STATUS_IGNORE));
    check_read_at_all(file, 0, view.data(0, 16));
    close_file(file);
    check_file(context, context.path(), 1000);
}

// Its bytes lie one after the other as well.
TEST(nothing_is_written_through_a_view_without_data, under_unisono, "natively that is a success") {
    prepare_file(context, context.path(), 1000);
    MPI_File file = open_file(context, context.path(), MPI_MODE_RDWR);
    MPI_Datatype none = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(0, MPI_BYTE, &none);
    MPI_Type_commit(&none);
    CHECK_MPI(MPI_File_set_view(file, 0, MPI_BYTE, none, "native", MPI_INFO_NULL));
    auto* const data = memory().data();
    CHECK_EQUAL(error_class(MPI_File_write_at(file, 0, data, 8, MPI_BYTE, MPI_STATUS_IGNORE)),
                MPI_ERR_IO);
    CHECK_EQUAL(error_class(MPI_File_write_at_all(file, 0, data, 8, MPI_BYTE, MPI_STATUS_IGNORE)),
                MPI_ERR_IO);
    CHECK_MPI(MPI_File_write_at(file, 0, data, 0, MPI_BYTE, MPI_STATUS_IGNORE));
    MPI_Type_free(&none);
    close_file(file);
    check_file(context, context.path(), 1000);
}

TEST(reading_a_write_only_file_fails, all_but_native_openmpi, unchecked) {
    prepare_file(context, context.path(), 1000);
    MPI_File file = open_file(context, context.path(), MPI_MODE_WRONLY);
    DealtView const view(context, 16);
    CHECK_MPI(view.set(file));
    Bytes back(160, 0);
    int const code = MPI_File_read_all(file, back.data(), 160, MPI_BYTE, MPI_STATUS_IGNORE);
    CHECK(code != MPI_SUCCESS);
    CHECK(same_on_all(context, error_class(code)));
    CHECK_FAILS(MPI_File_read_at(file, 0, back.data(), 160, MPI_BYTE, MPI_STATUS_IGNORE));
    Bytes const data = view.data(0, 16);
    CHECK_MPI(MPI_File_write_all(file, data.data(), 16, MPI_BYTE, MPI_STATUS_IGNORE));
    close_file(file);
    check_file(context, context.path(), 1000);
}

// Before there is a view they were the MPI library's: MPICH waited for ever for the nonblocking
// one.
TEST(a_shared_write_to_a_read_only_file_hung, all_but_native_mpich, "MPICH 4.0.2 hangs") {
    prepare_file(context, context.path(), 100);
    MPI_File file = open_file(context, context.path(), MPI_MODE_RDONLY);
    MPI_Request request = MPI_REQUEST_NULL;
    int const begun = MPI_File_iwrite_shared(file, memory().data(), 8, MPI_BYTE, &request);
    CHECK_EQUAL(error_class(begun), MPI_ERR_READ_ONLY);
    CHECK(request == MPI_REQUEST_NULL);
    int const code = MPI_File_write_shared(file, memory().data(), 8, MPI_BYTE, MPI_STATUS_IGNORE);
    CHECK_EQUAL(error_class(code), MPI_ERR_READ_ONLY);
    close_file(file);
    check_file(context, context.path(), 100);
}

TEST(a_null_file_is_an_error) {
    int value = 0;
    CHECK_FAILS(MPI_File_write_all(MPI_FILE_NULL, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    CHECK_FAILS(MPI_File_read_at_all(MPI_FILE_NULL, 0, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    CHECK_FAILS(MPI_File_seek(MPI_FILE_NULL, 0, MPI_SEEK_SET));
    CHECK_FAILS(MPI_File_sync(MPI_FILE_NULL));
    CHECK_FAILS(MPI_File_set_view(MPI_FILE_NULL, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    MPI_File file = MPI_FILE_NULL;
    CHECK_FAILS(MPI_File_close(&file));
}

TEST(a_wrong_view_is_an_error_and_the_old_one_stays, all_but_native_openmpi, unchecked) {
    DealtView const view(context, 16);
    MPI_File file = open_file(context, view);
    int const code = MPI_File_set_view(file, -5, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
    CHECK(code != MPI_SUCCESS);
    CHECK(same_on_all(context, error_class(code)));
    MPI_Offset offset = -1;
    CHECK_MPI(MPI_File_get_byte_offset(file, 20, &offset));
    CHECK_EQUAL(offset, view.offset(20));
    Bytes const data = view.data(0, 160);
    CHECK_MPI(MPI_File_write_all(file, data.data(), 160, MPI_BYTE, MPI_STATUS_IGNORE));
    close_file(file);
    check_file(context, context.path(), 160 * static_cast<std::size_t>(context.size));
}

// In 64 bits, 2^61 doubles from the beginning of a file on come back to its beginning.
TEST(an_offset_that_wrapped_round_was_written_to_the_beginning, under_unisono,
     "natively the beginning is written") {
    constexpr MPI_Offset far = MPI_Offset{1} << 61;
    prepare_file(context, context.path(), 1000);
    MPI_File file = open_file(context, context.path());
    CHECK_MPI(MPI_File_set_view(file, 0, MPI_DOUBLE, MPI_DOUBLE, "native", MPI_INFO_NULL));
    double value = 1;
    MPI_Request request = MPI_REQUEST_NULL;
    int const culprit = context.size - 1;
    auto const offset = context.rank == culprit ? far : MPI_Offset{0};
    CHECK_FAILS(MPI_File_write_at_all(file, far, &value, 1, MPI_DOUBLE, MPI_STATUS_IGNORE));
    CHECK_FAILS(MPI_File_write_at_all(file, offset, &value, 1, MPI_DOUBLE, MPI_STATUS_IGNORE));
    MPI_Status status;
    CHECK_MPI(MPI_File_read_at_all(file, far, &value, 1, MPI_DOUBLE, &status));
    CHECK_EQUAL(count_of(status, MPI_DOUBLE), 0);
    CHECK_MPI(MPI_File_read_at(file, far, &value, 1, MPI_DOUBLE, &status));
    CHECK_EQUAL(count_of(status, MPI_DOUBLE), 0);
    CHECK_FAILS(MPI_File_write_at(file, far, &value, 1, MPI_DOUBLE, MPI_STATUS_IGNORE));
    CHECK_FAILS(MPI_File_iwrite_at(file, far, &value, 1, MPI_DOUBLE, &request));
    CHECK_MPI(MPI_File_seek(file, far, MPI_SEEK_SET));
    CHECK_FAILS(MPI_File_write(file, &value, 1, MPI_DOUBLE, MPI_STATUS_IGNORE));
    CHECK_FAILS(MPI_File_write_all(file, &value, 1, MPI_DOUBLE, MPI_STATUS_IGNORE));
    MPI_Offset pointer = 0;
    CHECK_MPI(MPI_File_get_position(file, &pointer));
    CHECK_EQUAL(pointer, far);
    CHECK_FAILS(MPI_File_get_byte_offset(file, far, &pointer));
    for (int i = 0; i < 2; ++i) CHECK_MPI(MPI_File_seek(file, far, MPI_SEEK_CUR));
    CHECK_FAILS(MPI_File_seek(file, far, MPI_SEEK_CUR));  // 2^63
    CHECK_MPI(MPI_File_get_position(file, &pointer));
    CHECK_EQUAL(pointer, 3 * far);
    close_file(file);
    check_file(context, context.path(), 1000);
}

// In 64 bits they are none.
TEST(more_bytes_than_64_bits_can_count_were_none, under_unisono, "natively that is a success") {
    auto const many = make_contiguous(1 << 30, MPI_DOUBLE);
    auto const type = make_resized(0, 0, many);
    MPI_File file = open_file(context, context.path());
    double value = 1;
    CHECK_FAILS(MPI_File_write_at_all(file, 0, &value, 1 << 30, type, MPI_STATUS_IGNORE));
    CHECK_FAILS(MPI_File_read_at(file, 0, &value, 1 << 30, type, MPI_STATUS_IGNORE));
    close_file(file);
    check_file(context, context.path(), 0);
}

TEST(null_pointers_for_answers_ended_programs, unisono_openmpi | native_openmpi,
     "MPICH 4.0.2 crashes") {
    DealtView const view(context, 16);
    MPI_File file = open_file(context, view);
    MPI_Offset offset = 0;
    MPI_Datatype etype = MPI_BYTE, filetype = MPI_BYTE;
    char text[MPI_MAX_DATAREP_STRING];
    CHECK_EQUAL(error_class(MPI_File_get_position(file, nullptr)), MPI_ERR_ARG);
    CHECK_EQUAL(error_class(MPI_File_get_position_shared(file, nullptr)), MPI_ERR_ARG);
    CHECK_EQUAL(error_class(MPI_File_get_byte_offset(file, 0, nullptr)), MPI_ERR_ARG);
    CHECK_EQUAL(error_class(MPI_File_get_size(file, nullptr)), MPI_ERR_ARG);
    CHECK_FAILS(MPI_File_get_view(file, nullptr, &etype, &filetype, text));
    CHECK_FAILS(MPI_File_get_view(file, &offset, nullptr, &filetype, text));
    CHECK_FAILS(MPI_File_get_view(file, &offset, &etype, nullptr, text));
    CHECK_FAILS(MPI_File_get_view(file, &offset, &etype, &filetype, nullptr));
    CHECK_EQUAL(error_class(MPI_File_close(nullptr)), MPI_ERR_FILE);
    check_that_all_is_well(context, file);
    close_file(file);
}

TEST(null_pointers_for_requests_ended_programs, all_but_native_mpich, "MPICH 4.0.2 crashes") {
    DealtView const view(context, 16);
    MPI_File file = open_file(context, view);
    auto* const data = memory().data();
    for (int const code : {MPI_File_iwrite_at(file, 0, data, 8, MPI_BYTE, nullptr),
                           MPI_File_iread(file, data, 8, MPI_BYTE, nullptr),
                           MPI_File_iwrite_all(file, data, 8, MPI_BYTE, nullptr),
                           MPI_File_iread_at_all(file, 0, data, 8, MPI_BYTE, nullptr),
                           MPI_File_iwrite_shared(file, data, 8, MPI_BYTE, nullptr)})
        CHECK_EQUAL(error_class(code), MPI_ERR_REQUEST);
    check_that_all_is_well(context, file);
    close_file(file);
}

// Waiting for one crashed under Open MPI, and never ended under MPICH.
TEST(requests_of_refused_calls_stayed_what_they_had_been, under_unisono, "natively they stay so") {
    DealtView const view(context, 16);
    MPI_File file = open_file(context, view);
    auto* const data = memory().data();
    MPI_Request requests[5];
    std::memset(requests, 0x5a, sizeof requests);
    CHECK_FAILS(MPI_File_iwrite(file, data, -1, MPI_BYTE, &requests[0]));
    CHECK_FAILS(MPI_File_iread(file, data, -1, MPI_BYTE, &requests[1]));
    CHECK_FAILS(MPI_File_iwrite_at(file, -1, data, 1, MPI_BYTE, &requests[2]));
    CHECK_FAILS(MPI_File_iread_at(file, 0, data, 1, MPI_DATATYPE_NULL, &requests[3]));
    CHECK_FAILS(MPI_File_iwrite_shared(file, data, -1, MPI_BYTE, &requests[4]));
    for (auto& request : requests) {
        CHECK(request == MPI_REQUEST_NULL);
        if (request == MPI_REQUEST_NULL) CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    close_file(file);
    check_file(context, context.path(), 0);
}

}  // namespace

}  // namespace semantics
