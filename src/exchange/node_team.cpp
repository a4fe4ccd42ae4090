#include "exchange/node_team.hpp"

#include <sched.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <new>
#include <thread>

#include "support/hash.hpp"
#include "support/scarce_descriptors.hpp"
#include "support/wait_until.hpp"
#include "unisono/extent.hpp"

namespace unisono {

NodeTeam::NodeTeam(Name name, Topology topology, std::uint32_t rank)
    : name_{name}, topology_{std::move(topology)}, rank_{rank} {
    assert(topology_.nodes() == 1);
    turns_taken_.resize(ranks());
    control_ = allocate_control();
    auto memory = control_.bytes;
    rendezvous_ = std::make_unique<Rendezvous>(*this, memory, rank_, ranks());
    memory = memory.subspan(Rendezvous::bytes_needed(ranks()));
    places_ = std::launder(reinterpret_cast<Place*>(memory.data()));
    memory = memory.subspan(ranks() * sizeof(Place));
    turns_ = std::launder(reinterpret_cast<std::atomic<std::uint8_t>*>(memory.data()));
}

std::size_t NodeTeam::control_bytes() const {
    return Rendezvous::bytes_needed(ranks()) + ranks() * (sizeof(Place) + ranks());
}

// ---- memory

// Of this rank's socket for the next segment.
NodeTeam::Name NodeTeam::name_of(std::uint32_t rank) const {
    std::array<std::uint64_t, 4> const parts{name_.high, name_.low, shares_, rank};
    auto const hash = hash128(parts);
    return {hash[0], hash[1]};
}

namespace {

// Its own, and a socket's.
constexpr std::size_t descriptors_of_a_segment = 2;

// Where what was tried can fail for ever: the others learn of it when this program ends.
void retry_unless_descriptors_lack(NodeTeam& team) {
    if (errno == EMFILE || errno == ENFILE) throw std::bad_alloc{};
    team.idle();
}

}  // namespace

SharedSegment NodeTeam::share(SharedSegment segment, std::size_t bytes) {
    ++shares_;
    if (rank_ == 0) {
        auto const socket = DescriptorSocket::sender(name_of(0));
        if (socket.address() == Name{}) throw std::bad_alloc{};
        for (std::uint32_t rank = 1; rank < ranks(); ++rank)
            while (!socket.send(segment.descriptor(), name_of(rank))) idle();
        return segment;
    }
    DescriptorSocket socket;
    while (socket.address() == Name{}) {
        socket = DescriptorSocket::facing(name_of(0), name_of(rank_));
        if (socket.address() == Name{}) retry_unless_descriptors_lack(*this);
    }
    auto descriptor = socket.receive();
    for (; descriptor < 0; descriptor = socket.receive()) retry_unless_descriptors_lack(*this);
    return SharedSegment::open(descriptor, bytes);
}

NodeMemory NodeTeam::allocate_control() {
    NodeMemory memory;
    if (ranks() == 1) {
        memory = NodeMemory::of_one_rank(control_bytes());
        if (memory.bytes.empty()) throw std::bad_alloc{};
        return memory;
    }
    make_room_for_descriptors(descriptors_of_a_segment);
    auto segment = rank_ == 0 ? SharedSegment::create(control_bytes()) : SharedSegment{};
    if (rank_ == 0 && segment.bytes().empty()) throw std::bad_alloc{};
    memory.segment = share(std::move(segment), control_bytes());
    memory.bytes = memory.segment.bytes();
    if (memory.bytes.empty() || !memory.segment.take_part(rank_, ranks())) throw std::bad_alloc{};
    return memory;
}

NodeMemory NodeTeam::allocate(std::size_t bytes) {
    if (ranks() == 1) return NodeMemory::of_one_rank(bytes);
    NodeMemory memory;
    make_room_for_descriptors(descriptors_of_a_segment);
    auto segment = rank_ == 0 ? SharedSegment::create(bytes) : SharedSegment{};
    if (!all(rank_ != 0 || !segment.bytes().empty())) return {};
    memory.segment = share(std::move(segment), bytes);
    auto const usable = !memory.segment.bytes().empty() && memory.segment.take_part(rank_, ranks());
    if (!all(usable)) return {};
    memory.bytes = memory.segment.bytes();
    return memory;
}

std::shared_ptr<std::span<std::byte> const> NodeTeam::own_node_memory(std::size_t bytes) {
    auto const memory = std::make_shared<NodeMemory>(allocate(bytes));
    if (memory->bytes.empty()) return nullptr;
    return {memory, &memory->bytes};
}

// ---- meetings

void NodeTeam::idle() {
    constexpr std::chrono::microseconds nap{20};
    if (waiting_ != nullptr && waiting_->load(std::memory_order_relaxed) != 0)
        sched_yield();
    else
        std::this_thread::sleep_for(nap);
}

void NodeTeam::meet() {
    places_[rank_].arrived.store(++meetings_, std::memory_order_release);
    for (std::size_t rank = 0; rank < ranks(); ++rank)
        wait_until(
            [&] { return places_[rank].arrived.load(std::memory_order_acquire) >= meetings_; },
            [&] { idle(); }, true);
}

bool NodeTeam::all(bool mine) {
    std::uint64_t least = mine ? 1 : 0;
    reduce({&least, 1}, Reduction::minimum, Among::all);
    return least != 0;
}

void NodeTeam::gather_bytes(std::span<std::byte const> mine, std::span<std::byte> all) {
    auto const size = mine.size();
    for (std::size_t begin = 0; begin < size; begin += Place::board_bytes) {
        auto const bytes = std::min(size - begin, Place::board_bytes);
        std::memcpy(places_[rank_].board, mine.data() + begin, bytes);
        meet();
        for (std::size_t rank = 0; rank < ranks(); ++rank)
            std::memcpy(all.data() + rank * size + begin, places_[rank].board, bytes);
        meet();  // before any board is used again
    }
}

void NodeTeam::reduce(std::span<std::uint64_t> values, Reduction reduction, Among) {
    constexpr auto words = Place::board_bytes / sizeof(std::uint64_t);
    for (std::size_t begin = 0; begin < values.size(); begin += words) {
        auto const part = values.subspan(begin, std::min(words, values.size() - begin));
        std::vector<std::uint64_t> all(part.size() * ranks());
        gather_bytes(std::as_bytes(part), std::as_writable_bytes(std::span{all}));
        std::ranges::copy(std::span{all}.first(part.size()), part.begin());
        for (std::size_t i = part.size(); i < all.size(); ++i) {
            auto& value = part[i % part.size()];
            value = reduced(reduction, value, all[i]);
        }
    }
}

std::vector<std::byte> NodeTeam::from_rank_0(std::vector<std::byte> bytes) {
    std::uint64_t const size = bytes.size();
    bytes.resize(gather_values(std::span<std::uint64_t const>{&size, 1})[0]);
    for (std::size_t begin = 0; begin < bytes.size(); begin += Place::board_bytes) {
        auto const part =
            std::span{bytes}.subspan(begin, std::min(bytes.size() - begin, Place::board_bytes));
        auto* const board = places_[0].board;
        if (rank_ == 0) std::memcpy(board, part.data(), part.size());
        meet();
        if (rank_ != 0) std::memcpy(part.data(), board, part.size());
        meet();  // before the board is used again
    }
    return bytes;
}

// ---- turns

void NodeTeam::start_sending(std::uint32_t to, [[maybe_unused]] Kind kind,
                             [[maybe_unused]] Message message) {
    assert(kind == Kind::turn && message.empty());
    turn(rank_, to).fetch_add(1, std::memory_order_release);
}

Message NodeTeam::receive(std::uint32_t from, [[maybe_unused]] Kind kind) {
    assert(kind == Kind::turn);
    while (turn(from, rank_).load(std::memory_order_acquire) == turns_taken_[from]) idle();
    ++turns_taken_[from];
    return {};
}

}  // namespace unisono
