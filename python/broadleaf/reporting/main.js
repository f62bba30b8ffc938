// The frame: title, facts, plan and theme, the clock.
const STEPS = 1000;

function setTime(time) {
  const all = clockEnd();
  state.time = Math.max(0, Math.min(time, all));
  const slider = $("time");
  slider.value = all ? Math.round(STEPS * state.time / all) : 0;
  slider.setAttribute("aria-valuetext", `${seconds(state.time)} of ${seconds(all)}`);
  $("now").textContent = `${seconds(state.time)} of ${seconds(all)}`;
  changed("time");
}

let before = null;
function play(on) {
  state.playing = on;
  $("play").textContent = on ? "Pause" : "Play";
  $("play").setAttribute("aria-pressed", on);
  if (!on) { before = null; return; }
  if (state.time >= clockEnd()) setTime(0);
  requestAnimationFrame(tick);
}
function tick(now) {
  if (!state.playing) return;
  const all = clockEnd();
  if (before !== null) setTime(state.time + all * (now - before) / 1000 / Number($("speed").value));
  before = now;
  if (state.time >= all) play(false); else requestAnimationFrame(tick);
}

function drawFacts() {
  const plan = thePlan();
  $("title").textContent = platform.name;
  const count = hosts.length;
  const clusters = platform.clusters.filter(Boolean).length;
  const sites = new Set(platform.sites.filter((site) => site !== null)).size;
  $("subtitle").textContent = [plan.moves, `${whole(count)} host${count === 1 ? "" : "s"}`,
    clusters && !platform.grouping ? `${clusters} cluster${clusters === 1 ? "" : "s"}` : "", sites && !platform.grouping ? `${sites} site${sites === 1 ? "" : "s"}` : "", platform.port_model].filter(Boolean).join(" · ");
  const facts = [
    ["planner", plan.planner], ["predicted time", seconds(plan.makespan_s)], ["bound", seconds(plan.bound_s)],
    ["times the bound", plan.bound_s ? significant(plan.makespan_s / plan.bound_s) : "–"], ["load bound", rate(plan.throughput_bytes_per_s)],
    ["segments", `${whole(Math.ceil(plan.message_bytes / plan.segment_bytes))} × ${bytes(plan.segment_bytes)}`],
    ["trees", whole(plan.tree_count)], ["transfers", whole(plan.transfers)],
  ];
  $("facts").replaceChildren(...facts.map(([term, value]) => {
    const pair = element("div");
    pair.append(element("dt", {}, term), element("dd", {}, value));
    return pair;
  }));
  $("timeline-of").textContent = page.plans.length > 1 ? ` of ${plan.label}` : "";
  drawVerdict();
  const told = [plan.told, platform.grouping, page.platform_measured].filter(Boolean).join(" ");
  $("told").textContent = told;
  $("told").hidden = !told;
}

async function showPlan(at) {
  play(false);
  const before = state.plan;
  state.plan = at;
  $("plan").value = at;
  if (at === state.rival) await showRival(before);
  state.hiddenTrees.clear();
  await barsOf(thePlan());
  drawFacts();
  changed("plan");
  setTime(0);
}

$("play").addEventListener("click", () => play(!state.playing));
$("time").addEventListener("input", (event) => { play(false); setTime(clockEnd() * event.target.value / STEPS); });
$("plan").addEventListener("change", (event) => showPlan(Number(event.target.value)));
$("out").addEventListener("click", closeAll);
$("zoom-in").addEventListener("click", () => { for (const map of maps) map.enlarge(1.4); });
$("zoom-out").addEventListener("click", () => { for (const map of maps) map.enlarge(1 / 1.4); });
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && !$("out").disabled) closeAll();
});
// What is drawn to the size of its place, drawn again.
function fitAll() {
  for (const map of maps) map.fit(undefined, false);
  drawTimeline();
  changed("size");
}
let waiting = null;
addEventListener("resize", () => {
  clearTimeout(waiting);
  waiting = setTimeout(fitAll, 120);
});

async function begin() {
  asTheSystem();
  fillChoices();
  $("footer").textContent = `Made by broadleaf ${page.version}. Times are simulated unless they are called measured. Drawn with D3 (ISC licence).`;
  if (page.plans.length > 1) await showRival(1);
  await showPlan(0);
  fitAll();
  changed("first");
  document.documentElement.dataset.ready = "true";
}
begin().catch((error) => {
  $("failed").hidden = false;
  $("failed").textContent = `This page could not be drawn: ${error.message}. It needs a browser of 2023 or later.`;
  throw error;
});
