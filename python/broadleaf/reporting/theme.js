// Light or dark: as the system is until somebody chooses; each page redraws what has colours of its own.
let themeChanged = () => {};
const asTheSystem = () => theme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
function theme(name) {
  document.documentElement.dataset.theme = name;
  $("theme").textContent = name === "dark" ? "Light" : "Dark";
  $("theme").setAttribute("aria-label", `Change to ${name === "dark" ? "light" : "dark"} colours`);
}
$("theme").addEventListener("click", () => { theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"); themeChanged(); });
