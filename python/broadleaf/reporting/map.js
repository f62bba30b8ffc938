// The map: sites, clusters and nodes, links as wide as their rate, trees in colours, segments under way.
const places = placesOfMap();
const EVERY_NODE = 700; // so many nodes are drawn at once; of more, only those of opened clusters
const WIDTH_OF_LETTER = 0.56; // of a bold one, on average, over its size
const MOST_TIES = 300; // more links between clusters hide each other: then only those that trees use
const CLEAR_EDGES = 400; // of more, each is fainter: together they are a pattern, or a black blot
const MANY_CLUSTERS = 24; // more are small on the map: then trees and segments are drawn thinner
const LIMITS = 0.9; // as in verdict.py: what is held for this share of the time is the limit
const nodeOf = new Map(platform.nodes.map((name, node) => [name, node]));
const drawsAll = platform.nodes.length <= EVERY_NODE;
const dense = !drawsAll && places.clusters.length > MANY_CLUSTERS;
const isOpen = (cluster) => drawsAll || state.open.has(cluster);
const placeOf = (node) => (isOpen(platform.cluster_of[node]) ? places.nodes[node] : places.clusters[platform.cluster_of[node]]);
const rates = [...platform.ties.flatMap((tie) => [tie[2], tie[3]]), ...platform.links.map((link) => link[2]), ...platform.inside]
  .filter((value) => value !== null && value !== undefined);
const widthOf = d3.scaleSqrt().domain([0, d3.max(rates) || 1]).range([0.8, 8]);
const tieWidth = (value) => (value === null || value === undefined ? widthOf.range()[1] : widthOf(value));

const maps = [];

// What neither begins nor ends in the opened cluster would hide what does.
const isAside = (...ends) => state.open.size > 0 && !ends.some((node) => state.open.has(platform.cluster_of[node]));
const keyOf = (node) => (isOpen(platform.cluster_of[node]) ? node : `c${platform.cluster_of[node]}`);
const bendOf = (order, count) => 0.07 + (count > 1 ? 0.24 * order / count : 0);

// The resources that limit a plan: held nearly all the time, as long as any other.
function limitsOf(plan) {
  const longest = d3.max(plan.busy, ([, held]) => held) ?? 0;
  return new Set(longest < LIMITS * plan.makespan_s ? [] : plan.busy.filter(([, held]) => held >= 0.995 * longest).map(([name]) => name));
}

// Their pipes by name, and their links as [source, target]. Names may contain spaces.
function limitingOf(plan) {
  const full = [...limitsOf(plan)];
  const pipes = new Set(full.filter((name) => name.startsWith("shared ")).map((name) => name.slice(7)));
  const links = full.filter((name) => name.startsWith("link ")).map((name) => {
    const words = name.split(" ").slice(1);
    return d3.range(1, words.length).map((at) => [nodeOf.get(words.slice(0, at).join(" ")), nodeOf.get(words.slice(at).join(" "))])
      .find((ends) => !ends.includes(undefined));
  }).filter((ends) => ends);
  const clusters = new Set(links.map((ends) => ends.map((node) => platform.cluster_of[node]).sort((a, b) => a - b).join()));
  return { pipes, links: new Set(links.map((ends) => ends.join())), clusters };
}

// A name wider than what it names would cover its neighbours: the longest of its texts that is not, if any.
const textOf = (name, k) =>
  name.room ? name.texts.find((text) => text.length * WIDTH_OF_LETTER * name.size <= name.room * k) : name.text;

// What the names of a cluster begin with, up to its last sign that is neither letter nor digit.
const commonStart = membersOf.map((members) => {
  const names = members.map((node) => platform.nodes[node]);
  const shared = d3.range(names[0]?.length ?? 0).findIndex((at) => names.some((name) => name[at] !== names[0][at]));
  return shared < 1 ? 0 : (names[0].slice(0, shared).match(/.*[^\p{L}\p{N}]/u)?.[0].length ?? 0);
});

// A node's name, else what it does not share with the other names of its cluster, else none.
function nameOf(node, k) {
  const name = platform.nodes[node];
  return [name, name.slice(commonStart[platform.cluster_of[node]])].find((text) => text && text.length * 6.4 < 2 * places.nodes[node].r * k);
}

// A map of the platform with one plan on it: `planShown` gives the plan, or undefined while there is none.
function mapOn(holder, planShown, hidden) {
  const svg = d3.select(holder).select("svg");
  const canvas = holder.querySelector("canvas");
  const world = svg.append("g");
  // Trees pass behind closed clusters, whose names and rings they would hide.
  const order = drawsAll ? ["sites", "ties", "clusters", "links", "edges"] : ["sites", "ties", "links", "edges", "clusters"];
  const layer = Object.fromEntries([...order, "nodes", "names"].map((name) => [name, world.append("g").attr("class", name)]));
  let view = d3.zoomIdentity;
  let ways = new Map();
  let drawnNodes = d3.quadtree();

  const zoom = d3.zoom().scaleExtent([0.5, 60]).on("zoom", (event) => {
    view = event.transform;
    world.attr("transform", view);
    sizeNames();
    drawSegments();
    // What a hand did to one map, the other does too.
    if (event.sourceEvent) for (const other of maps) other.follow(view);
  });
  svg.call(zoom).on("dblclick.zoom", null);

  function fitView(place, glide = true) {
    const { width, height } = holder.getBoundingClientRect();
    const k = Math.min(width, height) / (2.06 * place.r);
    const target = d3.zoomIdentity.translate(width / 2 - place.x * k, height / 2 - place.y * k).scale(k);
    const slow = glide && !matchMedia("(prefers-reduced-motion: reduce)").matches;
    (slow ? svg.transition().duration(450) : svg).call(zoom.transform, target);
  }
  function boundsOfAll() {
    const all = places.loose ? places.nodes : [...places.clusters, ...places.sites];
    const [left, right] = [d3.min(all, (p) => p.x - p.r), d3.max(all, (p) => p.x + p.r)];
    const [top, bottom] = [d3.min(all, (p) => p.y - p.r) - 24, d3.max(all, (p) => p.y + p.r)];
    const { width, height } = holder.getBoundingClientRect();
    const r = Math.max((right - left) / 2 / Math.max(1, width / height), (bottom - top) / 2) * 1.03;
    return { x: (left + right) / 2, y: (top + bottom) / 2, r };
  }
  // The drawn edges of the trees: nodes of closed clusters count as their cluster.
  function drawnEdges(plan) {
    const drawn = new Map();
    plan.trees.forEach((tree, order) => {
      if (hidden.has(tree.number)) return;
      const direct = tree.parents.map((parent, node) => [parent, node]).filter(([parent]) => parent >= 0);
      [...direct, ...tree.hops].forEach(([parent, node]) => {
        const from = placeOf(parent), to = placeOf(node);
        if (from === to) return;
        const key = `${tree.number}:${keyOf(parent)}:${keyOf(node)}`;
        const edge = drawn.get(key) ?? { key, from, to, order, tree, parent, node, count: 0 };
        edge.count += 1;
        drawn.set(key, edge);
      });
    });
    return [...drawn.values()];
  }
  function drawMap() {
    const plan = planShown();
    const colour = treeColours(plan);
    layer.sites.selectAll("circle").data(places.sites).join("circle").attr("class", "site")
      .attr("cx", (site) => site.x).attr("cy", (site) => site.y).attr("r", (site) => site.r);
    const edges = drawnEdges(plan);
    drawTies(edges);
    drawClusters();
    drawNodes(plan);
    const many = !state.open.size && edges.length > CLEAR_EDGES;
    const wide = (edge) => (dense ? 0.5 : 1) * (1.2 + 3.2 * Math.sqrt(edge.tree.share));
    ways = new Map(edges.map((edge) => [edge.key, way(edge.from, edge.to, bendOf(edge.order, plan.trees.length))]));
    layer.edges.selectAll("path").data(edges, (edge) => edge.key).join("path").attr("class", "edge")
      .attr("d", (edge) => pathOf(ways.get(edge.key))).attr("stroke", (edge) => colour(edge.tree.number))
      .attr("stroke-width", wide).attr("vector-effect", "non-scaling-stroke")
      .style("stroke-opacity", (edge) => (isAside(edge.parent, edge.node) ? 0.07 : many ? Math.max(0.1, 0.75 * CLEAR_EDGES / edges.length) : null))
      .on("pointermove", (event, edge) => tip(event, edge.count > 1
        ? `tree of share ${percent(edge.tree.share)}: ${edge.count} links`
        : `${platform.nodes[edge.parent]} to ${platform.nodes[edge.node]}\ntree of share ${percent(edge.tree.share)}`))
      .on("pointerleave", (event) => tip(event, null));
    drawNames();
    drawTime();
  }

  function drawTies(edges) {
    const used = new Set(edges.map((edge) => [platform.cluster_of[edge.parent], platform.cluster_of[edge.node]].sort((a, b) => a - b).join()));
    const limiting = limitingOf(planShown());
    const few = platform.ties.length <= MOST_TIES;
    const shown = platform.ties.filter(([one, other]) => few || used.has(`${one},${other}`));
    layer.ties.selectAll("path").data(shown).join("path").attr("class", "tie")
      .attr("d", ([one, other]) => pathOf(way(places.clusters[one], places.clusters[other], 0)))
      .style("stroke-opacity", ([one, other]) => (state.open.size && !state.open.has(one) && !state.open.has(other) ? 0.07 : null))
      .classed("limiting", ([one, other, , , , , pipes]) => limiting.clusters.has(`${one},${other}`) || used.has(`${one},${other}`) && pipes.some((pipe) => limiting.pipes.has(pipe)))
      .attr("stroke-width", ([, , there, back]) => tieWidth(there === null || back === null ? there ?? back : Math.max(there, back)))
      .attr("vector-effect", "non-scaling-stroke")
      .on("pointermove", (event, [one, other, there, back, latency, count, pipes]) => {
        const both = there === back ? rate(there) : `${rate(there)} there, ${rate(back)} back`;
        tip(event, `${clusterName(one)} – ${clusterName(other)}: ${both}\nlatency ${seconds(latency)}, ${whole(count)} link${count === 1 ? "" : "s"}${pipes.length ? `\nshared: ${pipes.join(", ")}` : ""}`);
      })
      .on("pointerleave", (event) => tip(event, null));
    const visible = platform.links.filter(([source]) => isOpen(platform.cluster_of[source]));
    layer.links.selectAll("path").data(visible).join("path").attr("class", "tie")
      .attr("d", ([source, target]) => pathOf(way(places.nodes[source], places.nodes[target], 0)))
      .classed("limiting", ([source, target, , , pipes]) => limiting.links.has(`${source},${target}`) || pipes.some((pipe) => limiting.pipes.has(pipe)))
      .attr("stroke-width", (link) => tieWidth(link[2])).attr("vector-effect", "non-scaling-stroke")
      .on("pointermove", (event, [source, target, value, latency]) =>
        tip(event, `${platform.nodes[source]} to ${platform.nodes[target]}: ${rate(value)}\nlatency ${seconds(latency)}`))
      .on("pointerleave", (event) => tip(event, null));
  }

  function drawClusters() {
    if (places.loose) return;
    const data = places.clusters.map((place, cluster) => ({ place, cluster }));
    const one = data.length === 1 && drawsAll;
    const groups = layer.clusters.selectAll("g").data(data).join((enter) => {
      const made = enter.append("g").attr("class", "group").attr("role", "button").attr("tabindex", one ? null : 0);
      made.append("circle").attr("class", "cluster").attr("vector-effect", "non-scaling-stroke");
      made.append("path").attr("class", "progress");
      made.on("click", (_, { cluster }) => openCluster(cluster)).on("keydown", (event, { cluster }) => {
        if (event.key === "Enter" || event.key === " ") { event.preventDefault(); openCluster(cluster); }
      });
      return made;
    });
    groups.attr("aria-label", ({ cluster }) => `Cluster ${clusterName(cluster)}, ${membersOf[cluster].length} nodes: enlarge`)
      .on("pointermove", (event, { cluster }) => tip(event, `${clusterName(cluster)}: ${whole(membersOf[cluster].length)} nodes` +
        (platform.inside[cluster] === null ? "" : `\ninside ${rate(platform.inside[cluster])}`)))
      .on("pointerleave", (event) => tip(event, null));
    // Of a closed cluster the rim stands for the found nodes in it.
    groups.classed("opened", ({ cluster }) => !drawsAll && isOpen(cluster));
    groups.classed("found", ({ cluster }) => !isOpen(cluster) && membersOf[cluster].some((node) => state.found.has(node)));
    const { clusters } = limitingOf(planShown());
    groups.select(".cluster").classed("limiting", ({ cluster }) => clusters.has(`${cluster},${cluster}`)).attr("cx", (d) => d.place.x).attr("cy", (d) => d.place.y).attr("r", (d) => d.place.r)
      .attr("stroke-width", ({ cluster }) => (platform.inside[cluster] === null ? 1 : 1 + tieWidth(platform.inside[cluster]) / 2));
  }

  function drawNodes(plan) {
    const shown = platform.nodes.map((_, node) => node).filter((node) => isOpen(platform.cluster_of[node]));
    drawnNodes = d3.quadtree(shown, (node) => places.nodes[node].x, (node) => places.nodes[node].y);
    const groups = layer.nodes.selectAll("g").data(shown, (node) => node).join((enter) => {
      const made = enter.append("g").attr("class", "node").attr("role", "button");
      made.each(function (node) {
        const { x, y, r } = places.nodes[node];
        if (isSwitch.has(node)) d3.select(this).append("rect").attr("x", x - r * 0.8).attr("y", y - r * 0.8).attr("width", r * 1.6).attr("height", r * 1.6);
        else d3.select(this).append("circle").attr("cx", x).attr("cy", y).attr("r", r);
      });
      made.append("text").attr("text-anchor", "middle").text((node) => platform.nodes[node]);
      made.on("click", (event, node) => { event.stopPropagation(); chooseNode(node); });
      made.on("keydown", nodeKey);
      made.on("pointermove", (event, node) => tip(event, `${platform.nodes[node]}${node === planShown().root ? ", the root" : ""}\ncomplete at ${seconds(planShown().finish_s[node])}`));
      made.on("pointerleave", (event) => tip(event, null));
      return made;
    });
    // One node takes part in tabbing; arrow keys go on to the others.
    const first = shown.includes(state.node) ? state.node : shown.includes(plan.root) ? plan.root : shown[0];
    groups.attr("tabindex", (node) => (node === first ? 0 : -1))
      .classed("root", (node) => node === plan.root).classed("selected", (node) => node === state.node).classed("found", (node) => state.found.has(node))
      .attr("aria-label", (node) => `${isSwitch.has(node) ? "Switch" : "Node"} ${platform.nodes[node]}${node === plan.root ? ", the root" : ""}${state.found.has(node) ? ", found" : ""}: show its sends`);
    groups.select("circle, rect").attr("vector-effect", "non-scaling-stroke")
      .attr("stroke-width", (node) => (node === plan.root ? 2.5 : node === state.node ? 3 : 1));
  }

  function nodeKey(event, node) {
    if (event.key === "Enter" || event.key === " ") { event.preventDefault(); event.stopPropagation(); chooseNode(node); return; }
    const towards = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (!towards) return;
    event.preventDefault();
    const here = places.nodes[node];
    const next = d3.least(layer.nodes.selectAll("g").data(), (other) => {
      const dx = places.nodes[other].x - here.x, dy = places.nodes[other].y - here.y;
      const ahead = dx * towards[0] + dy * towards[1];
      return ahead > 1e-6 ? ahead + 2.5 * Math.abs(dx * towards[1] + dy * towards[0]) : Infinity;
    });
    const target = layer.nodes.selectAll("g").filter((other) => other === next && next !== node);
    if (!target.empty()) { layer.nodes.selectAll("g").attr("tabindex", -1); target.attr("tabindex", 0).node().focus(); }
  }

  // Names keep their size on the screen while the map is enlarged.
  function drawNames() {
    const names = places.sites.map((site) => ({ text: site.name, kind: "site-name", x: site.x, y: site.y - site.r, size: 15 }));
    if (!places.loose) places.clusters.forEach((place, cluster) => {
      if (clusterName(cluster) === "all nodes") return;
      const inner = drawsAll || state.open.has(cluster);
      const name = clusterName(cluster);
      const texts = inner ? [name] : [`${name} · ${whole(membersOf[cluster].length)}`, name];
      names.push({ text: name, texts, kind: "cluster-name", x: place.x, y: inner ? place.y - place.r : place.y, size: 13, inner, room: (inner ? 2 : 1.2) * place.r });
    });
    layer.names.selectAll("text").data(names).join("text").attr("class", (name) => name.kind).attr("pointer-events", "none").text((name) => name.text);
    sizeNames();
  }
  function sizeNames() {
    layer.names.selectAll("text").attr("font-size", (name) => name.size / view.k).attr("x", (name) => name.x)
      .attr("y", (name) => name.y + (name.kind === "cluster-name" && !name.inner ? name.size / view.k * 0.35 : -5 / view.k))
      .style("stroke-width", 4 / view.k)
      .text((name) => textOf(name, view.k) ?? name.text)
      .attr("display", (name) => (textOf(name, view.k) === undefined ? "none" : null));
    layer.nodes.selectAll("text").attr("font-size", 12 / view.k).style("stroke-width", 3 / view.k)
      .attr("x", (node) => places.nodes[node].x).attr("y", (node) => places.nodes[node].y + 4 / view.k)
      .text((node) => nameOf(node, view.k) ?? "").attr("display", (node) => (nameOf(node, view.k) === undefined ? "none" : null));
  }

  function drawTime() {
    const plan = planShown();
    if (!plan.columns) return;
    const progress = progressAt(plan, state.time);
    const fill = d3.scaleLinear([0, 1], [css("--empty"), css("--full")]);
    layer.nodes.selectAll("g").select("circle").attr("fill", (node) => fill(progress[node]));
    layer.nodes.selectAll("g").select("rect").attr("fill", css("--card"));
    layer.clusters.selectAll("g").select(".progress").attr("d", ({ place, cluster }) => {
      if (isOpen(cluster)) return null;
      const hosts = membersOf[cluster].filter((node) => !isSwitch.has(node));
      const part = d3.mean(hosts, (node) => progress[node]) || 0;
      // Many clusters are small, and their rims would cover a thin ring.
      const [inner, outer] = places.clusters.length > MANY_CLUSTERS ? [0.3, 0.8] : [0.86, 0.94];
      const ring = d3.arc().innerRadius(place.r * inner).outerRadius(place.r * outer).startAngle(0).endAngle(2 * Math.PI * part);
      return ring();
    }).attr("transform", ({ place }) => `translate(${place.x},${place.y})`);
    drawSegments();
  }

  // Segments under way at this moment, as dots along their trees.
  function drawSegments() {
    const plan = planShown();
    if (!plan) return;
    const context = canvas.getContext("2d");
    const ratio = devicePixelRatio || 1;
    const { width, height } = holder.getBoundingClientRect();
    if (canvas.width !== Math.round(width * ratio)) canvas.width = Math.round(width * ratio);
    if (canvas.height !== Math.round(height * ratio)) canvas.height = Math.round(height * ratio);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    if (!plan.columns) return;
    const { source, target, tree, begin, release, arrive, count, held } = plan.columns;
    const colour = treeColours(plan);
    const order = new Map(plan.trees.map((each, at) => [each.number, at]));
    const rim = css("--card");
    const flowing = new Set();
    const closed = drawsAll ? [] : places.clusters.filter((_, cluster) => !isOpen(cluster));
    const most = dense && !state.open.size ? 2.4 : 4.2;
    let under = 0;
    for (let at = 0; at < plan.columns.length; at++) {
      if (begin[at] > state.time) break;
      if (arrive[at] < state.time || target[at] === SEVERAL || hidden.has(tree[at])) continue;
      const from = placeOf(source[at]), to = placeOf(target[at]);
      under += 1;
      // Dots follow drawn edges, and only the trees with a colour have some.
      if (from === to || isAside(source[at], target[at]) || !order.has(tree[at])) continue;
      const key = `${tree[at]}:${keyOf(source[at])}:${keyOf(target[at])}`;
      // Between closed clusters one flow of dots stands for all.
      if (count[at] > 1 && !isOpen(platform.cluster_of[source[at]]) && !isOpen(platform.cluster_of[target[at]])) {
        if (flowing.has(key)) continue;
        flowing.add(key);
      }
      const path = ways.get(key) ?? way(from, to, bendOf(order.get(tree[at]), plan.trees.length));
      // One transfer goes along once; a run of many is a flow of dots, as many as there is room for.
      const once = (arrive[at] - release[at]) + held[at] / count[at];
      const dots = count[at] === 1 || ways.size > CLEAR_EDGES ? 1 : Math.min(3, count[at]);
      const size = Math.max(1.7, Math.min(most, 0.42 * Math.min(from.r, to.r) * view.k));
      for (let dot = 0; dot < dots; dot++) {
        const part = count[at] === 1
          ? (state.time - begin[at]) / Math.max(arrive[at] - begin[at], 1e-30)
          : ((state.time - begin[at]) / Math.max(once, (arrive[at] - begin[at]) / 40) + dot / dots) % 1;
        const { x, y } = alongWay(path, part);
        if (closed.some((cluster) => Math.hypot(x - cluster.x, y - cluster.y) < cluster.r)) continue;
        // Nor over nodes, whose names it would cover.
        const near = drawnNodes.find(x, y);
        if (near !== undefined && Math.hypot(x - places.nodes[near].x, y - places.nodes[near].y) < places.nodes[near].r) continue;
        context.beginPath();
        context.arc(view.applyX(x), view.applyY(y), size, 0, 2 * Math.PI);
        context.fillStyle = colour(tree[at]);
        context.fill();
        context.lineWidth = size > 3 ? 1.2 : 0.5;
        context.strokeStyle = rim;
        context.stroke();
      }
    }
    holder.dataset.underWay = under;
  }

  const ifShown = (draw) => () => { if (planShown()) draw(); };
  watch(["plan", "rival", "open", "trees", "node", "found", "theme"], ifShown(drawMap));
  watch(["time"], ifShown(drawTime));
  return {
    fit: (place, glide) => { if (planShown()) fitView(place ?? boundsOfAll(), glide); },
    enlarge: (factor) => svg.call(zoom.scaleBy, factor),
    follow: (other) => { if (other !== view) svg.call(zoom.transform, other); },
    focus: () => svg.select("[tabindex='0']").node()?.focus(),
  };
}

const thePlanOf = (at) => (at === null ? undefined : page.plans[at]);
maps.push(mapOn($("map"), thePlan, state.hiddenTrees), mapOn($("rival-map"), () => thePlanOf(state.rival), new Set()));

function openCluster(cluster) {
  if (!drawsAll) { state.open.clear(); state.open.add(cluster); }
  $("out").disabled = false;
  changed("open");
  const place = places.clusters[cluster];
  // With room above for its name.
  for (const map of maps) map.fit({ ...place, r: 1.08 * place.r });
}
function closeAll() {
  const focused = document.activeElement === $("out");
  if (!drawsAll) state.open.clear();
  $("out").disabled = true;
  changed("open");
  for (const map of maps) map.fit();
  if (focused) maps[0].focus();
}
