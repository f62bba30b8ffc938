/* Prints what SimGrid makes of a platform file: hosts, links, and the route of each ordered pair of hosts, or of
 * those whose names come on standard input, one a line.
 *
 * One line each, fields between tabs:  H name zone | L name bytes/s policy | R from to latency link link ...
 * The policy is "shared", "fatpipe" or "wifi". A Wi-Fi link's rate is its first one, which every station has until
 * the simulated program gives it another.
 * With more hosts than the second argument says, their number is all that is printed:  N hosts.
 * Hosts and links are numbered in the order of their lines. Pairs without a route have no line. */
#include <algorithm>
#include <cstdio>
#include <exception>
#include <iostream>
#include <map>
#include <set>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

static const char* policy(const simgrid::s4u::Link* link)
{
  using Policy = simgrid::s4u::Link::SharingPolicy;
  const auto own = link->get_sharing_policy();
  return own == Policy::FATPIPE ? "fatpipe" : own == Policy::WIFI ? "wifi" : "shared";
}

int main(int argc, char** argv)
{
  using simgrid::s4u::Link;
  simgrid::s4u::Engine engine(&argc, argv);
  try {
    engine.load_platform(argv[1]);
    engine.seal_platform();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  auto hosts = engine.get_all_hosts();
  std::set<std::string> wanted;
  for (std::string name; std::getline(std::cin, name);)
    wanted.insert(name);
  if (not wanted.empty())
    hosts.erase(std::remove_if(hosts.begin(), hosts.end(),
                               [&wanted](const auto* host) { return wanted.count(host->get_name()) == 0; }),
                hosts.end());
  if (hosts.size() > std::stoul(argv[2])) {
    std::printf("N\t%zu\n", hosts.size());
    return 0;
  }
  for (const auto* host : hosts)
    std::printf("H\t%s\t%s\n", host->get_cname(), host->get_englobing_zone()->get_cname());
  std::map<const Link*, int> numbers;
  for (std::size_t from = 0; from < hosts.size(); from++)
    for (std::size_t to = 0; to < hosts.size(); to++) {
      if (from == to)
        continue;
      std::vector<Link*> links;
      double latency = 0;
      try {
        hosts[from]->route_to(hosts[to], links, &latency);
      } catch (const std::exception&) {
        continue;
      }
      for (auto* link : links)
        if (numbers.emplace(link, static_cast<int>(numbers.size())).second)
          std::printf("L\t%s\t%.17g\t%s\n", link->get_cname(), link->get_bandwidth(), policy(link));
      std::printf("R\t%zu\t%zu\t%.17g", from, to, latency);
      for (const auto* link : links)
        std::printf("\t%d", numbers[link]);
      std::printf("\n");
    }
  return 0;
}
