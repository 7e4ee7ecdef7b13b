"use strict";
// A live page: draws its charts, and replaces parts as the server sends them.
(() => {
  const given = document.getElementById("charts");
  let charts = given ? JSON.parse(given.textContent) : {};
  const chosen = {};
  const dark = matchMedia("(prefers-color-scheme: dark)");

  const offerChoices = (name, choices) => {
    const group = document.getElementById("choices-" + name);
    if (!group || group.dataset.of === choices.join("\n")) return;
    group.dataset.of = choices.join("\n");
    group.replaceChildren();
    if (choices.length < 2) return;
    choices.forEach((choice) => {
      const label = document.createElement("label");
      const input = document.createElement("input");
      const words = document.createElement("span");
      input.type = "radio";
      input.name = "choice-" + name;
      input.checked = choice === chosen[name];
      input.addEventListener("change", () => {
        chosen[name] = choice;
        draw(name);
      });
      words.textContent = choice;
      label.append(input, words);
      group.append(label);
    });
  };

  const draw = (name) => {
    const place = document.getElementById("chart-" + name);
    const choices = charts[name] || {};
    const names = Object.keys(choices);
    if (!place) return;
    const section = document.getElementById("section-" + name);
    if (section) section.hidden = names.length === 0;
    if (!names.length) return;
    if (!names.includes(chosen[name])) chosen[name] = names[0];
    offerChoices(name, names);
    tacitCharts.draw(place, choices[chosen[name]]);
  };
  const drawAll = () => {
    if (window.Plotly) document.querySelectorAll("[data-chart]").forEach((place) => draw(place.dataset.chart));
  };
  dark.addEventListener("change", drawAll);
  drawAll();

  const receive = (change) => {
    Object.entries(change.parts || {}).forEach(([id, html]) => {
      const place = document.getElementById(id);
      if (!place || place.contains(document.activeElement) && document.activeElement.tagName === "INPUT") return;
      place.innerHTML = html; // rendered by the server, which escapes every value
      filter();
    });
    if (change.charts) {
      Object.assign(charts, change.charts);
      if (window.Plotly) Object.keys(change.charts).forEach(draw);
    }
    if (change.ended && source) {
      source.close();
      source = null;
    }
  };

  // One stream per visible page: browsers allow few connections to one host.
  const path = document.body.dataset.events;
  let source = null;
  const open = () => {
    if (!path || source || document.hidden) return;
    source = new EventSource(path);
    source.onmessage = (message) => receive(JSON.parse(message.data));
  };
  const close = () => {
    if (source) source.close();
    source = null;
  };
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  addEventListener("pagehide", close);
  open();

  // Search in a table: rows that contain all words stay.
  const filter = () => {
    document.querySelectorAll("input[data-filters]").forEach((input) => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      document.querySelectorAll("#" + input.dataset.filters + " tbody tr").forEach((row) => {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
      });
    });
  };
  document.addEventListener("input", (event) => event.target.dataset.filters && filter());
})();
