// Where sites, clusters and nodes lie on the map, in a square of SIDE units.
const SIDE = 1000;

function placesOfMap() {
  const loose = platform.clusters.length === 1 && platform.links.length > 0;
  return loose && platform.nodes.length <= 300 ? byForces() : inCircles();
}

// Circles packed in circles: nodes in clusters in sites.
function inCircles() {
  const sites = new Map();
  platform.clusters.forEach((_, cluster) => {
    const site = platform.sites[cluster] ?? `\u0000${cluster}`;
    if (!sites.has(site)) sites.set(site, []);
    sites.get(site).push(cluster);
  });
  const tree = {
    children: [...sites].map(([site, clusters]) => ({
      site: site.startsWith("\u0000") ? null : site,
      children: clusters.map((cluster) => ({ cluster, children: membersOf[cluster].map((node) => ({ node })) })),
    })),
  };
  const root = d3.hierarchy(tree).sum((item) => (item.children ? 0 : 1));
  const middling = 12 * Math.sqrt(platform.nodes.length / platform.clusters.length); // radius of a cluster
  const gaps = [sites.size > 1 ? 0.9 * middling : 0, 0.6 * middling];
  // A cluster of one would be as large as its node: half a node of air round each.
  d3.pack().size([SIDE, SIDE]).radius(() => 10).padding((item) => [gaps[0], gaps[1], 6][item.depth] ?? 0)(root);
  const scale = (SIDE - 20) / (2 * root.r);
  const at = (item) => ({ x: SIDE / 2 + (item.x - root.x) * scale, y: SIDE / 2 + (item.y - root.y) * scale, r: item.r * scale });
  const places = { sites: [], clusters: [], nodes: [] };
  root.each((item) => {
    if (item.depth === 1 && item.data.site) places.sites.push({ ...at(item), name: item.data.site });
    if (item.depth === 2) { const place = at(item); place.r += 8 * scale; places.clusters[item.data.cluster] = place; }
    if (item.depth === 3) places.nodes[item.data.node] = at(item);
  });
  for (const site of places.sites) site.r += 12 * scale;
  return { ...places, loose: false };
}

// Without clusters: nodes that are linked draw each other near. d3's generator is seeded: always the same map.
function byForces() {
  const nodes = platform.nodes.map((_, node) => ({ node }));
  const seen = new Set();
  const links = [];
  for (const [source, target] of platform.links) {
    const key = source < target ? `${source},${target}` : `${target},${source}`;
    if (!seen.has(key)) { seen.add(key); links.push({ source, target }); }
  }
  d3.forceSimulation(nodes)
    .force("link", d3.forceLink(links).distance(70).strength(0.7))
    .force("charge", d3.forceManyBody().strength(-320))
    .force("x", d3.forceX(0).strength(0.03)).force("y", d3.forceY(0).strength(0.03))
    .stop().tick(400);
  const [left, right] = d3.extent(nodes, (node) => node.x), [top, bottom] = d3.extent(nodes, (node) => node.y);
  const extent = Math.max(right - left, bottom - top, 1);
  const scale = (SIDE - 160) / extent;
  const r = Math.min(24, Math.max(7, 230 / Math.sqrt(nodes.length)));
  const places = nodes.map((node) => ({
    x: SIDE / 2 + (node.x - (left + right) / 2) * scale, y: SIDE / 2 + (node.y - (top + bottom) / 2) * scale, r,
  }));
  return { sites: [], clusters: [{ x: SIDE / 2, y: SIDE / 2, r: SIDE / 2 - 5 }], nodes: places, loose: true };
}

// A bent way between two circles, from rim to rim; `bend` keeps the ways there and back, and trees, apart.
function way(from, to, bend) {
  const dx = to.x - from.x, dy = to.y - from.y;
  const long = Math.hypot(dx, dy) || 1;
  const start = { x: from.x + dx / long * from.r, y: from.y + dy / long * from.r };
  const end = { x: to.x - dx / long * to.r, y: to.y - dy / long * to.r };
  const middle = { x: (start.x + end.x) / 2 - dy * bend, y: (start.y + end.y) / 2 + dx * bend };
  return { start, middle, end };
}
const pathOf = ({ start, middle, end }) =>
  `M${start.x.toFixed(1)},${start.y.toFixed(1)}Q${middle.x.toFixed(1)},${middle.y.toFixed(1)} ${end.x.toFixed(1)},${end.y.toFixed(1)}`;
function alongWay({ start, middle, end }, part) {
  const rest = 1 - part;
  return {
    x: rest * rest * start.x + 2 * rest * part * middle.x + part * part * end.x,
    y: rest * rest * start.y + 2 * rest * part * middle.y + part * part * end.y,
  };
}
