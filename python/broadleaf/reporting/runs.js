// The page of measured runs: a section a run, a strip a kind of broadcast and way to run it.
function drawRuns() {
  $("runs").replaceChildren(...page.runs.map(sectionOf));
}

function sectionOf(run) {
  const section = element("section");
  section.append(element("h2", {}, run.mpi ? `${run.name} · ${run.mpi}` : run.name));
  for (const line of run.summary) section.append(element("p", { class: "about" }, line));
  if (!run.kinds.length) section.append(element("p", {}, "No call was timed one by one; broadleaf run --compare times planned and native calls in turn."));
  for (const kind of run.kinds) section.append(kindOf(kind));
  const left = run.kind_count - run.kinds.length;
  const rest = [left ? `${whole(left)} kinds that took less time are left out.` : "", run.unsampled && run.kinds.length ? `${run.unsampled === 1 ? "1 kind has" : `${whole(run.unsampled)} kinds have`} no times of single calls.` : ""];
  if (rest.some(Boolean)) section.append(element("p", { class: "hint" }, rest.filter(Boolean).join(" ")));
  return section;
}

function kindOf(kind) {
  const figure = element("figure", { class: "kind" });
  const by = kind.planner ? ` · ${kind.planner}` : "";
  const title = element("figcaption");
  title.append(element("strong", {}, `${bytes(kind.bytes)} from rank ${whole(kind.root)} to ${whole(kind.ranks)} ranks`), `${by}${kind.communicator ? ` · ${kind.communicator}` : ""}`);
  title.append(element("br"), kind.sentence);
  const numbers = element("details");
  numbers.append(element("summary", {}, "As a table"), table("Time of each call", kind.samples.map(([name]) => name),
    d3.range(d3.max(kind.samples, ([, times]) => times.length)).map((at) => kind.samples.map(([, times]) => seconds(times[at])))));
  figure.append(title, strips(kind, Math.max(260, $("runs").clientWidth - 36)), numbers);
  return figure;
}

themeChanged = drawRuns;
let waiting = null;
addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(drawRuns, 120); });
$("subtitle").textContent = page.runs.map((run) => run.name).join(", ");
$("footer").textContent = `Made by broadleaf ${page.version}. Drawn with D3 (ISC licence).`;
try {
  asTheSystem();
  drawRuns();
  document.documentElement.dataset.ready = "true";
} catch (error) {
  $("failed").hidden = false;
  $("failed").textContent = `This page could not be drawn: ${error.message}. It needs a browser of 2023 or later.`;
  throw error;
}
