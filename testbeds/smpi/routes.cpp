// What SimGrid knows of a platform, as JSON: every route between the named hosts.
//
//     routes PLATFORM.xml HOSTS
//
// Any file that SimGrid reads is read, whatever zones and routings it uses, because SimGrid reads it.
#include <fstream>
#include <iostream>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

namespace sg4 = simgrid::s4u;

static std::string quoted(const std::string& text)
{
    std::string out = "\"";
    for (char letter : text) {
        if (letter == '"' || letter == '\\') out += '\\';
        out += letter;
    }
    return out + "\"";
}

int main(int argc, char** argv)
{
    sg4::Engine engine(&argc, argv);
    if (argc != 3) {
        std::cerr << "usage: routes PLATFORM.xml HOSTS\n";
        return 2;
    }
    engine.load_platform(argv[1]);
    engine.seal_platform();
    std::vector<sg4::Host*> hosts;
    std::ifstream names(argv[2]);
    for (std::string name; names >> name;) {
        sg4::Host* host = engine.host_by_name_or_null(name.substr(0, name.find(':')));
        if (host == nullptr) {
            std::cerr << "no host \"" << name << "\" in " << argv[1] << "\n";
            return 2;
        }
        hosts.push_back(host);
    }
    std::cout.precision(17);
    std::cout << "{\"links\": {";
    const char* comma = "";
    for (const sg4::Link* link : engine.get_all_links()) {
        bool is_fat = link->get_sharing_policy() == sg4::Link::SharingPolicy::FATPIPE;
        std::cout << comma << quoted(link->get_name()) << ": {\"bandwidth_bytes_per_s\": " << link->get_bandwidth()
                  << ", \"shared\": " << (is_fat ? "false" : "true") << "}";
        comma = ", ";
    }
    std::cout << "}, \"hosts\": [";
    comma = "";
    for (const sg4::Host* host : hosts) {
        std::cout << comma << quoted(host->get_name());
        comma = ", ";
    }
    std::cout << "], \"routes\": [";
    comma = "";
    for (size_t from = 0; from < hosts.size(); from++)
        for (size_t to = 0; to < hosts.size(); to++) {
            if (from == to) continue;
            std::vector<sg4::Link*> links;
            double latency = 0;
            hosts[from]->route_to(hosts[to], links, &latency);
            std::cout << comma << "[" << from << ", " << to << ", " << latency << ", [";
            const char* between = "";
            for (const sg4::Link* link : links) {
                std::cout << between << quoted(link->get_name());
                between = ", ";
            }
            std::cout << "]]";
            comma = ", ";
        }
    std::cout << "]}\n";
    return 0;
}
