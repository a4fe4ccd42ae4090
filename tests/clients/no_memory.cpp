// A program whose rank 1 runs out of memory within one call, as far as Unisono's engine asks for
// it. usage: no_memory FILE CALL BYTES NTH: of the engine's requests for at least BYTES, the NTH
// and all that follow are refused. Rank 0 prints what the call came to on each rank, and "went on"
// when the file could be used afterwards. CALL iwrite_at is made NTH times, and of the n-th one the
// n-th request is the first that is refused.
#include <errno.h>
#include <link.h>
#include <mpi.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

extern "C" void* __libc_malloc(std::size_t bytes);

namespace {

struct Shortage {
    std::uintptr_t engine_begin = 0;
    std::uintptr_t engine_end = 0;
    std::size_t bytes_min = 0;
    std::atomic<long> requests_left{0};
    std::atomic<bool> begun{false};
} shortage;

bool refused(std::size_t bytes, std::uintptr_t caller) {
    return shortage.begun && bytes >= shortage.bytes_min && caller >= shortage.engine_begin &&
           caller < shortage.engine_end && --shortage.requests_left <= 0;
}

int find_engine(dl_phdr_info* library, std::size_t, void*) {
    if (std::strstr(library->dlpi_name, "-engine.so") == nullptr) return 0;
    shortage.engine_begin = library->dlpi_addr;
    for (int i = 0; i < library->dlpi_phnum; ++i)
        if (library->dlpi_phdr[i].p_type == PT_LOAD)
            shortage.engine_end =
                library->dlpi_addr + library->dlpi_phdr[i].p_vaddr + library->dlpi_phdr[i].p_memsz;
    return 1;
}

}  // namespace

extern "C" void* malloc(std::size_t bytes) {
    if (!refused(bytes, reinterpret_cast<std::uintptr_t>(__builtin_return_address(0))))
        return __libc_malloc(bytes);
    errno = ENOMEM;
    return nullptr;
}

namespace {

constexpr int piece_bytes = 64, pieces = 1 << 15;
constexpr int data_bytes = piece_bytes * pieces;  // more than any round of an exchange has

int rank = 0, ranks = 0;

// Blocks of this rank and gaps for the others.
MPI_Datatype dealt_view() {
    MPI_Datatype blocks = MPI_DATATYPE_NULL, view = MPI_DATATYPE_NULL;
    MPI_Type_create_hvector(1, piece_bytes, 0, MPI_BYTE, &blocks);
    MPI_Type_create_resized(blocks, 0, MPI_Aint{piece_bytes} * ranks, &view);
    MPI_Type_commit(&view);
    MPI_Type_free(&blocks);
    return view;
}

// Memory of as many bytes in pieces; irregular ones take a list that is as long.
MPI_Datatype in_memory(bool irregular) {
    std::vector<MPI_Aint> places;
    for (int i = 0; i < pieces; ++i)
        places.push_back(MPI_Aint{2 * piece_bytes} * i + (irregular ? i % 7 : 0));
    MPI_Datatype type = MPI_DATATYPE_NULL;
    if (irregular)
        MPI_Type_create_hindexed_block(pieces, piece_bytes, places.data(), MPI_BYTE, &type);
    else
        MPI_Type_create_hvector(pieces, piece_bytes, 2 * piece_bytes, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    return type;
}

struct Scene {
    MPI_File file = MPI_FILE_NULL;
    MPI_Datatype view = dealt_view();
    MPI_Datatype regular = in_memory(false);
    MPI_Datatype irregular = in_memory(true);
    std::vector<char> memory = std::vector<char>(2 * data_bytes + 8, 'x');

    int write_all(MPI_Datatype type) {
        return MPI_File_write_at_all(file, 0, memory.data(), 1, type, MPI_STATUS_IGNORE);
    }
    int read_all() {
        return MPI_File_read_at_all(file, 0, memory.data(), 1, regular, MPI_STATUS_IGNORE);
    }
    int write_alone() {
        return MPI_File_write_at(file, 0, memory.data(), 1, regular, MPI_STATUS_IGNORE);
    }
    // An error leaves no request.
    int write_beside() {
        MPI_Request request = MPI_REQUEST_NULL;
        auto const code = MPI_File_iwrite_at(file, 0, memory.data(), 1, regular, &request);
        std::this_thread::sleep_for(std::chrono::milliseconds{20});  // a helper is through with it
        shortage.begun = false;
        if ((code == MPI_SUCCESS) == (request == MPI_REQUEST_NULL)) return MPI_ERR_REQUEST;
        return code == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : code;
    }
    int write_beside_all() {
        MPI_Request request = MPI_REQUEST_NULL;
        auto code = MPI_File_iwrite_at_all(file, 0, memory.data(), 1, regular, &request);
        while (request != MPI_REQUEST_NULL) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
        return code;
    }
    int perform(std::string const& call) {
        if (call == "iwrite_at") return write_beside();
        if (call == "iwrite_at_all") return write_beside_all();
        if (call == "read_all") return read_all();
        if (call == "write_at") return write_alone();
        if (call == "set_view")
            return MPI_File_set_view(file, 0, MPI_BYTE, view, "native", MPI_INFO_NULL);
        return write_all(call == "irregular" ? irregular : regular);
    }
};

char const* name_of_class(int code) {
    int error_class = MPI_SUCCESS;
    MPI_Error_class(code, &error_class);
    if (error_class == MPI_SUCCESS) return "success";
    return error_class == MPI_ERR_NO_MEM ? "no_mem" : "another error";
}

int perform_in_need(Scene& scene, std::string const& call, std::size_t bytes_min, long nth) {
    dl_iterate_phdr(find_engine, nullptr);
    shortage.bytes_min = bytes_min;
    shortage.requests_left = nth;
    MPI_Barrier(MPI_COMM_WORLD);
    shortage.begun = rank == 1;
    auto const code = scene.perform(call);
    shortage.begun = false;
    return code;
}

// From a file that has no helper threads, as after a change of its mode.
int perform_in_each_need(Scene& scene, std::string const& call, std::size_t bytes_min, long times) {
    auto code = MPI_SUCCESS;
    for (long nth = 1; nth <= times; ++nth) {
        for (int const atomic : {1, 0}) MPI_File_set_atomicity(scene.file, atomic);
        auto const next = perform_in_need(scene, call, bytes_min, nth);
        int error_class = MPI_SUCCESS;
        MPI_Error_class(next, &error_class);
        if (error_class != MPI_SUCCESS && error_class != MPI_ERR_NO_MEM) code = next;
    }
    return code;
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 5) MPI_Abort(MPI_COMM_WORLD, 2);
    std::string const call = argv[2];
    Scene scene;
    MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                  &scene.file);
    MPI_File_set_view(scene.file, 0, MPI_BYTE, scene.view, "native", MPI_INFO_NULL);
    if (call != "first") scene.write_all(scene.regular);  // with all that a first call needs
    auto const perform = call == "iwrite_at" ? perform_in_each_need : perform_in_need;
    auto const code = perform(scene, call, std::stoul(argv[3]), std::stol(argv[4]));
    char mine[16] = "";
    std::vector<char> all(static_cast<std::size_t>(ranks) * sizeof mine);
    std::snprintf(mine, sizeof mine, "%s", name_of_class(code));
    MPI_Gather(mine, sizeof mine, MPI_CHAR, all.data(), sizeof mine, MPI_CHAR, 0, MPI_COMM_WORLD);
    for (int i = 0; rank == 0 && i < ranks; ++i) std::printf("%s\n", &all[i * sizeof mine]);
    auto const goes_on = scene.write_all(scene.irregular) == MPI_SUCCESS &&
                         scene.read_all() == MPI_SUCCESS &&
                         MPI_File_close(&scene.file) == MPI_SUCCESS;
    if (goes_on && rank == 0) std::puts("went on");
    MPI_Finalize();
    return goes_on ? 0 : 1;
}
