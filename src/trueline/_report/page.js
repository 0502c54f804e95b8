(() => {
  "use strict";
  const root = document.documentElement;
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  all("[data-script]").forEach((element) => { element.hidden = false; });

  // Light or dark: as the system has it, until the button is pressed.
  const theme = document.querySelector(".theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const dark = () => root.dataset.theme ? root.dataset.theme === "dark" : system.matches;
  const show = () => {
    theme.setAttribute("aria-pressed", String(dark()));
    theme.querySelector(".state").textContent = dark() ? ": on" : ": off";
  };
  theme.addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; show(); });
  system.addEventListener("change", show);
  show();

  // All forecasts, or one of them.
  const choices = all(".choice button");
  choices.forEach((button) => button.addEventListener("click", () => {
    root.dataset.show = button.dataset.show;
    choices.forEach((other) => other.setAttribute("aria-pressed", String(other === button)));
    all(".plot").forEach((plot) => plot.dispatchEvent(new Event("clear")));
  }));

  const most = 4;
  // Values of what is pointed at, or reached with the arrow keys.
  all(".plot").forEach((plot) => {
    const readout = plot.parentElement.querySelector(".readout");
    const hits = all(".hit", plot);
    let at = -1;
    const texts = hits.map((hit) => {
      const title = hit.querySelector("title");
      const owners = hit.dataset.of.split(" ");
      const lines = title.textContent.split("\n").map((line, i) => [owners[i], line]);
      title.remove(); // or the browser would show it a second time
      return lines;
    });
    const clear = () => {
      if (at >= 0) hits[at].classList.remove("on");
      at = -1;
      readout.textContent = "";
    };
    const select = (i) => {
      clear();
      at = i;
      hits[at].classList.add("on");
      const shown = root.dataset.show || "all";
      const visible = ([owner]) => owner === "all" || shown === "all" || owner === shown;
      const lines = texts[at].filter(visible);
      // Of many forecasts the values of the first stand here; all are in the numbers below.
      const own = lines.filter(([owner]) => owner !== "all");
      const rest = own.slice(most);
      readout.textContent = lines.filter((line) => !rest.includes(line)).map(([, line]) => line)
        .join(" · ") + (rest.length ? ` · and ${rest.length} more` : "");
    };
    hits.forEach((hit, i) => {
      hit.addEventListener("pointerenter", () => select(i));
      hit.addEventListener("pointerdown", () => select(i));
    });
    plot.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") clear(); });
    plot.addEventListener("clear", clear);
    plot.tabIndex = 0;
    plot.setAttribute("role", "group");
    plot.setAttribute("aria-label", plot.dataset.name + ". Arrow keys read the values.");
    plot.addEventListener("keydown", (event) => {
      const last = hits.length - 1;
      const to = {
        ArrowRight: Math.min(at + 1, last), ArrowLeft: at < 0 ? last : Math.max(at - 1, 0),
        Home: 0, End: last,
      }[event.key];
      if (event.key === "Escape") clear();
      if (to === undefined) return;
      event.preventDefault();
      select(to);
    });
    clear();
  });
})();
