#include "trace.hpp"

#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "report/shape_text.hpp"
#include "shapes.hpp"

namespace bench::replay {
namespace {

using Json = nlohmann::ordered_json;
using unisono::RecordedKind;

Place own_place() {
    Place place;
    MPI_Comm_rank(MPI_COMM_WORLD, &place.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &place.ranks);
    return place;
}

/// Rank i's is the i-th of rank 0's texts.
std::string scattered(std::vector<std::string> const& texts) {
    std::vector<int> sizes, starts;
    std::string all;
    for (auto const& text : texts) {
        sizes.push_back(static_cast<int>(text.size()));
        starts.push_back(static_cast<int>(all.size()));
        all += text;
    }
    int size = 0;
    MPI_Scatter(sizes.data(), 1, MPI_INT, &size, 1, MPI_INT, 0, MPI_COMM_WORLD);
    std::string own(static_cast<std::size_t>(size), '\0');
    MPI_Scatterv(all.data(), sizes.data(), starts.data(), MPI_CHAR, own.data(), size, MPI_CHAR, 0,
                 MPI_COMM_WORLD);
    return own;
}

Json trace_of(std::string const& path) {
    std::ifstream file{path};
    if (!file) throw std::runtime_error("it cannot be read");
    return Json::parse(file);
}

/// What each rank needs of one file.
std::vector<std::string> parts_of(Json recording, Json const& calls_at_most, Place place) {
    auto const tracks = std::exchange(recording["ranks"], nullptr);
    if (tracks.size() > static_cast<std::size_t>(place.ranks))
        throw std::runtime_error("the trace has " + std::to_string(tracks.size()) +
                                 " ranks, and here are " + std::to_string(place.ranks));
    recording["ranks"] = tracks.size();
    recording["calls_at_most"] = calls_at_most;
    std::vector<std::string> parts(static_cast<std::size_t>(place.ranks));
    for (std::size_t rank = 0; rank < parts.size(); ++rank) {
        recording["own"] = rank < tracks.size() ? tracks[rank] : Json{};
        parts[rank] = recording.dump();
    }
    return parts;
}

/// The parts of all files. Returns what is wrong, if anything is.
std::string read_all_parts(std::string const& path, Place place,
                           std::vector<std::vector<std::string>>& files) {
    try {
        auto const trace = trace_of(path);
        for (auto const& file : trace.at("files"))
            files.push_back(parts_of(file, trace.at("calls"), place));
        return {};
    } catch (std::exception const& error) {
        return path + ": " + error.what();
    }
}

/// Throws rank 0's error, if there is one, on all ranks.
void fail_together(std::string error) {
    auto bytes = static_cast<int>(error.size());
    MPI_Bcast(&bytes, 1, MPI_INT, 0, MPI_COMM_WORLD);
    error.resize(static_cast<std::size_t>(bytes));
    MPI_Bcast(error.data(), bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (!error.empty()) throw AgreedError(error);
}

RecordedKind kind_of(std::string const& name) {
    if (name == "write") return RecordedKind::write;
    if (name == "read") return RecordedKind::read;
    if (name == "sync") return RecordedKind::sync;
    throw std::runtime_error("the trace has a call that is unknown: " + name);
}

std::vector<unisono::Tiling> views_of(Json const& track) {
    std::vector<unisono::Tiling> views;
    for (auto const& view : track.at("views")) {
        auto const tile = unisono::shape_from_text(view.at("tile").dump());
        if (tile == nullptr) throw std::runtime_error("the trace has a view that is damaged");
        views.push_back({tile, 0, view.at("extent").get<std::int64_t>()});
    }
    return views;
}

/// Adds one entry of a track, call by call.
void expand(Json const& entry, std::vector<unisono::Tiling> const& views, std::size_t at_most,
            std::vector<Call>& calls) {
    auto const kind = kind_of(entry.at(0).get<std::string>());
    auto const count = entry.at(5).get<std::uint64_t>();
    for (std::uint64_t i = 0; i < count && calls.size() < at_most; ++i) {
        Call call{.kind = kind};
        if (kind != RecordedKind::sync) {
            call.view = views.at(entry.at(1).get<std::size_t>());
            call.view.origin = entry.at(2).get<std::int64_t>() +
                               static_cast<std::int64_t>(i) * entry.at(6).get<std::int64_t>();
            auto const first = entry.at(3).get<std::uint64_t>() +
                               i * static_cast<std::uint64_t>(entry.at(7).get<std::int64_t>());
            call.positions = {first, first + entry.at(4).get<std::uint64_t>()};
        }
        calls.push_back(std::move(call));
    }
}

PlayedFile played_file(Json const& part) {
    PlayedFile file{.path = part.at("path"), .access = part.at("access")};
    for (auto const& [key, value] : part.at("hints").items())
        file.hints.emplace_back(key, value.get<std::string>());
    file.ranks = part.at("ranks").get<int>();
    auto const& track = part.at("own");
    if (track.is_null()) return file;
    auto const& most = part.at("calls_at_most");
    auto const views = views_of(track);
    for (auto const& entry : track.at("calls"))
        expand(entry, views, most.is_null() ? SIZE_MAX : most.get<std::size_t>(), file.calls);
    return file;
}

}  // namespace

std::vector<PlayedFile> read_trace(std::string const& path) {
    auto const place = own_place();
    std::vector<std::vector<std::string>> files;
    std::string error;
    if (place.rank == 0) error = read_all_parts(path, place, files);
    fail_together(std::move(error));
    std::uint64_t count = files.size();
    MPI_Bcast(&count, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    files.resize(count);
    std::vector<PlayedFile> played;
    for (auto const& parts : files) played.push_back(played_file(Json::parse(scattered(parts))));
    return played;
}

}  // namespace bench::replay
