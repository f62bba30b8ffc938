/* Sends a message between every two hosts, one pair at a time, and prints how long SimGrid takes for it:
 * from, to, seconds. The second argument is the size in bytes. */
#include <cstdio>
#include <cstdlib>
#include <simgrid/s4u.hpp>
#include <string>

int main(int argc, char** argv)
{
  namespace s4u = simgrid::s4u;
  s4u::Engine engine(&argc, argv);
  engine.load_platform(argv[1]);
  const auto bytes = std::strtoull(argv[2], nullptr, 10);
  const auto hosts = engine.get_all_hosts();
  // The first of a Wi-Fi link's rates, to every host of its zone.
  for (auto* link : engine.get_all_links())
    if (link->get_sharing_policy() == s4u::Link::SharingPolicy::WIFI)
      for (auto* host : hosts)
        if (std::string(host->get_englobing_zone()->get_cname()) == "air")
          link->set_host_wifi_rate(host, 0);
  s4u::Actor::create("sender", hosts[0], [&hosts, bytes] {
    for (auto* from : hosts)
      for (auto* to : hosts) {
        if (from == to)
          continue;
        const double begin = s4u::Engine::get_clock();
        s4u::Comm::sendto(from, to, bytes);
        std::printf("%s %s %.12g\n", from->get_cname(), to->get_cname(), s4u::Engine::get_clock() - begin);
      }
  });
  engine.run();
  return 0;
}
