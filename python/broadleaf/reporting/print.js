// On paper: light, as wide as a page, with every table open.
let beforePrint = null;
addEventListener("beforeprint", () => {
  play(false);
  const closed = [...document.querySelectorAll("details:not([open])")];
  beforePrint = { theme: document.documentElement.dataset.theme, closed };
  for (const details of closed) details.open = true;
  document.documentElement.classList.add("printing");
  theme("light");
  changed("theme");
  fitAll();
});
addEventListener("afterprint", () => {
  if (!beforePrint) return;
  for (const details of beforePrint.closed) details.open = false;
  document.documentElement.classList.remove("printing");
  theme(beforePrint.theme);
  changed("theme");
  fitAll();
  beforePrint = null;
});
