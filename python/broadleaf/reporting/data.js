// What the page shows, and what is chosen at the moment.
const platform = page.platform;
const SEVERAL = 4294967295;

const state = { plan: 0, time: 0, node: null, rival: null, found: new Set(), hiddenTrees: new Set(), open: new Set(), playing: false };
const watchers = [];
// Each part of the page names what it follows: "plan", "rival", "time", "node", "found", "trees", "open", "theme", "size".
function watch(kinds, draw) { watchers.push({ kinds, draw }); }
function changed(kind) { for (const each of watchers) if (each.kinds.includes(kind)) each.draw(kind); }

themeChanged = () => changed("theme");

const thePlan = () => page.plans[state.plan];
const theRival = () => (state.rival === null ? null : page.plans[state.rival]);
// One clock for the plans that are shown side by side: it runs until the slower one is done.
const clockEnd = () => Math.max(thePlan().makespan_s, theRival()?.makespan_s ?? 0);
const isSwitch = new Set(platform.switches);
const nodeByName = new Map(platform.nodes.map((name, node) => [name, node]));
const membersOf = platform.clusters.map(() => []);
platform.cluster_of.forEach((cluster, node) => membersOf[cluster].push(node));
// Hosts in the order of the platform's file, which is that of the ranks where they are as many.
const hosts = platform.nodes.map((_, node) => node).filter((node) => !isSwitch.has(node));
const rankOf = new Map(hosts.map((node, rank) => [node, rank]));
const clusterName = (cluster) => platform.clusters[cluster] || "all nodes";

// The colour of a tree: by its place among the plan's largest, grey for the others.
function treeColours(plan) {
  const colours = new Map();
  plan.trees.forEach((tree, at) => colours.set(tree.number, css(`--tree-${at}`)));
  const other = css("--tree-other");
  return (number) => colours.get(number) ?? other;
}

// The timeline's columns, 4 bytes a value, in the order in which bars.py packs them.
const WHOLE = ["source", "target", "tree", "first", "count"];
const REAL = ["bytes", "begin", "release", "into", "arrive", "held"];
async function barsOf(plan) {
  if (plan.columns) return plan.columns;
  const packed = Uint8Array.from(atob(plan.bars), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const buffer = await new Response(stream).arrayBuffer();
  const columns = { length: plan.bar_count };
  WHOLE.forEach((name, at) => { columns[name] = new Uint32Array(buffer, 4 * at * plan.bar_count, plan.bar_count); });
  REAL.forEach((name, at) => {
    columns[name] = new Float32Array(buffer, 4 * (WHOLE.length + at) * plan.bar_count, plan.bar_count);
  });
  plan.bars = null;
  plan.columns = columns;
  plan.leaving = placesBy(columns.source, columns.length);
  plan.entering = placesBy(columns.target, columns.length);
  plan.due = new Float64Array(platform.nodes.length);
  for (let at = 0; at < columns.length; at++)
    if (columns.target[at] !== SEVERAL) plan.due[columns.target[at]] += columns.bytes[at];
  return columns;
}
function placesBy(column, length) {
  const lists = platform.nodes.map(() => []);
  for (let at = 0; at < length; at++) if (column[at] !== SEVERAL) lists[column[at]].push(at);
  return lists;
}

// The share of what it is sent that each node has at a time; an outward root has all, and so has a finished node.
function progressAt(plan, time) {
  const { columns, due } = plan;
  const got = new Float64Array(platform.nodes.length);
  for (let at = 0; at < columns.length; at++) {
    if (columns.begin[at] > time) break;
    const target = columns.target[at];
    if (target === SEVERAL) continue;
    const { arrive, into, bytes: sent } = columns;
    if (arrive[at] <= time) got[target] += sent[at];
    else if (columns.count[at] > 1 && into[at] < time)
      got[target] += sent[at] * (time - into[at]) / (arrive[at] - into[at]);
  }
  return got.map((sum, node) => {
    if (node === plan.root && plan.is_outward) return 1;
    const finish = plan.finish_s[node];
    if (finish !== null && finish <= time * (1 + 1e-6)) return 1;
    // Of bars with several receivers only the beginning and the end are known.
    const first = plan.first_s?.[node];
    if (plan.first_s) return first === null || finish === null || time <= first ? 0 : Math.min(1, (time - first) / (finish - first));
    return due[node] ? Math.min(1, sum / due[node]) : 0;
  });
}
