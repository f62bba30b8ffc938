// Search from disk: a browser refuses workers to a page that was opened as a file, so the theme's search
// script runs in a hidden frame instead, which stands in for its worker.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(script) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      this.inside = new Promise((begun, failed) => {
        frame.addEventListener("load", () => {
          const inside = frame.contentWindow;
          inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
          const element = inside.document.createElement("script");
          element.src = script;
          element.addEventListener("load", () => begun(inside));
          element.addEventListener("error", failed);
          inside.document.head.append(element);
        }, { once: true });
      });
      frame.srcdoc = "<!DOCTYPE html><title>Search</title>";
      document.documentElement.append(frame);
    }

    postMessage(data) {
      this.inside.then((inside) => inside.dispatchEvent(new inside.MessageEvent("message", { data })));
    }
  };
}
