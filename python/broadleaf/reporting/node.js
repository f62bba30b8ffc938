// The node that is chosen: what it is, when it has all, what it sends and receives.
const MOST_ROWS = 150;

function chooseNode(node) {
  state.node = node;
  const cluster = platform.cluster_of[node];
  if (!isOpen(cluster)) openCluster(cluster);
  changed("node");
}

function drawNode() {
  const about = $("node-about");
  about.replaceChildren();
  const { node } = state, plan = thePlan();
  if (node === null) {
    about.append(element("p", { class: "hint" }, "Click a node on the map or in the timeline, or type its name: its sends and receives stand here."));
    return;
  }
  if (!plan.columns) return;
  const cluster = platform.clusters[platform.cluster_of[node]];
  about.append(element("h3", { id: "node-name" }, platform.nodes[node]));
  const what = node === plan.root ? "the root" : isSwitch.has(node) ? "a switch: it relays and keeps nothing" : `complete at ${seconds(plan.finish_s[node])}`;
  const rank = rankOf.has(node) ? `host ${whole(rankOf.get(node))}, ` : "";
  about.append(element("p", { class: "hint" }, `${rank}${cluster ? `cluster ${cluster}, ` : ""}${what}`));
  for (const [title, bars, other, from, to] of [["Sends", plan.leaving[node], "target", "begin", "release"], ["Receives", plan.entering[node], "source", "into", "arrive"]]) {
    const { columns } = plan;
    const sum = d3.sum(bars, (at) => columns.count[at]);
    const rows = bars.slice(0, MOST_ROWS).map((at) => [
      columns[other][at] === SEVERAL ? "several" : platform.nodes[columns[other][at]],
      columns.count[at] === 0 ? "ready" : columns.count[at] === 1 ? whole(columns.first[at]) : `${whole(columns.first[at])} +${whole(columns.count[at] - 1)}`,
      seconds(columns[from][at]), seconds(columns[to][at]),
    ]);
    const more = bars.length > MOST_ROWS ? `, the first ${MOST_ROWS} rows` : "";
    const size = bytes(d3.sum(bars, (at) => columns.bytes[at]));
    if (!bars.length) { about.append(element("p", {}, title === "Sends" ? "Sends nothing." : "Receives nothing.")); continue; }
    about.append(table(`${title}: ${whole(sum)} transfers, ${size}${more}`, [title === "Sends" ? "to" : "from", "segment", "begins", "ends"], rows));
  }
}

// Marks the nodes that have the text in their names; the one that it is the whole name of is chosen.
function find(text) {
  const wanted = text.trim().toLowerCase();
  const found = wanted ? platform.nodes.map((name, node) => [name.toLowerCase(), node]).filter(([name]) => name.includes(wanted)).map(([, node]) => node) : [];
  state.found = new Set(found);
  $("found").textContent = !wanted ? "" : found.length ? `${whole(found.length)} node${found.length === 1 ? "" : "s"} marked on the map and in the timeline.` : "No node has that in its name.";
  changed("found");
  const node = nodeByName.get(text.trim());
  if (node !== undefined) chooseNode(node);
}
$("find").addEventListener("change", (event) => find(event.target.value));
$("find").addEventListener("input", (event) => find(event.target.value));
// A list of thousands of names would be slower than typing one.
for (const name of platform.nodes.slice(0, 2000)) $("node-names").append(element("option", { value: name }));
watch(["plan", "node"], drawNode);
